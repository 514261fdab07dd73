"""``comity solve``: the main job, from a table to coalitions, models and proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from comity.checkpoint import Checkpoint
    from comity.cli.progress import Stages
    from comity.result import Result
    from comity.solving import Opened
    from comity.study import Study

DONE, REFUTED = 0, 1


@click.command(
    short_help="From a table to coalitions, models and proof.",
    epilog="""\b
Examples:
  comity solve patients.csv --client hospital --target died --out run/
  comity solve hospitals/ --target stay --metric r2 --exclude patient_id
  comity solve patients.parquet --client hospital --target died --resamples 50
  comity solve --study study.toml --seed 7""",
)
@click.argument("source", type=click.Path(), required=False)
@click.option("--client", metavar="COLUMN", help="The column that says whose each row is.")
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option("--out", type=click.Path(), metavar="DIR", help="Write result and models into a new directory.")
@click.option("--force", is_flag=True, help="Replace an earlier result in DIR.")
@click.option("--task", type=click.Choice(["regression", "classes"]), help="Unless told, as the target looks.")
@click.option(
    "--metric",
    type=click.Choice(["auc", "accuracy", "log-loss", "rmse", "r2"]),
    help="What people read. Unless told, auc or rmse.",
)
@click.option("--exclude", metavar="COLUMN", multiple=True, help="A column to leave out; may be given again.")
@click.option("--keep", metavar="COLUMN", multiple=True, help="A column that looks like an identifier and is none.")
@click.option("--without", metavar="CLIENT", multiple=True, help="A client to leave out; may be given again.")
@click.option(
    "--model",
    type=click.Choice(["linear", "mlp"]),
    help="Linear models, or perceptrons (which need torch).",
)
@click.option("--width", type=int, metavar="N", help="Units in a hidden layer of a perceptron (32).")
@click.option("--depth", type=int, metavar="N", help="Hidden layers of a perceptron (1).")
@click.option("--steps", type=int, metavar="N", help="Steps in which the front of perceptrons is trained (800).")
@click.option("--fine-tune", type=int, metavar="N", help="Steps that each client takes in the end, alone (0).")
@click.option("--local-steps", type=int, metavar="N", help="Steps that clients take between two rounds (0: one).")
@click.option("--resume", is_flag=True, help="Go on with a training of perceptrons that was interrupted.")
@click.option("--folds", type=int, metavar="N", help="Parts of the rows that choose (5; with mlp 1, a sixth held out).")
@click.option("--repeats", type=int, metavar="N", help="How often they are drawn (4; 2 from 13 clients on, 1 from 25).")
@click.option(
    "--judges", type=int, metavar="N", help="Parts of the rows that judge (10; 5 from 25 clients on, 3 from 301)."
)
@click.option("--confidence", type=float, metavar="Z", help="Standard errors that a gain must exceed (1).")
@click.option("--weights", type=click.Choice(["sample", "client"]), help="What a weight is of: a row, or a client.")
@click.option("--rule", type=click.Choice(["smallest", "clip"]), help="How a set is chosen; clip is the paper's.")
@click.option(
    "--penalty", type=float, metavar="L", help="The ridge penalty of all models; unless told, it is searched."
)
@click.option("--seed", type=int, metavar="N", help="Same seed, same result (0).")
@click.option("--resamples", type=int, metavar="N", help="Say how sure each edge is, by N resamples of the rows (0).")
@click.option("--study", "study_file", type=click.Path(), metavar="FILE", help="Settings in a TOML file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def solve(source: str | None, study_file: str | None, as_json: bool, force: bool, resume: bool, **given: Any) -> int:
    """Find out who should train with whom, and train their models.

    SOURCE is a table (.csv, .tsv, .parquet) in which the column --client says whose each row is, or a directory with
    a table for each client. Every client gets a model of its own: trained alone, in its coalition, and at best; and
    for comparison there is one for all. With --out, a report for people is written beside the result.

    A TOML file may hold the same settings under the same names (exclude = ["a", "b"]), and source and out, relative
    to itself. What is given here overrules it.

    Exit status: 0 done, 1 the proof failed, 2 bad input.
    """
    from comity.cli.printing import show_result, warn
    from comity.cli.progress import Stages
    from comity.cli.screen import Screen
    from comity.files import check_free
    from comity.report import write_report
    from comity.sealed import FILES, MARKER, MODELS, NETWORKS, REPORT
    from comity.solving import run

    source, out, study = _settled(source, study_file, given)
    if force and out is None:
        raise click.UsageError("--force goes with --out: it says that an earlier result in DIR may be replaced.")
    if out is not None:
        check_free(out, FILES, force=force)
    checkpoint = _checkpoint(out, study, resume)
    opened = _opened(source, study, Stages())
    warn(opened.warnings)  # at once: what is wrong with a table is known before the work begins
    with Stages() as stages:
        result = run(opened, study, stages, checkpoint)
    warn(result.warnings[len(opened.warnings) :])
    if out is not None:
        result.save(out, force=force)
        write_report(result, Path(out) / REPORT)
    if checkpoint is not None:
        checkpoint.remove()
    if as_json:
        click.echo(as_text(result).encode(), nl=False)
    else:
        show_result(result, Screen())
        if out is not None:
            click.echo(f"\nWritten to {out}: {MARKER}, {MODELS if study.model == 'linear' else NETWORKS}, {REPORT}")
    return REFUTED if result.certificate.witnesses else DONE


def as_text(result: Result) -> str:
    """Return all but the models as JSON."""
    return json.dumps(result.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _settled(source: str | None, study_file: str | None, given: dict[str, Any]) -> tuple[str, str | None, Study]:
    """Return source, out and settings, from the file and the command line."""
    from comity.study import Study, read_study

    told = read_study(study_file) if study_file is not None else {}
    told |= {name: value for name, value in given.items() if value is not None and value != ()}
    out, found = told.pop("out", None), told.pop("source", None)
    source = found if source is None else source
    if source is None:
        raise click.UsageError("say which table: SOURCE, or `source` in a --study file.")
    if "target" not in told:
        raise click.UsageError("say which column is to be predicted: --target COLUMN.")
    return source, out, Study.from_mapping(told)


def _checkpoint(out: str | None, study: Study, resume: bool) -> Checkpoint | None:
    """Return where a training is kept while it lasts: beside the result."""
    from comity.checkpoint import Checkpoint

    if resume and (out is None or study.model == "linear"):
        raise click.UsageError("--resume goes with --model mlp and --out: beside DIR the training was kept.")
    if out is None or study.model == "linear":
        return None
    place = Path(out)
    checkpoint = Checkpoint(place.with_name(f"{place.name}.unfinished"), resume)
    checkpoint.check()
    return checkpoint


def _opened(source: str, study: Study, stages: Stages) -> Opened:
    from comity.solving import open_source

    with stages:
        stages("reading the table", 0, 1)
        return open_source(source, study)
