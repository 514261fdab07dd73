"""Names of clients, columns and classes are only text on a page, and a page needs nothing but itself."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from comity.core.estimates import Confidence
from comity.errors import InputError
from comity.questions.schema import Target
from comity.report import (
    Story,
    describe_client_result,
    describe_equilibrium,
    describe_result,
    open_run,
    render,
    render_client_page,
    run_report,
)
from comity.result.client_result import ClientResult
from comity.study import Study
from support.reports import HOSTILE, game_document, graph_document, result_of

HARMLESS = ("client 0", "client 1", "client 2", "client 3")


class Structure(HTMLParser):
    """The elements of a page, each with the names of its attributes; and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes) -> None:
        self.elements.append((tag, *(name for name, _ in attributes)))

    def handle_data(self, data) -> None:
        self.texts.append(data)


def kinds(page: str) -> set[tuple[str, ...]]:
    """Return the kinds of elements on a page; the decisions differ, since the folds are drawn by the names."""
    return set(Structure(page).elements)


def pages(names: tuple[str, ...], target: str = "effect", column: str = "dose") -> dict[str, str]:
    result = result_of(names, target, column)
    return {
        "result": render(describe_result(result)),
        "own": render_client_page(describe_client_result(ClientResult.of(result, names[0], shown=names))),
        "game": render(describe_equilibrium(game_document(names, 3))),
        "graph": render(describe_equilibrium(graph_document({name: [names[0]] for name in names}))),
    }


def test_every_other_field_is_text() -> None:
    """Markup in classes, warnings, columns, settings, times and jobs, on both pages."""
    result = result_of(HARMLESS)
    target = Target("<u>target</u>", "classes", classes=("<u>yes</u>", "<u>no</u>"))
    changed = replace(
        result,
        schema=replace(result.schema, target=target),
        study=Study("<u>target</u>", client="<u>client</u>", exclude=("<u>excluded</u>",), keep=("<u>kept</u>",)),
        warnings=("<u>warning</u>",) * 5,
        left_out=("<u>left out</u>",),
        training={"loss": "<u>loss</u>"},
        version="<u>version</u>",
        confidence=Confidence(4, 0.5, {("<u>giver</u>", "<u>taker</u>"): 0.5}),
        privacy={
            "<u>private</u>": {
                "noise": 1.0,
                "epsilon": 1.0,
                "delta": 1e-5,
                "by_kind": {"<u>noisy</u>": {}},
                "without_noise": {"<u>plain</u>": 1},
            }
        },
    )
    whole = render(describe_result(changed, written="<u>saved</u>"))
    own = render_client_page(
        describe_client_result(ClientResult.of(changed, HARMLESS[0]), saved="<u>saved</u>", job="<u>job</u>")
    )
    for page, fields in (
        (whole, ("target", "yes", "no", "client", "excluded", "kept", "warning", "left out", "saved", "loss")),
        (whole, ("version", "giver", "taker", "private", "noisy", "plain")),
        (own, ("target", "yes", "no", "saved", "job", "version")),
    ):
        assert ("u",) not in Structure(page).elements
        texts = " ".join(Structure(page).texts)
        for field in fields:
            assert f"<u>{field}</u>" in texts


@pytest.mark.parametrize("kind", ["result", "own", "game", "graph"])
def test_names_are_text(kind: str) -> None:
    harmless = set.union(*map(kinds, pages(HARMLESS).values()))
    hostile = pages(HOSTILE, "<i>effect</i>", "<b>dose</b>")[kind]
    assert kinds(hostile) <= harmless
    assert hostile.count("<script") == (0 if kind == "own" else 2)
    texts = " ".join(Structure(hostile).texts)
    for name in HOSTILE:
        assert name in texts


@pytest.mark.parametrize("kind", ["result", "own", "game", "graph"])
def test_a_page_needs_no_network(kind: str) -> None:
    page = pages(HARMLESS)[kind]
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", page)
    assert not re.search(r"@import|url\(", page)
    assert "Content-Security-Policy" in page


def test_a_page_is_small_and_the_same_again() -> None:
    result = result_of(tuple(f"hospital {number}" for number in range(10)))
    page = render(describe_result(result))
    assert len(page.encode()) < 500_000
    assert render(describe_result(result)) == page


def test_every_client_and_every_score_is_in_the_text() -> None:
    result = result_of(HARMLESS)
    story = describe_result(result)
    text = " ".join(Structure(render(story)).texts)
    for member in story.members:
        assert member.advice in text
        for dot in member.dots:
            assert dot.text in text
    for sentence in story.answer:
        assert sentence in text


def test_many_clients_are_shown_as_a_matrix_first() -> None:
    many = render(describe_equilibrium(game_document([f"c{number}" for number in range(70)], 5)))
    few = render(describe_equilibrium(game_document([f"c{number}" for number in range(7)], 5)))
    assert 'id="as-matrix" aria-pressed="true"' in many
    assert 'id="as-graph" aria-pressed="true"' in few


def test_unmet_wishes_are_dashed_without_a_script_too() -> None:
    page = render(describe_equilibrium(graph_document({"a": ["b"], "b": ["a"], "c": ["a"]})))
    assert len(re.findall('class="edge lost"', page)) == 1
    assert len(re.findall('class="edge"', page)) == 2


def test_too_many_arrows_are_shown_as_a_matrix_only() -> None:
    names = [f"c{number}" for number in range(75)]
    page = render(describe_equilibrium(graph_document(dict.fromkeys(names, names))))
    assert 'id="picture"' not in page
    assert "5,550 arrows are too many to tell apart" in page
    assert page.count('class="edge cell"') == 5550


def test_a_run_that_no_page_can_show_is_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "equilibrium.json").write_text(json.dumps(graph_document({name: ["a", "b", "c"] for name in "abc"})))
    monkeypatch.setattr(run_report, "MAX_EDGES", 6)
    assert isinstance(open_run(tmp_path), Story)
    monkeypatch.setattr(run_report, "MAX_EDGES", 5)
    with pytest.raises(InputError, match="3 clients with 6 wishes, and a report can show 2,000 with 5"):
        open_run(tmp_path)


def test_the_heading_of_a_proof_says_whether_errors_are_forgiven() -> None:
    result = result_of(HARMLESS, resamples=2)
    assert max(result.certificate.forgiven.values()) > 0
    assert "Nobody gains elsewhere beyond its error" in render(describe_result(result))
    assert "Nobody has anything to gain elsewhere" in render(describe_equilibrium(game_document(HARMLESS, 3)))
