"""Colours of groups, which readers who are colour-blind can tell apart too (Okabe and Ito 2008)."""

from __future__ import annotations

from dataclasses import dataclass

OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"
_LINES = ("-", "--", "-.")


@dataclass(frozen=True, slots=True)
class Look:
    """How a group looks: the colour of its line, of its ground and of its nodes, and the kind of line."""

    line: str
    ground: str
    node: str
    style: str


ALONE = Look(FAINT, PAPER, "#EEEEEE", ":")
PLAIN = Look(INK, PAPER, "#EEEEEE", "-")


def look_of(number: int) -> Look:
    """Return the look of a group, counted from 0 among those of two or more; colours come again with other lines.

    >>> look_of(0).line, look_of(7).line, look_of(7).style
    ('#E69F00', '#E69F00', '--')
    """
    colour = OKABE_ITO[number % len(OKABE_ITO)]
    style = _LINES[number // len(OKABE_ITO) % len(_LINES)]
    return Look(colour, _lighter(colour, 0.85), _lighter(colour, 0.45), style)


def _lighter(colour: str, share: float) -> str:
    """Return a colour mixed with white."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * share):02X}" for part in parts)
