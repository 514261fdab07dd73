"""Output for people: tables with lines in a terminal, plain columns in a pipe.

Commands import this module when they run, since rich takes long to load.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

# In a terminal, longer lists are cut, with a note; in a pipe they are complete.
_MAX_ROWS = 40
_MAX_NAMES = 20
_MAX_COLUMNS = 100  # of a line that fits a screen
Item = TypeVar("Item")
# Characters that would end the line, control the terminal, or reverse the direction of the text.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Screen:
    """Standard output: a terminal or a pipe."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._console = Console(markup=False, highlight=False, emoji=False)
        self._has_output = False

    @property
    def width(self) -> int:
        """The number of columns that a line may have."""
        return min(self._console.width, _MAX_COLUMNS) if self.is_terminal else _MAX_COLUMNS

    def print(self, text: str = "", *, indent: int = 0, style: str | None = None) -> None:
        """Print a line; in a terminal it is wrapped between words and keeps its indentation."""
        self._has_output = True
        if self.is_terminal:
            self._console.print(Padding(Text(text, style=style or ""), (0, 0, 0, indent)))
        else:
            sys.stdout.write(" " * indent + text + "\n")

    def command(self, text: str) -> None:
        """Print a command on one line, however long, so that it can be copied."""
        if self.is_terminal:
            self._console.print(Text(f"  {text}"), soft_wrap=True)
        else:
            sys.stdout.write(f"  {text}\n")

    def heading(self, text: str) -> None:
        """Print a heading, after an empty line unless it is the first."""
        if self._has_output:
            self.print()
        self.print(text, style="bold")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
        """Print a table; the columns named in `right` are aligned to the right."""
        complete = list(rows)
        shown = self._cut(complete)
        self._has_output = True
        if self.is_terminal:
            self._draw(columns, shown, right)
        else:
            lines = aligned([columns, *shown], [column in right for column in columns])
            sys.stdout.writelines(f"{line}\n" for line in lines)
        self._note_cut(len(complete) - len(shown))

    def lines(self, lines: Sequence[str]) -> None:
        """Print lines of text, indented; in a terminal a long list is cut."""
        shown = self._cut(lines)
        for line in shown:
            self.print(line, indent=2)
        self._note_cut(len(lines) - len(shown))

    def names(self, names: Iterable[str]) -> str:
        """Return names separated by commas; in a terminal a long list is cut."""
        complete = list(names)
        cut = len(complete) - _MAX_NAMES if self.is_terminal and len(complete) > _MAX_NAMES + 1 else 0
        return ", ".join(map(printable, complete[: len(complete) - cut])) + (f" and {cut:,} more" if cut else "")

    def _cut(self, items: Sequence[Item]) -> Sequence[Item]:
        return items[:_MAX_ROWS] if self.is_terminal and len(items) > _MAX_ROWS + 1 else items

    def _note_cut(self, cut: int) -> None:
        if cut:
            self.print(f"… and {cut:,} more; --json lists all", indent=2)

    def _draw(self, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str]) -> None:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for column in columns:
            table.add_column(Text(column), justify="right" if column in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(table)


def warn(notes: Iterable[str]) -> None:
    """Print warnings to standard error, one per line."""
    for note in notes:
        click.echo(f"Warning: {printable(note)}", err=True)


def printable(text: str) -> str:
    r"""Escape characters that would break the line or change the direction of the text.

    >>> print(printable("two\nlines"))
    two\nlines
    """
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def decimals(values: Sequence[float]) -> list[str]:
    """Write numbers with the same number of decimals: as many as six significant digits of any of them need.

    >>> decimals([0.6, 0.71, 12])
    ['0.60', '0.71', '12.00']
    """
    short = [f"{value:.6g}" for value in values]
    if any("e" in text for text in short):
        return short
    places = max((len(text.partition(".")[2]) for text in short), default=0)
    return [f"{value:.{places}f}" for value in values]


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterable[str]:
    """Yield lines of aligned columns, two blanks apart; not with rich, which takes 50 µs per cell."""
    last = len(right) - 1
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(cell))
            cells.append(blanks + cell if right[column] else cell if column == last else cell + blanks)
        yield "  ".join(cells)
