"""Printing for people: tables with lines in a terminal, plain columns in a pipe."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

# In a terminal, longer lists are cut and said to be; in a pipe they are whole.
MOST_ROWS = 40
MOST_NAMES = 20
Shown = TypeVar("Shown")
# What would end the line, command the terminal, or turn the direction of the text around it.
_DISTURBING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Screen:
    """Standard output, as a terminal or as a pipe."""

    def __init__(self) -> None:
        from rich.console import Console

        self.is_terminal = sys.stdout.isatty()
        self._console = Console(markup=False, highlight=False, emoji=False)
        self._begun = False

    def say(self, text: str = "", *, indent: int = 0, style: str | None = None) -> None:
        """Print a line; in a terminal it is wrapped between words, and stays indented."""
        from rich.padding import Padding
        from rich.text import Text

        self._begun = True
        if self.is_terminal:
            self._console.print(Padding(Text(text, style=style or ""), (0, 0, 0, indent)))
        else:
            sys.stdout.write(" " * indent + text + "\n")

    def command(self, text: str) -> None:
        """Print a command on one line, however long: broken in two it would not be the same."""
        from rich.text import Text

        if self.is_terminal:
            self._console.print(Text(f"  {text}"), soft_wrap=True)
        else:
            sys.stdout.write(f"  {text}\n")

    def heading(self, text: str) -> None:
        """Print a heading, after an empty line unless it is the first."""
        if self._begun:
            self.say()
        self.say(text, style="bold")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
        """Print a table; the columns named by `right` are aligned to the right."""
        listed = list(rows)
        shown = self._shown(listed)
        self._begun = True
        if self.is_terminal:
            self._draw(columns, shown, right)
        else:
            sys.stdout.writelines(_plain([columns, *shown], [column in right for column in columns]))
        self._say_cut(len(listed) - len(shown))

    def lines(self, lines: Sequence[str]) -> None:
        """Print lines of text, indented; in a terminal a long list is cut."""
        shown = self._shown(lines)
        for line in shown:
            self.say(line, indent=2)
        self._say_cut(len(lines) - len(shown))

    def names(self, names: Iterable[str]) -> str:
        """Write names with commas between; in a terminal a long list is cut."""
        listed = list(names)
        cut = len(listed) - MOST_NAMES if self.is_terminal and len(listed) > MOST_NAMES + 1 else 0
        return ", ".join(map(printable, listed[: len(listed) - cut])) + (f" and {cut:,} more" if cut else "")

    def _shown(self, listed: Sequence[Shown]) -> Sequence[Shown]:
        return listed[:MOST_ROWS] if self.is_terminal and len(listed) > MOST_ROWS + 1 else listed

    def _say_cut(self, cut: int) -> None:
        if cut:
            self.say(f"… and {cut:,} more; --json lists all", indent=2)

    def _draw(self, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str]) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for column in columns:
            table.add_column(Text(column), justify="right" if column in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(table)


def printable(text: str) -> str:
    r"""Write text so that it stays on its line and runs as it should.

    >>> print(printable("two\nlines"))
    two\nlines
    """
    return _DISTURBING.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def decimals(values: Sequence[float]) -> list[str]:
    """Write numbers with the same number of decimals, as many as any of them needs for six digits.

    >>> decimals([0.6, 0.71, 12])
    ['0.60', '0.71', '12.00']
    """
    short = [f"{value:.6g}" for value in values]
    if any("e" in text for text in short):
        return short
    places = max((len(text.partition(".")[2]) for text in short), default=0)
    return [f"{value:.{places}f}" for value in values]


def _plain(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterable[str]:
    """Yield lines of aligned columns, two blanks between; drawn by hand, since rich takes 50 µs a cell."""
    from rich.cells import cell_len

    last = len(right) - 1
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(cell))
            cells.append(blanks + cell if right[at] else cell if at == last else cell + blanks)
        yield "  ".join(cells) + "\n"
