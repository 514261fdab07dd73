"""The proof of a decision: the utilities that are measured, and the gains that are forgiven."""

import numpy as np
import pytest

import comity.deciding.proof
from comity.core.kinds import ModelKind
from comity.deciding.decision import Decision, Measurement, decide
from comity.deciding.proof import prove
from comity.families.glm.quadratic_front import QuadraticFront
from comity.families.glm.searcher import FrontSearcher
from comity.game.certificate import Verdict
from comity.game.equilibrium import find_equilibrium
from comity.search.collaborators import Search
from comity.search.descent import Points
from support.planted_fronts import two_groups

ALONE, BOTH = {0: frozenset({0}), 1: frozenset({1})}, frozenset({0, 1})
NOWHERE = Points(np.eye(2), np.zeros(2), np.zeros(2))


def pair() -> QuadraticFront:
    """Two clients with 100 rows in two folds, who lose (θ - 0)² / 2 and (θ - 0.3)² / 2 a row, at a constant θ.

    Alone they have 0 and 0.3. With equal weights, half of its rows being held out, each has the other's two thirds:
    0.2 and 0.1. The standard error of what that changes is 0.2 / √100 = 0.02.
    """
    ones, centres = np.ones((2, 2)), np.array([[0.0], [0.3]])
    gram, cross, square = 25 * ones, 25 * centres * ones, 25 * centres**2 * ones
    return QuadraticFront(gram[..., None, None], cross[..., None], square, 50 * ones, likelihood=True)


def apart(gain: float, tolerance: float) -> Decision:
    """A decision that leaves both alone, though the first would gain so much together, and the second a lot."""
    losses = {(0, ALONE[0]): 1.0, (1, ALONE[1]): 1.0, (0, BOTH): 1.0 - gain, (1, BOTH): 0.5}
    measured = [
        Measurement(client, members, Points(np.isin([0, 1], [*members]) / len(members), np.log(1e-9), np.array(loss)))
        for (client, members), loss in losses.items()
    ]
    sets = np.eye(2, dtype=np.bool_)
    equilibrium = find_equilibrium({"a": [], "b": []})
    points = dict.fromkeys(ModelKind, NOWHERE)
    return Decision(equilibrium, points, sets, sets, np.full(2, tolerance), 0.0, tuple(measured), NOWHERE)


@pytest.mark.parametrize(
    ("errors", "tolerance", "forgiven"), [(1.0, 0.01, 0.02), (2.0, 0.01, 0.04), (1.0, 0.03, 0.03), (0.0, 0.0, 0.0)]
)
def test_a_gain_of_more_than_is_forgiven_refutes(errors: float, tolerance: float, forgiven: float) -> None:
    """The larger of the gain's standard errors and the tolerance of the search is forgiven."""
    search = Search(standard_errors_to_join=errors)
    for gain, verdict in ((forgiven - 0.001, Verdict.PROVED), (forgiven + 0.001, Verdict.REFUTED)):
        game, certificate = prove(FrontSearcher(pair(), search), apart(gain, tolerance))
        # After the first has left, the second has nobody to gain from.
        assert certificate.forgiven == pytest.approx({"a": forgiven, "b": tolerance}, abs=1e-9)
        assert certificate.verdict is verdict
        assert len(list(game.records())) == 4, "all was measured before"


def test_what_is_forgiven_follows_from_the_points_that_were_found() -> None:
    """By definition, of groups that are found: its best in its coalition, against all who leave with or after it."""
    front, search = two_groups(0, 20, 30, 0.1, 1.0).front(), Search()
    decision = decide(FrontSearcher(front, search), [f"c{i}" for i in range(6)])
    _, certificate = prove(FrontSearcher(front, search), decision)
    numbers = decision.equilibrium.numbers
    for i, client in enumerate(decision.clients):
        trials = front.trials(np.array([i]))
        faces = [(numbers == numbers[i])[None], (numbers >= numbers[i])[None]]
        best = []
        for face in faces:
            found = search.best(trials, face, decision.strength)
            known = [m for m in decision.measured if m.client == i and m.members <= set(np.flatnonzero(face[0]))]
            best.append(min([found.some(0), *(m.point for m in known)], key=lambda point: float(point.losses)))
        home, outside = (trials.outcomes(point.weights[None], point.log_penalty[None]) for point in best)
        expected = max(decision.tolerance[i], trials.standard_error(home, outside)[0])
        assert certificate.forgiven[client] == pytest.approx(expected)


def test_utilities_that_were_not_expected_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    front, search = two_groups(0, 20, 30, 0.1, 1.0).front(), Search()
    decision = decide(FrontSearcher(front, search), [f"c{i}" for i in range(6)])
    assert max(map(len, decision.equilibrium.coalitions)) > 2, "or all that is asked for was measured by the decision"
    game, certificate = prove(FrontSearcher(front, search), decision)
    monkeypatch.setattr(comity.deciding.proof, "_expected", lambda decision: set())
    same_game, same = prove(FrontSearcher(front, search), decision)
    assert same.verdict is certificate.verdict
    assert same.forgiven == pytest.approx(certificate.forgiven)
    for one, other in ((certificate.outer, same.outer), (certificate.inner, same.inner)):
        assert [each.client for each in one] == [each.client for each in other]
        assert [each.margin for each in one] == pytest.approx([each.margin for each in other])
    measured = {(record["client"], tuple(record["coalition"])) for record in game.records()}
    assert {(record["client"], tuple(record["coalition"])) for record in same_game.records()} == measured
