"""Reports of runs: directories that comity wrote, of a study, of what a client got of one, of a graph or a game."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from comity.errors import FormatError, InputError
from comity.files import read_text, write_text
from comity.formats.json_text import parse_json
from comity.own import Own
from comity.report.of_document import story_of_document
from comity.report.of_own import story_of_own
from comity.report.of_result import story_of
from comity.report.page import MOST_ARROWS, render, render_own
from comity.report.picture import edges_of
from comity.report.story import Story
from comity.result import Result
from comity.sealed import EQUILIBRIUM, MARKER, place_of, read_document

MOST = 2000  # clients, of which a page of a graph or a game can be shown


def write_report(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the report of a result that was made now into an HTML file; what was there is replaced."""
    write_text(path, render(story_of(result, _written(datetime.now(UTC)))))


def write_own_page(own: Own, path: str | os.PathLike[str], job: str = "") -> None:
    """Write the page of what a client got now, in a job, into an HTML file; what was there is replaced."""
    write_text(path, render_own(story_of_own(own, _written(datetime.now(UTC)), job)))


def page_of(run: str | os.PathLike[str], client: str | None = None) -> str:
    """Return the report of a run as HTML; or that for one client: its own page, with nothing private of others."""
    opened = open_run(run)
    if isinstance(opened, Result) and client is None:
        return render(story_of(opened, saved_at(run)))
    if isinstance(opened, Result):
        return render_own(story_of_own(Own.of(opened, str(client))))
    if isinstance(opened, Own):
        if client not in (None, opened.client):
            raise InputError(f"{run}: this is what {opened.client!r} got, and says nothing of {client!r}")
        return render_own(story_of_own(opened, saved_at(run)))
    if client is not None:
        raise InputError(f"{run}: a graph or a game has no page for one client; leave --for out")
    return render(opened)


def open_run(run: str | os.PathLike[str]) -> Result | Own | Story:
    """Read what a run holds: a result, what a client got of one, or the story of a graph or a game."""
    place = place_of(run)
    if not place.is_dir():
        what = "this is a file; give the directory that it is in" if place.exists() else "there is no such directory"
        raise FormatError(f"{run}: {what}")
    if (place / MARKER).is_file():
        return Own.load(place) if "own" in read_document(place) else Result.load(place)
    file = place / EQUILIBRIUM
    if not file.is_file():
        raise FormatError(f"{run}: there is neither {MARKER} nor {EQUILIBRIUM} in it; give what comity wrote")
    text = read_text(file)
    try:
        story = story_of_document(parse_json(text), saved_at(run))
    except InputError as error:
        raise FormatError(f"{file}: {error}") from None
    if not fits(story):
        raise InputError(
            f"{run}: there are {len(story.names):,} clients with {len(edges_of(story)):,} wishes, "
            f"and a report can show {MOST:,} with {MOST_ARROWS:,}"
        )
    return story


def fits(story: Story) -> bool:
    """Tell whether a story has no more clients and wishes than a page can show."""
    return len(story.names) <= MOST and len(edges_of(story)) <= MOST_ARROWS


def saved_at(run: str | os.PathLike[str]) -> str:
    """Say when a run was saved."""
    for name in (MARKER, EQUILIBRIUM):
        file = place_of(run) / name
        if file.is_file():
            return _written(datetime.fromtimestamp(file.stat().st_mtime, UTC))
    return ""


def _written(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC")
