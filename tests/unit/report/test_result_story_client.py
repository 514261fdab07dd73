"""A client's page has nothing private of others: numbers planted in their results do not appear."""

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import comity
from comity.core.estimates import Estimate, Standing
from comity.report import describe_client_result, render_client_page
from comity.report.story import Member
from comity.result.client_result import ClientResult
from support.reports import result_of

NAMES = ("North", "South", "East", "West")
JOINED = tuple(f"hospital {number}" for number in range(10))


def planted(result: comity.Result, client: str) -> tuple[comity.Result, list[str]]:
    """Return a result in which the scores of all others are unusual large numbers, and how these are written."""
    numbers = iter(range(4321, 9999))
    marks: list[str] = []

    def mark() -> Estimate:
        number = next(numbers)
        marks.append(str(number))
        return Estimate(float(number), 0.001)

    utilities = {
        name: each if name == client else Standing(765_432, *(mark() for _ in range(7)))
        for name, each in result.utilities.items()
    }
    return dataclasses.replace(result, utilities=utilities), [*marks, "765,432", "765432"]


def found_in(page: str, marks: list[str]) -> list[str]:
    return [mark for mark in marks if re.search(rf"(?<!\d){mark}", page)]


@pytest.mark.parametrize("client", NAMES)
def test_no_score_of_others_is_on_it(client: str) -> None:
    result, marks = planted(result_of(NAMES), client)
    assert found_in(render_client_page(describe_client_result(ClientResult.of(result, client))), marks) == []
    assert client in render_client_page(describe_client_result(ClientResult.of(result, client)))


@pytest.mark.parametrize("client", NAMES)
def test_a_leak_would_be_seen(client: str) -> None:
    """The marks are numbers that the page would show: a client that shows its gains to everybody is on it."""
    result, marks = planted(result_of(NAMES), client)
    others = [name for name in NAMES if name != client]
    page = render_client_page(describe_client_result(ClientResult.of(result, client, shown=others)))
    assert len(found_in(page, marks)) == len(others)


def test_contributions_among_others_are_not_shown() -> None:
    """In a result with coalitions, each client sees what others bring to it, and no other contribution."""
    result = result_of(JOINED)
    assert len({each.receiver for each in result.contributions}) > 5
    for client in JOINED:
        own = ClientResult.of(result, client)
        mine = {each.giver: each.value for each in result.contributions if each.receiver == client}
        assert dict(own.brought) == mine
        story = describe_client_result(own)
        assert {partner.name for partner in story.member.partners if partner.brings} == set(mine)


def numbers_about_others(document: dict[str, Any], client: str) -> set[float]:
    """Return every number of a result that is about others and not also about the client."""

    def numbers(value: object) -> Iterator[float]:
        if isinstance(value, dict):
            for each in value.values():
                yield from numbers(each)
        elif isinstance(value, list | tuple):
            for each in value:
                yield from numbers(each)
        elif isinstance(value, float):
            yield abs(value)

    parts: dict[bool, list[object]] = {True: [], False: []}
    for part in ("utilities", "penalties", "weights"):
        by_client = [document[part]] if part == "utilities" else document[part].values()
        for each in by_client:
            for name, value in each.items():
                parts[name == client].append(value)
    for each in document["contributions"]:
        parts[each["receiver"] == client].append(each)
    for each in (*document["certificate"]["outer"], *document["certificate"]["inner"], *document["game"]):
        parts[each["client"] == client].append(each)
    for name, value in document["certificate"]["forgiven"].items():
        parts[name == client].append(value)
    return {each for each in numbers(parts[False]) if each > 1e-6 and len(repr(each)) > 8} - set(numbers(parts[True]))


@pytest.mark.parametrize("client", JOINED[:3])
def test_a_client_s_result_has_no_number_about_others(client: str) -> None:
    result = result_of(JOINED)
    secret = numbers_about_others(json.loads(json.dumps(result.to_dict())), client)
    assert len(secret) > 100
    document = json.dumps(ClientResult.of(result, client).to_dict())
    assert [number for number in secret if repr(number) in document] == []
    shared = json.dumps(ClientResult.of(result, client, shown=JOINED).to_dict())
    assert [number for number in secret if repr(number) in shared], "a leak would be seen"


def test_gains_that_others_show_are_on_it() -> None:
    result, _ = planted(result_of(NAMES), "North")
    page = render_client_page(describe_client_result(ClientResult.of(result, "North", shown=["South"])))
    assert "Some clients show everybody what they gain" in page


def test_its_own_scores_are_on_it() -> None:
    result = result_of(NAMES)
    for client in NAMES:
        story = describe_client_result(ClientResult.of(result, client))
        page = render_client_page(story)
        assert all(dot.text in page for dot in story.member.dots)
        assert "should it join?" in page


def test_its_unmet_wishes_are_those_of_the_whole_report() -> None:
    for names in (NAMES, tuple("abcdefgh")):
        result = result_of(names)
        for client in names:
            own = {wish.partition(" wanted ")[2].partition(", but")[0] for wish in page_member(result, client).unmet}
            assert own == {wish.collaborator for wish in result.equilibrium.unmet if wish.client == client}


def page_member(result: comity.Result, client: str) -> Member:
    return describe_client_result(ClientResult.of(result, client)).member
