"""Masks: integers that look random to everybody who does not have the secret they are derived from."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from comity.flower.secure.fixed_point import Whole


def mask(secret: bytes, number: str, size: int) -> Whole:
    """Return a mask of `size` integers, uniform modulo 2⁶⁴, derived from a secret for the sum with this `number`.

    It is a ChaCha20 key stream; its key is derived from the whole secret (HKDF) and used for this sum only.
    """
    key = HKDF(SHA256(), 32, salt=None, info=b"comity secure sum " + number.encode()).derive(secret)
    stream = Cipher(algorithms.ChaCha20(key, nonce=bytes(16)), mode=None).encryptor().update(bytes(8 * size))
    return np.frombuffer(stream, np.dtype("<u8")).astype(np.uint64, copy=False)
