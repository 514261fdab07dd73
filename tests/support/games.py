"""Games that several tests use."""

from comity import Game


def game_with_tie(*needed_by_b: str) -> Game:
    """Client i does equally well with a or b, a needs b, and b needs the clients given."""
    alone = [(client, [client], 0) for client in ("i", "a", "b")]
    ties = [("i", ["i", "a"], 1), ("i", ["i", "b"], 1)]
    return Game([*alone, *ties, ("a", ["a", "b"], 1), ("b", ["b", *needed_by_b], 1)])
