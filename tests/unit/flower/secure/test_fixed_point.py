"""Whole numbers for real ones: within half a step, and never another number in silence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comity.errors import InputError, NotFiniteError
from comity.flower.secure import FixedPoint


@given(
    st.data(),
    st.integers(1, 40),
    st.sampled_from([2.0**-20, 0.3, 1.0, 5.0, 2.0**16, 1e9]),
)
def test_a_sum_of_n_is_within_n_half_steps(data: st.DataObject, clients: int, largest: float) -> None:
    point = FixedPoint(largest, clients)
    terms = data.draw(arrays(np.float64, (clients, 3), elements=st.floats(-largest, largest)))
    whole = np.zeros(3, np.uint64)
    for term in terms:
        whole = whole + point.whole(term, "a")
    exact = [sum(map(_fraction, column)) for column in terms.T]
    for found, expected in zip(point.real(whole).tolist(), exact, strict=True):
        rounding = abs(float(expected)) * 2.0**-53 + point.step
        assert abs(_fraction(found) - expected) <= point.error + rounding


def _fraction(value: float):
    from fractions import Fraction

    return Fraction(value)


def test_the_greatest_sum_does_not_overflow() -> None:
    for clients in (1, 2, 3, 1000):
        for sign in (1, -1):
            point = FixedPoint(3.0, clients)
            whole = point.whole(np.array([sign * 3.0]), "a") * np.uint64(clients)
            assert point.real(whole).tolist() == [sign * 3.0 * clients]


@pytest.mark.parametrize(("value", "error"), [(1.01, InputError), (np.nan, NotFiniteError), (-np.inf, NotFiniteError)])
def test_values_that_are_too_large_or_not_finite_are_refused_with_the_clients_name(
    value: float, error: type[Exception]
) -> None:
    with pytest.raises(error, match="'ward'"):
        FixedPoint(1.0, 3).whole(np.array([0.5, value]), "ward")


@pytest.mark.parametrize("largest", [0.0, -1.0, np.inf, np.nan])
def test_an_invalid_largest_value_is_refused(largest: float) -> None:
    with pytest.raises(InputError, match="must be a positive number"):
        FixedPoint(largest, 2)
    with pytest.raises(InputError, match="over 0 clients"):
        FixedPoint(1.0, 0)
