"""Sentences follow the estimates: a significant gain, one that may be chance, a loss, an unknown gain."""

import math

import pytest

from comity.core.estimates import Estimate, Standing
from comity.core.metrics import METRICS
from comity.report.words import MetricFormat, should_join, who_gains, who_trains, why_alone

NOTHING = Estimate(math.nan, math.nan)


def standing(alone: float, coalition: float, error: float, best: float | None = None) -> Standing:
    gain = Estimate(coalition - alone, error)
    last = coalition if best is None else best
    return Standing(
        rows=100,
        alone=Estimate(alone, 0.02),
        coalition=Estimate(coalition, 0.02),
        best=Estimate(last, 0.02),
        together=NOTHING,
        gain=gain,
        gain_at_best=Estimate(last - alone, error),
        gain_together=NOTHING,
    )


@pytest.mark.parametrize(
    ("metric", "coalition", "error", "begins"),
    [
        ("auc", 0.8, 0.01, "Yes: train with B."),
        ("auc", 0.8, 0.2, "Probably: train with B, judging by its cross-validated loss."),
        ("auc", 0.69, 0.2, "Perhaps: train with B, judging by its cross-validated loss."),
        ("auc", 0.6, 0.01, "Doubtful:"),
        ("rmse", 0.6, 0.01, "Yes: train with B."),
        ("rmse", 0.8, 0.01, "Doubtful:"),
        ("rmse", math.nan, math.nan, "Yes, by its cross-validated loss: train with B."),
    ],
)
def test_advice_follows_the_estimates(metric: str, coalition: float, error: float, begins: str) -> None:
    score = standing(0.7, coalition, error)
    assert should_join("A", score, ["B"], [], MetricFormat(METRICS[metric], 2), "smallest").startswith(begins)


def test_advice_to_those_who_stay_alone() -> None:
    score, scale = standing(0.7, 0.7, 0.01, best=0.9), MetricFormat(METRICS["auc"], 2)
    assert should_join("A", score, [], [], scale, "smallest").startswith(
        "No need: no other client was found to make the model of A reliably better"
    )
    wished = should_join("A", score, [], ["B", "C"], scale, "smallest")
    assert wished.startswith("Not at present: A would gain from B and C, but they gain nothing from A.")
    assert "AUC would be 0.90 instead of 0.70." in wished
    worse = should_join("A", standing(0.7, 0.7, 0.01, best=0.6), [], ["B"], scale, "smallest")
    assert "AUC would be 0.60 instead of 0.70, which is worse." in worse
    chance = should_join("A", standing(0.7, 0.7, 0.2, best=0.8), [], ["B"], scale, "smallest")
    assert "AUC would be 0.80 instead of 0.70, which may be due to chance." in chance


def test_advice_names_the_rule_of_clipped_weights() -> None:
    score, scale = standing(0.7, 0.7, 0.01), MetricFormat(METRICS["auc"], 2)
    alone = "no other client has much weight in the best model for A"
    assert should_join("A", score, [], [], scale, "clip") == f"No need: {alone}. Alone, its AUC is 0.70."
    assert why_alone(["A"], {}, "clip") == [f"N{alone[1:]}."]


def test_an_unknown_gain_is_explained() -> None:
    evaluated, not_evaluated = standing(0.7, math.nan, math.nan), standing(math.nan, math.nan, math.nan)
    scale = MetricFormat(METRICS["auc"], 2)
    assert who_gains({"A": evaluated}, ["A"], scale) == ["The gain of A cannot be estimated from the available rows."]
    assert should_join("A", not_evaluated, ["B"], [], scale, "smallest").endswith(
        "(AUC needs rows of more than one class)."
    )
    assert should_join("A", evaluated, ["B"], [], scale, "smallest").endswith(
        "(when the rows for evaluation are held out, it stays alone)."
    )


def test_an_interval_of_zero_width_is_not_significant() -> None:
    standings = {"A": standing(0.7, 0.6, 0.0)}
    assert who_gains(standings, ["A"], MetricFormat(METRICS["auc"], 2)) == [
        "For A, the change on held-out rows may be due to chance (AUC: A 0.70 → 0.60)."
    ]


def test_a_member_without_partners_is_not_called_alone() -> None:
    advice = should_join("A", standing(0.7, 0.7, 0.01), [], [], MetricFormat(METRICS["auc"], 2), "clip", ["B"])
    assert advice.startswith(
        "Optional: B trains with the rows of A, but no other client's rows have weight in its own model."
    )


def test_gains_that_may_be_chance_are_listed_apart() -> None:
    standings = {"A": standing(0.7, 0.8, 0.01), "B": standing(0.7, 0.8, 0.2), "C": standing(0.7, 0.6, 0.01)}
    lines = who_gains(standings, ["A", "B", "C"], MetricFormat(METRICS["auc"], 2))
    assert lines[0] == "A gains significantly: AUC 0.70 → 0.80."
    assert lines[1].startswith("For B, ")
    assert lines[2].startswith("C would do significantly worse")


def test_who_trains_with_whom() -> None:
    assert who_trains([["a"], ["b"]]) == ["Everybody trains alone."]
    assert who_trains([["a"]]) == ["a trains alone."]
    assert who_trains([["a", "b"], ["c"], ["d"]]) == ["a and b train together.", "c and d train alone."]
    assert why_alone(["c", "d"], {"d": ["a"]}, "smallest") == [
        "No other client was found to make the model of c reliably better.",
        "d would gain from a, but a gains nothing from d.",
    ]
