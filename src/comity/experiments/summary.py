"""Cells in summary: a line for each method, and the table as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from comity.experiments.cells import Cell, plain
from comity.metrics import METRICS

HEADS = ("method", "mean", "spread", "worst client", "as well as alone", "seeds", "time")
_AS_WELL = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """A method over all seeds: the mean over clients and seeds, the standard deviation of a seed's mean, the worst.

    `worst` is the worst client's value, the mean of all seeds; `as_well` the share of clients that have at least what
    they have alone; `clients` each client's mean; `spreads` each one's standard deviation over the seeds. With some of
    the `seeds` a method may not have `trained` anything; the others are what all of this is of.
    """

    method: str
    mean: float
    spread: float
    worst: float
    as_well: float
    seeds: int
    trained: int
    seconds: float
    clients: dict[str, float]
    spreads: dict[str, float]

    @property
    def told_seeds(self) -> str:
        """How many seeds there are, and of how many it is if some failed."""
        return str(self.seeds) if self.trained == self.seeds else f"{self.trained} of {self.seeds}"

    def cells(self) -> list[str]:
        """Return the line as text."""
        return [
            self.method, _text(self.mean), f"{self.spread:.4f}" if self.trained > 1 else "–", _text(self.worst),
            "–" if np.isnan(self.as_well) else f"{100 * self.as_well:.0f} %", self.told_seeds,
            f"{self.seconds:.1f} s",
        ]  # fmt: skip


def summarise(cells: Iterable[Cell], metric: str) -> tuple[Line, ...]:
    """Return a line for each method, in the order in which they come.

    >>> alone = {"a": 0.5, "b": 0.7}
    >>> cells = [Cell("local", seed, {"a": 0.5, "b": 0.7 + seed / 10}, alone, 1.0, "") for seed in (0, 1)]
    >>> line, = summarise(cells, "accuracy")
    >>> round(line.mean, 3), round(line.worst, 3), line.as_well
    (0.625, 0.5, 1.0)
    """
    listed = list(cells)
    local = {cell.seed: cell.values for cell in listed if cell.method == "local"}
    return tuple(_line(name, list(each), local, metric) for name, each in groupby(listed, key=lambda cell: cell.method))


def _line(method: str, cells: list[Cell], local: dict[int, dict[str, float]], metric: str) -> Line:
    sign = 1.0 if METRICS[metric].more_is_better else -1.0
    clients = list(cells[0].values)
    values = np.array([[cell.values[client] for client in clients] for cell in cells])
    known_alone = [cell.alone or local.get(cell.seed, {}) for cell in cells]
    alone = np.array([[each.get(client, np.nan) for client in clients] for each in known_alone])
    known = ~np.isnan(values)
    means = np.array([_mean(each) for each in values])
    worst = np.array([sign * np.min(sign * each[here]) for each, here in zip(values, known, strict=True) if here.any()])
    as_well = sign * (values - alone) >= -_AS_WELL
    return Line(
        method=method,
        mean=_mean(means),
        spread=_spread(means),
        worst=_mean(worst),
        as_well=_mean(np.where(np.isnan(values + alone), np.nan, as_well)),
        seeds=len(cells),
        trained=int(known.any(axis=1).sum()),
        seconds=float(np.mean([cell.seconds for cell in cells])),
        clients={client: _mean(values[:, place]) for place, client in enumerate(clients)},
        spreads={client: _spread(values[:, place]) for place, client in enumerate(clients)},
    )


def gain_interval(cells: Sequence[Cell], base: Sequence[Cell], parts: int, comparisons: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of what a method gains over another, on average over clients.

    With several `comparisons` it is as much wider as it takes for all of them to hold together (Bonferroni).

    Seeds test on one part in `parts` of the rows, and train on the others, which overlap: the variance of the mean of J
    gains is 1/J + 1/(parts - 1) times theirs (Nadeau and Bengio 2003). Seeds with which one of both did not train do
    not count.

    >>> cells = [Cell("a", seed, {"x": 0.6 + seed / 100}, {}, 0.0, "") for seed in range(5)]
    >>> base = [Cell("b", seed, {"x": 0.5}, {}, 0.0, "") for seed in range(5)]
    >>> [round(bound, 3) for bound in gain_interval(cells, base, parts=5)]
    [0.091, 0.149]
    >>> [round(bound, 3) for bound in gain_interval(cells, base, parts=5, comparisons=3)]
    [0.078, 0.162]
    """
    gains = np.array([_mean(np.array([one.values[c] - other.values[c] for c in one.values]))
                      for one, other in zip(cells, base, strict=True)])  # fmt: skip
    gains = gains[np.isfinite(gains)]
    if gains.size < 2:
        return -np.inf, np.inf
    error = np.sqrt(gains.var(ddof=1) * (1 / gains.size + 1 / (parts - 1)))
    reach = float(stats.t.ppf(1 - 0.025 / comparisons, gains.size - 1) * error)
    return float(gains.mean()) - reach, float(gains.mean()) + reach


def common_seeds(cells: Iterable[Cell]) -> frozenset[int] | None:
    """Return the seeds that all methods have; nothing is to be said (None), where these are all seeds.

    >>> cells = [Cell("a", 0, {}, {}, 0.0, ""), Cell("a", 1, {}, {}, 0.0, ""), Cell("b", 1, {}, {}, 0.0, "")]
    >>> common_seeds(cells), common_seeds(cells[:2])
    (frozenset({1}), None)
    """
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.method, set()).add(cell.seed)
    common = frozenset(set.intersection(*seeds.values())) if seeds else frozenset()
    return common if any(each > common for each in seeds.values()) else None


def coalitions_told(cells: Iterable[Cell], label: Callable[[str], str] = str) -> list[str]:
    """Return in words which coalitions methods found, each with the seeds with which it did.

    >>> story = {"coalitions": [["b", "c"], ["a"]], "verdict": "proved"}
    >>> coalitions_told([Cell("ce", seed, {}, {}, 0.0, "", story=story) for seed in (0, 1)])
    ['Coalitions, ce: {a}; {b, c} (proved), with seeds 0, 1.']
    """
    found: dict[str, list[int]] = {}
    for cell in cells:
        for key, coalitions in cell.story.items():
            side, _, what = key.rpartition(" ")
            if what != "coalitions" or cell.method.startswith(("spo", "alone")):  # they are those of ce
                continue
            together = "; ".join("{" + ", ".join(each) + "}" for each in sorted(coalitions))
            verdict = cell.story.get(f"{side} verdict".strip())
            name = ", ".join(filter(None, [label(cell.method), side]))
            proof = f" ({verdict})" if verdict else ""
            found.setdefault(f"Coalitions, {name}: {together}{proof}", []).append(cell.seed)
    return [f"{told}, with seed{'s'[: len(seeds) - 1]} {listed(seeds)}." for told, seeds in found.items()]


def listed(seeds: Iterable[int]) -> str:
    """Return seeds as text.

    >>> listed([0, 1])
    '0, 1'
    """
    return ", ".join(map(str, seeds))


def _text(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4f}"


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan


def _spread(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if known.size > 1 else 0.0


def to_markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown, its columns aligned.

    >>> print(to_markdown(["a", "long head"], [["1", "2"]]), end="")
    | a | long head |
    | - | --------- |
    | 1 | 2         |
    """
    every = [list(heads), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    every.insert(1, ["-" * width for width in widths])
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in every
    ]
    return "\n".join(lines) + "\n"


def to_dict(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return the lines as plain values; one seed has no spread."""
    return [plain({**asdict(line), **({"spread": None} if line.trained < 2 else {})}) for line in lines]
