"""The proof, every inequality in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from comity.report.story import Claim, Proof
from comity.report.words import some
from comity.writing import count, decimals_for

_SAID = {
    "proved": "Proved: nobody gains by leaving, alone or with others.",
    "refuted": "Refuted: some clients would gain by leaving, or lose nothing by it.",
    "undecided": "Undecided.",
}


def proof_of(told: Mapping[str, Any], *, losses: bool, extra: Sequence[str] = ()) -> Proof:
    """Return what a certificate says, which `told` holds as plain values.

    With `losses`, its utilities are losses with the sign changed, and are told as losses.

    >>> from comity import Game, certify
    >>> game = Game([("a", ["a"], 1), ("a", ["a", "b"], 2), ("b", ["b"], 1), ("b", ["a", "b"], 3)])
    >>> proof = proof_of(certify([["a", "b"]], game).to_dict(), losses=False)
    >>> proof.inner[0]
    Claim(text='Without b, a would have a utility of 1.00 instead of 2.00.', margin='1.00')
    """
    places = max(2, decimals_for([each["margin"] for each in told["inner"]]))
    sign, noun = (-1.0, "loss") if losses else (1.0, "utility")

    def number(value: float) -> str:
        return f"{round(sign * value, places) + 0.0:.{places}f}"

    outer = [
        Claim(_outer(each, noun, number), f"{round(each['margin'], places) + 0.0:.{places}f}") for each in told["outer"]
    ]
    inner = [
        Claim(
            f"Without {some(each['without'])}, {each['client']} would have a {noun} of {number(each['reduced'])} "
            f"instead of {number(each['utility'])}.",
            f"{each['margin']:.{places}f}",
        )
        for each in told["inner"]
    ]
    notes = [*extra, *(_witness(each, number) for each in told["witnesses"]), *told["notes"]]
    if told["exhaustive"]:
        notes.append("Every subset of the clients was tried as well.")
    sentence = _SAID[told["verdict"]]
    if told["verdict"] == "proved":
        held = count(len(outer) + len(inner), "inequality holds", "inequalities hold")
        sentence += f" {held}; each is listed with its margin."
    return Proof(told["verdict"], sentence, tuple(outer), tuple(inner), tuple(map(_sentence, notes)))


def _sentence(note: str) -> str:
    """Write a note with a capital and a full stop.

    >>> _sentence("a gain counts")
    'A gain counts.'
    """
    return note[:1].upper() + note[1:].rstrip(".") + "."


def _outer(told: Mapping[str, Any], noun: str, number: Callable[[float], str]) -> str:
    client, others = told["client"], sorted(set(told["among"]) - {told["client"]})
    if not others:
        return f"When {client} left there was nobody else: its {noun} is {number(told['utility'])}."
    more = "nothing" if told["margin"] >= 0 else "nothing beyond its error"
    return (
        f"{client} gains {more} from anybody who was there when it left ({some(others)}): its {noun} in its coalition "
        f"is {number(told['utility'])}, and at best {number(told['best'])}."
    )


def _witness(told: Mapping[str, Any], number: Callable[[float], str]) -> str:
    members = some(told["members"])
    if told["axiom"] == "inner":
        return f"{members} can leave {'its' if len(told['members']) == 1 else 'their'} coalition without loss."
    gains = "; ".join(
        f"{client} {number(told['now'][client])} → {number(told['then'][client])}" for client in told["members"]
    )
    return f"{members} would all gain as a coalition of their own ({gains})."
