"""The search on the simplex, and the smallest set."""

import numpy as np
import pytest
from scipy.optimize import minimize

from comity.collaborators import Search
from comity.descent import descend
from comity.fronts import QuadraticFront
from federations import Planted, two_groups


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


def found_sets(front: QuadraticFront, search: Search | None = None) -> list[set[int]]:
    search = search or Search()
    trials = trials_of(front)
    paths = search.shrink(trials, search.best(trials, everybody(front)))
    chosen, _ = search.choose(trials, paths)
    return [set(np.flatnonzero(paths.sets[chosen[i], i]).tolist()) for i in range(front.clients)]


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_what_a_general_optimiser_finds(seed: int) -> None:
    """scipy's, from many starts, one client at a time, over weights by softmax and the penalty."""
    front = planted(seed).front()
    trials = trials_of(front)
    found = Search().best(trials, everybody(front))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    rng = np.random.default_rng(seed)
    for target in range(front.clients):
        one = trials.some(np.array([target]))

        def loss(point: np.ndarray, one=one) -> float:
            weights = np.exp(point[:-1] - point[:-1].max())
            return float(one.losses(weights[None] / weights.sum(), np.clip(point[-1:], -20, 6))[0])

        starts = [np.append(rng.normal(0, 2, front.clients), rng.uniform(-8, 0)) for _ in range(6)]
        best = min(minimize(loss, start, method="L-BFGS-B").fun for start in starts)
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
    for stage in range(len(sizes)):
        np.testing.assert_allclose(paths.losses[stage], trials.mean_losses(paths.outcomes[stage]), rtol=1e-9)


@pytest.mark.parametrize(("dim", "rows", "spread"), [(100, 75, 0.05), (50, 60, 0.05)])
def test_groups_are_found_where_they_are_the_truth(dim: int, rows: int, spread: float) -> None:
    for seed in range(2):
        sets = found_sets(two_groups(seed, dim, rows, spread, 1.0).front())
        assert all({0, 1, 2} & found - {client} for client, found in enumerate(sets[:3])), sets
        assert all({3, 4, 5} & found - {client + 3} for client, found in enumerate(sets[3:])), sets


def test_who_has_enough_stays_alone() -> None:
    for seed in range(3):
        assert found_sets(two_groups(seed, 20, 2000, 0.1, 0.01).front()) == [{i} for i in range(6)]


def test_more_standard_errors_mean_smaller_sets() -> None:
    front = planted(4).front()
    sizes = [
        sum(map(len, found_sets(front, Search(standard_errors=z, standard_errors_to_join=z)))) for z in (0.0, 1.0, 5.0)
    ]
    assert sizes[0] >= sizes[1] >= sizes[2]


def test_nothing_is_left_to_chance() -> None:
    front = planted(5).front()
    first, second = (Search().best(trials_of(front), everybody(front)) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
