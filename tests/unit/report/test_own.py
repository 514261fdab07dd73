"""A client's page has nothing private of others: figures that were planted there do not come up."""

import dataclasses
import re

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
