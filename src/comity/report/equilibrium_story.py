"""The report of a graph or a game: from the document that ``comity equilibrium --out`` wrote to its content."""

import math
from collections.abc import Mapping
from typing import Any

from comity.core.text import count
from comity.errors import FormatError
from comity.report.narrative import build_steps
from comity.report.proofs import describe_proof
from comity.report.story import MODEL_LABELS, Dot, Edge, Member, Partner, Story
from comity.report.words import describe_unmet_wish, list_names, minus, not_wanted, who_trains

NO_PROOF = "The coalitions follow from who wants whom; without utilities there is nothing to prove."


def describe_equilibrium(document: Mapping[str, Any], written: str = "") -> Story:
    """Return the content of the report of what ``equilibrium.json`` holds; `written` is when it was saved, as text."""
    try:
        return _story(document, written)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"its contents are inconsistent ({type(error).__name__})") from None


def _story(document: Mapping[str, Any], written: str) -> Story:
    coalitions = tuple(tuple(coalition["members"]) for coalition in document["coalitions"])
    number = {client: place for place, members in enumerate(coalitions, start=1) for client in members}
    unmet = tuple((wish["collaborator"], wish["client"]) for wish in document["unmet"])
    steps = build_steps(document)
    proof = describe_proof(document["certificate"], coalitions, losses=False) if "certificate" in document else None
    contributions = {
        (inequality["without"][0], inequality["client"]): float(inequality["margin"])
        for inequality in document.get("certificate", {}).get("inner", ())
        if len(inequality["without"]) == 1
    }
    clients, is_game = document["clients"], document["kind"] == "game"
    answer = [*who_trains(coalitions), NO_PROOF if proof is None else proof.sentence]
    if unmet:
        refused = sorted({client for _, client in unmet}, key=clients.index)
        them = "it" if len(refused) == 1 else "them"
        answer.append(f"{list_names(refused)} wanted somebody who did not want {them}.")
    done = {
        "Data": f"a {document['kind']} of {count(len(clients), 'client')}",
        "Wishes": f"{count(len(steps[0].edges), 'wish', 'wishes')} in the benefit graph",
        "Version": f"comity {document['comity']}",
        "File dated": written,
        "To repeat it": f"comity equilibrium {'GAME.json' if is_game else 'GRAPH'}",
    }
    return Story(
        title="Who should train with whom",
        answer=tuple(answer),
        coalitions=coalitions,
        members=tuple(_member(document, client, number[client], steps[0].edges, contributions) for client in clients),
        steps=steps,
        unmet=unmet,
        contributions=contributions,
        unit="utility",
        axis="utility of each client" if is_game else "",
        proof=proof,
        done=tuple((name, text) for name, text in done.items() if text),
    )


def _member(
    document: Mapping[str, Any], client: str, number: int, edges: tuple[Edge, ...], contributions: Mapping[Edge, float]
) -> Member:
    members = document["coalitions"][number - 1]["members"]
    lost = [wish["collaborator"] for wish in document["unmet"] if wish["client"] == client]
    values = {name: float(value) for name, value in document.get("utilities", {}).get(client, {}).items()}
    gain = values.get("coalition", math.nan) - values.get("alone", math.nan)
    return Member(
        name=client,
        coalition=number,
        advice=_advice(client, [name for name in members if name != client], lost),
        unmet=tuple(describe_unmet_wish(client, giver) for giver in lost),
        partners=tuple(
            Partner(name, brings=minus(f"{contributions[name, client]:.6g}") if (name, client) in contributions else "")
            for name, receiver in edges
            if receiver == client and name in members
        ),
        dots=tuple(
            Dot(label, values[name], text="unknown" if math.isnan(values[name]) else minus(f"{values[name]:.6g}"))
            for name, label in MODEL_LABELS.items()
            if name in values
        ),
        gain="" if len(members) == 1 or math.isnan(gain) else minus(f"{gain:+.6g}"),
    )


def _advice(client: str, others: list[str], lost: list[str]) -> str:
    if not others and not lost:
        return f"No need: {client} wants nobody."
    if not others:
        return f"Not at present: {client} would gain from {list_names(lost)}, {not_wanted(client, lost)}."
    advice = f"Yes: train with {list_names(others)}. All members want each other, directly or in a ring."
    return f"{advice} It also wanted {list_names(lost)}, {not_wanted(client, lost)}." if lost else advice
