"""The proof of a decision: every utility that the certificate asks for is measured by the search, on its own face.

The utility of a client with a coalition is the cross-fitted loss, with a minus, that the same search finds on that face
of the simplex: what the coalition would get if it did as all do. A larger face holds the smaller ones, so what was
found on one of them counts too. Estimates have errors: a gain within
so many standard errors as a client needs to join counts as none, and so does what the search forgave when it took the
smallest set that is nearly as good; no loss is forgiven.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from comity.certificate import Certificate, certify
from comity.core import Coalition, Game
from comity.decide import Decision, Measured
from comity.descent import Points
from comity.searching import Searching
from comity.simplex import Floats

Asked = tuple[int, frozenset[int]]
_FEW = 300  # sets to measure, for which a search from all starts is not too much


def prove(searching: Searching, decision: Decision) -> tuple[Game, Certificate]:
    """Measure what the certificate needs, and return the utilities measured, as a game, and the certificate."""
    measured = list(decision.measured)
    position = {client: place for place, client in enumerate(decision.clients)}
    wanted, needed = _expected(decision), searching.search.standard_errors_to_join
    while True:  # once or twice; the more ties, the more sets are asked for
        measured += _measure(searching, sorted(wanted, key=_order), measured, decision.strength)
        game = as_game(decision.clients, measured)
        errors = np.maximum(decision.tolerance, needed * _errors(searching, decision, measured))
        forgiven = dict(zip(decision.clients, errors.tolist(), strict=True))
        known = {(each.client, each.members) for each in measured}
        wanted = set()

        def utility(
            client: str, coalition: Coalition, game: Game = game, known: set[Asked] = known, ask: set[Asked] = wanted
        ) -> float:
            asked = position[client], frozenset(position[other] for other in coalition)
            if asked not in known:
                ask.add(asked)
            return game.maximal_utility(client, coalition)

        certificate = certify(decision.equilibrium, utility, forgiven=forgiven)
        if not wanted:
            return game, certificate


def as_game(clients: Sequence[str], measured: Iterable[Measured]) -> Game:
    """Return all that was measured as a game: utilities are losses with a minus."""
    best: dict[Asked, float] = {}
    for each in measured:
        key = each.client, each.members
        best[key] = min(each.loss, best.get(key, np.inf))
    ordered = sorted(best.items(), key=lambda item: _order(item[0]))
    return Game((clients[i], [clients[j] for j in sorted(members)], -loss) for (i, members), loss in ordered)


def _expected(decision: Decision) -> set[Asked]:
    """Return the sets that the certificate will ask for, as far as they can be foretold.

    Of each client: those who leave with it or later; its coalition; and this without each of its collaborators.
    """
    numbers = np.asarray(decision.equilibrium.numbers)
    expected: set[Asked] = set()
    for i, number in enumerate(numbers.tolist()):
        home = frozenset(np.flatnonzero(numbers == number).tolist())
        expected |= {(i, home), (i, frozenset(np.flatnonzero(numbers >= number).tolist()))}
        expected |= {(i, home - {j}) for j in np.flatnonzero(decision.sets[i]).tolist() if j != i}
    return expected


def _measure(
    searching: Searching, wanted: Sequence[Asked], known: Sequence[Measured], strength: float
) -> list[Measured]:
    """Measure clients on faces, as the search that decided would."""
    best: dict[int, Measured] = {}
    for each in known:
        if each.client not in best or each.loss < best[each.client].loss:
            best[each.client] = each
    done = {(each.client, each.members) for each in known}
    asked = [each for each in wanted if each not in done]
    if not asked:
        return []
    target = np.array([i for i, _ in asked])
    faces = np.zeros((len(asked), searching.clients), np.bool_)
    for row, (_, members) in enumerate(asked):
        faces[row, list(members)] = True
    if len(asked) <= _FEW:
        found = searching.best(target, faces, strength)
    else:  # to begin from every start would take longer than the decision did
        found = searching.confined(target, faces, _points([best[i] for i, _ in asked]), strength)
    return [Measured.at(i, members, found, place) for place, (i, members) in enumerate(asked)]


def _errors(searching: Searching, decision: Decision, measured: Sequence[Measured]) -> Floats:
    """Return for each client the standard error (N,) of what it would gain from all who leave with or after it."""
    numbers = np.asarray(decision.equilibrium.numbers)
    of_client: dict[int, list[Measured]] = {}
    for each in measured:
        of_client.setdefault(each.client, []).append(each)

    def best_of(i: int, among: frozenset[int]) -> Measured:
        return min((each for each in of_client[i] if each.members <= among), key=lambda each: each.loss)

    pairs = [
        [best_of(i, frozenset(np.flatnonzero(present).tolist())) for present in (numbers == number, numbers >= number)]
        for i, number in enumerate(numbers.tolist())
    ]
    home, outside = (_points(side) for side in zip(*pairs, strict=True))
    return searching.errors(np.arange(len(pairs)), home, outside)


def _points(measured: Sequence[Measured]) -> Points:
    return Points(
        np.stack([each.weights for each in measured]),
        np.array([each.log_penalty for each in measured]),
        np.array([each.loss for each in measured]),
    )


def _order(wanted: Asked) -> tuple[int, int, list[int]]:
    i, members = wanted
    return i, len(members), sorted(members)
