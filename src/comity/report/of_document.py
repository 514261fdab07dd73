"""The report of a graph or a game: from what ``comity equilibrium --out`` wrote to what is said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from comity.errors import FormatError
from comity.narration import tell_peels
from comity.report.proofs import proof_of
from comity.report.story import MODELS, Dot, Edge, Member, Partner, Story, steps_of
from comity.report.words import minus, some, unmet_wish, who_trains
from comity.writing import count

NO_PROOF = "The coalitions follow from who wants whom; without utilities there is nothing to prove."


def story_of_document(document: Mapping[str, Any], written: str = "") -> Story:
    """Return what a report says of an equilibrium, of which `document` tells; `written` says when it was saved."""
    try:
        return _story(document, written)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"what is in it does not go together ({type(error).__name__})") from None


def _story(told: Mapping[str, Any], written: str) -> Story:
    coalitions = tuple(tuple(each["members"]) for each in told["coalitions"])
    number = {client: at for at, members in enumerate(coalitions, start=1) for client in members}
    unmet = tuple((each["collaborator"], each["client"]) for each in told["unmet"])
    lines = tell_peels(told, some)
    for tie in told.get("ties", ()):
        sets = " or ".join(f"{{{some(members)}}}" for members in tie["sets"])
        lines[tie["peel"] - 1].append(f"A tie: {tie['client']} does equally well with {sets}.")
    steps = steps_of(told, lines)
    proof = proof_of(told["certificate"], coalitions, losses=False) if "certificate" in told else None
    contributions = {
        (each["without"][0], each["client"]): float(each["margin"])
        for each in told.get("certificate", {}).get("inner", ())
        if len(each["without"]) == 1
    }
    members = tuple(_member(told, client, number, steps[0].edges, unmet, contributions) for client in told["clients"])
    is_game = told["kind"] == "game"
    answer = [*who_trains(coalitions)]
    if proof is not None:
        answer.append(proof.sentence)
    else:
        answer.append(NO_PROOF)
    if unmet:
        clients = sorted({client for _, client in unmet}, key=told["clients"].index)
        answer.append(f"{some(clients)} wanted somebody who does without {'it' if len(clients) == 1 else 'them'}.")
    done = [
        ("Data", f"a {told['kind']} of {count(len(told['clients']), 'client')}"),
        ("Wishes", f"{count(len(steps[0].edges), 'wish', 'wishes')} in the benefit graph"),
        ("Version", f"comity {told['comity']}"),
    ]
    if written:
        done.append(("File dated", written))
    done.append(("To repeat it", f"comity equilibrium {'GAME.json' if is_game else 'GRAPH'}"))
    return Story(
        title="Who should train with whom",
        answer=tuple(answer),
        coalitions=coalitions,
        members=members,
        steps=steps,
        unmet=unmet,
        contributions=contributions,
        unit="utility",
        axis="utility of each client" if is_game else "",
        proof=proof,
        done=tuple(done),
    )


def _member(
    told: Mapping[str, Any],
    client: str,
    number: Mapping[str, int],
    edges: tuple[Edge, ...],
    unmet: tuple[Edge, ...],
    contributions: Mapping[Edge, float],
) -> Member:
    members = told["coalitions"][number[client] - 1]["members"]
    lost = [giver for giver, taker in unmet if taker == client]
    partners = [giver for giver, taker in edges if taker == client and giver in members]
    return Member(
        name=client,
        coalition=number[client],
        advice=_advice(client, [name for name in members if name != client], lost),
        unmet=tuple(unmet_wish(client, giver) for giver in lost),
        partners=tuple(
            Partner(name, brings=minus(f"{contributions[name, client]:.6g}") if (name, client) in contributions else "")
            for name in partners
        ),
        dots=_dots(told.get("utilities", {}).get(client, {})),
        gain=_gain(told.get("utilities", {}).get(client, {}), len(members) > 1),
    )


def _dots(utilities: Mapping[str, float]) -> tuple[Dot, ...]:
    values = {label: float(utilities[name]) for name, label in MODELS.items() if name in utilities}
    return tuple(
        Dot(label, value, text="unknown" if math.isnan(value) else minus(f"{value:.6g}"))
        for label, value in values.items()
    )


def _gain(utilities: Mapping[str, float], joined: bool) -> str:
    if not joined or not {"alone", "coalition"} <= utilities.keys():
        return ""
    gain = float(utilities["coalition"]) - float(utilities["alone"])
    return "" if math.isnan(gain) else minus(f"{gain:+.6g}")


def _advice(client: str, others: list[str], lost: list[str]) -> str:
    if others:
        told = f"Yes: train with {some(others)}. All of you want each other, directly or in a ring."
    elif lost:
        return f"Not as things are: {client} would gain from {some(lost)}, who {_does(lost)} without it."
    else:
        return f"No need: {client} wants nobody."
    return told + (f" It would have liked {some(lost)} as well, who {_does(lost)} without it." if lost else "")


def _does(names: list[str]) -> str:
    return "does" if len(names) == 1 else "do"
