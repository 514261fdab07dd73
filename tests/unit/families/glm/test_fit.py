"""Linear models for decisions: which model a client gets, and which outer folds evaluate it."""

from copy import deepcopy

import numpy as np
import pytest

from comity.core.kinds import ModelKind
from comity.deciding.decision import Decision
from comity.families.glm.fit import _share_models, _slope
from comity.game.equilibrium import find_equilibrium
from comity.search.descent import Points


def decided(**wishes: str) -> Decision:
    """A decision by what clients a, b, c, d want with everybody willing; in its coalition one has whom it can."""
    equilibrium = find_equilibrium(list("abcd"), lambda client, remaining: remaining & set(wishes.get(client, "")))
    chosen = np.array([[j == i or j in wishes.get(i, "") for j in "abcd"] for i in "abcd"])
    sets = np.array([[j in equilibrium.collaborators_of(i) for j in "abcd"] for i in "abcd"])
    nowhere = Points(np.eye(4), np.zeros(4), np.zeros(4))
    return Decision(equilibrium, dict.fromkeys(ModelKind, nowhere), sets, chosen, np.zeros(4), 0.0, (), nowhere)


def test_a_client_has_one_model_where_it_has_one_and_is_judged_where_it_joined() -> None:
    """In the end, a has in {a, b} all it wants, b wants d too, c has nobody of whom it wants, d wants nobody."""
    decisions = [decided(a="b", b="ad", c="a"), decided(a="c", b="d"), decided(a="b", b="a", c="d", d="c")]
    assert decisions[0].equilibrium.coalition_of("a") == {"a", "b"}
    numbers = np.arange(4 * 3 * 4 * 2.0).reshape(4, 3, 4, 2)
    models = dict(zip(ModelKind, numbers.copy(), strict=True))
    penalties = dict(zip(ModelKind, 1000 + numbers[..., 0], strict=True))
    old, old_penalties = deepcopy(models), deepcopy(penalties)
    joined, evaluated = _share_models(decisions, models, penalties)
    np.testing.assert_array_equal(list(joined.values()), [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]])
    # Without the first part, a and b wanted others in vain, and c nobody; without the second, c and d joined.
    without_first = [[1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1]]
    without_second = [[1, 1, 1, 1]] * 4
    np.testing.assert_array_equal(np.stack(list(evaluated.values()), axis=1), [without_first, without_second])
    alone, coalition, best = ModelKind.ALONE, ModelKind.COALITION, ModelKind.BEST
    shared = {(coalition, 2): alone, (coalition, 3): alone, (best, 0): coalition, (best, 3): alone}
    for kind in ModelKind:
        for client in range(4):
            source = shared.get((kind, client), kind)
            np.testing.assert_array_equal(models[kind][:, client], old[source][:, client])
            np.testing.assert_array_equal(penalties[kind][:, client], old_penalties[source][:, client])


def test_who_joined_in_no_view_that_judges_is_judged_nowhere() -> None:
    decisions = [decided(a="b", b="a"), decided(), decided(c="d", d="c")]
    models, penalties = ({kind: np.zeros(shape) for kind in ModelKind} for shape in ((3, 4, 1), (3, 4)))
    _, evaluated = _share_models(decisions, models, penalties)
    np.testing.assert_array_equal(
        [each.any(axis=0) for each in evaluated.values()], [[1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1]]
    )


def test_clients_that_gained_exactly_nothing_count_for_the_slope() -> None:
    gained, errors = np.r_[0.1, np.zeros(9)], np.r_[0.03, np.zeros(9)]
    slope, error = _slope(gained, errors, np.full(10, 50.0), np.full(10, 0.1), np.full(10, 0.9))
    assert 0.08 < slope < 0.15, "the others say that it is 0.1"
    assert error < 0.05
    zero = np.zeros(10)
    assert _slope(zero, zero, zero, zero, zero) == pytest.approx((0.5, 0.2)), "nothing was seen"
