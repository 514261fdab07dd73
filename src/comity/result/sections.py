"""The sections of a result: words and tables, for the terminal and for notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from comity.core.metrics import METRICS
from comity.core.text import (
    count,
    count_coalitions,
    decimals_for,
    format_bytes,
    format_change,
    format_interval,
    format_number,
    format_percent,
    format_probability,
    format_weight,
    join,
    number_coalitions,
    places_for,
)

if TYPE_CHECKING:
    from comity.game.peels import UnmetWish
    from comity.result.result import Result

Cell = str | tuple[str, ...]  # a tuple holds names, of which a terminal may show only the first
_ROUNDING = 1e-6  # of a loss
_MAX_NAMES = 10  # classes or clients listed in one line


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, then a table (with the columns named in `right` aligned to the right), lines of text, or both."""

    heading: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    right: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def summary(result: Result) -> str:
    """Return one sentence: how many clients and rows, what is predicted, and how many coalitions were found."""
    target = result.schema.target
    rows = sum(standing.rows for standing in result.utilities.values())
    classes = ", ".join(target.classes[:_MAX_NAMES]) + " …" * (len(target.classes) > _MAX_NAMES)
    what = f"{target.noun} {classes}".strip()
    found = count_coalitions(list(map(len, result.coalitions)))
    return f"{count(len(result.clients), 'client')} with {rows:,} rows, to predict {target.name} ({what}): {found}."


def sections(result: Result) -> tuple[Section, ...]:
    """Return all sections of a result, in order."""
    parts: tuple[Callable[[Result], Section | None], ...]
    parts = (
        _coalitions,
        _standings,
        _weights,
        _unmet,
        _contributions,
        _confidence,
        _proof,
        privacy_spent,
        disclosed,
        _traffic,
    )
    return tuple(section for part in parts if (section := part(result)) is not None)


def as_html(result: Result) -> str:
    """Return a result as an HTML table for notebooks: each client with its coalition and what it gets."""
    standings = _standings(result)
    numbers = dict(zip(result.clients, result.equilibrium.numbers.tolist(), strict=True))
    head = "".join(f"<th>{escape(name)}</th>" for name in ("coalition", *standings.columns))
    body, called = "", _called(result)
    for row in sorted(standings.rows, key=lambda row: numbers[str(row[0])]):
        cells = (called[numbers[str(row[0])]], *row)
        body += "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
    lines = "<br>".join(map(escape, (*standings.lines, *_proof(result).lines)))
    return (
        f"<table><caption>{escape(summary(result))}<br>{escape(standings.heading)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{lines}</p>"
    )


def unmet_reason(wish: UnmetWish, result: Result) -> str:
    """Say why a wish stayed unmet, as far as the estimates show."""
    client, other = wish.client, wish.collaborator
    if result.study.rule != "smallest":
        return f"{client} wanted {other}; {other} does not want {client}"
    partners = sorted(result.equilibrium.collaborators_of(other) - {other})
    beyond = f" beyond what it gets from {join(partners)}" if partners else ""
    nothing = "nothing" if result.study.borrows else "nothing significant"
    return f"{client} wanted {other}; {other} gains {nothing} from {client}{beyond}"


def _called(result: Result) -> list[str]:
    return number_coalitions(list(map(len, result.coalitions)))


def _coalitions(result: Result) -> Section:
    found, called = result.equilibrium, _called(result)
    rows = tuple((called[n], str(peel + 1), found.members(n)) for n, peel in enumerate(found.peel_of.tolist()))
    columns = ("coalition", "peel", "members")
    return Section("Coalitions, in the order in which they form", columns, rows, right=columns[:2])


def _standings(result: Result) -> Section:
    """Return what each client gets, with intervals."""
    metric = METRICS[result.metric]
    scores = {client: (each.alone, each.coalition, each.best) for client, each in result.utilities.items()}
    places = decimals_for([score.error for row in scores.values() for score in row])
    rows = []
    for client, standing in result.utilities.items():
        intervals = [format_interval(score, places, metric.least, metric.most) for score in scores[client]]
        joined = set(result.weights_of(client)) != {client}
        sure = (format_probability(standing.probability) if joined else "–",) if result.study.borrows else ()
        gain = format_change(standing.gain, places) if joined else "–"
        rows.append((client, f"{standing.rows:,}", *intervals, gain, *sure))
    columns: tuple[str, ...] = ("client", "rows", "alone", "in coalition", "at best", "coalition − alone")
    columns += ("probability",) if result.study.borrows else ()
    better = "higher is better" if metric.more_is_better else "lower is better"
    if result.study.borrows:
        how = (
            "Alone: measured on held-out rows. In coalition: as expected from the rows of all clients.",
            "At best: the same, if every client were willing.",
            *_one_model(result, places),
            "Probability: how likely it is that the client gains in its coalition.",
        )
    else:
        how = (
            "Evaluated on rows used neither for training nor for choosing. At best: if every client were willing.",
            *_one_model(result, places),
            "Collaborators were chosen by losses on other rows; both are noisy, so an expected gain may not show here.",
        )
    return Section(
        f"What each client gets: {result.metric} of its model ({better}), with 95 % intervals",
        columns,
        tuple(rows),
        right=columns[1:],
        lines=how,
    )


def _one_model(result: Result, places: int) -> Iterator[str]:
    """Yield, for comparison, the scores of one model trained on all rows, if they are known."""
    values = {client: standing.together.value for client, standing in result.utilities.items()}
    known = [f"{client} {format_number(value, places)}" for client, value in values.items() if not math.isnan(value)]
    if known:
        more = f" and {len(known) - _MAX_NAMES:,} more" if len(known) > _MAX_NAMES else ""
        yield f"With one model trained on all rows: {', '.join(known[:_MAX_NAMES])}{more}."


def _weights(result: Result) -> Section:
    """Return the weights of the rows in each client's model in its coalition."""
    per = "one row of" if result.study.weights == "sample" else "all rows of"
    rows, without_own, lines = [], [], []
    for client in result.clients:
        weights = result.weights_of(client)
        if client not in weights:
            without_own.append(client)
        own = weights.pop(client, 0.0)
        others = tuple(f"{other} {format_weight(weight)}" for other, weight in weights.items())
        joined = len(result.equilibrium.coalition_of(client)) > 1
        nobody = "nobody; others train with its rows" if joined else "nobody: it trains alone"
        rows.append((client, format_weight(own), others or (nobody,)))
    if without_own:
        one = len(without_own) == 1
        models, loss = ("its own model", "its loss was") if one else ("their own models", "their losses were")
        lines.append(
            f"The rows of {join(without_own)} have no weight in {models}: {loss} lowest with the rows of others only."
        )
    heading = f"Collaborators in the coalition, with the weight of {per} each"
    if result.study.borrows:
        heading = "Collaborators in the coalition, with the share of the model that comes from the rows of each"
    return Section(heading, ("client", "itself", "collaborators"), tuple(rows), ("itself",), tuple(lines))


def _unmet(result: Result) -> Section:
    lines = tuple(unmet_reason(wish, result) for wish in result.equilibrium.unmet)
    return Section("Unmet wishes", lines=lines or ("none: everybody has the collaborators it wanted first",))


def _contributions(result: Result) -> Section:
    """Return what each client contributes to each other, from the inner inequalities of the proof."""
    inner = [inequality for inequality in result.certificate.inner if len(inequality.without) == 1]
    if result.study.borrows and result.contributions:
        return _probable_contributions(result)
    if not inner:
        alone = all(len(coalition) == 1 for coalition in result.coalitions)
        line = "nobody contributes anything: all train alone" if alone else "nobody would lose if one other client left"
        return Section("Who contributes what to whom", lines=(line,))
    places = places_for([inequality.margin for inequality in inner])
    rows = tuple(
        (
            next(iter(each.without)),
            each.client,
            *(f"{x:.{places}f}" for x in (-each.utility, -each.reduced, each.margin)),
        )
        for each in inner
    )
    columns = ("from", "to", "its loss", "without", "contribution")
    return Section(f"Who contributes what to whom: {loss_unit(result)}", columns, rows, right=columns[2:])


def _probable_contributions(result: Result) -> Section:
    """Return what each client is expected to contribute to each other, and the probability that it is anything."""
    places = places_for([each.value for each in result.contributions])
    rows = tuple(
        (each.giver, each.receiver, f"{each.value:.{places}f}", format_probability(each.probability))
        for each in result.contributions
    )
    columns = ("from", "to", "contribution", "probability")
    line = f"{wrong_edges(result)} Contribution: how much the loss would rise without that client."
    return Section(f"Who contributes what to whom: {loss_unit(result)}", columns, rows, columns[2:], (line,))


def wrong_edges(result: Result) -> str:
    """Say how many contributions are expected to be wrong."""
    wrong, all_of_them = result.expected_wrong_edges, count(len(result.contributions), "contribution")
    return f"Of {all_of_them}, about {wrong:.1f} can be expected to bring nothing."


def loss_unit(result: Result) -> str:
    """Return the name of the loss and its unit."""
    unit = result.family.loss_unit(result.schema)
    return unit.replace("cross-validated", "expected") if result.study.borrows else unit


def _confidence(result: Result) -> Section | None:
    """Return how often each edge and the coalitions were found in resamples, if there were any."""
    sure = result.confidence
    if sure is None:
        return None
    rows = tuple((giver, receiver, format_percent(share)) for (giver, receiver), share in sure.edges.items())
    return Section(
        "How sure: how often each client was wanted in resamples of the rows",
        ("from", "to", "resamples"),
        rows,
        right=("resamples",),
        lines=(f"These coalitions were found in {format_percent(sure.equilibrium)} of {sure.resamples:,} resamples.",),
    )


def _proof(result: Result) -> Section:
    certificate = result.certificate
    notes = tuple(f"note: {note}" for note in certificate.notes)
    witnesses = tuple(map(str, certificate.witnesses[1:]))
    heading = "Proof" if certificate.proved else "Verdict"
    lines = (stability(result), *forgiven(result), *witnesses, *notes)
    return Section(f"{heading}, based on these losses", lines=lines)


def stability(result: Result) -> str:
    """Say what is proved about the coalitions."""
    certificate = result.certificate
    if not result.study.borrows or not certificate.proved:
        return str(certificate)
    inequalities = count(len(certificate.outer) + len(certificate.inner), "inequality", "inequalities")
    return f"Stable for these estimates: no group of members would do better by leaving (checked by {inequalities})."


def forgiven(result: Result) -> tuple[str, ...]:
    """Say how large a gain may be and still count as zero: a proof that forgave much would prove little."""
    client, amount = max(result.certificate.forgiven.items(), key=lambda item: item[1])
    if not amount:
        return ()
    if result.study.borrows:
        shares = {client: _forgiven_share(result, client) for client in result.clients}
        client = max(shares, key=lambda name: shares[name])
        most = f": here at most {100 * shares[client]:.2g} % of a client's loss ({client})" if shares[client] else ""
        return (f"Better by too little to be worth it does not count{most}",)
    return (f"a gain within its error counts as zero: up to {amount:.2g} for {client}, and no more for the others",)


def _forgiven_share(result: Result, client: str) -> float:
    """Return what is forgiven to a client as a share of its loss; 0 where both are rounding."""
    amount, loss = result.certificate.forgiven.get(client, 0.0), -result.game.maximal_utility(client, [client])
    return amount / loss if amount > _ROUNDING < loss else 0.0


def privacy_spent(result: Result) -> Section | None:
    """Return the privacy budget spent by clients with clipped or noisy answers, if there are any."""
    if not result.privacy:
        return None
    rows = tuple(
        (
            client,
            f"{stated['epsilon']:.3g}" if stated["noise"] else "no noise",
            f"{stated['delta']:g}" if stated["noise"] else "–",
            tuple(stated["by_kind"]) or ("nothing",),
            tuple(stated["without_noise"]) or ("nothing",),
        )
        for client, stated in result.privacy.items()
    )
    return Section(
        "Privacy spent so far, for tables that differ by one row",
        ("client", "epsilon", "delta", "with noise", "without"),
        rows,
        right=("epsilon", "delta"),
        lines=(
            "Epsilon and delta cover the answers with noise; nothing is guaranteed for answers without noise.",
            "Losses, weights and proof use the noisy answers; what each client gets is evaluated without noise.",
        ),
    )


def disclosed(result: Result) -> Section | None:
    """Return how much of their rows clients with a limit to it have disclosed, if there are any."""
    if not result.disclosure:
        return None
    rows = tuple(
        (client, f"{each['disclosed']:.0%}", f"{each['limit']:.0%}") for client, each in result.disclosure.items()
    )
    return Section(
        "Disclosed so far: numbers that left, as a share of the numbers in the rows",
        ("client", "disclosed", "limit"),
        rows,
        right=("disclosed", "limit"),
    )


def _traffic(result: Result) -> Section:
    rounds, sent, received = (result.traffic[name] for name in ("rounds", "sent", "received"))
    traffic = f"{format_bytes(sent)} to the clients, {format_bytes(received)} from them"
    return Section("Traffic", lines=(f"{count(rounds, 'round')} of questions: {traffic}",))
