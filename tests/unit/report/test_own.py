"""A client's page has nothing private of others: figures that were planted there do not come up."""

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import comity
from comity.figures import Figure, Standing
from comity.own import Own
from comity.report import render_own, story_of_own
from comity.report.story import Member
from reports import result_of

NAMES = ("North", "South", "East", "West")


def planted(result: comity.Result, client: str) -> tuple[comity.Result, list[str]]:
    """Return a result in which the figures of all others are like no other number, and these."""
    marks = iter(range(1, 1000))
    told: list[str] = []

    def mark() -> Figure:
        number = next(marks)
        told.append(f"7{number:03d}3")
        return Figure(float(f"0.7{number:03d}3"), 0.001)

    utilities = {
        name: each if name == client else Standing(765_432, *(mark() for _ in range(7)))
        for name, each in result.utilities.items()
    }
    return dataclasses.replace(result, utilities=utilities), [*told, "765,432", "765432"]


@pytest.mark.parametrize("client", NAMES)
def test_no_figure_of_others_is_on_it(client: str) -> None:
    result, marks = planted(result_of(NAMES), client)
    page = render_own(story_of_own(Own.of(result, client)))
    for mark in marks:
        assert mark not in page
    for contribution in result.contributions:
        if contribution.receiver != client:
            assert not re.search(rf"{contribution.value:.4f}"[:6], page)
    assert client in page


def told_of_others(document: dict[str, Any], client: str) -> set[float]:
    """Return every number of a result that is about others, but for those that are also about the client."""

    def numbers(told: object) -> Iterator[float]:
        if isinstance(told, dict):
            for each in told.values():
                yield from numbers(each)
        elif isinstance(told, list | tuple):
            for each in told:
                yield from numbers(each)
        elif isinstance(told, float):
            yield abs(told)

    parts: dict[bool, list[object]] = {True: [], False: []}
    for part in ("utilities", "penalties", "weights"):
        by_client = [document[part]] if part == "utilities" else document[part].values()
        for each in by_client:
            for name, told in each.items():
                parts[name == client].append(told)
    for each in document["contributions"]:
        parts[each["receiver"] == client].append(each)
    for each in (*document["certificate"]["outer"], *document["certificate"]["inner"], *document["game"]):
        parts[each["client"] == client].append(each)
    for name, told in document["certificate"]["forgiven"].items():
        parts[name == client].append(told)
    return {each for each in numbers(parts[False]) if each > 1e-6 and len(repr(each)) > 8} - set(numbers(parts[True]))


@pytest.mark.parametrize("client", NAMES)
def test_no_number_about_others_is_in_what_a_client_gets(client: str) -> None:
    result = result_of(NAMES)
    own = Own.of(result, client)
    secret = told_of_others(json.loads(json.dumps(result.to_dict())), client)
    assert len(secret) > 30
    document, page = json.dumps(own.to_dict()), render_own(story_of_own(own))
    for number in secret:
        assert repr(number) not in document
        assert f"{number:.6f}" not in page


def test_figures_that_others_show_are_on_it() -> None:
    result, _ = planted(result_of(NAMES), "North")
    page = render_own(story_of_own(Own.of(result, "North", shown=["South"])))
    assert "Some let everybody see what they gain" in page


def test_its_own_figures_are_on_it() -> None:
    result = result_of(NAMES)
    for client in NAMES:
        story = story_of_own(Own.of(result, client))
        page = render_own(story)
        assert all(dot.text in page for dot in story.member.dots)
        assert "should it join?" in page


def test_it_says_of_unmet_wishes_what_the_report_of_all_says() -> None:
    for names in (NAMES, tuple("abcdefgh")):
        result = result_of(names)
        for client in names:
            own = {wish.partition(" wanted ")[2].partition(", who")[0] for wish in page_member(result, client).unmet}
            assert own == {wish.collaborator for wish in result.equilibrium.unmet if wish.client == client}


def page_member(result: comity.Result, client: str) -> Member:
    return story_of_own(Own.of(result, client)).member
