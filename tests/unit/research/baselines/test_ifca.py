"""IFCA: clients of a kind find each other."""

import numpy as np
import pytest

from comity.errors import InputError
from comity.research.baselines import IFCA, Budget, Session, refit, train
from comity.research.baselines.ifca import cluster_directions
from support.sessions import Quadratic, linear, of_tables, small

TRUTH = np.array([1.0, -2.0, 0.5])
KINDS = np.array([0, 1, 0, 1, 1])


def kinds(budget: Budget) -> Session:
    return of_tables(linear([TRUTH * (1 - 2 * kind) for kind in KINDS], [20, 24, 28, 30, 40]), budget=budget)


def test_clients_of_a_kind_share_a_model_before_and_after_a_refit() -> None:
    session = kinds(Budget(rounds=6, steps=5, checks=1))
    trained = train(IFCA(), session)
    again = refit(IFCA(), trained)
    for models in (trained.models, again.models):
        for kind in (0, 1):
            assert (np.ptp(models[kind == KINDS], axis=0) == 0).all()
        assert models[0] @ models[1] < 0
    assert not np.array_equal(trained.models, again.models)


def test_a_round_averages_the_clients_that_took_the_same_model() -> None:
    session = kinds(Budget(rounds=4, steps=2, rate=0.05))
    away = session.base + 10.0
    state = np.stack([away, -np.append(TRUTH, 0.0), np.append(TRUTH, 0.0)])
    moved = IFCA(clusters=3).step(session, state, number=2)  # half the rate is left
    np.testing.assert_array_equal(moved[0], away, "nobody took it")
    rows = np.array([20, 24, 28, 30, 40])
    for cluster, kind in ((1, 1), (2, 0)):
        here = kind == KINDS
        ends = Quadratic.of(session).descended(np.tile(state[cluster], (5, 1)), 2, 0.025)
        np.testing.assert_allclose(moved[cluster], rows[here] @ ends[here] / rows[here].sum(), atol=1e-7)


def test_initial_models_average_the_clients_with_similar_updates() -> None:
    """If the first groups were arbitrary, clients of different kinds would begin with a model between them."""
    session = kinds(Budget(rounds=4, steps=2, rate=0.05))
    begun = IFCA().step(session, IFCA().begin(session), number=0)
    ends = Quadratic.of(session).descended(np.tile(session.base, (5, 1)), 2, 0.05)
    rows = np.array([20, 24, 28, 30, 40])
    expected = [rows[here] @ ends[here] / rows[here].sum() for here in (kind == KINDS for kind in (0, 1))]
    np.testing.assert_allclose(begun, expected, atol=1e-7)


def test_updates_are_clustered_by_direction_whatever_their_length() -> None:
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(3, 30))
    kind = rng.permutation(np.repeat([0, 1, 2], 5))
    changes = rng.uniform(0.1, 9.0, (15, 1)) * (ways[kind] + 0.3 * rng.normal(size=(15, 30)))
    found = cluster_directions(changes, 3, seed=0)
    assert len({(one, other) for one, other in zip(kind.tolist(), found.tolist(), strict=True)}) == 3
    assert cluster_directions(np.zeros((4, 3)), 2, seed=0).tolist() == [0, 0, 0, 0], "who goes nowhere goes together"


def test_settings() -> None:
    with pytest.raises(InputError, match="clusters is 1; it must be a whole number, 2 or more"):
        IFCA(clusters=1)
    with pytest.raises(InputError, match="there are 4 clusters and 3 clients; take fewer clusters"):
        train(IFCA(clusters=4), small())
