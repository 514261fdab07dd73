"""``comity show`` and ``comity verify``: print a saved result, as ``comity solve`` does, or check it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

import comity

if TYPE_CHECKING:
    from comity.cli.screen import Screen

ACCEPTED, REFUSED = 0, 1  # exit statuses of verify
MAX_LINES = 40  # that a result takes, unless everything is printed


@click.command(
    short_help="Print the result of a run.",
    epilog="""\b
Examples:
  comity show run/
  comity show run/ --verbose
  comity show run/ --json""",
)
@click.argument("run", type=click.Path())
@click.option("--verbose", is_flag=True, help="Print everything, not only what fits a screen.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(run: str, verbose: bool, as_json: bool) -> int:
    """Print a saved result as comity solve does. RUN is a directory that comity solve wrote."""
    from comity.cli.screen import warn

    result = comity.Result.load(run)
    warn(result.warnings)
    print_result(result, verbose=verbose, as_json=as_json)
    return 0


def print_result(result: comity.Result, *, verbose: bool, as_json: bool, lines: int = MAX_LINES) -> None:
    """Print a result without its models: what fits a screen, or everything, as text or as JSON."""
    from comity.cli.overview import overview
    from comity.cli.screen import Screen

    if as_json:
        text = json.dumps(result.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        click.echo(text.encode(), nl=False)
        return
    screen = Screen()
    if verbose:
        _print_sections(result, screen)
        return
    for line in overview(result, screen.width, lines):
        screen.print(line)


def _print_sections(result: comity.Result, screen: Screen) -> None:
    """Print a summary and all sections."""
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


@click.command(
    short_help="Check a run again: numbers, coalitions, proof.",
    epilog="""\b
Examples:
  comity verify run/
  comity verify run/ --json""",
)
@click.argument("run", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(run: str, as_json: bool) -> int:
    """Check that a saved result is unchanged, that its coalitions follow from the benefit graph, and its proof.

    RUN is a directory that comity solve wrote. The proof is recomputed from the saved utilities; no rows are needed.

    Exit status: 0 accepted, 1 refused, 2 not a result of comity.
    """
    from comity.cli.screen import Screen, printable
    from comity.errors import ChangedError
    from comity.result.sections import forgiven, stability

    certificate, lines = None, []
    try:
        result = comity.verify(run)
        certificate = result.certificate.to_dict()
        accepted, reason = result.certificate.proved, stability(result)
        unchanged = "the seal is intact; coalitions, contributions and proof follow from the saved numbers"
        lines = [unchanged, reason, *forgiven(result)]
    except ChangedError as error:
        accepted, reason = False, str(error)
    if as_json:
        document = {"accepted": accepted, "reason": reason, "certificate": certificate}
        click.echo((json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode(), nl=False)
    else:
        screen = Screen()
        screen.heading("Accepted" if accepted else "Refused")
        screen.lines([printable(line) for line in (lines if accepted else [reason])])
    return ACCEPTED if accepted else REFUSED
