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


def test_brier_absolute_errors_and_deviance_are_as_everybody_knows_them() -> None:
    assert METRICS["brier"].measure(PAIR, TARGET, ONCE)[0] == pytest.approx(np.mean((SCORES - TARGET) ** 2))
    three = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    expected = np.mean([0.25 + 0.09 + 0.04, 0.01 + 0.81 + 0.64])
    assert METRICS["brier"].measure(three, np.array([0.0, 1.0]), np.ones((1, 2)))[0] == pytest.approx(expected)
    truth, given = np.zeros(6), np.array([5.0, -1.0, 2.0, -9.0, 3.0, 4.0])
    assert METRICS["mae"].measure(given, truth, ONCE)[0] == pytest.approx(4.0)
    for counts in (np.ones(6), np.array([1.0, 1, 1, 1, 1, 0]), np.array([3.0, 1, 0, 2, 1, 1])):
        expected = np.median(np.repeat(np.abs(given), counts.astype(int)))
        assert METRICS["medae"].measure(given, truth, counts[None])[0] == expected
    counted, expected_counts = np.array([0.0, 2, 3]), np.array([0.5, 2.0, 1.0])
    deviance = 2 * np.mean([0.5, 0.0, 3 * np.log(3) - 2])
    assert METRICS["deviance"].measure(expected_counts, counted, np.ones((1, 3)))[0] == pytest.approx(deviance)


def test_sensitivity_is_measured_at_the_lowest_threshold_that_leaves_out_enough() -> None:
    """Negatives have 0.1, 0.4 and 0.6; positives 0.4, 0.8 and 0.9."""
    for specificity, expected in ((0.3, 1.0), (0.34, 2 / 3), (0.6, 2 / 3), (0.9, 2 / 3), (0.999, 2 / 3)):
        measured = METRICS[f"sensitivity@{specificity}"].measure(PAIR, TARGET, ONCE)[0]
        assert measured == pytest.approx(expected), specificity
    assert np.isnan(METRICS["sensitivity@0.9"].measure(PAIR, np.ones(6), ONCE)[0])
    with pytest.raises(KeyError):
        METRICS["sensitivity@1.5"]


def test_concordance_is_that_of_pairs_whose_order_is_known() -> None:
    """Against its definition, pair by pair; ties of risks count half, and tied events nothing."""
    rng = np.random.default_rng(0)
    risks, times = rng.normal(size=40).round(1), np.ceil(6 * rng.exponential(size=40))
    target = np.where(rng.uniform(size=40) < 0.5, times, -times)
    won = pairs = 0.0
    for i, j in itertools.permutations(range(40), 2):
        later = abs(target[j]) > target[i] or target[j] == -target[i]
        if target[i] > 0 and later:
            pairs += 1
            won += float(risks[i] > risks[j]) + 0.5 * float(risks[i] == risks[j])
    once = np.ones((1, 40))
    assert METRICS["concordance"].measure(risks, target, once)[0] == pytest.approx(won / pairs)
    assert np.isnan(METRICS["concordance"].measure(risks, -np.abs(target), once)[0]), "no events"
    parts = np.repeat([0, 1], 20)
    within = METRICS["concordance"].measure_within(risks + 9 * parts, target, once, parts)
    np.testing.assert_allclose(within, METRICS["concordance"].measure_within(risks, target, once, parts))


def test_gains_of_other_metrics_are_in_their_units() -> None:
    assert METRICS["mae"].gain_of_share(4.0, 0.1, 0.5) == pytest.approx((-0.2, 2.0))
    assert METRICS["concordance"].gain_of_share(0.7, 0.1, 1.0) == pytest.approx((0.1, 1.0))
    assert METRICS["deviance"].gain_of_share(2.0, 0.1, 9.0) == pytest.approx((-0.2, 2.0))
