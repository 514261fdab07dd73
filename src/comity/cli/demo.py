"""``comity demo``: the main job on eight hospitals, or the paper's six clients, explained."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from comity.cli.screen import Screen
    from comity.result import Result

TABLE, RUN = "hospitals.csv", "run"


@click.command(
    short_help="See it work on eight hospitals, in a minute.",
    epilog="""\b
Examples:
  comity demo
  comity demo --out demo/
  comity demo --paper""",
)
@click.option("--out", type=click.Path(), metavar="DIR", help="Where to put the table and the result.")
@click.option("--paper", is_flag=True, help="Show how coalitions form on the six clients of the paper's Figure 1.")
def demo(out: str | None, paper: bool) -> int:
    """Write a table of eight made-up hospitals, and find out who should train with whom.

    The hospitals differ in size and in how they treat, and nobody tells comity how.
    """
    if paper:
        if out is not None:
            raise click.UsageError("--paper writes nothing; leave --out out.")
        _show_paper()
        return 0
    if out is not None:
        return _show_hospitals(_made(out))
    place = Path(tempfile.mkdtemp(prefix="comity-demo-"))
    try:
        return _show_hospitals(place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _made(out: str) -> Path:
    from comity.errors import OutputError
    from comity.files import check_free

    check_free(out, (), force=False)
    place = Path(out)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out}: cannot be made ({error.strerror or error})") from None
    return place


def _show_hospitals(place: Path) -> int:
    """Write the table, say the command, run it, and say what to see."""
    from comity.cli.screen import Screen
    from comity.cli.solve import solve
    from comity.datasets.hospitals import CLIENT, TARGET, Hospitals
    from comity.files import write_text
    from comity.result import Result
    from comity.sealed import REPORT

    hospitals = Hospitals()
    frame = hospitals.draw(seed=0)
    write_text(place / TABLE, frame.to_csv(index=False, lineterminator="\n"))
    screen = Screen()
    screen.say(
        f"{len(hospitals.members)} hospitals want to predict who dies in intensive care. They have between "
        f"{min(h.rows for h in hospitals.members)} and {max(h.rows for h in hospitals.members)} patients each, and "
        "may not pool them."
    )
    words = [str(place / TABLE), "--client", CLIENT, "--target", TARGET, "--out", str(place / RUN)]
    screen.say(f"This is the command, on a table that was just made up ({len(frame):,} rows):")
    screen.say()
    screen.command(f"$ comity solve {shlex.join(words)}")
    screen.say()
    status: int = solve.main(words, standalone_mode=False)
    screen.heading("What to see")
    screen.lines(_lessons(Result.load(place / RUN), {h.name: h.pattern for h in hospitals.members}))
    screen.heading("What to do next")
    run, table = shlex.quote(str(place / RUN)), shlex.quote(str(place / TABLE))
    screen.lines([f"open {place / RUN / REPORT} in a browser: all of this, with pictures"])
    screen.lines(
        ["with comity on the path (. .venv/bin/activate), check the run, predict with it, and see what else there is:"]
    )
    for command in (
        f"comity verify {run}",
        f"comity predict {run} {table} --out predictions.csv",
        "comity solve --help",
    ):
        screen.command(command)
    return status


def _lessons(result: Result, pattern: dict[str, str]) -> list[str]:
    """Return in plain words what the result shows, by the truth that comity was not told."""
    from comity.writing import join

    together = [sorted(coalition, key=result.clients.index) for coalition in result.coalitions if len(coalition) > 1]
    alone = [client for coalition in result.coalitions if len(coalition) == 1 for client in coalition]
    mixed = [members for members in together if len({pattern[client] for client in members}) > 1]
    lines = [
        "The same measurement bodes differently under another pattern of care; whose is which, the table does not say."
    ]
    lines += [f"{join(each)} train together: their pattern is the same." for each in together if each not in mixed]
    lines += [f"{join(members)} train together, though their patterns differ." for members in mixed]
    if alone:
        lines.append(
            f"{join(sorted(alone, key=result.clients.index))} {'train' if len(alone) > 1 else 'trains'} alone: nobody "
            "who would have them helps them significantly."
        )
    gains = {client: standing.gain.value for client, standing in result.utilities.items()}
    client = max(gains, key=lambda name: gains[name])
    if gains[client] > 0:
        standing = result.utilities[client]
        chance = ", which may be chance: with so few, the interval is wide" if standing.gain.low <= 0 else ""
        lines.append(
            f"{client}, with {standing.rows} patients, gains most: its {result.metric} goes from "
            f"{standing.alone.value:.2f} to {standing.coalition.value:.2f}{chance}."
        )
    return lines


def _show_paper() -> None:
    """Show how coalitions form, on the six clients of the paper's Figure 1."""
    from comity.certificate import certify
    from comity.cli.equilibrium import show_utilities
    from comity.cli.narrate import reason, show_peels
    from comity.cli.screen import Screen
    from comity.datasets.paper import figure_1
    from comity.equilibrium import find_equilibrium

    game = figure_1()
    found = find_equilibrium(game)
    screen: Screen = Screen()
    screen.say("Six clients, each with rows of its own, ask: with whom should I train?")
    screen.say("This is how well each one's model does (its utility: larger is better), alone and with others:")
    screen.say()
    screen.table(
        ["client", "with", "utility"],
        [
            (
                record["client"],
                ", ".join(i for i in record["coalition"] if i != record["client"]) or "alone",
                f"{record['utility']:.2f}",
            )
            for record in game.records()
        ],
        right=("utility",),
    )
    show_peels(found, screen)
    screen.heading("The equilibrium: what each client gets")
    show_utilities(game, found, screen)
    screen.heading("Who does not get the best")
    screen.lines([reason(wish, found, game) for wish in found.unmet])
    screen.heading("The proof")
    screen.lines([str(certify(found, game, exhaustive=True))])
