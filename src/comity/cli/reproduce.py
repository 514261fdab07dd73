"""``comity reproduce``: the paper's tables."""

from __future__ import annotations

import click

NAMES = ("synthetic", "adult", "cifar10", "eicu")  # as in comity.experiments, which takes long to import


@click.command(
    short_help="Run the paper's experiments, its values beside ours.",
    epilog="""\b
Examples:
  comity reproduce synthetic --quick
  comity reproduce adult --data ~/data
  comity reproduce cifar10 --data ~/data --methods local,fedavg --seeds 1
  comity reproduce eicu --data ~/data --download""",
)
@click.argument("name", type=click.Choice(NAMES))
@click.option("--data", type=click.Path(), metavar="DIR", help="Where the data are; unless told, as COMITY_DATA says.")
@click.option("--download", is_flag=True, help="Fetch the data into DIR first, from where they are published.")
@click.option("--seeds", type=int, metavar="N", help="How many times; unless told, as often as the experiment has it.")
@click.option("--methods", metavar="NAMES", help="Some of the methods, with commas between; unless told, all.")
@click.option(
    "--out", type=click.Path(), metavar="DIR", help="Where results are kept (reproduced/NAME, or NAME-quick)."
)
@click.option("--quick", is_flag=True, help="A quick look: fewer seeds, shorter trainings.")
@click.option("--figures", is_flag=True, help="Also draw the benefit graph, its components and the coalitions.")
def reproduce(
    name: str,
    data: str | None,
    download: bool,
    seeds: int | None,
    methods: str | None,
    out: str | None,
    quick: bool,
    figures: bool,
) -> int:
    """Run one of the paper's experiments, and show its table with the paper's values beside ours.

    What is finished, a method with a seed, is kept: the same command goes on where it was interrupted. Data are read
    from DIR, and fetched only with --download.
    """
    from comity.core.optional import require

    require("torch", "to run the experiments")
    if figures:
        require("matplotlib", "to draw figures")  # not to be told after hours
    from comity.cli.ending import kept_in
    from comity.cli.progress import Stages
    from comity.cli.screen import Screen
    from comity.datasets.fetch import fetch
    from comity.experiments.experiment import Experiment
    from comity.experiments.figures import FIGURES, draw_figures
    from comity.experiments.reports import REPORTS, write_reports
    from comity.experiments.reproducing import TABLE, TABLE_JSON, reproduce
    from comity.writing import count

    chosen = None if methods is None else tuple(each.strip() for each in methods.split(","))
    experiment = Experiment.load(name, quick=quick).with_choices(chosen, seeds)
    place = out or f"reproduced/{name}{'-quick' if quick else ''}"
    if download and data is None:
        raise click.UsageError("--download goes with --data: it says where the files are put.")
    with Stages() as stages:
        if download and data is not None and name != "synthetic":
            fetch(name, data, stages)
        with kept_in(place):
            found = reproduce(experiment, data, place, stages)
        drawn = draw_figures(found.cells, place, stages) if figures else ()
    reported = write_reports(found.cells, place, experiment)
    screen = Screen()
    screen.heading(experiment.title + (" (a quick look)" if quick else ""))
    screen.table(found.heads, found.rows(), right=found.heads[1:])
    for note in found.remarks():
        screen.say(f"\n{note}")
    click.echo(f"\nWritten to {place}: {TABLE}, {TABLE_JSON}, and a file for each method and seed")
    if reported:
        click.echo(f"{count(len(reported), 'report')} in {place}/{REPORTS}")
    if figures:
        click.echo(f"{len(drawn)} figures in {place}/{FIGURES}" if drawn else "No method found coalitions to draw")
    return 0
