"""``comity show``: print a saved result."""

from __future__ import annotations

import click


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
    from comity.cli.result_tables import show_result, warn
    from comity.cli.screen import Screen
    from comity.cli.solve import as_text
    from comity.result.result import Result

    result = Result.load(run)
    warn(result.warnings)
    if as_json:
        click.echo(as_text(result).encode(), nl=False)
    else:
        show_result(result, Screen())
    return 0
