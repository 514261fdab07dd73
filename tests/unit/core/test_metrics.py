"""Metrics, against their definitions."""

import itertools

import numpy as np
import pytest

from comity.core.metrics import DEFAULT, METRICS

ONCE = np.ones((1, 6))
TARGET = np.array([0.0, 1, 1, 0, 1, 0])
SCORES = np.array([0.1, 0.8, 0.4, 0.4, 0.9, 0.6])
PAIR = np.column_stack([1 - SCORES, SCORES])


def by_definition(scores: np.ndarray, positive: np.ndarray) -> float:
    pairs = [(a, b) for a, b in itertools.product(scores[positive], scores[~positive])]
    return float(np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs]))


def test_auc_is_the_probability_that_a_positive_row_scores_higher() -> None:
    assert METRICS["auc"].measure(PAIR, TARGET, ONCE)[0] == pytest.approx(by_definition(SCORES, TARGET == 1))
    rng = np.random.default_rng(0)
    three = rng.dirichlet(np.ones(3), 30).round(1)
    classes = rng.integers(0, 3, 30).astype(float)
    expected = np.mean([by_definition(three[:, c], classes == c) for c in range(3)])
    assert METRICS["auc"].measure(three, classes, np.ones((1, 30)))[0] == pytest.approx(expected)


def test_counts_are_rows_taken_more_than_once() -> None:
    counts = np.array([[2.0, 1, 0, 3, 1, 1], [1.0, 1, 1, 1, 1, 1]])
    repeated = np.repeat(np.arange(6), counts[0].astype(int))
    rng = np.random.default_rng(0)
    numbers, truth = rng.normal(size=6), rng.normal(size=6)
    for name, metric in METRICS.items():
        given, target = (PAIR, TARGET) if metric.task == "classes" else (numbers, truth)
        many = metric.measure(given, target, counts)
        alone = metric.measure(given[repeated], target[repeated], np.ones((1, repeated.size)))
        assert many[0] == pytest.approx(alone[0]), name


def test_the_others_are_as_everybody_knows_them() -> None:
    assert METRICS["accuracy"].measure(PAIR, TARGET, ONCE)[0] == pytest.approx(4 / 6)
    given = PAIR[np.arange(6), TARGET.astype(int)]
    assert METRICS["log-loss"].measure(PAIR, TARGET, ONCE)[0] == pytest.approx(-np.log(given).mean())
    truth = np.arange(6.0)
    assert METRICS["rmse"].measure(truth + 2, truth, ONCE)[0] == pytest.approx(2.0)
    assert METRICS["r2"].measure(np.full(6, truth.mean()), truth, ONCE)[0] == pytest.approx(0.0)
    assert METRICS["r2"].measure(truth, truth, ONCE)[0] == 1.0


def test_what_cannot_be_said_is_not_a_number() -> None:
    assert np.isnan(METRICS["auc"].measure(PAIR, np.ones(6), ONCE)[0])
    assert np.isnan(METRICS["r2"].measure(SCORES, np.ones(6), ONCE)[0])


def test_the_correction_gives_back_what_fewer_rows_lost() -> None:
    assert METRICS["accuracy"].corrected(0.7, 0.8, np.array([0.74, 0.76])) == pytest.approx(0.75)
    assert METRICS["accuracy"].corrected(0.99, 0.9, np.array([0.8])) == 1.0
    assert METRICS["rmse"].corrected(5.0, 3.0, np.array([4.0])) == pytest.approx(np.sqrt(25 + 9 - 16))
    assert set(DEFAULT.values()) <= METRICS.keys()


def test_the_area_under_the_curve_compares_rows_of_one_part_only() -> None:
    parts = np.array([0, 0, 0, 1, 1, 1])
    target = np.array([1, 0, 0, 1, 0, 0])
    scores = np.array([0.3, 0.1, 0.2, 0.9, 0.7, 0.8])  # right in each part, not across
    given = np.stack([1 - scores, scores], axis=1)
    assert METRICS["auc"].measure_within(given, target, ONCE, parts)[0] == 1.0
    assert METRICS["auc"].measure(given, target, ONCE)[0] < 1.0
    accuracy = METRICS["accuracy"]
    assert accuracy.measure_within(given, target, ONCE, parts) == accuracy.measure(given, target, ONCE)
    assert np.isnan(METRICS["auc"].measure_within(given[:2], np.array([1, 0]), np.ones((1, 2)), np.array([0, 1]))[0])
