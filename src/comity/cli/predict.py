"""``comity predict``: new rows, each with its client's model."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    short_help="Predict new rows with the models of a run.",
    epilog="""\b
Examples:
  comity predict run/ new_patients.csv --out predictions.csv
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
@click.option("--force", is_flag=True, help="Replace FILE if there is one.")
def predict(run: str, table: str, out: str, model: str, force: bool) -> int:
    """Predict every row of TABLE with its client's model.

    RUN is a directory that comity solve wrote, or what a site of a federation received. TABLE (.csv, .tsv, .parquet)
    has the columns that the models were trained with and the one that says whose each row is; a site's own needs none.
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
    if isinstance(result, Own) and column not in rows.columns:
        rows = rows.assign(**{column: result.client})
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

    if not out:
        raise OutputError("the name of the file to write is empty; give one")
    file = Path(out)
    if file.is_dir():
        raise OutputError(f"{out}: this is a directory; give a file in it")
    if file.exists() and Path(table).exists() and file.samefile(table):
        raise OutputError(f"{out}: these are the rows to predict; give another file")
    if file.exists() and not force:
        raise OutputError(f"{out}: there is such a file already; give another, or --force to replace it")
    if not file.parent.is_dir():
        raise OutputError(f"{out}: there is no directory {str(file.parent)!r}; make it first")


def _named(model: str) -> str:
    own = {"coalition": "in its coalition", "best": "at best", "alone": "alone"}
    return f"each client's model {own[model]}" if model in own else "the one model for all"
