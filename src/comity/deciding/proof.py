"""The proof of a decision: the search measures every utility that the certificate asks for.

The utility of a client with a coalition is minus the cross-validated loss that the same search finds on the coalition's
face of the simplex. A larger face contains the smaller ones, so that points found on them count too.

Utilities are estimates. A gain is forgiven if it is within as many standard errors as a client needs to join, or within
what the search gave up when it chose the smallest set that is nearly as good. Losses are not forgiven.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from comity.core.arrays import Floats
from comity.core.names import Coalition
from comity.deciding.decision import Decision, Measurement
from comity.deciding.searcher import Searcher
from comity.game.certificate import Certificate, certify
from comity.game.game import Game
from comity.search.descent import Points

ClientSet = tuple[int, frozenset[int]]
"""A client and a set that holds it."""
_MAX_SETS_FROM_ALL_STARTS = 300  # beyond this, a search from all starts would take longer than the decision did


def prove(searcher: Searcher, decision: Decision) -> tuple[Game, Certificate]:
    """Measure the utilities that the certificate needs, and return them as a game, with the certificate.

    1. Measure the utilities that the certificate is expected to ask for.
    2. Certify the equilibrium, noting which utilities were asked for that have not been measured.
    3. If there are any, measure them and go back to step 2. Only ties make this necessary.
    """
    measured = list(decision.measured)
    position = {client: index for index, client in enumerate(decision.clients)}
    asked, needed = _expected(decision), searcher.search.standard_errors_to_join
    while True:
        missing = sorted(asked - {m.pair for m in measured}, key=_order)
        measured += _measure(searcher, missing, measured, decision.strength)
        game = as_game(decision.clients, measured)
        errors = np.maximum(decision.tolerance, needed * _errors(searcher, decision, measured))
        forgiven = dict(zip(decision.clients, errors.tolist(), strict=True))
        asked = set()

        def utility(client: str, coalition: Coalition, game: Game = game, asked: set[ClientSet] = asked) -> float:
            asked.add((position[client], frozenset(position[other] for other in coalition)))
            return game.maximal_utility(client, coalition)

        certificate = certify(decision.equilibrium, utility, forgiven=forgiven)
        if asked <= {m.pair for m in measured}:
            return game, certificate


def as_game(clients: Sequence[str], measured: Iterable[Measurement]) -> Game:
    """Return the measurements as a game, whose utilities are minus the smallest losses."""
    least: dict[ClientSet, float] = {}
    for m in measured:
        least[m.pair] = min(m.loss, least.get(m.pair, np.inf))
    ordered = sorted(least.items(), key=lambda item: _order(item[0]))
    return Game((clients[i], [clients[j] for j in sorted(members)], -loss) for (i, members), loss in ordered)


def _expected(decision: Decision) -> set[ClientSet]:
    """Return the sets that the certificate will ask for if there are no ties.

    For each client they are its coalition, its coalition without each of its collaborators, and all clients that leave
    together with it or later.
    """
    expected: set[ClientSet] = set()
    for i, (home, remaining) in enumerate(_surroundings(decision)):
        expected |= {(i, home), (i, remaining)}
        expected |= {(i, home - {j}) for j in np.flatnonzero(decision.sets[i]).tolist() if j != i}
    return expected


def _surroundings(decision: Decision) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Return each client's coalition, and all clients that leave together with it or later."""
    numbers = np.asarray(decision.equilibrium.numbers)
    return [
        (frozenset(np.flatnonzero(numbers == number).tolist()), frozenset(np.flatnonzero(numbers >= number).tolist()))
        for number in numbers
    ]


def _measure(
    searcher: Searcher, pairs: Sequence[ClientSet], measured: Sequence[Measurement], strength: float
) -> list[Measurement]:
    """Measure the losses of clients with sets, by the same search as in the decision."""
    if not pairs:
        return []
    target = np.array([i for i, _ in pairs])
    faces = np.zeros((len(pairs), searcher.clients), np.bool_)
    for row, (_, members) in enumerate(pairs):
        faces[row, list(members)] = True
    if len(pairs) <= _MAX_SETS_FROM_ALL_STARTS:
        found = searcher.best(target, faces, strength)
    else:
        best: dict[int, Measurement] = {}
        for m in measured:
            if m.client not in best or m.loss < best[m.client].loss:
                best[m.client] = m
        found = searcher.confined(target, faces, Points.stacked([best[i].point for i, _ in pairs]), strength)
    return [Measurement(i, members, found.some(row)) for row, (i, members) in enumerate(pairs)]


def _errors(searcher: Searcher, decision: Decision, measured: Sequence[Measurement]) -> Floats:
    """Return the standard error (N,) of each client's gain from all clients that leave together with it or later."""
    of_client: dict[int, list[Measurement]] = {}
    for m in measured:
        of_client.setdefault(m.client, []).append(m)

    def best_of(i: int, among: frozenset[int]) -> Points:
        return min((m for m in of_client[i] if m.members <= among), key=lambda m: m.loss).point

    surroundings = list(enumerate(_surroundings(decision)))
    home = Points.stacked([best_of(i, members) for i, (members, _) in surroundings])
    outside = Points.stacked([best_of(i, members) for i, (_, members) in surroundings])
    return searcher.errors(np.arange(len(surroundings)), home, outside)


def _order(pair: ClientSet) -> tuple[int, int, list[int]]:
    i, members = pair
    return i, len(members), sorted(members)
