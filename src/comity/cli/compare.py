"""``comity compare``: methods of federated learning on a user's table."""

import warnings
from typing import Any

import click

import comity
from comity.cli.study_options import given_settings, study_options


@click.command(
    short_help="Compare methods of federated learning on a table.",
    epilog="""\b
Examples:
  comity compare patients.csv --client hospital --target days --out compared/
  comity compare hospitals/ --target stay --methods local,fedavg,spo,ce --out compared/
  comity compare patients.csv --client hospital --target days --model mlp --seeds 5 --out compared/

\b
Methods:
  local, fedavg, fedavg-ft, per-fedavg, per-fedavg-hf, fedper, lg-fedavg, pfedme, pfedhn, pfedhn-pc, afl, q-ffl, ifca,
  and comity's alone, ce, spo""",
)
@click.argument("source", type=click.Path())
@study_options("client", "target", required=["target"])
@click.option("--out", type=click.Path(), metavar="DIR", required=True, help="Directory for the results of every run.")
@click.option("--methods", metavar="NAMES", help="The methods to compare, separated by commas. Default: all.")
@click.option("--seeds", type=int, metavar="N", help="Number of runs, each with different test rows. Default: 3.")
@click.option("--parts", type=int, metavar="N", help="One row in N is a test row. Default: 5.")
@click.option("--rounds", type=int, metavar="N", help="Rounds of communication of each method. Default: 60.")
@click.option("--local-steps", type=int, metavar="N", help="Gradients that a client computes per round. Default: 5.")
@click.option(
    "--rates", metavar="NUMBERS", help="Learning rates to choose from, on held-out rows. Default: 0.01,0.05,0.2."
)
@study_options("seed", "model", "width", "depth", "task", "metric", "exclude", "keep", "categories", "without")
@study_options("id", "group", "encoding")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def compare(source: str, out: str, methods: str | None, rates: str | None, as_json: bool, **options: Any) -> int:
    """Train baselines of federated learning, all with the same budget, and comity's models, on the same rows.

    SOURCE is a table (.csv, .tsv, .parquet, .xlsx) in which the column --client names the client of each row, or a
    directory with a table for each client. Some of every client's rows are test rows, drawn anew for each seed.

    spo trains each client's model with its best collaborators, as if all were willing; ce trains it with the client's
    coalition in the equilibrium. DIR keeps finished runs, so that the same command continues an interrupted one.
    """
    from comity.cli import interrupts
    from comity.cli.screen import Screen, warn
    from comity.core.progress import Stages

    settings = given_settings(options)
    if methods is not None:
        settings["methods"] = [name.strip() for name in methods.split(",")]
    if rates is not None:
        settings["rates"] = _parse_rates(rates)
    with Stages(interrupts.check) as stages, interrupts.kept_in(out), warnings.catch_warnings():
        warnings.simplefilter("always", comity.ComityWarning)
        warnings.showwarning = lambda message, *_, **__: warn([str(message)])
        comparison = comity.compare(source, out=out, progress=stages, **settings)
    if as_json:
        click.echo(comparison.to_json().encode(), nl=False)
        return 0
    from comity.research.experiments.comparison import TABLE, TABLE_JSON
    from comity.research.experiments.summary import COLUMNS

    screen = Screen()
    screen.heading(comparison.title)
    screen.table(COLUMNS, [summary.texts() for summary in comparison.summaries], right=COLUMNS[1:])
    for remark in comparison.remarks():
        screen.print(f"\n{remark}")
    click.echo(f"\nWritten to {out}: {TABLE}, {TABLE_JSON}, and a file for each method and seed")
    return 0


def _parse_rates(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(rate) for rate in text.split(","))
    except ValueError:
        raise click.UsageError(f"--rates must be numbers separated by commas, not {text!r}.") from None
