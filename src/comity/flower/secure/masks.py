"""Masks: what looks like chance to all who do not have the secret that it is made of."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from comity.flower.secure.fixed_point import Whole


def mask(secret: bytes, number: str, size: int) -> Whole:
    """Return a mask of so many whole numbers, uniform modulo 2⁶⁴, made of a secret for the sum of a `number`.

    It is a ChaCha20 key stream, with a key derived from all of the secret (HKDF) that serves for nothing else.
    """
    key = HKDF(SHA256(), 32, salt=None, info=b"comity secure sum " + number.encode()).derive(secret)
    stream = Cipher(algorithms.ChaCha20(key, nonce=bytes(16)), mode=None).encryptor().update(bytes(8 * size))
    return np.frombuffer(stream, np.dtype("<u8")).astype(np.uint64, copy=False)
