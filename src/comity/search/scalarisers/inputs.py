"""Checks of what every scalariser gets: a ray, losses, and the inner products of gradients."""

import numpy as np

from comity.core.arrays import Floats, Integers
from comity.errors import InputError

_SUM_TOLERANCE = 1e-5  # rays and gradients are often in single precision
_GRAM_TOLERANCE = 1e-4


def check_inputs(ray: Floats, losses: Floats, gram: Floats) -> Integers:
    """Check the inputs of a scalariser, and return the positions of the clients whose weights are above zero.

    >>> check_inputs(np.array([0.5, 0.0, 0.5]), np.array([1.0, np.nan, 2.0]), np.eye(3))
    array([0, 2])
    >>> check_inputs(np.array([0.5, 0.6]), np.ones(2), np.eye(2))
    Traceback (most recent call last):
    comity.errors.InputError: the ray sums to 1.1, but must sum to 1; divide it by its sum
    """
    if ray.ndim != 1 or not ray.size:
        raise InputError(f"the ray has shape {ray.shape}, but must be one weight for each client, (N,) with N above 0")
    if losses.shape != ray.shape:
        raise InputError(f"the ray has {ray.size} weights, but the losses have shape {losses.shape}; give one for each")
    if gram.shape != (ray.size, ray.size):
        raise InputError(
            f"the products of gradients have shape {gram.shape}, but must have a row and a column for each of the "
            f"{ray.size} weights of the ray"
        )
    if not np.isfinite(ray).all() or (ray < 0).any():
        raise InputError(f"the ray {ray.tolist()} must have weights that are numbers and not negative")
    if abs(ray.sum() - 1) > _SUM_TOLERANCE:
        raise InputError(f"the ray sums to {ray.sum():g}, but must sum to 1; divide it by its sum")
    taking = np.flatnonzero(ray)
    for position in taking:
        if not np.isfinite(losses[position]):
            raise InputError(
                f"the loss of client {position} is {losses[position]:g}, but must be a finite number; the training may "
                "have diverged: take shorter steps, or give this client weight zero"
            )
    _check_gram(gram[np.ix_(taking, taking)])
    return taking


def _check_gram(gram: Floats) -> None:
    """Check that `gram` can be the inner products of the gradients of the clients that take part."""
    if not np.isfinite(gram).all():
        raise InputError(
            "the products of gradients must be finite numbers, but some are not; the training may have diverged: "
            "take shorter steps"
        )
    size = np.diag(gram)
    uneven = np.abs(gram - gram.T) > _GRAM_TOLERANCE * size.max()
    beyond = np.abs(gram) > (1 + _GRAM_TOLERANCE) * size.max()  # impossible by Cauchy–Schwarz
    if (size < 0).any() or uneven.any() or beyond.any():
        raise InputError(
            "these cannot be products of gradients: g_i·g_j must equal g_j·g_i, and neither be negative for i = j nor "
            "exceed the longest gradient's square; give the matrix G Gᵀ, with a row of G for each client's gradient"
        )
