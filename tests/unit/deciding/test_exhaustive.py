"""Every set of collaborators tried."""

from itertools import combinations

import numpy as np
import pytest

from comity.deciding.decision import Decision, decide
from comity.deciding.exhaustive import try_every_set
from comity.errors import InputError
from comity.families.glm.quadratic_front import QuadraticFront
from comity.families.glm.searcher import FrontSearcher
from comity.questions.search import ClipRule
from comity.research.datasets import synthetic
from comity.search.collaborators import Search
from support.planted_fronts import Planted, two_groups

NAMES = ("a", "b", "c", "d")
PLAIN = Search(strengths=(0.0,))


def front_of(seed: int, kind: synthetic.Kind = "groups", clients: int = 4) -> QuadraticFront:
    drawn = synthetic.planted(seed, kind, clients=clients)
    return Planted(list(drawn.rows), drawn.truth, drawn.noise).front()


def tried_on(front: QuadraticFront, search: Search = PLAIN) -> Decision:
    names = [str(number) for number in range(front.clients)]
    return decide(FrontSearcher(front, search), names, exhaustive=True)


def test_every_set_with_the_client_is_tried_once() -> None:
    candidates = try_every_set(FrontSearcher(front_of(0), PLAIN), np.arange(4), np.ones((4, 4), np.bool_), 0.0)
    for target in range(4):
        others = [j for j in range(4) if j != target]
        expected = {frozenset({target, *more}) for size in range(4) for more in combinations(others, size)}
        sets = [frozenset(np.flatnonzero(members).tolist()) for members in candidates.sets[:, target]]
        assert len(sets) == len(expected)
        assert set(sets) == expected
        for members, weights in zip(sets, candidates.points.weights[:, target], strict=True):
            assert set(np.flatnonzero(weights).tolist()) <= members


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_the_search_does_as_well_as_every_subset(kind: synthetic.Kind) -> None:
    """Were a good set missed by the search, its loss would be above that of all subsets tried."""
    for seed in range(2):
        front = front_of(seed, kind)
        searcher = FrontSearcher(front, PLAIN)
        candidates = try_every_set(searcher, np.arange(4), np.ones((4, 4), np.bool_), 0.0)
        found = decide(searcher, NAMES)
        least, alone = candidates.points.losses.min(axis=0), found.points["alone"].losses
        assert (least <= found.points["best"].losses + 1e-4 * alone).all()
        reached = [min(each.loss for each in found.measured if each.client == i) for i in range(4)]
        assert (np.array(reached) - least <= 0.1 * (alone - least) + 1e-9).all()


def test_groups_and_singletons() -> None:
    groups = tried_on(two_groups(0, 40, 50, 0.02, 1.0).front(repeats=2), Search())
    assert {frozenset("012"), frozenset("345")} == set(groups.equilibrium.coalitions)
    alone = tried_on(two_groups(0, 20, 500, 0.1, 0.01).front(), Search())
    assert (alone.wishes == np.eye(6, dtype=np.bool_)).all()


def test_a_client_that_lost_a_collaborator_chooses_among_those_who_remain() -> None:
    for seed in range(6):
        for peel in tried_on(front_of(seed, "unequal")).equilibrium.peels:
            for client in peel.graph.clients:
                assert peel.graph.collaborators_of(client) <= set(peel.graph.clients)


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"every subset of 13 clients, 2\^13 = 8,192 of them; it is for at most 12"):
        tried_on(front_of(0, clients=13))
    with pytest.raises(InputError, match="take the rule 'smallest'"):
        tried_on(front_of(0), Search(clip_rule=ClipRule()))
