"""``comity reproduce``: the tables of the paper."""

import click

NAMES = ("synthetic", "adult", "cifar10", "eicu")  # as in comity.research.experiments, which is slow to import


@click.command(
    short_help="Run the paper's experiments, and compare with its values.",
    epilog="""\b
Examples:
  comity reproduce synthetic --quick
  comity reproduce adult --data ~/data
  comity reproduce cifar10 --data ~/data --methods local,fedavg --seeds 1
  comity reproduce eicu --data ~/data --download""",
)
@click.argument("name", type=click.Choice(NAMES))
@click.option("--data", type=click.Path(), metavar="DIR", help="The directory of the data (COMITY_DATA).")
@click.option("--download", is_flag=True, help="First fetch the published data into DIR.")
@click.option("--seeds", type=int, metavar="N", help="The number of seeds; by default the experiment's.")
@click.option("--methods", metavar="NAMES", help="Names of methods, separated by commas; by default all.")
@click.option(
    "--out", type=click.Path(), metavar="DIR", help="The directory for results (reproduced/NAME, or NAME-quick)."
)
@click.option("--quick", is_flag=True, help="A quick run, with fewer seeds and rounds.")
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
    """Run one of the paper's experiments, and show its table with the paper's values next to ours.

    The result of each method and seed is kept: after an interruption, the same command continues. Data are read from
    DIR, and fetched only with --download.
    """
    from comity.core.extras import require

    require("torch", "to run the experiments")
    if figures:
        require("matplotlib", "to draw figures")  # now, and not after hours of training
    from comity.cli import interrupts
    from comity.cli.screen import Screen
    from comity.core.progress import Stages
    from comity.core.text import count
    from comity.research.datasets.remotes import fetch
    from comity.research.experiments.experiment import Experiment
    from comity.research.experiments.reports import FIGURES, REPORTS, draw_figures, write_reports
    from comity.research.experiments.reproduction import TABLE, TABLE_JSON, reproduce

    chosen = None if methods is None else tuple(method.strip() for method in methods.split(","))
    experiment = Experiment.load(name, quick=quick).with_choices(chosen, seeds)
    place = out or f"reproduced/{name}{'-quick' if quick else ''}"
    if download and data is None:
        raise click.UsageError("--download needs --data, the directory to put the files into.")
    with Stages(interrupts.check) as stages:
        if download and data is not None and name != "synthetic":
            fetch(name, data, stages)
        with interrupts.kept_in(place):
            reproduction = reproduce(experiment, data, place, stages)
        drawn = draw_figures(reproduction.cells, place, stages) if figures else ()
    reports = write_reports(reproduction.cells, place, experiment)
    screen = Screen()
    screen.heading(experiment.title + (" (a quick run)" if quick else ""))
    screen.table(reproduction.columns, reproduction.rows(), right=reproduction.columns[1:])
    for remark in reproduction.remarks():
        screen.print(f"\n{remark}")
    click.echo(f"\nWritten to {place}: {TABLE}, {TABLE_JSON}, and a file for each method and seed")
    if reports:
        click.echo(f"{count(len(reports), 'report')} in {place}/{REPORTS}")
    if figures:
        click.echo(f"{len(drawn)} figures in {place}/{FIGURES}" if drawn else "No method has coalitions to draw")
    return 0
