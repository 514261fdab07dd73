"""Caveats that belong to a table of results: few test rows, failures, unequal seeds, rates at the ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from comity.core.text import count, join
from comity.research.experiments.cells import Cell
from comity.research.experiments.summary import common_seeds, join_seeds, summarise

_MIN_TEST_ROWS = 50  # with fewer, the standard error of an accuracy may exceed 7 points
_MAX_CLIENTS_NAMED = 5


def unequal_seeds(cells: Sequence[Cell], metric: str) -> list[str]:
    """Return the means over the seeds that all methods have, if some methods have more seeds.

    >>> made = [Cell("local", 0, {"a": 0.5}, {}, 1.0, ""), Cell("local", 1, {"a": 0.7}, {}, 1.0, "")]
    >>> unequal_seeds([*made, Cell("ce", 0, {"a": 0.6}, {}, 1.0, "")], "auc")
    ['Methods have different seeds. Over the seeds that all have (0), means are: local 0.5000 and ce 0.6000.']
    """
    common = common_seeds(cells)
    if common is None:
        return []
    if not common:
        return ["Methods have different seeds, and none in common: their means cannot be compared."]
    summaries = summarise([cell for cell in cells if cell.seed in common], metric)
    means = join([f"{summary.method} {summary.mean:.4f}" for summary in summaries])
    seeds = join_seeds(sorted(common))
    return [f"Methods have different seeds. Over the seeds that all have ({seeds}), means are: {means}."]


def missing_values(cells: Iterable[Cell], metric: str) -> list[str]:
    """Return which clients have no value with some seed, although the method trained."""
    trained = (cell.values for cell in cells if cell.trained)
    missing = sorted({client for values in trained for client, value in values.items() if isnan(value)})
    text = (
        f"The {metric} of these clients is undefined with some or all seeds, because their test rows have too few "
        f"classes or values, and left out of the means: {join(missing)}."
    )
    return [text] if missing else []


def few_test_rows(tests: Mapping[str, int]) -> list[str]:
    """Return which clients have so few test rows that chance may matter more than the method."""
    few = sorted((rows, client) for client, rows in tests.items() if rows < _MIN_TEST_ROWS)
    named = [f"{client} ({rows})" for rows, client in few[:_MAX_CLIENTS_NAMED]]
    others = [count(len(few) - _MAX_CLIENTS_NAMED, "other")] if len(few) > _MAX_CLIENTS_NAMED else []
    text = (
        f"Few test rows per seed: {join([*named, *others])}. The values of these clients, and which client is the "
        "worst, depend much on chance: compare means, and use more seeds."
    )
    return [text] if few else []


def rates_at_the_ends(cells: Iterable[Cell], rates: Sequence[float]) -> list[str]:
    """Return how often the lowest or highest rate was best, if that was in more than half of the cases.

    >>> cells = [Cell("local", 0, {"a": 0.5}, {}, 1.0, "", settings={"rate": 0.2})]
    >>> rates_at_the_ends(cells, (0.01, 0.05, 0.2))
    ['In 1 of 1 case the best rate was the lowest or the highest one tried: baselines may do better beyond these.']
    """
    chosen = [cell.settings["rate"] for cell in cells if "rate" in cell.settings]
    ends = sum(rate in (min(rates), max(rates)) for rate in chosen) if len(rates) > 1 else 0
    text = (
        f"In {ends} of {count(len(chosen), 'case')} the best rate was the lowest or the highest one tried: baselines "
        "may do better beyond these."
    )
    return [text] if 2 * ends > len(chosen) else []


def failures(cells: Iterable[Cell]) -> list[str]:
    """Return why methods did not train, for the first seed with which each failed."""
    first: dict[str, Cell] = {}
    for cell in cells:
        if "failed" in cell.details:
            first.setdefault(cell.method, cell)
    return [
        f"{method} did not train with seed {cell.seed}: {cell.details['failed']}." for method, cell in first.items()
    ]
