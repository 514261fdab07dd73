"""The numbers on a page are those of ``result.json``, which is read here on its own."""

import json
import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from comity.report import render_run
from support.reports import result_of

NAMES = tuple(f"hospital {number}" for number in range(10))


class Tables(HTMLParser):
    """The cells of every table row on a page, with the nearest enclosing element that has an id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, list[str]]] = []
        self._ids: list[str] = []
        self._cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag in ("section", "article", "table", "details"):
            self._ids.append(values.get("id") or (self._ids[-1] if self._ids else ""))
        elif tag == "tr":
            self.rows.append((self._ids[-1], []))
        elif tag in ("td", "th"):
            self.rows[-1][1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("section", "article", "table", "details"):
            self._ids.pop()
        elif tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[-1][1][-1] += data

    def within(self, place: str) -> list[list[str]]:
        return [[" ".join(cell.split()) for cell in cells] for where, cells in self.rows if where == place]


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def near(text: str, value: float) -> bool:
    """Return whether a written number is a value rounded to its decimals."""
    places = len(text.partition(".")[2])
    return math.isclose(number(text), value, abs_tol=0.5001 * 10.0**-places)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tables, dict[str, Any]]:
    run = tmp_path_factory.mktemp("page") / "run"
    result_of(NAMES, resamples=4).save(run)
    return Tables(render_run(run)), json.loads((run / "result.json").read_text())


def numbers_in(text: str) -> list[str]:
    return re.findall(r"[-+−]?\d[\d,]*(?:\.\d+)?", text.replace("95 %", ""))


def agree(text: str, estimate: dict[str, float | None], least: float = -math.inf) -> bool:
    """Return whether a text is an estimate with its interval, or says that the estimate is unknown."""
    value, error = estimate["value"], estimate["error"]
    if value is None:
        return text in ("unknown", "–")
    if error is None:
        (shown,) = numbers_in(text)
        return near(shown, value)
    shown, low, high = numbers_in(text)
    return near(shown, value) and near(low, max(value - 1.96 * error, least)) and near(high, value + 1.96 * error)


def test_models_of_each_client(saved: tuple[Tables, dict[str, Any]]) -> None:
    page, document = saved
    for place, client in enumerate(NAMES):
        shown = {row[0]: row[1] for row in page.within(f"client-{place}") if len(row) == 2}
        for label, kind in (("alone", "alone"), ("in the coalition", "coalition"), ("at best", "best")):
            assert agree(shown[label], document["utilities"][client][kind], least=0.0)
        assert agree(shown["all together"], document["utilities"][client]["together"], least=0.0)


def test_the_gain_in_the_coalition(saved: tuple[Tables, dict[str, Any]]) -> None:
    page, document = saved
    homes = {name: each["members"] for each in document["equilibrium"]["coalitions"] for name in each["members"]}
    rows = {row[0]: row for row in page.within("clients")}
    gains = 0
    for client in NAMES:
        gain = document["utilities"][client]["gain"]
        assert number(rows[client][1]) == document["utilities"][client]["rows"]
        if len(homes[client]) > 1:
            assert agree(rows[client][-1], gain)
            gains += gain["value"] not in (None, document["utilities"][client]["gain_at_best"]["value"])
        else:
            assert rows[client][-1] == "–"
    assert gains, "somewhere the coalition is not the best, or the two could be mixed up"


def test_weights_and_what_each_brings(saved: tuple[Tables, dict[str, Any]]) -> None:
    page, document = saved
    brought = {(each["giver"], each["receiver"]): each["value"] for each in document["contributions"]}
    assert any(brought.get(edge[::-1]) not in (None, value) for edge, value in brought.items())
    for place, client in enumerate(NAMES):
        for name, *cells in (row for row in page.within(f"client-{place}") if len(row) == 3 and row[0] != "client"):
            giver = name.removesuffix(" (itself)")
            weight = document["weights"]["coalition"][client].get(giver, 0.0)
            assert cells[0] == "<0.01" if 0 < weight < 0.005 else near(cells[0], weight)
            assert (cells[1] == "") == ((giver, client) not in brought)
            assert not cells[1] or near(cells[1], brought[giver, client])
    totals = {row[0]: row for row in page.within("totals")}
    for client in NAMES:
        assert near(totals[client][2], sum(value for (giver, _), value in brought.items() if giver == client))
        assert near(totals[client][3], sum(value for (_, taker), value in brought.items() if taker == client))


def test_margins_of_the_proof(saved: tuple[Tables, dict[str, Any]]) -> None:
    page, document = saved
    shown = [row for row in page.within("proof") if row[-1] != "margin"]
    margins = [each["margin"] for each in (*document["certificate"]["outer"], *document["certificate"]["inner"])]
    assert len(shown) == len(margins)
    for (_, text), margin in zip(shown, margins, strict=True):
        assert near(text, margin)


def test_how_often_wishes_came_out(saved: tuple[Tables, dict[str, Any]]) -> None:
    page, document = saved
    shares = {(each["from"], each["to"]): each["share"] for each in document["confidence"]["edges"]}
    shown = {(row[0], row[1]): row[2] for row in page.within("wishes") if row[0] != "from"}
    assert shown == {edge: f"{100 * share:.0f} %" for edge, share in shares.items()}
