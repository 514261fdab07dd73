"""An oracle call may cost an hour of training: no client is asked without need."""

import random
from collections import Counter

from comity import Game, find_equilibrium
from comity.core.names import Coalition
from support.strategies import random_game


def counted(game: Game) -> tuple[Counter[str], object]:
    calls: Counter[str] = Counter()

    def ask(client: str, remaining: Coalition) -> Coalition:
        calls[client] += 1
        return game.collaborators_of(client, remaining)

    return calls, find_equilibrium(game.clients, ask)


def test_calls_are_one_each_and_one_more_for_each_loss() -> None:
    rng = random.Random(1)
    asked_again = 0
    for _ in range(2000):
        calls, found = counted(random_game(rng))
        losses = Counter(dict.fromkeys(found.clients, 0))
        for client, _ in {(wish.client, wish.peel) for wish in found.unmet}:
            losses[client] += 1
        assert {i: calls[i] for i in found.clients} == {i: 1 + losses[i] for i in found.clients}
        asked_again += losses.total()
    assert asked_again > 100


def test_each_peel_has_the_clients_asked_and_their_answers() -> None:
    rng = random.Random(2)
    for _ in range(300):
        game = random_game(rng)
        log: list[tuple[str, Coalition, Coalition]] = []

        def ask(client: str, remaining: Coalition, game: Game = game, log: list = log) -> Coalition:
            log.append((client, remaining, game.collaborators_of(client, remaining)))
            return log[-1][2]

        found = find_equilibrium(game.clients, ask)
        expected = [
            (client, frozenset(peel.remaining), peel.graph.collaborators_of(client))
            for peel in found.peels
            for client in peel.asked
        ]
        assert expected == log


def test_a_client_that_changed_its_mind_did_not_lose_what_it_no_longer_wanted() -> None:
    """d first wants z and y. z leaves; d now wants only e. y leaves later, and d has lost nothing by that."""
    wishes = {
        "z": lambda left: {"z"},
        "x": lambda left: {"x", "z"} & left,
        "y": lambda left: {"y", "x"} & left,
        "e": lambda left: {"e", "y"} & left,
        "d": lambda left: {"d", "z", "y"} if "z" in left else {"d", "e"} & left,
    }
    found = find_equilibrium(list("zxyed"), lambda client, left: wishes[client](left))
    lost = {(wish.client, wish.collaborator, wish.peel) for wish in found.unmet}
    assert lost == {("x", "z", 0), ("d", "z", 0), ("y", "x", 1), ("e", "y", 2), ("d", "e", 3)}
