"""Summaries of cells, one for each method, and sentences about them: caveats, and the coalitions that were found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
from scipy import stats

from comity.core.arrays import Floats
from comity.core.metrics import METRICS
from comity.core.text import count, join
from comity.research.experiments.cells import Cell

COLUMNS = ("method", "mean", "spread", "worst client", "no worse than alone", "seeds", "time")
_TOLERANCE = 1e-9  # of a value that is no worse than alone
_MIN_TEST_ROWS = 50  # with fewer, the standard error of an accuracy may exceed 7 points
_MAX_CLIENTS_NAMED = 5


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """A method over all seeds.

    - `mean`: of the metric over clients and seeds;
    - `spread`: the standard deviation of the mean over clients, over seeds;
    - `worst`: the value of the worst client of each seed, averaged over seeds;
    - `gain`: the improvement over the clients' models alone, averaged over clients and seeds;
    - `no_worse`: the share of clients with at least the value of their model alone;
    - `seeds`, and `trained`: the seeds with which the method trained; all values are over these;
    - `seconds`: per seed;
    - `clients` and `spreads`: each client's mean and standard deviation over seeds.
    """

    method: str
    mean: float
    spread: float
    worst: float
    gain: float
    no_worse: float
    seeds: int
    trained: int
    seconds: float
    clients: dict[str, float]
    spreads: dict[str, float]

    @property
    def seeds_text(self) -> str:
        """The number of seeds as text, with the number that trained if some failed."""
        return str(self.seeds) if self.trained == self.seeds else f"{self.trained} of {self.seeds}"

    def texts(self) -> list[str]:
        """Return the row of the table, as `COLUMNS` names its entries."""
        return [
            self.method, _text(self.mean), f"{self.spread:.4f}" if self.trained > 1 else "–", _text(self.worst),
            "–" if np.isnan(self.no_worse) else f"{100 * self.no_worse:.0f} %", self.seeds_text,
            f"{self.seconds:.1f} s",
        ]  # fmt: skip


def summarise(cells: Iterable[Cell], metric: str) -> tuple[MethodSummary, ...]:
    """Return a summary of each method, in the order of the cells.

    >>> alone = {"a": 0.5, "b": 0.7}
    >>> cells = [Cell("local", seed, {"a": 0.5, "b": 0.7 + seed / 10}, alone, 1.0, "") for seed in (0, 1)]
    >>> summary, = summarise(cells, "accuracy")
    >>> round(summary.mean, 3), round(summary.worst, 3), round(summary.gain, 3), summary.no_worse
    (0.625, 0.5, 0.025, 1.0)
    """
    cells = list(cells)
    local = {cell.seed: cell.values for cell in cells if cell.method == "local"}
    methods = groupby(cells, key=lambda cell: cell.method)
    return tuple(_summarise_method(name, list(group), local, metric) for name, group in methods)


def _summarise_method(method: str, cells: list[Cell], local: dict[int, dict[str, float]], metric: str) -> MethodSummary:
    sign = 1.0 if METRICS[metric].more_is_better else -1.0
    clients = list(cells[0].values)
    values = np.array([[cell.values[client] for client in clients] for cell in cells])
    references = [cell.alone or local.get(cell.seed, {}) for cell in cells]
    alone = np.array([[reference.get(client, np.nan) for client in clients] for reference in references])
    known = ~np.isnan(values)
    gains = sign * (values - alone)
    means = np.array([_mean(row) for row in values])
    worst = np.array([sign * np.min(sign * row[here]) for row, here in zip(values, known, strict=True) if here.any()])
    return MethodSummary(
        method=method,
        mean=_mean(means),
        spread=_spread(means),
        worst=_mean(worst),
        gain=_mean(np.array([_mean(row) for row in gains])),
        no_worse=_mean(np.where(np.isnan(gains), np.nan, gains >= -_TOLERANCE)),
        seeds=len(cells),
        trained=int(known.any(axis=1).sum()),
        seconds=float(np.mean([cell.seconds for cell in cells])),
        clients={client: _mean(values[:, place]) for place, client in enumerate(clients)},
        spreads={client: _spread(values[:, place]) for place, client in enumerate(clients)},
    )


def gain_interval(cells: Sequence[Cell], base: Sequence[Cell], parts: int, comparisons: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of the mean gain over clients of a method over another.

    With several `comparisons` the interval is wider, so that all hold together (Bonferroni).

    Seeds test on one part in `parts` of the rows and train on the others, which overlap: the variance of the mean of J
    gains is 1/J + 1/(parts - 1) times theirs (Nadeau and Bengio 2003). Seeds with which one of the two methods did not
    train are left out.

    >>> cells = [Cell("a", seed, {"x": 0.6 + seed / 100}, {}, 0.0, "") for seed in range(5)]
    >>> base = [Cell("b", seed, {"x": 0.5}, {}, 0.0, "") for seed in range(5)]
    >>> [round(bound, 3) for bound in gain_interval(cells, base, parts=5)]
    [0.091, 0.149]
    >>> [round(bound, 3) for bound in gain_interval(cells, base, parts=5, comparisons=3)]
    [0.078, 0.162]
    """
    pairs = [(cell.values, reference.values) for cell, reference in zip(cells, base, strict=True)]
    gains = np.array([_mean(np.array([new[client] - old[client] for client in new])) for new, old in pairs])
    gains = gains[np.isfinite(gains)]
    if gains.size < 2:
        return -np.inf, np.inf
    error = np.sqrt(gains.var(ddof=1) * (1 / gains.size + 1 / (parts - 1)))
    reach = float(stats.t.ppf(1 - 0.025 / comparisons, gains.size - 1) * error)
    return float(gains.mean()) - reach, float(gains.mean()) + reach


def common_seeds(cells: Iterable[Cell]) -> frozenset[int] | None:
    """Return the seeds that all methods have, or None if all methods have the same seeds.

    >>> cells = [Cell("a", 0, {}, {}, 0.0, ""), Cell("a", 1, {}, {}, 0.0, ""), Cell("b", 1, {}, {}, 0.0, "")]
    >>> common_seeds(cells), common_seeds(cells[:2])
    (frozenset({1}), None)
    """
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.method, set()).add(cell.seed)
    common = frozenset(set.intersection(*seeds.values())) if seeds else frozenset()
    return common if any(own > common for own in seeds.values()) else None


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
    seeds = ", ".join(map(str, sorted(common)))
    return [f"Methods have different seeds. Over the seeds that all have ({seeds}), means are: {means}."]


def missing_values(cells: Iterable[Cell], metric: str) -> list[str]:
    """Return which clients have no value with some seed, although the method trained."""
    trained = (cell.values for cell in cells if cell.trained)
    missing = sorted({client for values in trained for client, value in values.items() if np.isnan(value)})
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


def describe_coalitions(cells: Iterable[Cell], label: Callable[[str], str] = str) -> list[str]:
    """Return a sentence for each partition that a method found, with the seeds with which it did.

    >>> details = {"coalitions": [["b", "c"], ["a"]], "verdict": "proved"}
    >>> describe_coalitions([Cell("ce", seed, {}, {}, 0.0, "", details=details) for seed in (0, 1)])
    ['Coalitions, ce: {a}; {b, c} (proved), with seeds 0, 1.']
    """
    found: dict[str, list[int]] = {}
    for cell, side in [(each, side) for each in cells for side in each.sides]:
        coalitions = sorted(cell.details[f"{side} coalitions".strip()])
        verdict = cell.details.get(f"{side} verdict".strip())
        partition = "; ".join("{" + ", ".join(coalition) + "}" for coalition in coalitions)
        source = ", ".join(filter(None, [label(cell.method), side]))
        proof = f" ({verdict})" if verdict else ""
        found.setdefault(f"Coalitions, {source}: {partition}{proof}", []).append(cell.seed)
    return [f"{text}, with seed{'s'[: len(seeds) - 1]} {', '.join(map(str, seeds))}." for text, seeds in found.items()]


def _text(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4f}"


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan


def _spread(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if known.size > 1 else 0.0


def to_markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown with aligned columns.

    >>> print(to_markdown(["a", "long head"], [["1", "2"]]), end="")
    | a | long head |
    | - | --------- |
    | 1 | 2         |
    """
    table = [list(columns), *([str(entry).replace("|", "\\|") for entry in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    lines = [
        "| " + " | ".join(entry.ljust(width) for entry, width in zip(row, widths, strict=True)) + " |" for row in table
    ]
    return "\n".join(lines) + "\n"


def to_dict(summaries: Iterable[MethodSummary]) -> list[dict[str, Any]]:
    """Return summaries as values for JSON; with one seed there is no spread."""
    return [asdict(each) | ({"spread": None} if each.trained < 2 else {}) for each in summaries]
