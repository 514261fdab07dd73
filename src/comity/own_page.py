"""A client's part of a result as a page of Markdown: should it join, with whom, and what for."""

from __future__ import annotations

import math

from comity.figures import Figure
from comity.metrics import METRICS
from comity.own import Own

_PLACES = 4


def page(own: Own) -> str:
    """Return the page."""
    standing, others = own.standing, [name for name in own.coalition if name != own.client]
    lines = [f"# {own.client}", "", _advice(own, others), ""]
    lines += ["| model | " + own.metric + " | 95 % |", "| --- | --- | --- |"]
    for title, figure in (
        ("alone", standing.alone),
        ("in the coalition", standing.coalition),
        ("at best", standing.best),
    ):
        lines.append(f"| {title} | {_number(figure.value)} | {_interval(figure)} |")
    better = "more" if METRICS[own.metric].more_is_better else "less"
    lines += ["", f"Of {own.metric}, {better} is better. The figures are of {standing.rows:,} rows.", ""]
    if others:
        shares = ", ".join(f"{name} {share:.1%}" for name, share in own.weights["coalition"].items())
        lines += ["## Whose rows your model weighs", "", shares + ".", ""]
    if own.brought:
        lines += ["## What others bring you", "", "The loss that you would have more without each:", ""]
        lines += [f"- {giver}: {value:.{_PLACES}g}" for giver, value in own.brought.items()] + [""]
    if own.unmet:
        lines += [
            "## Who you would have liked as well",
            "",
            f"{', '.join(own.unmet)}: they are better off elsewhere.",
            "",
        ]
    if own.others:
        lines += ["## Others, who show their figures", ""]
        lines += [
            f"- {name}: gains {_number(each.gain.value)} ({_interval(each.gain)})" for name, each in own.others.items()
        ]
        lines.append("")
    formed = "; ".join("{" + ", ".join(each) + "}" for each in own.coalitions)
    lines += ["## All coalitions", "", f"{formed}. That nobody wants to leave is {own.verdict}.", ""]
    return "\n".join(lines)


def _advice(own: Own, others: list[str]) -> str:
    gain = own.standing.gain
    if not others:
        return "Stay alone: nobody who is willing makes your model better by more than chance."
    told = f"Train with {', '.join(others)}"
    if math.isnan(gain.value):
        return f"{told}: you chose them by your own losses; how much you gain cannot be said on your rows."
    return f"{told}: the {own.metric} changes by {_number(gain.value)} (95 %: {_interval(gain)})."


def _number(value: float) -> str:
    return "cannot be said" if math.isnan(value) else f"{value:.{_PLACES}g}"


def _interval(figure: Figure) -> str:
    return "–" if math.isnan(figure.low) else f"{_number(figure.low)} to {_number(figure.high)}"
