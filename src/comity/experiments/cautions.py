"""What is to be known of a comparison before its values are believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from comity.experiments.cells import Cell
from comity.experiments.summary import common_seeds, listed, summarise
from comity.writing import count, join

_FEW = 50  # rows to test with: the standard error of an accuracy on these is up to 7 points
_NAMED = 5


def other_seeds(cells: Sequence[Cell], metric: str) -> list[str]:
    """Return the means with the seeds that all methods have, where some have more.

    >>> made = [Cell("local", 0, {"a": 0.5}, {}, 1.0, ""), Cell("local", 1, {"a": 0.7}, {}, 1.0, "")]
    >>> other_seeds([*made, Cell("ce", 0, {"a": 0.6}, {}, 1.0, "")], "auc")
    ['Not all methods have the same seeds: with those that all have (0), means are local 0.5000 and ce 0.6000.']
    """
    common = common_seeds(cells)
    if common is None:
        return []
    if not common:
        return ["Not all methods have the same seeds, and there is none that all have: means cannot be compared."]
    lines = summarise([cell for cell in cells if cell.seed in common], metric)
    means = join([f"{line.method} {line.mean:.4f}" for line in lines])
    seeds = listed(sorted(common))
    return [f"Not all methods have the same seeds: with those that all have ({seeds}), means are {means}."]


def without_value(cells: Iterable[Cell], metric: str) -> list[str]:
    """Return which clients have no value with some seed, although the method trained."""
    every = (cell.values for cell in cells if cell.trained)
    without = sorted({client for values in every for client, value in values.items() if isnan(value)})
    told = (
        f"No {metric} with some seeds or all, and left out of the table with these: {join(without)}. Too few classes "
        "or values are among the rows to test with."
    )
    return [told] if without else []


def few_rows(tests: Mapping[str, int]) -> list[str]:
    """Return which clients are tested with so few rows that chance may tell more than methods do."""
    few = sorted((rows, client) for client, rows in tests.items() if rows < _FEW)
    named = [f"{client} ({rows})" for rows, client in few[:_NAMED]]
    others = [count(len(few) - _NAMED, "other")] if len(few) > _NAMED else []
    told = (
        f"Few rows to test with, with each seed about: {join([*named, *others])}. The less there are, the more of a "
        "client's value, and of who is the worst, is chance: compare means, and take more seeds."
    )
    return [told] if few else []


def rates_at_the_end(cells: Iterable[Cell], rates: Sequence[float]) -> list[str]:
    """Return how often the lowest or highest of several rates was best, if that is more than half of the time.

    >>> cells = [Cell("local", 0, {"a": 0.5}, {}, 1.0, "", settings={"rate": 0.2})]
    >>> rates_at_the_end(cells, (0.01, 0.05, 0.2))
    ['Of 1 choice of a rate, 1 is the lowest or the highest: beyond these (--rates), baselines may do better.']
    """
    chosen = [cell.settings["rate"] for cell in cells if "rate" in cell.settings]
    ends = sum(rate in (min(rates), max(rates)) for rate in chosen) if len(rates) > 1 else 0
    told = (
        f"Of {count(len(chosen), 'choice')} of a rate, {ends} {'is' if ends == 1 else 'are'} the lowest or the "
        "highest: beyond these (--rates), baselines may do better."
    )
    return [told] if 2 * ends > len(chosen) else []


def failures(cells: Iterable[Cell]) -> list[str]:
    """Return why methods did not train, each with the first seed with which it did not."""
    first: dict[str, Cell] = {}
    for cell in cells:
        if "failed" in cell.story:
            first.setdefault(cell.method, cell)
    return [f"{method} did not train with seed {cell.seed}: {cell.story['failed']}." for method, cell in first.items()]
