"""``comity show``: a saved result, printed again."""

from __future__ import annotations

import click


@click.command(
    short_help="Print what a run found.",
    epilog="""\b
Examples:
  comity show run/
  comity show run/ --json""",
)
@click.argument("run", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(run: str, as_json: bool) -> int:
    """Print a saved result as comity solve did. RUN is a directory that it wrote."""
    from comity.cli.printing import show_result, warn
    from comity.cli.screen import Screen
    from comity.cli.solve import as_text
    from comity.result import Result

    result = Result.load(run)
    warn(result.warnings)
    if as_json:
        click.echo(as_text(result).encode(), nl=False)
    else:
        show_result(result, Screen())
    return 0
