"""Recovery of secrets from their shares, with a check, so that a wrong share cannot lead to a wrong sum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from itertools import combinations, islice

from flwr.common.secure_aggregation.crypto.shamir import combine_shares
from flwr.supercore.primitives.asymmetric import bytes_to_private_key, public_key_to_bytes

Shares = dict[int, bytes]
_MAX_COMBINATIONS = 500


def recover(shares: Mapping[int, bytes], threshold: int, fits: Callable[[bytes], bool]) -> bytes | None:
    """Return the secret that fits, from any `threshold` of the shares, some of which may be wrong."""
    for chosen in islice(combinations(shares.values(), threshold), _MAX_COMBINATIONS):
        try:
            secret = combine_shares(list(chosen))
            if fits(secret):
                return secret
        except (ValueError, IndexError):
            continue
    return None


def is_pledged(secret: bytes, pledge: bytes) -> bool:
    """Return whether a secret has the digest that its owner gave."""
    return hashlib.sha256(secret).digest() == pledge


def is_key_of(secret: bytes, public: bytes) -> bool:
    """Return whether a secret is the private key that belongs to a public key."""
    return public_key_to_bytes(bytes_to_private_key(secret).public_key()) == public
