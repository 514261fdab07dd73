"""Masks, and the secrets they are derived from, which can be recovered from shares.

A mask is a list of integers that look random to everybody who does not have its secret. A recovered secret is checked
against what its owner sent, so that a wrong share cannot lead to a wrong sum.
"""

import hashlib
from collections.abc import Callable, Iterable
from itertools import combinations, islice

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from flwr.common.secure_aggregation.crypto.shamir import combine_shares
from flwr.common.secure_aggregation.crypto.symmetric_encryption import generate_shared_key
from flwr.supercore.primitives.asymmetric import bytes_to_private_key, bytes_to_public_key, public_key_to_bytes

from comity.flower.secure.fixed_point import Whole

_MAX_COMBINATIONS = 500


def mask(secret: bytes, number: str, size: int) -> Whole:
    """Return a mask of `size` integers, uniform modulo 2⁶⁴, derived from a secret for the sum with this `number`.

    It is a ChaCha20 key stream; its key is derived from the whole secret (HKDF) and used for this sum only.
    """
    key = HKDF(SHA256(), 32, salt=None, info=b"comity secure sum " + number.encode()).derive(secret)
    stream = Cipher(algorithms.ChaCha20(key, nonce=bytes(16)), mode=None).encryptor().update(bytes(8 * size))
    return np.frombuffer(stream, np.dtype("<u8")).astype(np.uint64, copy=False)


def shared_mask(private: bytes, public: bytes, number: str, size: int) -> Whole:
    """Return the mask that two clients share, from the private key of one and the public key of the other."""
    return mask(generate_shared_key(bytes_to_private_key(private), bytes_to_public_key(public)), number, size)


def pledge_of(seed: bytes) -> bytes:
    """Return the digest by which the seed of a client's own mask is checked later."""
    return hashlib.sha256(seed).digest()


def public_key_of(private: bytes) -> bytes:
    """Return the public key by which a private key is checked."""
    return public_key_to_bytes(bytes_to_private_key(private).public_key())


def recover(
    shares: Iterable[bytes], threshold: int, fingerprint: Callable[[bytes], bytes], expected: bytes
) -> bytes | None:
    """Return the secret with the expected fingerprint from `threshold` of the shares, some of which may be wrong."""
    for chosen in islice(combinations(shares, threshold), _MAX_COMBINATIONS):
        try:
            secret = combine_shares(list(chosen))
            if fingerprint(secret) == expected:
                return secret
        except (ValueError, IndexError):
            continue
    return None
