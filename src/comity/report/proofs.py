"""The proof in words, inequality by inequality."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from comity.core.text import format_number, places_for
from comity.report.story import Claim, Proof
from comity.report.words import capitalise, list_names, minus

_MAX_PLACES = 12
Write = Callable[[float], str]


def describe_proof(
    certificate: Mapping[str, Any],
    coalitions: Sequence[Sequence[str]],
    *,
    losses: bool,
    forgiven: Sequence[str] = (),
    expected: bool = False,
) -> Proof:
    """Return the proof in words of a certificate, given as `Certificate.to_dict` writes it.

    With `losses`, its utilities are negated losses, and are written as losses. `forgiven` says, in words, how large a
    gain may be and still count as zero. With `expected`, utilities are expected ones, and no question of significance.

    >>> from comity import Game, certify
    >>> game = Game([("a", ["a"], 1), ("a", ["a", "b"], 2), ("b", ["b"], 1), ("b", ["a", "b"], 3)])
    >>> proof = describe_proof(certify([["a", "b"]], game).to_dict(), [["a", "b"]], losses=False)
    >>> proof.outer[0].text
    'When a leaves, only its own coalition remains: its utility is 2.00, and at best 2.00 with those who remain.'
    >>> proof.inner[0]
    Claim(text='Without b, a would have a utility of 1.00 instead of 2.00.', margin='1.00')
    """
    sign, noun = (-1.0, "loss") if losses else (1.0, "utility")
    noun = f"expected {noun}" if expected else noun
    limit = "what is forgiven" if expected else "its error"
    places = places_for([inequality["margin"] for inequality in certificate["inner"]])
    home = {client: frozenset(members) for members in coalitions for client in members}
    outer = []
    for inequality in certificate["outer"]:
        write = _number_format(sign, places, inequality["utility"], inequality["best"])
        text = _describe_outer(inequality, home[inequality["client"]], noun, write, limit)
        outer.append(Claim(text, write(sign * inequality["margin"])))
    inner = []
    for inequality in certificate["inner"]:
        write = _number_format(sign, places, inequality["utility"], inequality["reduced"])
        text = (
            f"Without {list_names(inequality['without'])}, {inequality['client']} would have {_a(noun)} of "
            f"{write(inequality['reduced'])} instead of {write(inequality['utility'])}."
        )
        inner.append(Claim(text, write(sign * inequality["margin"])))
    witnesses = [_describe_witness(witness, _number_format(sign, places)) for witness in certificate["witnesses"]]
    notes = [*(f"{capitalise(note)}." for note in forgiven), *witnesses, *certificate["notes"]]
    if certificate["exhaustive"]:
        notes.append("Every subset of the clients was tried as well.")
    verdict, finding = certificate["verdict"], _finding(certificate, significantly=bool(forgiven) and not expected)
    sentence = f"{capitalise(verdict)}: {finding}."
    if verdict == "proved":
        listed = len(outer) + len(inner)
        hold = "One inequality holds; it" if listed == 1 else f"{listed:,} inequalities hold; each"
        of = " for these estimates" if expected else ""
        sentence = f"Proved{of}: {finding}, alone or with others. {hold} is listed with its margin."
    return Proof(verdict, finding, sentence, tuple(outer), tuple(inner), tuple(notes), bool(forgiven), expected)


def _a(noun: str) -> str:
    return f"an {noun}" if noun.startswith("e") else f"a {noun}"


def _finding(certificate: Mapping[str, Any], *, significantly: bool) -> str:
    """Return what was found, as a clause."""
    if certificate["verdict"] == "proved":
        return f"nobody gains{' significantly' if significantly else ''} by leaving"
    if certificate["verdict"] == "undecided":
        return "it could not be determined whether anybody gains by leaving"
    axioms = {witness["axiom"] for witness in certificate["witnesses"]}
    ways = [text for axiom, text in (("outer", "gain by leaving"), ("inner", "leave without loss")) if axiom in axioms]
    return f"some clients could {' and some '.join(ways) or 'gain by leaving'}"


def _number_format(sign: float, places: int, *distinct: float) -> Write:
    """Return a function that writes numbers with enough decimals to show the difference between `distinct` ones."""
    while len(set(distinct)) > 1 and places < _MAX_PLACES and len({round(number, places) for number in distinct}) == 1:
        places += 1
    return lambda value: minus(format_number(sign * value, places))


def _describe_outer(inequality: Mapping[str, Any], home: frozenset[str], noun: str, write: Write, limit: str) -> str:
    client = inequality["client"]
    remaining = set(inequality["among"]) - {client}
    others = sorted(remaining - home)
    utility = f"its {noun} is {write(inequality['utility'])}"
    values = f"{utility}, and at best {write(inequality['best'])} with those who remain"
    if not remaining:
        return f"When {client} leaves, nobody else remains: {utility}."
    if not others:
        return f"When {client} leaves, only its own coalition remains: {values}."
    remain = "remains" if len(others) == 1 else "remain"
    if inequality["margin"] < 0 and inequality["best"] > inequality["utility"]:
        return f"{client} gains from {list_names(others)}, who still {remain}, no more than {limit}: {values}."
    return f"{client} gains nothing more from {list_names(others)}, who still {remain}: {values}."


def _describe_witness(witness: Mapping[str, Any], write: Write) -> str:
    members = list_names(witness["members"])
    if witness["axiom"] == "inner":
        return f"{members} can leave {'its' if len(witness['members']) == 1 else 'their'} coalition without loss."
    gains = "; ".join(
        f"{client} {write(witness['now'][client])} → {write(witness['then'][client])}" for client in witness["members"]
    )
    return f"{members} would all gain as a coalition of their own ({gains})."
