"""Games and equilibria are equal if and only if their contents are: after a round trip, but not after any change."""

import copy
import json
import pickle
import random
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from comity import BenefitGraph, Equilibrium, Game, find_equilibrium
from comity.core.names import Coalition
from comity.game.equilibrium import replay_peels
from support.strategies import graphs, names, random_game


@st.composite
def games(draw: st.DrawFn, most: int = 4) -> Game:
    """Games of a few clients with any names, some coalitions and utilities that may tie."""
    clients = draw(st.lists(names, min_size=1, max_size=most, unique=True))
    utilities = st.one_of(st.sampled_from([0.0, -0.0, 0.5, 1.0]), st.floats(allow_nan=False, allow_infinity=False))
    records = []
    for client in clients:
        others = draw(st.lists(st.frozensets(st.sampled_from(clients)), max_size=4))
        sets = {frozenset({client})} | {members | {client} for members in others}
        records += [(client, sorted(members), draw(utilities)) for members in sorted(sets, key=sorted)]
    return Game(records)


def asked(graph: BenefitGraph) -> Equilibrium:
    """The equilibrium of a graph, found by asking each client that lost a collaborator again."""

    def collaborators_of(client: str, remaining: Coalition) -> Coalition:
        return graph.collaborators_of(client) & remaining

    return find_equilibrium(graph.clients, collaborators_of)


@given(games(), st.randoms(use_true_random=False))
def test_a_game_equals_itself_read_again(game: Game, rng: random.Random) -> None:
    records = list(game.records())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.json"
        game.save(path)
        loaded = Game.load(path)
    shuffled = sorted(rng.sample(records, len(records)), key=lambda record: game.clients.index(record["client"]))
    for again in (loaded, Game(records), Game(shuffled), copy.deepcopy(game), pickle.loads(pickle.dumps(game))):  # noqa: S301
        assert again == game
        assert hash(again) == hash(game)


@given(games(), st.data())
def test_a_game_differs_when_anything_differs(game: Game, data: st.DataObject) -> None:
    records = list(game.records())
    changed = data.draw(st.sampled_from(records))
    utility = -1.0 if changed["utility"] == 1.0 else 1.0
    assert Game({**record, "utility": utility} if record is changed else record for record in records) != game
    assert Game([*records, ("another client", ["another client"], 0.0)]) != game
    if len(changed["coalition"]) > 1:
        assert Game(record for record in records if record is not changed) != game
    if len(game) > 1:
        assert Game(sorted(records, key=lambda record: -game.clients.index(record["client"]))) != game, "ties differ"
    assert game not in (None, "game", 1, records, game.benefit_graph(), game.clients)


@given(graphs())
def test_an_equilibrium_equals_itself_read_again(graph: BenefitGraph) -> None:
    found = asked(graph)
    replayed = replay_peels(json.loads(json.dumps(found.to_dict())))
    for again in (asked(graph), replayed, copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301
        assert again == found
        assert hash(again) == hash(found)
        assert list(again.peels) == list(found.peels)
    fixed = find_equilibrium(graph)
    assert fixed == find_equilibrium(BenefitGraph(graph.to_dict()))
    assert (fixed == found) == (fixed.to_dict() == found.to_dict()), "in a fixed graph nobody is asked again"


@given(graphs(), st.data())
def test_an_equilibrium_differs_when_anything_differs(graph: BenefitGraph, data: st.DataObject) -> None:
    found = find_equilibrium(graph)
    i, j = (data.draw(st.sampled_from(graph.clients)) for _ in range(2))
    wishes = {client: set(wanted) for client, wanted in graph.to_dict().items()}
    wishes[i] ^= {j}
    assert (find_equilibrium(wishes) == found) == (i == j), "itself is always wanted"
    assert find_equilibrium({**graph.to_dict(), "another client": []}) != found
    if len(graph) > 1:
        assert find_equilibrium(dict(reversed(graph.to_dict().items()))) != found, "the order of clients differs"
    assert found not in (None, "equilibrium", 1, graph, found.coalitions, found.to_dict())


def test_equilibria_of_games_are_equal_exactly_when_their_documents_are() -> None:
    """Also where ties were settled, after which answers are in another order."""
    rng = random.Random(3)
    for _ in range(200):
        game, other = random_game(rng, most=4), random_game(rng, most=4)
        found, another = find_equilibrium(game), find_equilibrium(other)
        assert find_equilibrium(Game(game.records())) == found
        assert (found == another) == (found.to_dict() == another.to_dict())
