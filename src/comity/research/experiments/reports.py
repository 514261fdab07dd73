"""HTML reports and figures of the coalitions in an experiment (paper, Figures 4 to 6), for each method and seed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from comity import __version__
from comity.core.files import write_text
from comity.core.metrics import METRICS
from comity.core.progress import Progress
from comity.core.text import count
from comity.game.equilibrium import replay_peels
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium
from comity.report import Story, describe_equilibrium, render
from comity.report.drawing import draw
from comity.report.equilibrium_story import NO_PROOF
from comity.report.story import Dot, Member
from comity.report.words import minus
from comity.research.experiments.cells import Cell
from comity.research.experiments.experiment import Experiment

FIGURES, REPORTS = "figures", "reports"


def write_reports(cells: Sequence[Cell], out: str | Path, experiment: Experiment) -> tuple[Path, ...]:
    """Write a report of every cell with coalitions, and return the files."""
    files = []
    by_name = {(cell.method, cell.seed): cell for cell in cells}
    for cell, side, name in _decisions(cells):
        _, equilibrium = read_decision(cell, side)
        document = {"comity": __version__, "schema": 1, "kind": "graph", **equilibrium.to_dict()}
        story = replace(describe_equilibrium(document), title=f"{experiment.title}; {name}")
        path = Path(out) / REPORTS / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, render(_with_values(story, cell, side, by_name, experiment)))
        files.append(path)
    return tuple(files)


def _with_values(
    story: Story, cell: Cell, side: str, by_name: dict[tuple[str, int], Cell], experiment: Experiment
) -> Story:
    """Return a story with each client's values alone, in the coalition, at best and with FedAvg."""
    prefix, metric = f"{side} " if side else "", METRICS[experiment.metric]
    data = f"experiment {experiment.name}, seed {cell.seed}, {count(len(story.names), 'client')}"
    options = f"{'' if experiment.name == 'synthetic' else ' --data DIR'}{' --quick' if experiment.quick else ''}"
    command = f"comity reproduce {experiment.name}{options}"
    best = by_name.get((cell.method.replace("ce", "spo", 1), cell.seed)) if cell.method.startswith("ce") else None
    pooled = by_name.get(("fedavg", cell.seed))
    columns = {
        "alone": cell.alone,
        "in the coalition": cell.values,
        "at best": {} if best is None else best.values,
        "all together": {} if pooled is None else pooled.values,
    }
    names = {f"{prefix}{name}" for name in story.names}
    shown = {label: values for label, values in columns.items() if names & values.keys()}
    sign = 1.0 if metric.more_is_better else -1.0

    def with_gain(member: Member) -> Member:
        """Return a member with its values, and with its change by the coalition, if it is in one."""
        values = {label: column.get(f"{prefix}{member.name}", math.nan) for label, column in shown.items()}
        texts = {label: "unknown" if math.isnan(value) else f"{value:.4g}" for label, value in values.items()}
        member = replace(member, dots=tuple(Dot(label, values[label], text=texts[label]) for label in values))
        alone, together = (values.get(label, math.nan) for label in ("alone", "in the coalition"))
        change = together - alone
        if len(story.coalitions[member.coalition - 1]) == 1 or math.isnan(change):
            return member
        effect = "worse" if sign * change < 0 else "better" if change else "the same"
        result = f"On test rows it goes from {alone:.4g} alone to {together:.4g} in the coalition: {effect}."
        advice = f"{member.advice} {result}"
        if sign * change < 0:
            advice = f"Doubtful: by this method it should{member.advice.removeprefix('Yes:')} {result}"
        return replace(member, gain=minus(f"{change:+.4g}"), advice=advice)

    answer = [line for line in story.answer if line != NO_PROOF]
    if verdict := cell.details.get(f"{prefix}verdict"):
        answer.append(f"Stability, that no group of clients gains by leaving, is {verdict}.")
    return replace(
        story,
        members=tuple(map(with_gain, story.members)),
        axis=f"{experiment.quantity or metric.title} on test rows",
        more_is_better=metric.more_is_better,
        done=tuple(({**dict(story.done), "Data": data, "To repeat it": command}).items()),
        answer=tuple(answer),
    )


def draw_figures(cells: Sequence[Cell], out: str | Path, progress: Progress) -> tuple[Path, ...]:
    """Draw the benefit graph, its components and the coalitions of every cell with coalitions, and return the files.

    The files are in the directory ``figures`` in `out`. They are named by method and seed, and by side if the table has
    two.
    """
    found = _decisions(cells)
    files: list[Path] = []
    for number, (cell, side, name) in enumerate(found):
        progress(f"figures ({name})", number, len(found))
        graph, equilibrium = read_decision(cell, side)
        files += draw(graph, Path(out) / FIGURES, name=name, equilibrium=equilibrium)
    return tuple(files)


def _decisions(cells: Sequence[Cell]) -> list[tuple[Cell, str, str]]:
    """Return every cell with coalitions, the sides of its table, and a name made of side, method and seed."""
    return [
        (cell, side, "-".join(filter(None, [side, cell.method, str(cell.seed)])))
        for cell in cells
        for side in cell.sides
    ]


def read_decision(cell: Cell, side: str = "") -> tuple[BenefitGraph, Equilibrium]:
    """Return the benefit graph and the equilibrium in the details of a cell.

    >>> from comity import find_equilibrium
    >>> found = find_equilibrium(["a", "b"], lambda client, remaining: {"a", client} & remaining)
    >>> details = {"edges": [["a", "b"]], "equilibrium": found.to_dict()}
    >>> read_decision(Cell("ce", 0, {"a": 1.0, "b": 1.0}, {}, 1.0, "…", details=details))
    (BenefitGraph({'a': [], 'b': ['a']}), Equilibrium({a}, {b}))
    """
    prefix = f"{side} " if side else ""
    wishes: dict[str, list[str]] = {
        client.removeprefix(prefix): [] for client in cell.values if client.startswith(prefix)
    }
    for giver, taker in cell.details[f"{prefix}edges"]:
        wishes[taker].append(giver)
    return BenefitGraph(wishes), replay_peels(cell.details[f"{prefix}equilibrium"])
