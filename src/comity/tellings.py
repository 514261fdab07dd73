"""A result told in words and tables, for the terminal and for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from comity.result import Result


def as_html(result: Result) -> str:
    """Return a result as a table for notebooks."""
    head = "".join(f"<th>{escape(name)}</th>" for name in ("client", "rows", "alone", "in coalition", "at best"))
    rows = []
    for client, standing in result.utilities.items():
        cells = [
            client,
            str(standing.rows),
            *(f"{f.value:.4g}" for f in (standing.alone, standing.coalition, standing.best)),
        ]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"
