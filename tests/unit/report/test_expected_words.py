"""Sentences about expected gains follow the estimates and their probabilities."""

import math

import pytest

from comity.core.estimates import Estimate, Standing
from comity.core.metrics import METRICS
from comity.report.expected_words import advise, who_may_gain
from comity.report.words import BORROWED, MetricFormat, should_join, why_alone

NOTHING = Estimate(math.nan, math.nan)
RMSE, AUC = (MetricFormat(METRICS[name], 2) for name in ("rmse", "auc"))


def standing(alone: float, coalition: float, probability: float = math.nan) -> Standing:
    gain = Estimate(coalition - alone, 0.1)
    scores = (Estimate(alone, 0.2), Estimate(coalition, 0.2), Estimate(coalition, 0.2), NOTHING)
    return Standing(100, *scores, gain, gain, NOTHING, probability)


@pytest.mark.parametrize(("probability", "begins"), [(0.97, "Yes"), (0.8, "Probably"), (0.55, "Perhaps")])
def test_advice_follows_the_probability(probability: float, begins: str) -> None:
    advice = advise("A", standing(2.0, 1.5, probability), ["B"], ["C"], RMSE)
    assert advice == (
        f"{begins}: train with B. Its RMSE is expected to go from 2.00 to 1.50: −0.50 (95 %: −0.70 to −0.30). "
        f"The probability that it gains is {100 * probability:.0f} %. It also wanted C, but C does not want A."
    )


def test_an_unknown_gain_is_explained() -> None:
    advice = advise("A", standing(math.nan, math.nan, 0.95), ["B"], [], AUC)
    assert "cannot be told from its rows (AUC needs rows of more than one class)." in advice


def test_who_is_alone_is_told_why() -> None:
    alone = "no other client is expected to make the model of A better by enough to be worth it"
    assert should_join("A", standing(0.7, 0.7), [], [], AUC, BORROWED).startswith(f"No need: {alone}.")
    assert why_alone(["A"], {}, BORROWED) == [f"N{alone[1:]}."]
    turned_away = should_join("A", standing(0.7, 0.9), [], ["B"], AUC, BORROWED)
    assert "A would gain from B, but B gains nothing from A." in turned_away
    assert "would be 0.90 instead of 0.70, as far as can be expected." in turned_away


def test_the_consortium_comes_first() -> None:
    standings = {"A": standing(2.0, 1.5, 0.99), "B": standing(2.0, 1.8, 0.9), "C": standing(2.0, 2.0)}
    lines = who_may_gain(standings, ["A", "B"], Estimate(-0.23, 0.05), RMSE)
    mean, most = lines
    assert mean.startswith("On average over all clients, RMSE is expected to improve by 0.23 (95 %: 0.13 to 0.33);")
    assert mean.endswith("2 of 3 clients are expected to gain.")
    assert most.startswith("A is expected to gain the most (RMSE 2.00 → 1.50, probability 99 %), and B the least (")
    worse = who_may_gain({"A": standing(2.0, 2.1, 0.3)}, ["A"], Estimate(0.1, 0.1), RMSE)
    assert worse[-1] == "A cannot expect to gain: look at the numbers before you agree."
    assert who_may_gain({"A": standing(math.nan, math.nan)}, ["A"], NOTHING, AUC) == [
        "The gain of A cannot be told from the available rows."
    ]
