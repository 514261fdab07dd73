"""Runs to be reported: small results, graphs and games, with names of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

import comity
from comity.cli.equilibrium import build_document

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "</script><b>bold</b>",
    "--><!-- & &amp; {{ 7 * 7 }} {% raw %}",
)


@cache
def result_of(
    names: tuple[str, ...], target: str = "effect", column: str = "dose", resamples: int = 0
) -> comity.Result:
    """Return a result for clients of these names, half of whom are unlike the other half."""
    rng = np.random.default_rng(1)
    tables = {}
    for place, name in enumerate(names):
        rows = pd.DataFrame(rng.normal(size=(30, 4)), columns=[column, "age", "pulse", "weight"])
        sign = 1.0 if place % 2 == 0 else -1.0
        rows[target] = sign * rows.sum(axis=1) + rng.normal(size=30)
        tables[name] = rows
    settings = {"search": "spo", "repeats": 1, "judges": 2, "resamples": resamples} if resamples else {}
    return comity.solve(tables, target=target, **settings)


def ring_game(names: Sequence[str], size: int) -> comity.Game:
    """Return a game in which clients gain in rings of some size; the first of every ring would like the next ring."""
    records = []
    for place, name in enumerate(names):
        first = place // size * size
        ring = [names[at] for at in range(first, min(first + size, len(names)))]
        after = ring[(ring.index(name) + 1) % len(ring)]
        records.append((name, [name], 0.5))
        if after != name:
            records.append((name, [name, after], 0.6 + place / 1e4))
        if place == first and first + size < len(names):
            records.append((name, [name, after, names[first + size]], 0.8))
    return comity.Game(records)


def game_document(names: Sequence[str], size: int) -> dict:
    """Return what is written of a game of rings."""
    game = ring_game(names, size)
    found = comity.find_equilibrium(game)
    return build_document(found, game, comity.certify(found, game))


def graph_document(wishes: dict[str, list[str]]) -> dict:
    """Return what is written of a graph."""
    return build_document(comity.find_equilibrium(comity.BenefitGraph(wishes)), None, None)
