"""Random names, graphs, games and partitions."""

import random

from hypothesis import strategies as st

from comity import BenefitGraph, Game

# Any text but what the rule for names leaves out.
names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r", exclude_characters="\ufffe\uffff"),
    min_size=1,
    max_size=8,
).filter(str.strip)


@st.composite
def graphs(draw: st.DrawFn, clients: st.SearchStrategy[str] = names, most: int = 9) -> BenefitGraph:
    found = draw(st.lists(clients, min_size=1, max_size=most, unique=True))
    wishes = st.lists(st.sampled_from(found), max_size=2 * len(found))
    return BenefitGraph({client: draw(wishes) for client in found})


def random_game(rng: random.Random, most: int = 7) -> Game:
    """A game of 2 to `most` clients: dense or with gaps, with many ties, with few or with none."""
    names = [f"c{number}" for number in range(rng.randint(2, most))]
    rng.shuffle(names)
    levels = rng.choice([2, 3, 6, 10**9])
    kept = rng.choice([0.3, 0.7, 1.0])
    records = []
    for place, client in enumerate(names):
        for mask in range(1 << len(names)):
            alone = mask == 1 << place
            if mask >> place & 1 and (alone or rng.random() < kept):
                members = [name for other, name in enumerate(names) if mask >> other & 1]
                records.append((client, members, rng.randrange(levels) / levels))
    return Game(records)


def random_partition(rng: random.Random, clients: tuple[str, ...]) -> list[list[str]]:
    parts: dict[int, list[str]] = {}
    for client in clients:
        parts.setdefault(rng.randrange(len(clients)), []).append(client)
    return list(parts.values())


def renamed(game: Game, names: dict[str, str]) -> Game:
    return Game(
        (names[record["client"]], [names[i] for i in record["coalition"]], record["utility"])
        for record in game.records()
    )
