"""``comity solve``: from a table to coalitions, models and proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comity.cli.study_options import given_settings, study_options
from comity.core.settings import settings_of
from comity.study import Study, StudyFile

if TYPE_CHECKING:
    from comity.families.network.checkpoint import Checkpoint

DONE, REFUTED = 0, 1


@click.command(
    short_help="From a table to coalitions, models and proof.",
    epilog="""\b
Examples:
  comity solve patients.csv --client hospital --target died --out run/
  comity solve hospitals/ --target stay --metric r2 --exclude patient_id
  comity solve patients.parquet --client hospital --target died --metric log-loss
  comity solve wards.csv --client ward --target falls --task counts --exposure days
  comity solve patients.csv --client hospital --task survival --time days --event died
  comity solve --study study.toml --seed 7""",
)
@click.argument("source", type=click.Path(), required=False)
@study_options("client", "target")
@click.option("--out", type=click.Path(), metavar="DIR", help="Write the result and the models into a new directory.")
@click.option("--force", is_flag=True, help="Replace an earlier result in DIR.")
@click.option("--resume", is_flag=True, help="Continue an interrupted training of perceptrons.")
@study_options(*(name for name in settings_of(Study) if name not in ("client", "target")))
@click.option("--study", "study_file", type=click.Path(), metavar="FILE", help="A TOML file with settings.")
@click.option("--verbose", is_flag=True, help="Print everything, not only what fits a screen.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def solve(
    source: str | None,
    study_file: str | None,
    verbose: bool,
    as_json: bool,
    force: bool,
    resume: bool,
    **options: Any,
) -> int:
    """Find out who should train with whom, and train their models.

    SOURCE is a table (.csv, .tsv, .parquet, .xlsx) in which the column --client names the client of each row, or a
    directory with a table for each client. Every client gets three models: trained alone, with its coalition, and with
    its best collaborators if all were willing. For comparison there is one model for all clients. With --out, an HTML
    report is written beside the result.

    A TOML file can hold the same settings under the same names (exclude = ["a", "b"], fine_tune = 20), and also source
    and out, relative to the file. Options given here take precedence over the file.

    Exit status: 0 done, 1 the proof failed, 2 bad input.
    """
    from comity.cli import interrupts
    from comity.cli.saved import MAX_LINES, print_result
    from comity.cli.screen import warn
    from comity.core.files import check_output_directory
    from comity.core.progress import Stages
    from comity.report import write_report
    from comity.result.directory import FILES, MARKER, REPORT
    from comity.solving.solve import open_source, run

    file = StudyFile({}) if study_file is None else StudyFile.read(study_file)
    settings = file.settings | given_settings(options)
    out = settings.pop("out", file.out)
    table = file.source if source is None else source
    if table is None:
        raise click.UsageError("say which table to read: SOURCE, or `source` in a --study file.")
    if "target" not in settings and "event" not in settings:
        survival = settings.get("task") == "survival" or "time" in settings
        which = "holds the event: --event COLUMN" if survival else "to predict: --target COLUMN"
        raise click.UsageError(f"say which column {which}.")
    study = Study.from_mapping(settings)
    if force and out is None:
        raise click.UsageError("--force needs --out: it replaces an earlier result in DIR.")
    if out is not None:
        check_output_directory(out, FILES, force=force)
    checkpoint = _checkpoint(out, study, resume)
    with Stages(interrupts.check) as stages:
        stages("reading the table", 0, 1)
        opened = open_source(table, study)
    warn(opened.warnings)  # so that problems of the table are seen before the long computation
    with Stages(interrupts.check) as stages:
        result = run(opened, study, stages, checkpoint)
    warn(result.warnings[len(opened.warnings) :])
    if out is not None:
        result.save(out, force=force)
        write_report(result, Path(out) / REPORT)
    if checkpoint is not None:
        checkpoint.remove()
    written = f"\nWritten to {out}: {MARKER}, {result.family.model_file}, {REPORT}" if out is not None else ""
    print_result(result, verbose=verbose, as_json=as_json, lines=MAX_LINES - 2 * bool(written))
    if written and not as_json:
        click.echo(written)
    return REFUTED if result.certificate.witnesses else DONE


def _checkpoint(out: str | Path | None, study: Study, resume: bool) -> Checkpoint | None:
    """Return the checkpoint for unfinished training, beside the result, or None if the training cannot be resumed."""
    from comity.families.network.checkpoint import Checkpoint
    from comity.families.registry import FAMILIES

    resumes = FAMILIES[study.model].resumes
    if resume and (out is None or not resumes):
        raise click.UsageError("--resume needs --model mlp and --out: unfinished training is saved beside DIR.")
    if out is None or not resumes:
        return None
    directory = Path(out)
    checkpoint = Checkpoint(directory.with_name(f"{directory.name}.unfinished"), resume)
    checkpoint.check()
    return checkpoint
