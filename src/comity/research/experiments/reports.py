"""HTML reports of the coalitions in an experiment: a page for each method and seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from comity import __version__
from comity.core.files import write_text
from comity.core.metrics import METRICS
from comity.core.text import count
from comity.report import Story, describe_equilibrium, render
from comity.report.equilibrium_story import NO_PROOF
from comity.report.story import Dot, Member
from comity.report.words import minus
from comity.research.experiments.cells import Cell
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.figures import decisions, read_decision

REPORTS = "reports"


def write_reports(cells: Sequence[Cell], out: str | Path, experiment: Experiment) -> tuple[Path, ...]:
    """Write a report of every cell with coalitions, and return the files."""
    files: list[Path] = []
    by_name = {(cell.method, cell.seed): cell for cell in cells}
    for cell, side, name in decisions(cells):
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
    prefix, metric = f"{side} " if side else "", experiment.metric
    data = f"experiment {experiment.name}, seed {cell.seed}, {count(len(story.names), 'client')}"
    options = f"{'' if experiment.name == 'synthetic' else ' --data DIR'}{' --quick' if experiment.quick else ''}"
    command = f"comity reproduce {experiment.name}{options}"
    best = by_name.get((cell.method.replace("ce", "spo", 1), cell.seed)) if cell.method.startswith("ce") else None
    pooled = by_name.get(("fedavg", cell.seed))
    shown = {
        "alone": cell.alone,
        "in the coalition": cell.values,
        "at best": {} if best is None else best.values,
        "all together": {} if pooled is None else pooled.values,
    }

    labels = [label for label, values in shown.items() if any(f"{prefix}{name}" in values for name in story.names)]

    def dots(member: Member) -> tuple[Dot, ...]:
        values = {label: shown[label].get(f"{prefix}{member.name}", math.nan) for label in labels}
        return tuple(
            Dot(label, value, text="unknown" if math.isnan(value) else f"{value:.4g}")
            for label, value in values.items()
        )

    known = METRICS.get(metric)
    sign = 1.0 if known is None or known.more_is_better else -1.0

    def with_gain(member: Member) -> Member:
        """Return a member with its values, and with its change by the coalition, if it is in one."""
        alone, together = (values.get(f"{prefix}{member.name}", math.nan) for values in (cell.alone, cell.values))
        change = together - alone
        if len(story.coalitions[member.coalition - 1]) == 1 or math.isnan(change):
            return replace(member, dots=dots(member))
        verdict = "worse" if sign * change < 0 else "better" if change else "the same"
        result = f"On test rows it goes from {alone:.4g} alone to {together:.4g} in the coalition: {verdict}."
        advice = f"{member.advice} {result}"
        if sign * change < 0:
            advice = f"Doubtful: by this method it should{member.advice.removeprefix('Yes:')} {result}"
        return replace(member, dots=dots(member), gain=minus(f"{change:+.4g}"), advice=advice)

    verdict = cell.details.get(f"{prefix}verdict")
    answer = [line for line in story.answer if line != NO_PROOF]
    if verdict:
        answer.append(f"Stability, that no group of clients gains by leaving, is {verdict}.")
    return replace(
        story,
        members=tuple(map(with_gain, story.members)),
        axis=f"{experiment.quantity or (known.title if known else metric)} on test rows",
        more_is_better=known.more_is_better if known else True,
        done=tuple(({**dict(story.done), "Data": data, "To repeat it": command}).items()),
        answer=tuple(answer),
    )
