"""The small examples of the paper, from its figures and Section 3.1."""

from comity.game.game import Game
from comity.game.graph import BenefitGraph


def figure_1() -> Game:
    """Return the six clients of Figure 1, where client 4 chooses again after its first choice has left.

    The figure shows only the arrows; the utilities are invented to match them.
    """
    return Game(
        [
            ("1", ["1"], 0.70), ("1", ["1", "2"], 0.80),
            ("2", ["2"], 0.72), ("2", ["2", "3"], 0.81),
            ("3", ["3"], 0.68), ("3", ["1", "3"], 0.79),
            ("4", ["4"], 0.60), ("4", ["3", "4"], 0.75), ("4", ["4", "5"], 0.69),
            ("5", ["5"], 0.65), ("5", ["5", "6"], 0.70), ("5", ["4", "5", "6"], 0.74),
            ("6", ["6"], 0.66), ("6", ["5", "6"], 0.73),
        ]
    )  # fmt: skip


def figure_2() -> BenefitGraph:
    """Return the six clients of Figure 2: a ring of three, a pair, and client 4, which nobody wants."""
    return BenefitGraph({"1": ["2"], "2": ["3"], "3": ["1"], "4": ["2", "5"], "5": ["6"], "6": ["5"]})


def nested(clients: int) -> Game:
    """Return the chain of Section 3.1: each client's rows are among the next one's, so the last needs nobody.

    The utility of a coalition is, for all its members, the number of distinct rows in it: those of its largest member.
    """
    names = [f"D{number}" for number in range(1, clients + 1)]
    records = []
    for place, name in enumerate(names):
        records.append((name, [name], float(place + 1)))
        records.extend((name, [name, names[other]], float(other + 1)) for other in range(place + 1, clients))
    return Game(records)
