"""``comity compare``: all methods on a user's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from comity.experiments.comparing import Compared


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
@click.option("--client", metavar="COLUMN", help="The column that says whose each row is.")
@click.option("--target", metavar="COLUMN", required=True, help="The column to predict.")
@click.option("--out", type=click.Path(), metavar="DIR", required=True, help="Where every finished cell is kept.")
@click.option("--methods", metavar="NAMES", help="Some of the methods, with commas between; unless told, all.")
@click.option("--seeds", type=int, metavar="N", help="How many times, with other rows to test with (3).")
@click.option("--seed", type=int, metavar="N", help="The first seed (0).")
@click.option("--parts", type=int, metavar="N", help="One part in N of the rows is to test with (5).")
@click.option("--rounds", type=int, metavar="N", help="Rounds that a method may take (60).")
@click.option("--local-steps", type=int, metavar="N", help="Gradients that a client computes in a round (5).")
@click.option("--rates", metavar="NUMBERS", help="Rates to choose among, on rows held out (0.01,0.05,0.2).")
@click.option("--model", type=click.Choice(["linear", "mlp"]), help="Linear models, or perceptrons.")
@click.option("--width", type=int, metavar="N", help="Units in a hidden layer of a perceptron (32).")
@click.option("--depth", type=int, metavar="N", help="Hidden layers of a perceptron (1).")
@click.option("--task", type=click.Choice(["regression", "classes"]), help="Unless told, as the target looks.")
@click.option(
    "--metric",
    type=click.Choice(["auc", "accuracy", "log-loss", "rmse", "r2"]),
    help="What is compared. Unless told, auc or rmse.",
)
@click.option("--exclude", metavar="COLUMN", multiple=True, help="A column to leave out; may be given again.")
@click.option("--keep", metavar="COLUMN", multiple=True, help="A column that looks like an identifier and is none.")
@click.option("--without", metavar="CLIENT", multiple=True, help="A client to leave out; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def compare(
    source: str,
    out: str,
    methods: str | None,
    seeds: int | None,
    parts: int | None,
    rounds: int | None,
    local_steps: int | None,
    rates: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Run baselines of federated learning, each with the same budget, and comity's models on the same rows.

    SOURCE is a table (.csv, .tsv, .parquet) in which the column --client says whose each row is, or a directory with
    a table for each client. Of every client's rows, one part is to test with; which one is drawn anew for each seed.

    spo are each client's best models with everybody willing, ce those of the coalitions in which nobody wants to be
    elsewhere. DIR keeps what is done: the same command goes on where it was interrupted.
    """
    from comity.core.optional import require

    require("torch", "to compare with methods that train by gradients")
    from comity.baselines import Budget
    from comity.cli.ending import kept_in
    from comity.cli.printing import warn
    from comity.cli.progress import Stages
    from comity.experiments.comparing import Comparison, compare
    from comity.solving import open_source
    from comity.study import Study

    study = Study.from_mapping({name: value for name, value in given.items() if value is not None and value != ()})
    default = Comparison()
    comparison = Comparison(
        methods=default.methods if methods is None else tuple(name.strip() for name in methods.split(",")),
        seeds=default.seeds if seeds is None else seeds,
        parts=default.parts if parts is None else parts,
        budget=Budget(
            default.budget.rounds if rounds is None else rounds,
            default.budget.steps if local_steps is None else local_steps,
        ),
        rates=default.rates if rates is None else _numbers(rates),
    )
    opened = open_source(source, study)
    warn(opened.warnings)  # at once, and not into the lines of progress
    with Stages() as stages, kept_in(out):
        compared = compare(opened.federation.members, study, comparison, out, stages)  # type: ignore[attr-defined]
    warn(compared.warnings)
    if as_json:
        click.echo(compared.to_json().encode(), nl=False)
    else:
        _show(compared, out)
    return 0


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise click.UsageError(f"--rates are numbers with commas between, not {text!r}.") from None


def _show(compared: Compared, out: str) -> None:
    from comity.cli.screen import Screen
    from comity.experiments.comparing import TABLE, TABLE_JSON
    from comity.experiments.summary import HEADS

    screen = Screen()
    screen.heading(compared.title)
    screen.table(HEADS, [line.cells() for line in compared.lines], right=HEADS[1:])
    for remark in compared.remarks():
        screen.say(f"\n{remark}")
    click.echo(f"\nWritten to {out}: {TABLE}, {TABLE_JSON}, and a file for each method and seed")
