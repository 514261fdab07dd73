"""Secrets from their shares, checked: a wrong share must not become a wrong sum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from itertools import combinations, islice

from flwr.common.secure_aggregation.crypto.shamir import combine_shares
from flwr.supercore.primitives.asymmetric import bytes_to_private_key, public_key_to_bytes

Shares = dict[int, bytes]
_TRIES = 500


def recover(shares: Mapping[int, bytes], threshold: int, fits: Callable[[bytes], bool]) -> bytes | None:
    """Return the secret that fits, from any `threshold` of the shares; if some are wrong, others are tried."""
    for some in islice(combinations(shares.values(), threshold), _TRIES):
        try:
            secret = combine_shares(list(some))
            if fits(secret):
                return secret
        except (ValueError, IndexError):
            continue
    return None


def is_pledged(secret: bytes, pledge: bytes) -> bool:
    """Tell whether a secret is the one whose digest was given."""
    return hashlib.sha256(secret).digest() == pledge


def is_key_of(secret: bytes, public: bytes) -> bool:
    """Tell whether a secret is the private key of a public one."""
    return public_key_to_bytes(bytes_to_private_key(secret).public_key()) == public
