"""The rate of a step."""

import pytest

from comity.families.network.adam import cosine


def test_the_rate_falls_to_zero() -> None:
    rates = [cosine(0.1, step, 100) for step in range(101)]
    assert rates == sorted(rates, reverse=True)
    assert [rates[0], rates[50], rates[100]] == pytest.approx([0.1, 0.05, 0.0])
