"""A report describes a proof truly, and small differences stay visible."""

from __future__ import annotations

import random
import re

import comity
from comity.report.proofs import describe_proof
from support.strategies import random_game


def proof_of(game: comity.Game, coalitions: list[list[str]]):
    return describe_proof(comity.certify(coalitions, game).to_dict(), coalitions, losses=False)


def test_nobody_is_said_to_gain_nothing_from_its_own_coalition() -> None:
    found_claims = 0
    for seed in range(300):
        game = random_game(random.Random(seed))
        found = comity.find_equilibrium(game)
        coalitions = [list(found.members(number)) for number in range(len(found.coalitions))]
        proof = proof_of(game, coalitions)
        assert len(proof.outer) == len(game.clients)
        for claim in proof.outer:
            if match := re.match(r"(.*?) gains nothing more from (.*), who still remains?:", claim.text):
                found_claims += 1
                assert not set(re.split(", | and ", match[2])) & set(found.coalition_of(match[1]))
    assert found_claims


def test_a_difference_is_shown_however_small() -> None:
    game = comity.Game([("a", ["a"], 1.0), ("a", ["a", "b"], 1.000001), ("b", ["b"], 1.0), ("b", ["a", "b"], 3.0)])
    proof = proof_of(game, [["a", "b"]])
    assert proof.inner[0].text == "Without b, a would have a utility of 1.000000 instead of 1.000001."
    assert proof.inner[0].margin == "0.000001"


def test_a_refutation_says_what_it_is() -> None:
    alone = [(name, [name], 1.0) for name in "abc"]
    game = comity.Game([*alone, ("a", ["a", "b"], 2.0), ("b", ["a", "b"], 2.0)])
    parted = proof_of(game, [["a"], ["b"], ["c"]])
    assert parted.sentence == "Refuted: some clients could gain by leaving."
    bound = proof_of(game, [["a", "b", "c"]])
    assert bound.sentence == "Refuted: some clients could leave without loss."
    assert any(note.startswith("c can leave") for note in bound.notes), "a name stays as it is"
    assert proof_of(game, [["a", "b"], ["c"]]).finding == "nobody gains by leaving"
