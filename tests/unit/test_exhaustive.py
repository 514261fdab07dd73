"""Every subset tried."""

from itertools import combinations

import numpy as np
import pytest

from comity.collaborators import Search
from comity.datasets import synthetic
from comity.decide import decide
from comity.errors import InputError
from comity.exhaustive import exhaust
from comity.fronts import QuadraticFront
from comity.searching import OnFront
from federations import Planted, two_groups


def small(seed: int, kind: synthetic.Kind = "groups", clients: int = 4) -> QuadraticFront:
    drawn = synthetic.planted(seed, kind, clients=clients)
    return Planted(list(drawn.rows), drawn.truth, drawn.noise).front()


def by_hand(front: QuadraticFront, target: int, members: tuple[int, ...], penalty: float) -> float:
    """The loss of rows pooled, one fold after the other, from the definition."""
    lost = 0.0
    for fold in range(front.folds):
        gram, cross, rows = (part[list(members)].sum(axis=(0, 1)) for part in (front.gram, front.cross, front.rows))
        gram, cross = gram - front.gram[target, fold], cross - front.cross[target, fold]
        rows = rows - front.rows[target, fold]
        model = np.linalg.solve(gram / rows + penalty * np.diag(front.penalised), cross / rows)
        lost += front.square[target, fold] - 2 * front.cross[target, fold] @ model
        lost += model @ front.gram[target, fold] @ model
    return lost / front.rows[target].sum()


def test_pooled_utilities_are_those_of_the_definition() -> None:
    front, search = small(0), Search()
    game = exhaust(front, "abcd", search, weights="pooled").game
    for target in range(4):
        others = [j for j in range(4) if j != target]
        for size in range(4):
            for more in combinations(others, size):
                members = (target, *more)
                best = min(by_hand(front, target, members, penalty) for penalty in search.penalties)
                assert game.utility("abcd"[target], ["abcd"[j] for j in members]) == pytest.approx(-best, rel=1e-9)


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_the_search_does_as_well_as_every_subset(kind: synthetic.Kind) -> None:
    """Were a good set missed by the search, its loss would be above that of all subsets tried."""
    for seed in range(2):
        front, names = small(seed, kind), ("a", "b", "c", "d")
        search = Search(strengths=(0.0,))
        tried, found = exhaust(front, names, search), decide(OnFront(front, search), names)
        alone, best = found.points["alone"].losses, found.points["best"].losses
        gain = alone - tried.candidates.losses.min(axis=0)
        assert (tried.candidates.losses.min(axis=0) <= best + 1e-4 * alone).all()
        reached = [min(each.loss for each in found.measured if each.client == i) for i in range(4)]
        assert (np.array(reached) - tried.candidates.losses.min(axis=0) <= 0.1 * gain + 1e-9).all()


def test_larger_sets_allow_no_less() -> None:
    """A larger face holds the smaller one, so that the best on it is no worse but for where the search stops."""
    tried = exhaust(small(3), "abcd", Search(strengths=(0.0,)))
    game = tried.game
    for client in "abcd":
        whole = game.utility(client, "abcd")
        assert whole >= game.maximal_utility(client, "abcd") - 1e-3 * abs(whole)


def test_groups_and_singletons() -> None:
    names = [str(number) for number in range(6)]
    for weights in ("pooled", "optimal"):
        found = exhaust(two_groups(0, 40, 50, 0.02, 1.0).front(repeats=2), names, Search(), weights)
        assert {frozenset("012"), frozenset("345")} == set(found.equilibrium.coalitions)
        alone = exhaust(two_groups(0, 20, 500, 0.1, 0.01).front(), names, Search(), weights)
        assert all(len(chosen) == 1 for chosen in alone.choices.values())


def test_who_lost_a_collaborator_chooses_among_the_rest() -> None:
    """Every peel's wishes are those that the rule makes among the sets of those who remained."""
    for seed in range(6):
        front = small(seed, "unequal")
        tried = exhaust(front, "abcd", Search(), weights="pooled")
        assert tried.equilibrium.peels[0].graph.collaborators_of("a") == tried.choices["a"]
        for peel in tried.equilibrium.peels:
            for client in peel.graph.clients:
                assert peel.graph.collaborators_of(client) <= set(peel.graph.clients)


def test_bad_input_is_told() -> None:
    front = small(0)
    with pytest.raises(InputError, match=r"2\^13 = 8,192"):
        exhaust(front, "abcdefghijklm", Search())
    with pytest.raises(InputError, match="3 names for the 4 clients"):
        exhaust(front, "abc", Search())
    with pytest.raises(InputError, match="pooled, optimal"):
        exhaust(front, "abcd", Search(), weights="equal")
