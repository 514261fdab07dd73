"""Reports of what was decided in an experiment: a page for each seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from comity import __version__
from comity.experiments.cells import Cell
from comity.experiments.figures import decided, decisions
from comity.files import write_text
from comity.metrics import METRICS
from comity.peels import Equilibrium
from comity.report import Story, render, story_of_document
from comity.report.story import Dot, Member
from comity.report.words import name_of

REPORTS = "reports"
_SHOWN = (("alone", "local"), ("at best", "spo"), ("all together", "fedavg"))


def write_reports(cells: Sequence[Cell], out: str | Path, title: str, metric: str) -> tuple[Path, ...]:
    """Write a report of every cell that found coalitions, and return the files; older cells do not tell enough."""
    made: list[Path] = []
    beside = {(cell.method, cell.seed): cell for cell in cells}
    for cell, side, name in decisions(cells):
        _, equilibrium = decided(cell, side)
        if isinstance(equilibrium, Equilibrium):
            told = {"comity": __version__, "schema": 1, "kind": "graph", **equilibrium.to_dict()}
            story = replace(story_of_document(told), title=f"{title}; {name}")
            path = Path(out) / REPORTS / f"{name}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, render(_with_values(story, cell, side, beside, metric)))
            made.append(path)
    return tuple(made)


def _with_values(story: Story, cell: Cell, side: str, beside: dict[tuple[str, int], Cell], metric: str) -> Story:
    """Return a story with what methods attained for each client."""
    before = f"{side} " if side else ""
    shown = [(label, beside.get((method, cell.seed))) for label, method in _SHOWN]
    shown.insert(1, ("in the coalition", cell))

    def dots(member: Member) -> tuple[Dot, ...]:
        key = f"{before}{member.name}"
        values = [(label, other.values[key]) for label, other in shown if other is not None and key in other.values]
        return tuple(Dot(label, value, text=f"{value:.4g}") for label, value in values)

    verdict = cell.story.get(f"{before}verdict")
    answer = [line for line in story.answer if "nothing to prove" not in line]
    if verdict:
        answer.append(f"That nobody gains by leaving is {verdict}.")
    return replace(
        story,
        members=tuple(replace(member, dots=dots(member)) for member in story.members),
        axis=f"{name_of(metric)} on rows to test with",
        more_is_better=METRICS[metric].more_is_better if metric in METRICS else True,
        answer=tuple(answer),
    )
