"""``comity predict``: predictions for new rows, each by its client's model."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

import comity

_MODELS = {
    "coalition": "each client's model in its coalition",
    "best": "each client's model at best",
    "alone": "each client's model alone",
    "together": "the one model for all",
}


@click.command(
    short_help="Predict new rows with the models of a run.",
    epilog="""\b
Examples:
  comity predict run/ new_patients.csv --out predictions.csv
  comity predict run/ north.csv --client North --out north-predictions.csv
  comity predict run/ new_patients.csv --model alone --out - | head
  comity predict run/ new_patients.csv --at 365,730 --baseline patients.csv --out survival.csv""",
)
@click.argument("run", type=click.Path())
@click.argument("table", type=click.Path())
@click.option("--out", required=True, metavar="FILE", help="The CSV file to write; - is standard output.")
@click.option(
    "--model",
    type=click.Choice(list(_MODELS)),
    default="coalition",
    show_default=True,
    help="Each client's model with its coalition, with its best collaborators (best) or alone; or one model for all "
    "clients (together).",
)
@click.option("--at", metavar="TIMES", help="Of survival: predict its probability until these times, as in 365,730.")
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="TABLE",
    help="With --at, rows with times and events, such as those of training: the baseline hazard follows from them.",
)
@click.option("--client", "owner", metavar="NAME", help="The client of all rows, if no column names it.")
@click.option("--encoding", metavar="NAME", help="The encoding of TABLE, if a CSV file. Default: as the study has it.")
@click.option("--force", is_flag=True, help="Replace FILE if there is one.")
def predict(
    run: str,
    table: str,
    out: str,
    model: str,
    at: str | None,
    baseline: str | None,
    owner: str | None,
    encoding: str | None,
    force: bool,
) -> int:
    """Predict every row of TABLE with its client's model.

    RUN is a directory that comity solve wrote, or one that a site of a federation received. TABLE (.csv, .tsv,
    .parquet, .xlsx) has the columns that the models were trained with and the one that names the client of each row;
    --client can name the client of all rows instead, and a site's own RUN needs neither.

    FILE has a row for each row of TABLE, in order, with the study's --id, if it has one, and the columns client,
    prediction and, for classes, p_c: the probability of each class c. For survival the prediction is the relative risk,
    and with --at there are columns survival_t: the probability that there is no event until time t. They need the
    baseline hazard of each client, which no result holds: it follows from rows that were followed (--baseline).

    Exit status: 0 done, 2 bad input.
    """
    from comity.cli.screen import warn
    from comity.client.tables import read_rows
    from comity.core.files import check_output_file, write_text
    from comity.core.kinds import ModelKind
    from comity.core.settings import settings_of
    from comity.errors import FormatError, OutputError
    from comity.result.client_result import ClientResult
    from comity.result.directory import read_document
    from comity.result.predictions import text_columns
    from comity.result.survival import check_followed, check_times, predict_survival
    from comity.study import Study

    if (at is None) != (baseline is None):
        raise click.UsageError(
            "--at needs --baseline, a table with times and events such as that of the study; --baseline needs --at."
        )
    times = _times(at)
    if at is not None:
        check_times(times)
    if out != "-":
        if Path(out).is_file() and Path(table).exists() and Path(out).samefile(table):
            raise OutputError(f"{out}: these are the rows to predict; give another file")
        check_output_file(out, force=force)
    result = ClientResult.load(run) if "own" in read_document(run) else comity.Result.load(run)
    column = result.study.client or "client"
    encoding = settings_of(Study)["encoding"].check(encoding or result.study.encoding)
    rows = read_rows(table, column, text_columns(result), encoding)
    if owner is None and isinstance(result, ClientResult) and column not in rows.columns:
        owner = result.client
    try:
        followed = None
        if baseline is not None:
            with _of_file(baseline):
                followed = read_rows(baseline, column, text_columns(result), encoding)
                if result.schema.target.task == "survival":
                    check_followed(result, followed)
        frame, notes = predict_survival(result, rows, ModelKind(model), owner, followed=followed, at=times)
    except FormatError:
        raise
    except comity.InputError as error:
        raise FormatError(f"{table}: {error}") from None
    text = frame.to_csv(index=False, lineterminator="\n")
    warn(notes)
    if out == "-":
        click.echo(text.encode(), nl=False)
    else:
        write_text(out, text)
        click.echo(f"Written to {out}: {len(frame):,} predictions, by {_MODELS[model]}.")
    return 0


@contextmanager
def _of_file(path: str) -> Iterator[None]:
    """Say in errors which file they are about."""
    from comity.errors import FormatError

    try:
        yield
    except comity.InputError as error:
        text = str(error)
        raise FormatError(text if text.startswith(path) else f"{path}: {text}") from None


def _times(text: str | None) -> list[float]:
    """Return the times of --at."""
    try:
        return [float(each) for each in (text or "").split(",") if text]
    except ValueError:
        raise click.UsageError(f"--at is {text!r}; it must be times, separated by commas, as in 365,730.") from None
