"""Printing a result and its warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from comity.cli.screen import Screen
    from comity.result.result import Result


def show_result(result: Result, screen: Screen) -> None:
    """Print the summary and all sections of a result."""
    from comity.cli.screen import printable
    from comity.result.sections import Cell, sections, summary

    def write(cell: Cell) -> str:
        return screen.names(cell) if isinstance(cell, tuple) else printable(cell)

    screen.print(printable(summary(result)))
    for section in sections(result):
        screen.heading(printable(section.heading))
        if section.columns:
            screen.table(section.columns, [list(map(write, row)) for row in section.rows], right=section.right)
        screen.lines(list(map(printable, section.lines)))


def warn(notes: Iterable[str]) -> None:
    """Print warnings to standard error, one per line."""
    from comity.cli.screen import printable

    for note in notes:
        click.echo(f"Warning: {printable(note)}", err=True)
