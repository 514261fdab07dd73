"""``comity demo``: the paper's six clients, explained."""

import click


@click.command(short_help="See it work on six clients, in a second.")
def demo() -> None:
    """Show how coalitions form, on the six clients of the paper's Figure 1."""
    from comity.certificate import certify
    from comity.cli.narrate import reason, tell_peels
    from comity.cli.screen import Screen
    from comity.datasets.paper import figure_1
    from comity.equilibrium import find_equilibrium

    game = figure_1()
    screen = Screen()
    screen.say("Six clients, each with rows of its own, ask: with whom should I train?")
    screen.say("This is how well each one's model does (its utility: larger is better), alone and with others:")
    screen.say()
    rows = (
        (record["client"], ", ".join(i for i in record["coalition"] if i != record["client"]) or "alone",
         f"{record['utility']:.2f}")
        for record in game.records()
    )  # fmt: skip
    screen.table(["client", "with", "utility"], rows, right=("utility",))

    found = find_equilibrium(game)
    tell_peels(found, screen)
    screen.heading("The equilibrium")
    screen.table(
        ["client", "coalition", "alone", "now", "at best"],
        (
            (
                client,
                f"{{{screen.names(i for i in game.clients if i in found.coalition_of(client))}}}",
                f"{game.maximal_utility(client, [client]):.2f}",
                f"{game.maximal_utility(client, found.coalition_of(client)):.2f}",
                f"{game.maximal_utility(client, game.clients):.2f}",
            )
            for client in game.clients
        ),
        right=("alone", "now", "at best"),
    )
    for wish in found.unmet:
        screen.say(f"{reason(wish)}, so it has to do with less than the best.")
    screen.heading("The proof")
    screen.say(str(certify(found, game, exhaustive=True)))
    screen.say("Nobody can leave for something better, alone or with others.")
