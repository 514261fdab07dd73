"""Printing for people: tables with lines in a terminal, plain columns in a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# In a terminal, longer lists are cut and said to be; in a pipe they are whole.
MOST_ROWS = 40
MOST_NAMES = 20


class Screen:
    """Standard output, as a terminal or as a pipe."""

    def __init__(self) -> None:
        self._console = _console()
        self.is_terminal = self._console.is_terminal

    def say(self, text: str = "") -> None:
        """Print a line; in a terminal it is wrapped between words."""
        self._console.print(text, soft_wrap=not self.is_terminal)

    def heading(self, text: str) -> None:
        """Print a heading after an empty line."""
        self._console.print()
        self._console.print(text, style="bold", soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
        """Print a table; the columns named by `right` are aligned to the right."""
        from rich import box

        shown = [list(row) for row in rows]
        cut = len(shown) - MOST_ROWS if self.is_terminal and len(shown) > MOST_ROWS + 1 else 0
        if cut:
            del shown[MOST_ROWS:]
        if self.is_terminal:
            self._console.print(_table(columns, shown, right, box.SIMPLE_HEAD))
        else:
            plain = _console(io.StringIO(), width=100_000)
            plain.print(_table(columns, shown, right, None))
            file = plain.file
            assert isinstance(file, io.StringIO)
            self._console.file.write("".join(line.rstrip() + "\n" for line in file.getvalue().splitlines()))
        if cut:
            self.say(f"… and {cut:,} more; --json lists all")

    def lines(self, lines: Sequence[str]) -> None:
        """Print lines of text, indented; in a terminal a long list is cut."""
        cut = len(lines) - MOST_ROWS if self.is_terminal and len(lines) > MOST_ROWS + 1 else 0
        for line in lines[: len(lines) - cut]:
            self.say(f"  {line}")
        if cut:
            self.say(f"  … and {cut:,} more; --json lists all")

    def names(self, names: Iterable[str]) -> str:
        """Write names with commas between; in a terminal a long list is cut."""
        shown = [printable(name) for name in names]
        cut = len(shown) - MOST_NAMES if self.is_terminal and len(shown) > MOST_NAMES + 1 else 0
        return ", ".join(shown[: len(shown) - cut]) + (f" and {cut:,} more" if cut else "")


def printable(name: str) -> str:
    """Write a name so that it stays on its line: line ends and tabs are shown, not made."""
    return name.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _console(file: io.StringIO | None = None, width: int | None = None) -> Console:
    from rich.console import Console

    return Console(file=file, width=width, markup=False, highlight=False, emoji=False)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str], box: object) -> Table:
    from rich.box import Box
    from rich.table import Table
    from rich.text import Text

    lines = box if isinstance(box, Box) else None
    table = Table(box=lines, pad_edge=False, header_style="bold" if lines else "")
    for column in columns:
        table.add_column(Text(column), justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
