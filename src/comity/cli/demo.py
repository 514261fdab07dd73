"""``comity demo``: the whole procedure on eight hospitals, or on the paper's six clients, explained."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path

import click

import comity

TABLE, RUN = "hospitals.csv", "run"


@click.command(
    short_help="See it work on eight hospitals, in a minute.",
    epilog="""\b
Examples:
  comity demo
  comity demo --out demo/
  comity demo --paper""",
)
@click.option("--out", type=click.Path(), metavar="DIR", help="Directory for the table and the result.")
@click.option("--paper", is_flag=True, help="Show how coalitions form on the six clients of the paper's Figure 1.")
def demo(out: str | None, paper: bool) -> int:
    """Write a table of eight made-up hospitals, and find out who should train with whom.

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
    """Write the table, print the command, run it, and explain the result."""
    from comity.cli.screen import Screen
    from comity.cli.solve import solve
    from comity.core.files import write_text
    from comity.research.datasets.hospitals import CLIENT, HOSPITALS, TARGET, hospitals
    from comity.result.directory import REPORT

    frame = hospitals()
    write_text(place / TABLE, frame.to_csv(index=False, lineterminator="\n"))
    screen = Screen()
    screen.print(
        f"{len(HOSPITALS)} hospitals want to predict who dies in intensive care. They have between "
        f"{min(h.rows for h in HOSPITALS)} and {max(h.rows for h in HOSPITALS)} patients each, and "
        "may not pool them."
    )
    words = [str(place / TABLE), "--client", CLIENT, "--target", TARGET, "--out", str(place / RUN)]
    screen.print(f"This is the command, on a table that was just generated ({len(frame):,} rows):")
    screen.print()
    screen.command(f"$ comity solve {shlex.join(words)}")
    screen.print()
    status: int = solve.main(words, standalone_mode=False)
    screen.heading("What to see")
    screen.lines(_lessons(comity.Result.load(place / RUN), {h.name: h.pattern for h in HOSPITALS}))
    screen.heading("What to do next")
    run, table = shlex.quote(str(place / RUN)), shlex.quote(str(place / TABLE))
    screen.lines(
        [
            f"open {place / RUN / REPORT} in a browser: the same content, with pictures",
            "with comity on the path (. .venv/bin/activate), check the run, predict with it, and see all options:",
        ]
    )
    screen.command(f"comity verify {run}")
    screen.command(f"comity predict {run} {table} --out predictions.csv")
    screen.command("comity solve --help")
    return status


def _lessons(result: comity.Result, pattern: dict[str, str]) -> list[str]:
    """Return lines that compare the result with the true patterns, which comity does not know."""
    from comity.core.text import join

    together = [sorted(coalition, key=result.clients.index) for coalition in result.coalitions if len(coalition) > 1]
    alone = [client for coalition in result.coalitions if len(coalition) == 1 for client in coalition]
    mixed = [members for members in together if len({pattern[client] for client in members}) > 1]
    lines = [
        "Under another pattern of care, the same measurement has another meaning; the table does not name the patterns."
    ]
    lines += [f"{join(members)} train together: they share a pattern." for members in together if members not in mixed]
    lines += [f"{join(members)} train together, though their patterns differ." for members in mixed]
    if alone:
        lines.append(
            f"{join(sorted(alone, key=result.clients.index))} {'train' if len(alone) > 1 else 'trains'} alone: nobody "
            "who would accept them helps them significantly."
        )
    gains = {client: standing.gain.value for client, standing in result.utilities.items()}
    client = max(gains, key=lambda name: gains[name])
    if gains[client] > 0:
        standing = result.utilities[client]
        unsure = ", which may be due to chance: with so few patients, the interval is wide"
        chance = unsure if standing.gain.low <= 0 else ""
        lines.append(
            f"{client}, with {standing.rows} patients, gains most: its {result.metric} goes from "
            f"{standing.alone.value:.2f} to {standing.coalition.value:.2f}{chance}."
        )
    return lines


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
