"""Masks look like chance, and take all of a secret."""

import os

import numpy as np
from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen

from comity.flower.secure.masks import mask


def test_a_mask_is_determined_by_the_secret_and_the_sum() -> None:
    secret = os.urandom(32)
    one = mask(secret, "1", 100)
    np.testing.assert_array_equal(one, mask(secret, "1", 100))
    for other in (mask(secret, "2", 100), mask(os.urandom(32), "1", 100)):
        assert (one != other).all()


def test_all_bits_of_a_secret_matter() -> None:
    """Flower's generator folds a secret to 32 bits, so that swapping two words changes nothing."""
    secret = os.urandom(32)
    swapped = secret[4:8] + secret[:4] + secret[8:]
    np.testing.assert_array_equal(*(pseudo_rand_gen(each, 2**32, [(50,)])[0] for each in (secret, swapped)))
    assert (mask(secret, "1", 50) != mask(swapped, "1", 50)).all()


def test_every_bit_is_as_often_one_as_zero() -> None:
    bits = np.unpackbits(mask(bytes(32), "1", 20_000).view(np.uint8)).reshape(20_000, 64).mean(axis=0)
    np.testing.assert_allclose(bits, 0.5, atol=6 * 0.5 / np.sqrt(20_000))
