"""A result told in words and tables, for the terminal and for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from comity.metrics import METRICS
from comity.writing import (
    bytes_of,
    change,
    count,
    decimals_for,
    formed,
    interval,
    join,
    percent,
    places_for,
    plain,
    share_of,
)

if TYPE_CHECKING:
    from comity.peels import UnmetWish
    from comity.result import Result

Cell = str | tuple[str, ...]  # a tuple holds names, of which a terminal may show the first few
_FEW = 10


@dataclass(frozen=True, slots=True)
class Section:
    """A part of what is told: a heading, then a table (the columns named by `right` aligned to the right), or lines."""

    heading: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    right: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def summary(result: Result) -> str:
    """Return in a sentence what was asked, of how many, and what came out."""
    target = result.schema.target
    rows = sum(standing.rows for standing in result.utilities.values())
    classes = ", ".join(target.classes[:_FEW]) + " …" * (len(target.classes) > _FEW)
    what = f"classes {classes}" if classes else "a number"
    found = formed(list(map(len, result.coalitions)))
    return f"{count(len(result.clients), 'client')} with {rows:,} rows, to predict {target.name} ({what}): {found}."


def sections(result: Result) -> tuple[Section, ...]:
    """Return all that is told of a result, in order."""
    told = (
        _coalitions(result),
        _standings(result),
        _weights(result),
        _unmet(result),
        _contributions(result),
        _confidence(result),
        _proof(result),
        privacy_spent(result),
        _traffic(result),
    )
    return tuple(section for section in told if section is not None)


def as_html(result: Result) -> str:
    """Return a result as a table for notebooks: each client with its coalition and what it gets."""
    found = result.equilibrium
    standings = _standings(result)
    numbers = {client: str(number + 1) for client, number in zip(found.clients, found.numbers.tolist(), strict=True)}
    columns = ("coalition", *standings.columns)
    rows = sorted(((numbers[str(row[0])], *row) for row in standings.rows), key=lambda row: int(str(row[0])))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(', '.join(c) if isinstance(c, tuple) else c)}</td>" for c in row) + "</tr>"
        for row in rows
    )
    lines = "<br>".join(map(escape, (*standings.lines, *_proof(result).lines)))
    return (
        f"<table><caption>{escape(summary(result))}<br>{escape(standings.heading)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{lines}</p>"
    )


def reason(wish: UnmetWish, result: Result) -> str:
    """Say why a wish stayed unmet, as far as estimates can tell."""
    client, other = wish.client, wish.collaborator
    if result.study.rule != "smallest":
        return f"{client} wanted {other}; {other} does without {client}"
    partners = sorted(result.equilibrium.collaborators_of(other) - {other})
    beyond = f" beyond what it has from {join(partners)}" if partners else ""
    return f"{client} wanted {other}; {other} gains nothing significant from {client}{beyond}"


def _coalitions(result: Result) -> Section:
    found = result.equilibrium
    rows = tuple((str(n + 1), str(peel + 1), found.members(n)) for n, peel in enumerate(found.peel_of.tolist()))
    columns = ("coalition", "peel", "members")
    return Section("Coalitions, in the order in which they form", columns, rows, right=columns[:2])


def _standings(result: Result) -> Section:
    """Return what each client gets, with intervals."""
    metric = METRICS[result.metric]
    figures = [(s.alone, s.coalition, s.best, s.gain) for s in result.utilities.values()]
    places = decimals_for([figure.error for each in figures for figure in each[:3]])
    rows = tuple(
        (
            client,
            f"{standing.rows:,}",
            *(interval(f, places, metric.least, metric.most) for f in (alone, coalition, best)),
            change(gain, places) if set(result.weights_of(client)) != {client} else "–",
        )
        for (client, standing), (alone, coalition, best, gain) in zip(result.utilities.items(), figures, strict=True)
    )
    columns = ("client", "rows", "alone", "in coalition", "at best", "coalition − alone")
    better = "more is better" if metric.more_is_better else "less is better"
    return Section(
        f"What each client gets: {result.metric} of its model ({better}), with intervals of 95 %",
        columns,
        rows,
        right=columns[1:],
        lines=(
            "Judged on rows that neither trained nor chose anything. At best is with everybody willing.",
            *_for_all(result, places),
            "Clients chose by losses on other rows; by these figures, noisy too, a gain may turn out to be none.",
        ),
    )


def _for_all(result: Result, places: int) -> Iterator[str]:
    """Say for comparison what one model for all would give."""
    figures = {client: each.together.value for client, each in result.utilities.items()}
    told = [f"{client} {plain(value, places)}" for client, value in figures.items() if not math.isnan(value)]
    if told:
        more = f" and {len(told) - _FEW:,} more" if len(told) > _FEW else ""
        yield f"With one model on all rows: {', '.join(told[:_FEW])}{more}."


def _weights(result: Result) -> Section:
    """Return what each client's model in its coalition is made of."""
    per = "a row of" if result.study.weights == "sample" else "all rows of"
    rows = []
    for client in result.clients:
        weights = result.weights_of(client)
        own = weights.pop(client, 0.0)
        others = tuple(f"{other} {share_of(weight)}" for other, weight in weights.items())
        joined = len(result.equilibrium.coalition_of(client)) > 1
        nobody = "nobody; others train with its rows" if joined else "nobody: it trains alone"
        rows.append((client, share_of(own), others or (nobody,)))
    columns = ("client", "itself", "collaborators")
    heading = f"Collaborators in the coalition, with the weight of {per} each"
    return Section(heading, columns, tuple(rows), ("itself",), tuple(_selfless(result)))


def _selfless(result: Result) -> Iterator[str]:
    """Say of clients whose own rows have no weight in their models what that means."""
    none = [client for client in result.clients if client not in result.weights_of(client)]
    if none:
        own = "its own model" if len(none) == 1 else "their own models"
        yield f"The rows of {join(none)} have no weight in {own}: with those of others alone, losses were least."


def _unmet(result: Result) -> Section:
    lines = tuple(reason(wish, result) for wish in result.equilibrium.unmet)
    return Section("Unmet wishes", lines=lines or ("none: everybody has the collaborators it wanted first",))


def _contributions(result: Result) -> Section:
    """Return who brings what to whom."""
    inner = [each for each in result.certificate.inner if len(each.without) == 1]
    if not inner:
        alone = all(len(coalition) == 1 for coalition in result.coalitions)
        said = "nobody contributes anything: all train alone" if alone else "nobody would lose by one other's leaving"
        return Section("Who contributes what to whom", lines=(said,))
    places = places_for([each.margin for each in inner])
    rows = tuple(
        (
            next(iter(e.without)),
            e.client,
            *(f"{-v:.{places}f}" for v in (e.utility, e.reduced)),
            f"{e.margin:.{places}f}",
        )
        for e in inner
    )
    columns = ("from", "to", "its loss", "without", "contribution")
    return Section(f"Who contributes what to whom: {loss_unit(result)}", columns, rows, right=columns[2:])


def loss_unit(result: Result) -> str:
    """Say what losses are measured in."""
    if result.study.model == "module":
        return "cross-fitted loss (the loss that was given)"
    if not result.schema.target.classes:
        return "cross-fitted loss (mean squared error, in units of the target's variance)"
    return f"cross-fitted loss (log loss{', by expansion' if result.study.model == 'linear' else ''})"


def _confidence(result: Result) -> Section | None:
    """Return how often edges and coalitions were found in resamples, if there were any."""
    sure = result.confidence
    if sure is None:
        return None
    rows = tuple((giver, receiver, percent(share)) for (giver, receiver), share in sure.edges.items())
    return Section(
        "How sure: how often each client was wanted in resamples of the rows",
        ("from", "to", "resamples"),
        rows,
        right=("resamples",),
        lines=(f"This partition holds in {percent(sure.equilibrium)} of {sure.resamples:,} resamples.",),
    )


def _proof(result: Result) -> Section:
    certificate = result.certificate
    notes = tuple(f"note: {note}" for note in certificate.notes)
    witnesses = tuple(map(str, certificate.witnesses[1:]))
    heading = "Proof" if certificate.proved else "Verdict"
    return Section(f"{heading}, by these losses", lines=(str(certificate), *forgiven(result), *witnesses, *notes))


def forgiven(result: Result) -> tuple[str, ...]:
    """Say how large a gain may be and still count as none: a proof that forgave much would prove little."""
    client, amount = max(result.certificate.forgiven.items(), key=lambda item: item[1])
    if not amount:
        return ()
    return (f"a gain within its error counts as none: up to {amount:.2g} for {client}, and no more for the others",)


def privacy_spent(result: Result) -> Section | None:
    """Return what clients with clipped or noisy answers have spent, if there are any."""
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
            "It is that of answers with noise; of those without, nothing is claimed.",
            "Losses, weights and proof rest on noisy answers; what each client gets is judged without noise.",
        ),
    )


def _traffic(result: Result) -> Section:
    rounds, sent, received = (result.traffic[name] for name in ("rounds", "sent", "received"))
    told = f"{count(rounds, 'round')} of questions: {bytes_of(sent)} to the clients, {bytes_of(received)} from them"
    return Section("Traffic", lines=(told,))
