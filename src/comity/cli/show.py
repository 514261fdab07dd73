"""``comity show``: print a saved result, as ``comity solve`` prints a new one."""

from __future__ import annotations

import json

import click

import comity


@click.command(
    short_help="Print the result of a run.",
    epilog="""\b
Examples:
  comity show run/
  comity show run/ --json""",
)
@click.argument("run", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(run: str, as_json: bool) -> int:
    """Print a saved result as comity solve does. RUN is a directory that it wrote."""
    from comity.cli.screen import warn

    result = comity.Result.load(run)
    warn(result.warnings)
    print_result(result, as_json)
    return 0


def print_result(result: comity.Result, as_json: bool) -> None:
    """Print everything but the models as JSON, or the summary and all sections of a result for people."""
    from comity.cli.screen import Screen, printable
    from comity.result.sections import Cell, sections, summary

    if as_json:
        text = json.dumps(result.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        click.echo(text.encode(), nl=False)
        return
    screen = Screen()

    def write(cell: Cell) -> str:
        return screen.names(cell) if isinstance(cell, tuple) else printable(cell)

    screen.print(printable(summary(result)))
    for section in sections(result):
        screen.heading(printable(section.heading))
        if section.columns:
            screen.table(section.columns, [list(map(write, row)) for row in section.rows], right=section.right)
        screen.lines(list(map(printable, section.lines)))
