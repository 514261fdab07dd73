"""Models of classes: how large the penalty of a shared one must be."""

import numpy as np
import pytest

from comity.deciding.decision import Decision
from comity.families.family import silent
from comity.families.glm.convex_front import ConvexFront
from comity.families.glm.estimation import OWN_PENALTIES, Classes
from comity.game.equilibrium import find_equilibrium
from comity.questions import FitAlone, Split
from comity.search.descent import Points
from support.labelled_clients import labelled

ROWS = np.array([20.0, 40.0, 80.0])
WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.9, 0.1, 0.0]])


def everybody_at(weights: np.ndarray, penalty: float) -> Decision:
    """A decision that has found these weights, with this penalty everywhere."""
    at = Points(weights, np.full(3, np.log(penalty)), np.zeros(3))
    alone = Points(np.eye(3), np.full(3, np.log(penalty)), np.zeros(3))
    names = ["c0", "c1", "c2"]
    sets = np.ones((3, 3), np.bool_)
    points = {"alone": alone, "coalition": at, "best": at, "together": at}
    return Decision(
        find_equilibrium(dict.fromkeys(names, names)), points, sets, sets, np.zeros(3), 0.0, (), points["best"]
    )


def fitted(*penalties: float, per_client: bool = False, found: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the penalties (4, N) of models of every kind, and those that clients ask for."""
    federation, schema = labelled(*ROWS.astype(int).tolist(), effect=0.0)  # where there is nothing to learn, much
    split = Split(folds=2, repeats=2, judges=2)
    front = ConvexFront(federation, schema, split, per_client)
    fit = Classes(front, np.array(penalties), silent)
    _, taken = fit.models(fit.fronts()[:1], [everybody_at(WEIGHTS, found)])
    own = federation.ask(FitAlone(schema, split, np.array(penalties)))
    return np.array([each[0] for each in taken.values()]), np.array([answer.penalties[0] for answer in own.values()])


@pytest.mark.parametrize("per_client", [False, True])
def test_a_shared_model_is_shrunk_as_much_as_the_clients_own_rows_ask_for(per_client: bool) -> None:
    """At least by its own penalty times its rows, as a share of those gathered: of each client, by its row's weight."""
    taken, own = fitted(*OWN_PENALTIES, per_client=per_client, found=1e-9)
    assert (own > 1e-3).all(), "or there is nothing to keep"
    np.testing.assert_array_equal(taken[0], own)
    row_weights = WEIGHTS / ROWS if per_client else WEIGHTS
    gathered = (row_weights / row_weights.max(axis=1, keepdims=True)) @ ROWS
    expected = own * np.minimum(ROWS / gathered, 1.0)
    expected[1] = own[1]  # it is alone
    for kind in (1, 2):
        np.testing.assert_allclose(taken[kind], expected)
        assert taken[kind][0] < own[0]
    np.testing.assert_allclose(taken[3], 1e-9)  # one model for all has the penalty that was found for it


def test_a_larger_penalty_stays_and_a_fixed_one_is_taken() -> None:
    taken, own = fitted(*OWN_PENALTIES, found=100.0)
    np.testing.assert_allclose(taken[1:], [[100.0, own[1], 100.0]] * 2 + [[100.0] * 3])
    taken, _ = fitted(0.25, found=0.25)
    np.testing.assert_allclose(taken, 0.25)
