"""Ten thousand random games: what is found is an equilibrium, and the short proof agrees with the definition."""

import itertools
import random

import pytest

from comity import Game, Verdict, certify, find_equilibrium
from strategies import random_game, random_partition, renamed

GAMES, SLICES = 10_000, 20


def breaks_an_axiom(coalitions: list[frozenset[str]], game: Game) -> bool:
    """Both axioms word by word, from nothing but the records: an oracle that shares no code with comity's."""
    recorded: dict[str, list[tuple[frozenset[str], float]]] = {}
    for record in game.records():
        recorded.setdefault(record["client"], []).append((frozenset(record["coalition"]), record["utility"]))

    def u_max(i: str, within: frozenset[str]) -> float:
        return max(utility for members, utility in recorded[i] if members <= within)

    home = {i: coalition for coalition in coalitions for i in coalition}
    now = {i: u_max(i, home[i]) for i in home}
    for size in range(1, len(home) + 1):
        for some in map(frozenset, itertools.combinations(home, size)):
            inside = any(some < coalition for coalition in coalitions)
            if inside and not any(u_max(i, some) < now[i] for i in some):
                return True
            if some not in coalitions and not any(u_max(i, some) <= now[i] for i in some):
                return True
    return False


@pytest.mark.parametrize("part", range(SLICES))
def test_found_equilibria_hold_and_verdicts_are_right(part: int) -> None:
    rng = random.Random(part)
    proved_others = refuted_others = 0
    for _ in range(GAMES // SLICES):
        game = random_game(rng)
        found = find_equilibrium(game)
        assert not breaks_an_axiom(list(found.coalitions), game)
        assert certify(found, game).verdict is Verdict.PROVED
        assert certify(found.coalitions, game).verdict is Verdict.PROVED

        other = random_partition(rng, game.clients)
        short = certify(other, game)
        truth = breaks_an_axiom([frozenset(coalition) for coalition in other], game)
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
        for partition in (find_equilibrium(game).coalitions, random_partition(rng, game.clients)):
            certificate = certify(partition, game, exhaustive=True)
            truth = breaks_an_axiom([frozenset(coalition) for coalition in partition], game)
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
        assert certificate.evaluations <= 2 * len(game.clients) + edges
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
        assert set(find_equilibrium(Game.from_records(records)).coalitions) == set(found.coalitions)
        compared += 1
