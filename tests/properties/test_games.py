"""Ten thousand random games: what is found is an equilibrium, and the short proof agrees with the definition."""

import itertools
import random
from collections.abc import Iterable, Iterator
from operator import itemgetter

import pytest

from comity import Game, certify, find_equilibrium
from comity.game.certificate import Verdict
from comity.game.equilibrium import stable_coalitions
from support.strategies import random_game, random_partition, renamed

GAMES, SLICES = 10_000, 20


Maxima = dict[tuple[str, frozenset[str]], float]


def maxima_of(game: Game) -> Maxima:
    """Return every client's maximal utility with every set, word by word and from nothing but the records."""
    recorded: dict[str, list[tuple[float, frozenset[str]]]] = {}
    for record in game.records():
        recorded.setdefault(record["client"], []).append((record["utility"], frozenset(record["coalition"])))
    for mine in recorded.values():
        mine.sort(key=itemgetter(0), reverse=True)  # so the first that fits is the largest
    maxima = {}
    for some in subsets(recorded):
        for i in some:
            for utility, members in recorded[i]:
                if members <= some:
                    maxima[i, some] = utility
                    break
    return maxima


def subsets(clients: Iterable[str]) -> Iterator[frozenset[str]]:
    """Every set of clients but the empty one, the smallest first."""
    everybody = tuple(clients)
    for size in range(1, len(everybody) + 1):
        yield from map(frozenset, itertools.combinations(everybody, size))


def broken_by(
    coalitions: list[frozenset[str]], u_max: Maxima, tolerance: float = 0.0
) -> dict[str, list[frozenset[str]]]:
    """Return the sets that break each axiom, word by word: no code of comity's."""
    home = {i: coalition for coalition in coalitions for i in coalition}
    now = {i: u_max[i, home[i]] for i in home}
    found: dict[str, list[frozenset[str]]] = {"inner": [], "outer": []}
    for some in subsets(home):
        inside = any(some < coalition for coalition in coalitions)
        if inside and not any(u_max[i, some] < now[i] - tolerance for i in some):
            found["inner"].append(some)
        if some not in coalitions and not any(u_max[i, some] <= now[i] + tolerance for i in some):
            found["outer"].append(some)
    return found


def breaks_an_axiom(coalitions: list[frozenset[str]], u_max: Maxima) -> bool:
    return any(broken_by(coalitions, u_max).values())


@pytest.mark.parametrize("seed", range(4))
def test_verdicts_and_witnesses_with_a_tolerance(seed: int) -> None:
    """Thirds and tenths, where sums and differences of floats round differently; witnesses are as small as can be."""
    rng = random.Random(2000 + seed)
    for _ in range(150):
        game = random_game(rng, most=5)
        u_max = maxima_of(game)
        tolerance = rng.choice([0.0, 1 / 3, 0.5, 0.1, 1 / 6])
        for partition in (find_equilibrium(game).coalitions, random_partition(rng, game.clients)):
            broken = broken_by([frozenset(coalition) for coalition in partition], u_max, tolerance)
            for exhaustive in (False, True):
                certificate = certify(partition, game, tolerance=tolerance, exhaustive=exhaustive)
                assert certificate.verdict is (Verdict.REFUTED if any(broken.values()) else Verdict.PROVED)
                shown = [(witness.axiom, frozenset(witness.members)) for witness in certificate.witnesses]
                assert len(set(shown)) == len(shown), "no witness twice"
                for axiom, members in shown:
                    assert members in broken[axiom]
                    assert not any(smaller < members for smaller in broken[axiom])
                if exhaustive and shown:
                    (axiom, members), *_ = shown
                    assert len(members) == min(map(len, broken[axiom]))
            if any(broken.values()) and not any(broken["inner"]):
                assert {axiom for axiom, _ in shown} == {"outer"}


def test_peels_of_games_are_what_they_say() -> None:
    """Also where ties were settled: who leaves is stable in the graph of the peel, in order of first clients."""
    rng = random.Random(8)
    settled = 0
    for _ in range(350):
        game = random_game(rng)
        found = find_equilibrium(game)
        place = {client: number for number, client in enumerate(game.clients)}
        for peel in found.peels:
            assert set(stable_coalitions(peel.graph)) == set(peel.stable)
            firsts = [min(map(place.__getitem__, coalition)) for coalition in peel.stable]
            assert firsts == sorted(firsts)
            for client in peel.remaining:
                wanted = peel.graph.collaborators_of(client)
                assert wanted in game.best_sets(client, peel.remaining)
                settled += wanted != game.collaborators_of(client, peel.remaining)
        order = [(wish.peel, place[wish.client], place[wish.collaborator]) for wish in found.unmet]
        assert order == sorted(order)
    assert settled > 10


def test_best_sets_are_all_that_attain_the_maximum_with_none_inside() -> None:
    rng = random.Random(9)
    for _ in range(300):
        game = random_game(rng, most=5)
        among = frozenset(rng.sample(game.clients, rng.randint(1, len(game))))
        for client in among:
            mine = [r for r in game.records() if r["client"] == client and frozenset(r["coalition"]) <= among]
            best = max(record["utility"] for record in mine)
            attaining = [frozenset(record["coalition"]) for record in mine if record["utility"] == best]
            expected = {members for members in attaining if not any(other < members for other in attaining)}
            assert set(game.best_sets(client, among)) == expected
            assert game.collaborators_of(client, among) in expected


@pytest.mark.parametrize("part", range(SLICES))
def test_found_equilibria_hold_and_verdicts_are_right(part: int) -> None:
    rng = random.Random(part)
    proved_others = refuted_others = 0
    for _ in range(GAMES // SLICES):
        game = random_game(rng)
        found = find_equilibrium(game)
        u_max = maxima_of(game)
        assert not breaks_an_axiom(list(found.coalitions), u_max)
        assert certify(found, game).verdict is Verdict.PROVED
        assert certify(found.coalitions, game).verdict is Verdict.PROVED

        other = random_partition(rng, game.clients)
        short = certify(other, game)
        truth = breaks_an_axiom([frozenset(coalition) for coalition in other], u_max)
        assert short.verdict is (Verdict.REFUTED if truth else Verdict.PROVED)
        assert bool(short.witnesses) == truth
        for witness in short.witnesses:
            assert witness.holds(other, game.maximal_utility)
        proved_others += not truth
        refuted_others += truth
    assert proved_others > 10, "too few of the other partitions are equilibria for the test to mean much"
    assert refuted_others > 10


@pytest.mark.parametrize("seed", range(5))
def test_exhaustive_agrees_with_the_definition(seed: int) -> None:
    rng = random.Random(1000 + seed)
    for _ in range(60):
        game = random_game(rng, most=5)
        u_max = maxima_of(game)
        for partition in (find_equilibrium(game).coalitions, random_partition(rng, game.clients)):
            certificate = certify(partition, game, exhaustive=True)
            truth = breaks_an_axiom([frozenset(coalition) for coalition in partition], u_max)
            assert certificate.verdict is (Verdict.REFUTED if truth else Verdict.PROVED)
            assert all(witness.holds(partition, game.maximal_utility) for witness in certificate.witnesses)


def test_without_ties_the_certificate_is_n_plus_e_inequalities() -> None:
    rng = random.Random(5)
    for _ in range(300):
        game = random_game(rng)
        found = find_equilibrium(game)
        if any(len(game.best_sets(i, peel.remaining)) > 1 for peel in found.peels for i in peel.remaining):
            continue
        certificate = certify(found, game)
        edges = sum(len(found.collaborators_of(i)) - 1 for i in game.clients)
        assert len(certificate.outer) == len(game.clients)
        assert len(certificate.inner) == edges
        assert certificate.by_peels
        assert certificate.evaluations <= 2 * len(game.clients) + edges + len(found.peels)
        assert certificate.notes == ()


def test_renaming_clients_changes_nothing() -> None:
    rng = random.Random(6)
    for _ in range(300):
        game = random_game(rng)
        names = {i: f"x{number}" for number, i in enumerate(rng.sample(game.clients, len(game)))}
        found, again = find_equilibrium(game), find_equilibrium(renamed(game, names))
        assert [{names[i] for i in coalition} for coalition in found.coalitions] == [set(c) for c in again.coalitions]


def test_the_order_of_clients_changes_nothing_without_ties() -> None:
    rng = random.Random(7)
    compared = 0
    while compared < 200:
        game = random_game(rng)
        found = find_equilibrium(game)
        if any(len(game.best_sets(i, peel.remaining)) > 1 for peel in found.peels for i in peel.remaining):
            continue
        records = list(game.records())
        rng.shuffle(records)
        assert set(find_equilibrium(Game(records)).coalitions) == set(found.coalitions)
        compared += 1
