"""Projection onto the simplex and its faces."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comity.search.simplex import project

points = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(-50, 50))


@given(points, st.randoms(use_true_random=False))
def test_it_is_the_nearest_point(given_points: np.ndarray, random: object) -> None:
    face = np.array([[random.random() < 0.6 for _ in row] for row in given_points])
    face[:, 0] = True
    found = project(given_points, face)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    assert (found[~face] == 0).all()
    # No corner of the face lies in a direction that shortens the distance (the condition of a projection).
    for point, nearest, corners in zip(given_points, found, face, strict=True):
        for corner in np.flatnonzero(corners):
            assert (point - nearest) @ (np.eye(point.size)[corner] - nearest) <= 1e-6


def test_points_of_the_simplex_stay() -> None:
    inside = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(project(inside), inside, atol=1e-15)
