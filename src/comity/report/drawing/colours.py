"""Colours of groups that colour-blind readers can tell apart too (Okabe and Ito 2008)."""

from dataclasses import dataclass

OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"
_LINES = ("-", "--", "-.")


@dataclass(frozen=True, slots=True)
class Look:
    """How a group looks: the colours of its outline, its background and its nodes, and the style of the outline."""

    line: str
    background: str
    node: str
    style: str


ALONE = Look(FAINT, PAPER, "#EEEEEE", ":")
PLAIN = Look(INK, PAPER, "#EEEEEE", "-")


def choose_look(number: int) -> Look:
    """Return the look of a group, counted from 0 among groups of two or more; colours repeat with other line styles.

    >>> choose_look(0).line, choose_look(7).line, choose_look(7).style
    ('#E69F00', '#E69F00', '--')
    """
    colour = OKABE_ITO[number % len(OKABE_ITO)]
    style = _LINES[number // len(OKABE_ITO) % len(_LINES)]
    return Look(colour, _lighter(colour, 0.85), _lighter(colour, 0.45), style)


def _lighter(colour: str, share: float) -> str:
    """Return a colour mixed with white."""
    return "#" + "".join(f"{round(part + (255 - part) * share):02X}" for part in bytes.fromhex(colour[1:]))
