"""``comity predict``: new rows, each with its client's model."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    short_help="Predict new rows with the models of a run.",
    epilog="""\b
Examples:
  comity predict run/ new_patients.csv --out predictions.csv
  comity predict run/ north.csv --client North --out north-predictions.csv
  comity predict run/ new_patients.csv --model alone --out - | head""",
)
@click.argument("run", type=click.Path())
@click.argument("table", type=click.Path())
@click.option("--out", required=True, metavar="FILE", help="Where to write, as CSV; - is standard output.")
@click.option(
    "--model",
    type=click.Choice(["coalition", "best", "alone", "together"]),
    default="coalition",
    show_default=True,
    help="Each client's model in its coalition, at best (everybody willing) or alone; or together, the same for all.",
)
@click.option("--client", "owner", metavar="NAME", help="Whose the rows are, where no column says it.")
@click.option("--force", is_flag=True, help="Replace FILE if there is one.")
def predict(run: str, table: str, out: str, model: str, owner: str | None, force: bool) -> int:
    """Predict every row of TABLE with its client's model.

    RUN is a directory that comity solve wrote, or what a site of a federation received. TABLE (.csv, .tsv, .parquet)
    has the columns that the models were trained with and the one that says whose each row is; if all are of one client,
    --client may say it instead, and a site's own needs neither.
    The file has a row for each, in order: client, prediction and, for classes, the probability of each class c as p_c.

    Exit status: 0 done, 2 bad input.
    """
    from comity.cli.printing import warn
    from comity.errors import FormatError, InputError
    from comity.files import write_text
    from comity.own import Own
    from comity.predictions import predict as predicted
    from comity.result import Result
    from comity.schema import CategoryColumn
    from comity.sealed import read_document
    from comity.tables import read_rows

    if out != "-":
        _check_out(out, table, force)
    result: Result | Own = Own.load(run) if "own" in read_document(run) else Result.load(run)
    texts = [column.name for column in result.schema.columns if isinstance(column, CategoryColumn)]
    column = result.study.client or "client"
    rows = read_rows(table, column, texts)
    if owner is not None and column in rows.columns:
        raise click.UsageError(f"column {column!r} of the table says whose each row is; leave --client out.")
    if owner is None and isinstance(result, Own) and column not in rows.columns:
        owner = result.client
    if owner is not None:
        rows = rows.assign(**{column: owner})
    try:
        frame, notes = predicted(result, rows, model)
    except InputError as error:
        raise FormatError(f"{table}: {error}") from None
    text = frame.to_csv(index=False, lineterminator="\n")
    warn(notes)
    if out == "-":
        click.echo(text.encode(), nl=False)
    else:
        write_text(out, text)
        click.echo(f"Written to {out}: {len(frame):,} predictions, by {_named(model)}.")
    return 0


def _check_out(out: str, table: str, force: bool) -> None:
    """Check before any work that a file may be written."""
    from comity.errors import OutputError
    from comity.files import check_new

    file = Path(out)
    if file.is_file() and Path(table).exists() and file.samefile(table):
        raise OutputError(f"{out}: these are the rows to predict; give another file")
    check_new(out, force=force)


def _named(model: str) -> str:
    own = {"coalition": "in its coalition", "best": "at best", "alone": "alone"}
    return f"each client's model {own[model]}" if model in own else "the one model for all"
