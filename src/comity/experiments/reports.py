"""Reports of what was decided in an experiment: a page for each seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from comity import __version__
from comity.experiments.cells import Cell
from comity.experiments.experiment import Experiment
from comity.experiments.figures import decided, decisions
from comity.files import write_text
from comity.metrics import METRICS
from comity.peels import Equilibrium
from comity.report import Story, render, story_of_document
from comity.report.of_document import NO_PROOF
from comity.report.story import Dot, Member
from comity.report.words import minus
from comity.writing import count

REPORTS = "reports"


def write_reports(cells: Sequence[Cell], out: str | Path, experiment: Experiment) -> tuple[Path, ...]:
    """Write a report of every cell that found coalitions, and return the files; older cells do not tell enough."""
    made: list[Path] = []
    beside = {(cell.method, cell.seed): cell for cell in cells}
    for cell, side, name in decisions(cells):
        _, equilibrium = decided(cell, side)
        if isinstance(equilibrium, Equilibrium):
            told = {"comity": __version__, "schema": 1, "kind": "graph", **equilibrium.to_dict()}
            story = replace(story_of_document(told), title=f"{experiment.title}; {name}")
            path = Path(out) / REPORTS / f"{name}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, render(_with_values(story, cell, side, beside, experiment)))
            made.append(path)
    return tuple(made)


def _with_values(
    story: Story, cell: Cell, side: str, beside: dict[tuple[str, int], Cell], experiment: Experiment
) -> Story:
    """Return a story with what methods attained for each client."""
    before, metric = f"{side} " if side else "", experiment.metric
    data = f"experiment {experiment.name}, seed {cell.seed}, {count(len(story.names), 'client')}"
    options = f"{'' if experiment.name == 'synthetic' else ' --data DIR'}{' --quick' if experiment.quick else ''}"
    command = f"comity reproduce {experiment.name}{options}"
    best = beside.get((cell.method.replace("ce", "spo", 1), cell.seed)) if cell.method.startswith("ce") else None
    pooled = beside.get(("fedavg", cell.seed))
    shown = {
        "alone": cell.alone,
        "in the coalition": cell.values,
        "at best": {} if best is None else best.values,
        "all together": {} if pooled is None else pooled.values,
    }

    labels = [label for label, values in shown.items() if any(f"{before}{name}" in values for name in story.names)]

    def dots(member: Member) -> tuple[Dot, ...]:
        told = {label: shown[label].get(f"{before}{member.name}", math.nan) for label in labels}
        return tuple(
            Dot(label, value, text="unknown" if math.isnan(value) else f"{value:.4g}") for label, value in told.items()
        )

    known = METRICS.get(metric)
    sign = 1.0 if known is None or known.more_is_better else -1.0

    def with_gain(member: Member) -> Member:
        """Return a member with its values, and with what the coalition changes, if it has one."""
        alone, together = (values.get(f"{before}{member.name}", math.nan) for values in (cell.alone, cell.values))
        change = together - alone
        if len(story.coalitions[member.coalition - 1]) == 1 or math.isnan(change):
            return replace(member, dots=dots(member))
        verdict = "worse" if sign * change < 0 else "better" if change else "the same"
        told = f"On rows to test with, it goes from {alone:.4g} alone to {together:.4g} in the coalition: {verdict}."
        advice = f"{member.advice} {told}"
        if sign * change < 0:
            advice = f"Doubtful: by this method it should{member.advice.removeprefix('Yes:')} {told}"
        return replace(member, dots=dots(member), gain=minus(f"{change:+.4g}"), advice=advice)

    verdict = cell.story.get(f"{before}verdict")
    answer = [line for line in story.answer if line != NO_PROOF]
    if verdict:
        answer.append(f"That nobody gains by leaving is {verdict}.")
    return replace(
        story,
        members=tuple(map(with_gain, story.members)),
        axis=f"{experiment.values or (known.title if known else metric)} on rows to test with",
        more_is_better=known.more_is_better if known else True,
        done=tuple(({**dict(story.done), "Data": data, "To repeat it": command}).items()),
        answer=tuple(answer),
    )
