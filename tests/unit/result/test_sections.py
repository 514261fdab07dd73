"""The sections of a result show its numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import comity
from comity.result.sections import sections


@pytest.fixture(scope="module")
def together() -> comity.Result:
    """Return what two clients of one kind get together."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(80, 8)), columns=list("stuvwxyz"))
    rows["outcome"] = rows.sum(axis=1) + 3 * rng.normal(size=80)
    found = comity.solve({"a": rows[:40], "b": rows[40:]}, target="outcome")
    assert frozenset("ab") in found.coalitions
    return found


def cells(result: comity.Result, beginning: str) -> tuple[dict, tuple[str, ...]]:
    (section,) = (each for each in sections(result) if each.heading.startswith(beginning))
    return {row[0]: row[1:] for row in section.rows}, section.lines


def selfless(result: comity.Result, *clients: str) -> comity.Result:
    """Return a result in which models of these clients weigh the other's rows alone."""
    weights = np.array(result.weights["coalition"])
    for client in clients:
        own = result.clients.index(client)
        weights[own] = np.eye(2)[1 - own]
    return replace(result, weights={**result.weights, "coalition": weights})


def test_clients_without_weight_in_their_own_models_are_listed(together: comity.Result) -> None:
    weighed, lines = cells(together, "Collaborators in the coalition")
    assert not lines
    weighed, lines = cells(selfless(together, "a"), "Collaborators in the coalition")
    assert weighed["a"] == ("0.00", ("b 1.00",))
    assert lines == (
        "The rows of a have no weight in its own model: its loss was lowest with the rows of others only.",
    )
    weighed, lines = cells(selfless(together, "a", "b"), "Collaborators in the coalition")
    assert lines[0].startswith("The rows of a and b have no weight in their own models")


def test_a_gain_is_shown_wherever_others_have_weight(together: comity.Result) -> None:
    scores, _ = cells(selfless(together, "a"), "What each client gets")
    assert scores["a"][-1] != "–", "its model is not its own"
    alone = np.eye(2)
    scores, _ = cells(replace(together, weights={**together.weights, "coalition": alone}), "What each client gets")
    assert scores["a"][-1] == scores["b"][-1] == "–"
