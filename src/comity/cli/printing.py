"""A result on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from comity.cli.screen import Screen
    from comity.result import Result


def show_result(result: Result, screen: Screen) -> None:
    """Print all that is told of a result."""
    from comity.cli.screen import printable
    from comity.tellings import Cell, sections, summary

    def written(cell: Cell) -> str:
        return screen.names(cell) if isinstance(cell, tuple) else printable(cell)

    screen.say(printable(summary(result)))
    for section in sections(result):
        screen.heading(printable(section.heading))
        if section.columns:
            screen.table(section.columns, [list(map(written, row)) for row in section.rows], right=section.right)
        screen.lines(list(map(printable, section.lines)))


def warn(notes: Iterable[str]) -> None:
    """Print warnings, each on a line of its own."""
    from comity.cli.screen import printable

    for note in notes:
        click.echo(f"Warning: {printable(note)}", err=True)
