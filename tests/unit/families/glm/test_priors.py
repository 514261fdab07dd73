"""What clients fit their personal models with: the exact optimum, and nothing that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from comity.core.arrays import Floats
from comity.core.likelihood import LogLoss
from comity.deciding.borrow import borrow
from comity.errors import FormatError
from comity.families.glm.priors import Priors, find_priors
from comity.families.glm.pulled_view import borrowing_of
from support.parts import parts_of, planted, sums_of


def some_priors(size: int = 4, seed: int = 0, noise: float = 0.5) -> Priors:
    """Three pulls; the first two are of the coalition, the last two of the wishes."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    weights = np.array([[0.3, 0.7, 0.0], [0.0, 0.6, 0.4]])
    means = rng.normal(size=(3, size))
    return Priors(root @ root.T + np.eye(size), np.array(noise), np.array([0.1, 1.0, 3.0]), means, weights)


def one_pull(priors: Priors, place: int) -> Priors:
    return replace(priors, pulls=priors.pulls[[place]], means=priors.means[[place]], weights=np.array([[1.0], [0.0]]))


def some_loss(classes: int, rows: int = 25, seed: int = 0) -> LogLoss:
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.normal(size=(rows, 3)), np.ones(rows)])
    return LogLoss(features, rng.integers(0, classes, rows).astype(float), classes)


@pytest.mark.parametrize("noise", [0.5, 0.2])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("place", range(3))
def test_the_model_of_classes_is_the_minimum_of_its_definition(classes: int, place: int, noise: float) -> None:
    """At L(θ) / 2φ + ½ (θ - μ)ᵀ (cΩ)⁻¹ (θ - μ) no step in any direction, by finite differences, goes down."""
    loss = some_loss(classes)
    prior = one_pull(some_priors(loss.size, noise=noise), place)

    def objective(theta: Floats) -> float:
        apart = theta - prior.means[0]
        pulled = apart @ np.linalg.inv(prior.pulls[0] * np.linalg.inv(prior.precision)) @ apart
        return float(loss.losses(theta).sum() / (2 * noise) + pulled / 2)

    found = prior.fit_expanded(loss)[0]
    for direction in np.eye(loss.size):
        ahead, behind = (objective(found + step * direction) for step in (1e-4, -1e-4))
        assert (ahead - behind) / 2e-4 == pytest.approx(0.0, abs=1e-4)
        assert min(ahead, behind) > objective(found)


@pytest.mark.parametrize("noise", [0.5, 0.2])
@pytest.mark.parametrize("place", range(3))
def test_the_model_of_a_number_is_the_minimum_of_its_definition(place: int, noise: float) -> None:
    (rows,) = planted(np.array([[1.0, -1.0, 0.5, 0.2]]), [15], 0.3)
    prior = one_pull(some_priors(noise=noise), place)
    found = prior.fit_number(sums_of([rows]))[0]
    residuals = rows.columns @ found - rows.target
    slope = rows.columns.T @ residuals / noise + prior.precision @ (found - prior.means[0]) / prior.pulls[0]
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)


def test_models_are_the_weighted_means_over_pulls() -> None:
    loss, priors = some_loss(2), some_priors()
    (rows,) = planted(np.array([[1.0, -1.0, 0.5, 0.2]]), [15], 0.3)
    for fit, on in ((Priors.fit_expanded, loss), (Priors.fit_number, sums_of([rows]))):
        each = [fit(one_pull(priors, place), on)[0] for place in range(3)]
        np.testing.assert_allclose(fit(priors, on), priors.weights @ np.array(each), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_without_rows_a_model_is_the_mean_of_its_prior(classes: int) -> None:
    loss = some_loss(classes, rows=0)
    priors = some_priors(loss.size)
    np.testing.assert_array_equal(priors.fit_expanded(loss), priors.weights @ priors.means)
    nothing = sums_of(planted(np.zeros((1, loss.size)), [0], 1.0))
    np.testing.assert_allclose(priors.fit_number(nothing), priors.weights @ priors.means)


def test_with_one_class_the_pull_keeps_the_model_finite() -> None:
    loss = some_loss(2)
    found = some_priors().fit_expanded(LogLoss(loss.features, np.ones(len(loss.target)), 2))
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 100


def test_arrays_lose_nothing() -> None:
    priors = some_priors()
    again = Priors.from_arrays(priors.to_arrays(), 4)
    for name, array in priors.to_arrays().items():
        np.testing.assert_array_equal(getattr(again, name), array)


Change = Callable[[dict[str, Floats]], object]


def with_entry(name: str, at: object, value: float) -> Change:
    def change(arrays: dict[str, Floats]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][at] = value

    return change


BAD: dict[str, tuple[Change, str]] = {
    "missing": (lambda arrays: arrays.pop("means"), "the arrays of priors are noise, precision, pulls, weights"),
    "another": (lambda arrays: arrays.update(more=np.zeros(1)), "the arrays of priors are .*more"),
    "size": (lambda arrays: arrays.update(precision=np.eye(5)), r"precision .* the shape \(5, 5\).* \(4, 4\)"),
    "pulls": (lambda arrays: arrays.update(pulls=np.ones(2)), "the means of priors .* shape"),
    "table of pulls": (lambda arrays: arrays.update(pulls=np.ones((3, 1))), "the pulls of priors .* shape"),
    "weights": (lambda arrays: arrays.update(weights=np.ones((1, 3))), "the weights of priors .* shape"),
    "whole numbers": (lambda arrays: arrays.update(pulls=np.ones(3, np.int64)), "the pulls of priors .* int64"),
    "nan": (with_entry("means", (1, 2), np.nan), "the means of priors have a value that is not a finite number"),
    "infinite": (with_entry("precision", (0, 0), np.inf), "the precision of priors have a value that is not a finite"),
    "no noise": (with_entry("noise", (), 0.0), "noise must be positive"),
    "no pull": (with_entry("pulls", 0, 0.0), "pulls must be positive"),
    "negative weight": (with_entry("weights", (0, slice(None)), [1.5, -0.5, 0.0]), "weights must not be negative"),
    "too much weight": (with_entry("weights", (1, 2), 0.9), "weights must sum to one, or be zero"),
    "not symmetric": (with_entry("precision", (0, 1), 9.0), "precision must be symmetric and positive definite"),
    "indefinite": (with_entry("precision", (2, 2), -1.0), "precision must be symmetric and positive definite"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_used_is_refused(bad: str) -> None:
    change, message = BAD[bad]
    arrays = some_priors().to_arrays()
    change(arrays)
    with pytest.raises(FormatError, match=message):
        Priors.from_arrays(arrays, 4)


def test_a_client_without_sums_is_pulled_towards_a_typical_one_and_one_with_sums_alone_to_nobody() -> None:
    model = np.array([0.6, -0.4, 0.3, 0.1])
    rows = planted(np.array([model, model, model, -8 * model, model]), [40, 40, 40, 200, 0], 0.5)
    lender = borrowing_of(parts_of(rows, 5), 1)
    decision = borrow(lender, "abcde", 0.01)
    np.testing.assert_array_equal(decision.sets.sum(axis=1)[3:], [1, 1])
    *_, alone, without = find_priors(lender, decision)
    assert alone.pulls.size == 0
    assert not alone.shared.any()
    in_coalition = np.flatnonzero(without.weights[0])
    np.testing.assert_array_equal(without.weights[0, in_coalition], [1.0])
    np.testing.assert_array_equal(without.pulls[in_coalition], [1.0])
    np.testing.assert_array_equal(without.means[in_coalition], lender.whole.hierarchy.mean[None])
    np.testing.assert_allclose(without.precision @ lender.whole.hierarchy.spread, np.eye(4), atol=1e-6)
    assert without.shared.all()
