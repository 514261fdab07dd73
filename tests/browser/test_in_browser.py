"""Reports in a real browser: they step, light up, sort and switch, agree with the result, and ask nobody anything."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import comity
from comity.game.equilibrium import replay_peels
from comity.report import describe_equilibrium, render, render_run, write_report
from support.reports import HOSTILE, game_document, graph_document, result_of

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("COMITY_BROWSER"), reason="there is no chromium on this machine"
)
TEN = tuple(f"hospital {number}" for number in range(10))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Opened:
    """A report in a page, which keeps what went wrong and what was asked of the network."""

    def __init__(self, browser: Browser, file: Path, **options: object) -> None:
        self.page: Page = browser.new_page(**options)
        self.troubles: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.troubles.append(dialog.message), dialog.dismiss()))
        self.page.on("request", self._requested)
        self.address = file.as_uri()
        self.page.goto(self.address)

    def _requested(self, request) -> None:
        if request.url != self.address:
            self.troubles.append(request.url)

    def step(self) -> str:
        return self.page.locator("#where").inner_text()

    def shown_edges(self, within: str = "#picture") -> set[int]:
        return set(
            self.page.eval_on_selector_all(
                f"{within} .edge:not(.off)", "found => found.map(each => Number(each.dataset.edge))"
            )
        )

    def edges(self) -> list[tuple[str, str]]:
        data = json.loads(self.page.locator("#data").text_content() or "")
        return [(data["clients"][giver], data["clients"][taker]) for giver, taker in data["edges"]]

    def close(self) -> None:
        assert self.troubles == []
        self.page.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator:
    made: list[Opened] = []

    def open_page(html: str, **options: object) -> Opened:
        file = tmp_path / f"report-{len(made)}.html"
        file.write_text(html, encoding="utf-8")
        made.append(Opened(browser, file, **options))
        return made[-1]

    yield open_page
    for each in made:
        each.close()


def saved(names: tuple[str, ...], run: Path) -> dict:
    """Save a run of these clients with its report, a game if they are many; return it as a document."""
    if len(names) > len(TEN):
        document = game_document(names, 8)
        run.mkdir()
        (run / "equilibrium.json").write_text(json.dumps(document))
        (run / "report.html").write_text(render_run(run), encoding="utf-8")
        return {part: document[part] for part in ("clients", "coalitions", "unmet", "peels")}
    result = result_of(names)
    result.save(run)
    write_report(result, run / "report.html")
    return json.loads((run / "result.json").read_text())["equilibrium"]


@pytest.mark.parametrize("number", [3, 10, 200])
def test_stepping_shows_the_peels_of_the_result(opened, tmp_path: Path, number: int) -> None:
    document = saved(tuple(f"hospital {each}" for each in range(number)), tmp_path / "run")
    found = replay_peels(document)
    report = opened((tmp_path / "run" / "report.html").read_text())
    edges = report.edges()
    page = report.page
    assert report.step() == "Result"
    page.get_by_role("button", name="First").click()
    for step, peel in enumerate(found.peels):
        assert report.step() == f"Peel {step + 1} of {len(document['peels'])}"
        wanted = set(peel.graph.edges())
        assert {edges[place] for place in report.shown_edges()} == wanted
        assert {edges[place] for place in report.shown_edges("#matrix")} == wanted
        gone = page.eval_on_selector_all("#picture .node.gone", "found => found.map(each => each.ariaLabel)")
        assert set(gone) == set(found.clients) - set(peel.remaining)
        formed = page.eval_on_selector_all("#picture .frame:not(.off)", "found => found.length")
        assert formed == sum(each["peel"] <= step + 1 for each in document["coalitions"])
        said = page.locator(".peels > li.now").text_content() or ""
        assert said.startswith(f"Peel {step + 1}.")
        for left in document["peels"][step]["left"]:
            assert all(name in said for name in left)
        page.get_by_role("button", name="Forward").click()
    assert report.step() == "Result"
    lost = page.eval_on_selector_all("#picture .edge.lost", "found => found.map(each => Number(each.dataset.edge))")
    unmet = {(each["collaborator"], each["client"]) for each in document["unmet"]}
    assert {edges[place] for place in lost} == unmet & set(edges)
    page.get_by_role("button", name="Back").click()
    assert report.step().startswith(f"Peel {len(found.peels)} of")


def test_text_agrees_with_the_result(opened) -> None:
    result = result_of(TEN)
    report = opened(comity_page(result))
    for place, client in enumerate(result.clients):
        card = report.page.locator(f"#client-{place}").inner_text()
        assert client in card
        for other in result.weights_of(client):
            assert len(result.equilibrium.coalition_of(client)) == 1 or other in card
    answer = report.page.locator("#answer").inner_text()
    for coalition in result.coalitions:
        assert all(name in answer for name in coalition)
    rows = report.page.eval_on_selector_all("#totals tbody tr", "rows => rows.map(row => row.innerText)")
    assert len(rows) == len(result.clients)
    warm = report.page.eval_on_selector_all(
        "#heat .warm", "cells => cells.map(cell => [Number(cell.dataset.giver), Number(cell.dataset.receiver)])"
    )
    assert {(result.clients[giver], result.clients[taker]) for giver, taker in warm} == {
        (each.giver, each.receiver) for each in result.contributions
    }
    figures = report.page.eval_on_selector_all("#heat .warm text", "cells => cells.map(cell => cell.textContent)")
    assert sorted(figures) == sorted(f"{each.value:.2g}" for each in result.contributions)


def comity_page(result: comity.Result) -> str:
    from comity.report import describe_result

    return render(describe_result(result))


def test_stepping_by_keyboard_goes_on_at_both_ends(opened) -> None:
    report = opened(render(describe_equilibrium(graph_document({"a": ["b"], "b": ["a"], "c": ["a"]}))))
    page = report.page
    page.locator("#back").focus()
    for _ in range(4):
        page.keyboard.press("Enter")
    assert report.step() == "Peel 1 of 2"
    page.keyboard.press("ArrowRight")
    assert report.step() == "Peel 2 of 2", "the button still has the focus"
    assert page.locator("#heat [tabindex]").count() == 0


def test_clients_are_reached_by_keyboard(opened) -> None:
    report = opened(render(describe_equilibrium(graph_document({"a": ["b"], "b": ["a"], "c": ["a"]}))))
    page = report.page
    page.locator("#as-matrix").focus()
    hints = []
    for _ in range(3):
        page.keyboard.press("Tab")
        hints.append(page.locator("#hint").inner_text())
    assert hints == [
        "a (coalition 1) wants b; wanted by b, c.",
        "b (coalition 1) wants a; wanted by a.",
        "c (alone) wants a; wanted by nobody.",
    ]
    page.keyboard.press("Home")
    assert report.step() == "Peel 1 of 2"
    page.keyboard.press("ArrowRight")
    assert report.step() == "Peel 2 of 2"
    assert page.locator("#hint").inner_text() == "c (alone) wants nobody; wanted by nobody."
    page.keyboard.press("End")
    assert report.step() == "Result"
    page.keyboard.press("Enter")
    expect(page.locator("#client-2")).to_be_in_viewport()
    expect(page.locator("#client-2")).to_be_focused()


def test_views_switch_and_the_heat_map_sorts(opened) -> None:
    report = opened(render(describe_equilibrium(game_document(TEN, 3))))
    page = report.page
    assert page.locator("#graph-view").is_visible()
    assert not page.locator("#matrix-view").is_visible()
    page.get_by_role("button", name="Matrix").click()
    assert not page.locator("#graph-view").is_visible()
    assert page.locator("#matrix-view").is_visible()

    def order(column: int) -> list[float]:
        return page.eval_on_selector_all(
            "#totals tbody tr", f"rows => rows.map(row => Number(row.children[{column}].dataset.value))"
        )

    for name, column in (("gives", 2), ("receives", 3)):
        button = page.locator("#totals").get_by_role("button", name=name)
        button.click()
        assert order(column) == sorted(order(column), reverse=True)
        first = page.locator("#totals tbody tr").first.get_attribute("data-client")
        top = page.locator(f'#heat .row-name[data-client="{first}"]').get_attribute("transform")
        assert top == "translate(0 0)"
        cells = page.locator(f'#heat .warm[data-receiver="{first}"]')
        assert all(cell.get_attribute("transform").endswith(" 0)") for cell in cells.all())
        button.click()
        assert order(column) == sorted(order(column))
        assert button.locator("..").get_attribute("aria-sort") == "ascending"


def test_two_hundred_clients(opened) -> None:
    names = [f"client {number:03d}" for number in range(200)]
    report = opened(render(describe_equilibrium(game_document(names, 8))))
    page = report.page
    assert page.locator("#matrix-view").is_visible()
    page.get_by_role("button", name="First").click()
    assert report.step().startswith("Peel 1 of")
    page.locator('#matrix .row-name[data-client="9"]').focus()
    assert re.match(r"client 009 \(coalition \d+\) wants client 010; wanted by", page.locator("#hint").inner_text())
    page.get_by_role("button", name="Graph").click()
    assert page.locator("#picture .node").count() == 200
    page.locator('#picture .node[data-client="9"]').focus()
    lit = page.eval_on_selector_all("#picture .edge.lit", "found => found.length")
    assert lit == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1100])
def test_text_can_be_read(opened, scheme: str, width: int) -> None:
    """Text has the contrast that WCAG asks for (4.5), and a page is no wider than the screen."""
    html = comity_page(result_of(TEN[:3], resamples=4))
    report = opened(html, color_scheme=scheme, viewport={"width": width, "height": 800})
    poor = report.page.evaluate(CONTRAST)
    assert poor == []
    assert report.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    report.page.emulate_media(media="print")
    assert report.page.evaluate(CONTRAST) == []


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((each) => each / 255)
      .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || ["SCRIPT", "STYLE", "TITLE", "title"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    if (style.display === "none" || !element.getClientRects().length) continue;
    if (element.closest("button[aria-disabled=true]")) continue;
    const text = parse(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(text), light(ground(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(element.textContent.slice(0, 40));
  }
  return poor;
}"""


def test_names_run_no_code(opened) -> None:
    for html in (comity_page(result_of(HOSTILE)), render(describe_equilibrium(game_document(HOSTILE, 3)))):
        report = opened(html)
        page = report.page
        page.locator('#picture .node[data-client="0"]').focus()
        assert HOSTILE[0] in page.locator("#hint").inner_text()
        assert page.locator("img").count() == 0
        for button in ("First", "Forward"):
            page.get_by_role("button", name=button).click()


def test_a_page_of_one_client_needs_no_script(opened, tmp_path: Path) -> None:
    result = result_of(TEN[:3])
    result.save(tmp_path / "run")
    report = opened(render_run(tmp_path / "run", TEN[0]), java_script_enabled=False)
    assert report.page.locator("h1").inner_text() == f"{TEN[0]}: should it join?"


def test_without_a_script_all_is_there(opened) -> None:
    report = opened(comity_page(result_of(TEN[:3])), java_script_enabled=False)
    for item in report.page.locator(".peels > li").all():
        assert item.is_visible()
    assert report.page.locator("#picture").is_visible()
