"""The search on the simplex, and the smallest set."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from comity.errors import ComityError
from comity.families.glm.quadratic_front import QuadraticFront
from comity.questions.search import ClipRule
from comity.search.choices import Candidates
from comity.search.collaborators import Search
from comity.search.descent import Points, Regularised, descend, regularise
from support.planted_fronts import Planted, two_groups


def trials_of(front: QuadraticFront):
    return front.trials(np.arange(front.clients))


def everybody(front: QuadraticFront) -> np.ndarray:
    return np.ones((front.clients, front.clients), np.bool_)


def planted(seed: int) -> Planted:
    """Five clients: a pair alike, a pair roughly alike, and one of its own kind, of different sizes."""
    rng = np.random.default_rng(seed)
    kinds = rng.normal(size=(3, 6))
    truth = np.stack([kinds[0], kinds[0], kinds[1], kinds[1] + 0.3 * rng.normal(size=6), kinds[2]])
    rows = []
    for own in truth:
        x = rng.normal(size=(int(rng.choice([20, 40, 120])), 6))
        rows.append((x, x @ own + rng.normal(size=len(x))))
    return Planted(rows, truth, 1.0)


def drawn(truth: np.ndarray, rows: int, noise: float, seed: int) -> QuadraticFront:
    """Clients with these truths (N, d) and as many rows each."""
    rng = np.random.default_rng(seed)
    features = [rng.normal(size=(rows, truth.shape[1])) for _ in truth]
    pairs = [(x, x @ own + noise * rng.normal(size=rows)) for x, own in zip(features, truth, strict=True)]
    return Planted(pairs, truth, noise).front()


def alike(rows: int, seed: int) -> QuadraticFront:
    """Eight clients with the same truth."""
    return drawn(np.tile(np.random.default_rng(seed).normal(size=4), (8, 1)), rows, 1.0, seed)


def opposed(seed: int) -> QuadraticFront:
    """Two groups with opposite truths, and rows enough to know it."""
    return drawn(np.random.default_rng(seed).normal(size=6) * np.repeat([[1], [-1]], 4, axis=0), 300, 1.0, seed)


def with_more_in_common_than_apart(seed: int) -> QuadraticFront:
    """Two groups, each client with fewer rows than parameters: all together do better than one, a group far better."""
    common, apart = np.random.default_rng(seed).normal(size=(2, 20))
    return drawn(common + 0.3 * apart * np.tile([[1], [-1]], (4, 1)), 15, 0.1, seed)


def found_strength(front: QuadraticFront, *strengths: float) -> float:
    return Search(strengths=strengths).strength(trials_of(front), everybody(front))


def found_sets(front: QuadraticFront, search: Search | None = None) -> list[set[int]]:
    choices = (search or Search()).collaborators(trials_of(front), everybody(front))
    return [set(np.flatnonzero(members).tolist()) for members in choices.sets]


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_what_a_general_optimiser_finds(seed: int) -> None:
    """scipy's, from many starts, one client at a time, over weights by softmax and the penalty."""
    front = planted(seed).front()
    trials = trials_of(front)
    found = Search().best(trials, everybody(front))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    rng = np.random.default_rng(seed)
    for target in range(front.clients):
        copies = trials.some(np.full(front.clients + 2, target))

        def loss_and_slope(point: np.ndarray, copies=copies) -> tuple[float, np.ndarray]:
            """By differences, as scipy would find them, but all at once."""
            points = point + 1e-8 * np.eye(point.size + 1, point.size, -1)
            weights = np.exp(points[:, :-1] - points[:, :-1].max(axis=1, keepdims=True))
            losses = copies.losses(weights / weights.sum(axis=1, keepdims=True), np.clip(points[:, -1], -20, 6))
            return losses[0], (losses[1:] - losses[0]) / 1e-8

        starts = [np.append(rng.normal(0, 2, front.clients), rng.uniform(-8, 0)) for _ in range(6)]
        best = min(minimize(loss_and_slope, start, method="L-BFGS-B", jac=True).fun for start in starts)
        assert found.losses[target] <= best * 1.005


def test_the_best_point_met_is_kept_and_penalties_are_chosen_by_the_folds() -> None:
    front = planted(1).front()
    trials = trials_of(front)
    search = Search()
    for weights in (np.eye(5), np.full((5, 5), 0.2)):
        start = search.with_best_penalty(trials, weights)
        grid = [trials.losses(weights, np.full(5, np.log(penalty))) for penalty in search.penalties]
        np.testing.assert_allclose(start.losses, np.min(grid, axis=0), rtol=1e-12)
        found = descend(trials, start, everybody(front), 40, trials.bounds)
        assert (found.losses <= start.losses).all()
        np.testing.assert_allclose(found.losses, trials.losses(found.weights, found.log_penalty), rtol=1e-10)


def test_a_face_confines_the_search() -> None:
    front = planted(2).front()
    face = everybody(front)
    face[0, 1] = face[3, 2] = False
    found = Search().best(trials_of(front), face)
    assert found.weights[0, 1] == found.weights[3, 2] == 0.0
    assert (found.losses >= Search().best(trials_of(front), everybody(front)).losses - 1e-9).all()


def test_paths_shrink_by_one_to_the_target_alone() -> None:
    front = planted(3).front()
    trials = trials_of(front)
    paths = Search().shrink(trials, Search().best(trials, everybody(front)))
    sizes = paths.sets.sum(axis=2)
    assert (sizes[-1] == 1).all()
    assert paths.sets[:, np.arange(5), np.arange(5)].all()
    for before, after in zip(paths.sets[:-1], paths.sets[1:], strict=True):
        assert (after <= before).all()
        assert ((before.sum(axis=1) - after.sum(axis=1)) <= 1).all()
    assert (paths.points.weights[~paths.sets] == 0).all()
    stages = [paths.points.some(stage) for stage in range(len(sizes))]
    models = [trials.outcomes(points.weights, points.log_penalty) for points in stages]
    for number, points in enumerate(stages):
        np.testing.assert_allclose(points.losses, trials.mean_losses(models[number]), rtol=1e-9)
        errors = paths.errors(np.zeros(5, np.intp), np.full(5, number))
        np.testing.assert_allclose(errors, trials.standard_error(models[0], models[number]), rtol=1e-9)


@pytest.mark.parametrize(("dim", "rows", "spread"), [(100, 75, 0.05), (50, 60, 0.05)])
def test_groups_are_found_where_they_are_the_truth(dim: int, rows: int, spread: float) -> None:
    for seed in range(2):
        sets = found_sets(two_groups(seed, dim, rows, spread, 1.0).front())
        assert all({0, 1, 2} & found - {client} for client, found in enumerate(sets[:3])), sets
        assert all({3, 4, 5} & found - {client + 3} for client, found in enumerate(sets[3:])), sets


def test_clients_with_enough_rows_stay_alone() -> None:
    for seed in range(3):
        assert found_sets(two_groups(seed, 20, 2000, 0.1, 0.01).front()) == [{i} for i in range(6)]


def test_more_standard_errors_mean_smaller_sets() -> None:
    front = planted(4).front()
    sizes = [
        sum(map(len, found_sets(front, Search(standard_errors=z, standard_errors_to_join=z)))) for z in (0.0, 1.0, 5.0)
    ]
    assert sizes[0] >= sizes[1] >= sizes[2]


def test_the_search_is_deterministic() -> None:
    front = planted(5).front()
    first, second = (Search().best(trials_of(front), everybody(front)) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)


def shrunk(losses: list[list[float]]) -> Candidates:
    """Three sets of two targets, with losses (3, 2): with two others, with one other, alone.

    The standard error of a difference is a tenth of what their models, 1.0, 0.8 and 0.0, differ by: 0.02 between the
    first two, 0.08 between the last two.
    """
    ones = np.ones((3, 1))
    front = QuadraticFront(ones[:, :, None, None] / 2, ones[:, :, None], ones, 10 * ones, likelihood=True)
    sets = np.ones((3, 2, 3), np.bool_)
    sets[1:, :, 2] = False
    sets[2, 0, 1] = sets[2, 1, 0] = False
    points = Points(sets / sets.sum(axis=2, keepdims=True), np.zeros((3, 2)), np.array(losses))
    models = np.broadcast_to(np.array([1.0, 0.8, 0.0])[:, None, None, None], (3, 2, 1, 1))
    trials, targets = front.trials(np.arange(2)), np.arange(2)
    return Candidates(
        sets, points, lambda one, other: trials.standard_error(models[one, targets], models[other, targets])
    )


def test_a_gain_must_exceed_its_standard_error_and_the_tolerance_is_returned() -> None:
    """The smaller of two sets is nearly as good; over training alone it gains 0.9 standard errors, and 1.1."""
    alone = 1.0
    taken = alone - 0.08 * np.array([0.9, 1.1])
    candidates = shrunk([taken - 0.005, taken, [alone, alone]])
    search = Search(standard_errors=0.5, standard_errors_to_join=1.0)
    choices = search.choose(candidates)
    np.testing.assert_array_equal(choices.sets.sum(axis=1), [1, 2])
    np.testing.assert_allclose(choices.tolerance, [0.5 * 0.02 + 0.08, 0.5 * 0.02])


def test_a_set_that_is_not_nearly_as_good_is_not_taken() -> None:
    candidates = shrunk([[0.5, 0.5], [0.5 + 0.9 * 0.02, 0.5 + 1.1 * 0.02], [1.0, 1.0]])
    choices = Search().choose(candidates)
    np.testing.assert_array_equal(choices.sets.sum(axis=1), [2, 3])
    np.testing.assert_allclose(choices.tolerance, [0.02, 0.0])


@pytest.mark.parametrize("rule", [None, ClipRule()])
def test_losses_alone_are_at_most_the_exact_ones(rule: ClipRule | None) -> None:
    front = planted(1).front()
    search = Search(clip_rule=rule)
    estimated = search.collaborators(trials_of(front), everybody(front)).alone.losses
    exact = estimated * [0.1, 0.5, 0.9, 1.1, 2.0]
    choices = search.collaborators(trials_of(replace(front, alone_losses=exact)), everybody(front))
    np.testing.assert_allclose(choices.alone.losses, np.minimum(exact, estimated))


def test_the_papers_rule_is_refused_where_nobody_could_be_above_its_threshold() -> None:
    """With a floor of 0.05 and 19 clients, one has at most 0.1: all would be alone, whatever their rows say."""
    ClipRule().check(18)
    ClipRule(steps=200).check(100)  # a walk is scaled, and may leave the floor
    ClipRule(floor=0.9, threshold=0.95).check(1)
    with pytest.raises(ComityError, match=r"with 19 clients and no weight below 0\.05, none can be above 0\.1"):
        ClipRule().check(19)
    Search().check(100)
    with pytest.raises(ComityError, match="with 19 clients"):
        Search(clip_rule=ClipRule()).check(19)


def test_a_client_that_does_better_alone_than_the_expansion_estimates_stays_alone() -> None:
    front = planted(1).front()
    joins = [len(found) > 1 for found in found_sets(front)]
    assert any(joins), "or there is nothing to see"
    assert found_sets(replace(front, alone_losses=np.zeros(5))) == [{i} for i in range(5)]


@pytest.mark.parametrize("seed", range(3))
def test_the_strength_is_chosen_on_rows_that_were_not_searched(seed: int) -> None:
    """On those that did, weights that fit their noise would look better than pooled ones, which are right here."""
    assert found_strength(alike(300, seed), 0.0, 10.0) == 10.0


@pytest.mark.parametrize("seed", range(3))
def test_the_strongest_that_is_not_significantly_worse_is_taken(seed: int) -> None:
    """Where no client is pulled, all strengths are the same."""
    assert found_strength(opposed(seed), 0.0, 0.1, 0.3) == 0.3
    assert found_strength(with_more_in_common_than_apart(seed), 0.0, 10.0) == 0.0


def test_the_strength_is_chosen_by_the_first_repeat_of_folds() -> None:
    """The folds of the second repeat are NaN and must not be used."""
    front = alike(300, 0)
    sums = (front.gram, front.cross, front.square, front.rows)
    again = QuadraticFront(*(np.concatenate([each, np.full_like(each, np.nan)], axis=1) for each in sums), repeats=2)
    assert found_strength(again, 0.0, 10.0) == found_strength(front, 0.0, 10.0) == 10.0


def test_no_client_is_pulled_towards_clients_that_harm_it() -> None:
    front = planted(1).front()
    alone, pooled = np.array([1.0, 1.0, 1.0, 2.0, -1.0]), np.array([0.5, 1.0, 2.0, 1.0, -2.0])
    pulled = regularise(trials_of(front), everybody(front), 0.3, alone, pooled)
    assert isinstance(pulled, Regularised)
    np.testing.assert_allclose(pulled.pull, [0.15, 0.0, 0.0, 0.3, 0.0])
    np.testing.assert_allclose(pulled.centre, 0.2)
    assert isinstance(regularise(trials_of(front), everybody(front), 0.0, alone, pooled), type(trials_of(front)))
