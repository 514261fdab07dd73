"""``comity demo``: the paper's six clients, explained."""

import click


@click.command(short_help="See it work on six clients, in a second.")
def demo() -> None:
    """Show how coalitions form, on the six clients of the paper's Figure 1."""
    from comity.certificate import certify
    from comity.cli.equilibrium import show_utilities
    from comity.cli.narrate import reason, tell_peels
    from comity.cli.screen import Screen
    from comity.datasets.paper import figure_1
    from comity.equilibrium import find_equilibrium

    game = figure_1()
    found = find_equilibrium(game)
    screen = Screen()
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
    tell_peels(found, screen)
    screen.heading("The equilibrium: what each client gets")
    show_utilities(game, found, screen)
    screen.heading("Who does not get the best")
    screen.lines([reason(wish, found, game) for wish in found.unmet])
    screen.heading("The proof")
    screen.lines([str(certify(found, game, exhaustive=True))])
