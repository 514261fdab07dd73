"""A saved result that somebody changed and sealed again: what does not go together is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import comity
from comity.errors import ChangedError
from comity.result.directory import seal
from comity.result.result import Result
from comity.result.verification import verify
from support.small_tables import FOUR, numbers

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """North and South train together, and so do West and East."""
    place = tmp_path_factory.mktemp("saved") / "run"
    result = comity.solve(numbers(names=FOUR), client="site", target="effect")
    result.save(place)
    return place


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    for file in saved.iterdir():
        (tmp_path / "run" / file.name).write_bytes(file.read_bytes())
    return tmp_path / "run"


def seal_again(run: Path, change: Change) -> None:
    document = json.loads((run / "result.json").read_text())
    before = json.dumps(document)
    change(document)
    assert json.dumps(document) != before, "nothing was changed"
    document["seal"] = seal(document)
    (run / "result.json").write_text(json.dumps(document))


def put(*path: str, value: Any) -> Change:
    """Return a change that puts a value in a place."""

    def change(document: dict[str, Any]) -> None:
        at = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


def add(*path: str, amount: float) -> Change:
    """Return a change that adds to a number."""

    def change(document: dict[str, Any]) -> None:
        at = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] += amount

    return change


def move_weight(document: dict[str, Any]) -> None:
    weights = document["weights"]["coalition"]["North"]
    weights["West"] = weights.pop("South")


GAIN = "a gain of 'North' is not the difference of its scores"
IMPOSSIBLE = "a score of 'North', its error or the number of rows is impossible"
CHANGES: dict[str, tuple[Change, str]] = {
    "another graph": (put("graph", value={name: [] for name in FOUR}), "the graph is not that"),
    "a larger gain": (add("utilities", "North", "gain", "value", amount=1.0), GAIN),
    "a smaller gain": (add("utilities", "North", "gain", "value", amount=-0.01), GAIN),
    "a larger gain at best": (add("utilities", "North", "gain_at_best", "value", amount=1.0), GAIN),
    "a better figure": (add("utilities", "North", "coalition", "value", amount=0.01), GAIN),
    "no gain known": (put("utilities", "North", "gain", "value", value=None), "only one is known"),
    "a negative error": (put("utilities", "North", "alone", "error", value=-1.0), IMPOSSIBLE),
    "fewer than no rows": (put("utilities", "North", "rows", value=-1), IMPOSSIBLE),
    "a weight on an outsider": (move_weight, "model of 'North' in its coalition has weights on others"),
    "weights beyond the whole": (put("weights", "best", "West", value={"West": 1.5}), "not shares of a whole"),
    "not alone when alone": (put("weights", "alone", "North", value={"South": 1.0}), "'alone' have weights on others"),
    "the other task's metric": (put("metric", value="auc"), "the metric 'auc' is not for the target"),
    "a negative penalty": (put("penalties", "best", "West", value=-5.0), "penalties of the models 'best'"),
    "nothing forgiven anybody": (put("certificate", "forgiven", value={}), "not said of each client"),
    "a stranger forgiven": (put("certificate", "forgiven", "Centre", value=0.1), "not said of each client"),
    "a metric that is none": (put("metric", value="x"), "does not go together"),
    "traffic in words": (put("traffic", "rounds", value="x"), "not whole numbers"),
    "no traffic": (put("traffic", value={}), "not whole numbers"),
    "a client without figures": (lambda document: document["utilities"].pop("West"), "not those of the clients"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_go_together_is_refused(run: Path, name: str) -> None:
    change, message = CHANGES[name]
    seal_again(run, change)
    with pytest.raises(ChangedError, match=message):
        verify(run)


def test_what_goes_together_is_accepted(run: Path) -> None:
    """The same seal, and one of another version of comity, whose words are no part of the proof."""
    assert [set(coalition) for coalition in verify(run).coalitions] == [{"North", "South"}, {"West", "East"}]
    seal_again(run, put("comity", value="0.0"))
    assert isinstance(verify(run), Result)


def test_half_a_character_is_refused_as_any_change(run: Path) -> None:
    """A lone surrogate, which no text can be written with: JSON may have one, escaped."""
    text = (run / "result.json").read_text()
    for old, new in (
        ('"rows": 24', '"rows": "\\ud800"'),
        ('"West"', '"\\ud800"'),
        ('"target": "effect"', '"target": "\\udfff"'),
    ):
        assert old in text
        (run / "result.json").write_text(text.replace(old, new, 1))
        with pytest.raises(ChangedError, match="half a character"):
            verify(run)
