"""The proof, every inequality in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from comity.report.story import Claim, Proof
from comity.report.words import minus, some
from comity.writing import places_for, plain

_MOST_PLACES = 12


def proof_of(
    told: Mapping[str, Any], coalitions: Sequence[Sequence[str]], *, losses: bool, extra: Sequence[str] = ()
) -> Proof:
    """Return what a certificate of these coalitions says, which `told` holds as plain values.

    With `losses`, its utilities are losses with the sign changed, and are told as losses; `extra` is what it forgave.

    >>> from comity import Game, certify
    >>> game = Game([("a", ["a"], 1), ("a", ["a", "b"], 2), ("b", ["b"], 1), ("b", ["a", "b"], 3)])
    >>> proof = proof_of(certify([["a", "b"]], game).to_dict(), [["a", "b"]], losses=False)
    >>> proof.outer[0].text.partition(":")[0]
    'When the turn of a came, everybody still there was in its coalition'
    >>> proof.inner[0]
    Claim(text='Without b, a would have a utility of 1.00 instead of 2.00.', margin='1.00')
    """
    sign, noun = (-1.0, "loss") if losses else (1.0, "utility")
    places = places_for([each["margin"] for each in told["inner"]])
    home = {client: frozenset(members) for members in coalitions for client in members}
    outer = []
    for each in told["outer"]:
        number = _written(sign, places, each["utility"], each["best"])
        outer.append(Claim(_outer(each, home[each["client"]], noun, number), number(sign * each["margin"])))
    inner = []
    for each in told["inner"]:
        number = _written(sign, places, each["utility"], each["reduced"])
        text = f"Without {some(each['without'])}, {each['client']} would have a {noun} of {number(each['reduced'])}"
        inner.append(Claim(f"{text} instead of {number(each['utility'])}.", number(sign * each["margin"])))
    witnesses = [_witness(each, _written(sign, places)) for each in told["witnesses"]]
    notes = [*(note[:1].upper() + note[1:] + "." for note in extra), *witnesses, *told["notes"]]
    if told["exhaustive"]:
        notes.append("Every subset of the clients was tried as well.")
    said = _said(told, significantly=bool(extra))
    sentence = f"{said[:1].upper()}{said[1:]}."
    if told["verdict"] == "proved":
        listed = len(outer) + len(inner)
        held = "One inequality holds; it" if listed == 1 else f"{listed:,} inequalities hold; each"
        sentence = f"Proved: {said}, alone or with others. {held} is listed with its margin."
    elif told["verdict"] == "refuted":
        sentence = f"Refuted: {said}."
    return Proof(told["verdict"], said, sentence, tuple(outer), tuple(inner), tuple(notes), bool(extra))


def _said(told: Mapping[str, Any], *, significantly: bool) -> str:
    """Return what was found, as a clause."""
    if told["verdict"] == "proved":
        return f"nobody gains{' significantly' if significantly else ''} by leaving"
    if told["verdict"] == "undecided":
        return "whether nobody gains by leaving could not be decided"
    axioms = {each["axiom"] for each in told["witnesses"]}
    ways = [text for axiom, text in (("outer", "gain by leaving"), ("inner", "leave without loss")) if axiom in axioms]
    return "some clients could " + (" and some ".join(ways) or "gain by leaving")


def _written(sign: float, places: int, *apart: float) -> Callable[[float], str]:
    """Return how numbers are written: with so many decimals, and as many more as tell two that differ apart."""
    while len(set(apart)) > 1 and places < _MOST_PLACES and len({round(each, places) for each in apart}) == 1:
        places += 1
    return lambda value: minus(plain(sign * value, places))


def _outer(told: Mapping[str, Any], home: frozenset[str], noun: str, number: Callable[[float], str]) -> str:
    client = told["client"]
    there = set(told["among"]) - {client}
    others = sorted(there - home)
    values = f"its {noun} is {number(told['utility'])}, and could be {number(told['best'])} at best with some of them"
    if not there:
        return (
            f"When the turn of {client} came there was nobody else any more: its {noun} is {number(told['utility'])}."
        )
    if not others:
        return f"When the turn of {client} came, everybody still there was in its coalition: {values}."
    were = "was" if len(others) == 1 else "were"
    if told["margin"] < 0 and told["best"] > told["utility"]:
        return f"{client} may gain from {some(others)}, who {were} still there, no more than is forgiven: {values}."
    return f"{client} gains nothing more from {some(others)}, who {were} still there: {values}."


def _witness(told: Mapping[str, Any], number: Callable[[float], str]) -> str:
    members = some(told["members"])
    if told["axiom"] == "inner":
        return f"{members} can leave {'its' if len(told['members']) == 1 else 'their'} coalition without loss."
    gains = "; ".join(
        f"{client} {number(told['now'][client])} → {number(told['then'][client])}" for client in told["members"]
    )
    return f"{members} would all gain as a coalition of their own ({gains})."
