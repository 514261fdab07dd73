"""``comity demo``: the whole procedure on eleven hospitals, or on the paper's six clients, explained."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path

import click

import comity

TABLE, RUN = "hospitals.csv", "run"
_MAX_LINES = 39  # of what is printed; `make demo` prints one more
_MAX_COMMAND = 60  # columns, beyond which explanations are not aligned


@click.command(
    short_help="See it work on eleven hospitals, in a minute.",
    epilog="""\b
Examples:
  comity demo
  comity demo --out demo/
  comity demo --paper""",
)
@click.option("--out", type=click.Path(), metavar="DIR", help="Directory for the table and the result.")
@click.option("--paper", is_flag=True, help="Show how coalitions form on the six clients of the paper's Figure 1.")
def demo(out: str | None, paper: bool) -> int:
    """Write a table of eleven made-up hospitals, and find out who should train with whom.

    The hospitals differ in size and in how they treat patients; comity does not know how.
    """
    from comity.core.files import check_output_directory
    from comity.errors import OutputError

    if paper:
        if out is not None:
            raise click.UsageError("--paper writes no files; omit --out.")
        _show_paper()
        return 0
    if out is not None:
        check_output_directory(out, (), force=False)
        try:
            Path(out).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{out}: cannot be created ({error.strerror or error})") from None
        return _show_hospitals(Path(out))
    place = Path(tempfile.mkdtemp(prefix="comity-demo-"))
    try:
        return _show_hospitals(place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _show_hospitals(place: Path) -> int:
    """Write the table, solve it, print what comes out, and say what to do next."""
    from comity.cli import interrupts
    from comity.cli.overview import overview
    from comity.cli.screen import Screen
    from comity.core.files import write_text
    from comity.core.progress import Stages
    from comity.report import write_report
    from comity.research.datasets.hospitals import CLIENT, HOSPITALS, TARGET, hospitals
    from comity.result.directory import REPORT
    from comity.solving.solve import open_source, run
    from comity.study import Study

    frame = hospitals()
    write_text(place / TABLE, frame.to_csv(index=False, lineterminator="\n"))
    study = Study(TARGET, client=CLIENT)
    with Stages(interrupts.check) as stages:
        result = run(open_source(str(place / TABLE), study), study, stages)
    result.save(place / RUN)
    write_report(result, place / RUN / REPORT)
    screen = Screen()
    screen.print(f"{len(HOSPITALS)} made-up hospitals want to predict how many days a patient stays. Most have")
    screen.print("few patients, and they may not pool them. Who should train with whom?")
    screen.command(f"$ comity solve {TABLE} --client {CLIENT} --target {TARGET} --out {RUN}")
    screen.print()
    next_steps = _next_steps(place)
    for line in overview(result, screen.width, _MAX_LINES - 5 - len(next_steps)):
        screen.print(line)
    screen.print()
    screen.print(next_steps[0])
    for line in next_steps[1:]:
        screen.command(line)
    return 0


def _next_steps(place: Path) -> list[str]:
    """Return what to do next: a heading, and commands with what they do."""
    from comity.result.directory import REPORT

    steps = {
        f"look at {place / RUN / REPORT}": "the same with pictures",
        f"cd {shlex.quote(str(place))}": "the table and the result",
        f"comity verify {RUN}": "check the proof, without rows",
        f"comity report {RUN} --for Fairhaven --out page.html": "what one hospital may see",
        "comity solve --help": "for a table of your own",
    }
    width = max(len(command) for command in steps if len(command) <= _MAX_COMMAND)
    return [
        "What to do next (. .venv/bin/activate puts comity on the path):",
        *(f"{command:<{width}}  {what}" for command, what in steps.items()),
    ]


def _show_paper() -> None:
    """Show how coalitions form, on the six clients of the paper's Figure 1."""
    from comity.cli.narrative import show_peels, show_utilities, unmet_reason
    from comity.cli.screen import Screen
    from comity.research.datasets.paper import figure_1

    game = figure_1()
    found = comity.find_equilibrium(game)
    screen = Screen()
    screen.print("Six clients, each with its own rows, ask: with whom should I train?")
    screen.print(
        "This is how well the model of each client does (its utility: higher is better), alone and with others:"
    )
    screen.print()
    rows = []
    for record in game.records():
        others = ", ".join(each for each in record["coalition"] if each != record["client"])
        rows.append((record["client"], others or "alone", f"{record['utility']:.2f}"))
    screen.table(["client", "with", "utility"], rows, right=("utility",))
    show_peels(found, screen)
    screen.heading("The equilibrium: what each client gets")
    show_utilities(game, found, screen)
    screen.heading("Who does not get its best utility")
    screen.lines([unmet_reason(wish, found, game) for wish in found.unmet])
    screen.heading("The proof")
    screen.lines([str(comity.certify(found, game, exhaustive=True))])
