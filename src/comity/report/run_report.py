"""Reports of runs: directories that comity wrote for a study, for one client of it, for a graph or for a game."""

import os
from datetime import UTC, datetime

from comity.core.files import read_text, write_text
from comity.errors import FormatError, InputError
from comity.game.formats.json_text import parse_json
from comity.report.equilibrium_story import describe_equilibrium
from comity.report.page import MAX_EDGES, render, render_client_page
from comity.report.result_story import describe_client_result, describe_result
from comity.report.story import Story
from comity.result.client_result import ClientResult
from comity.result.directory import EQUILIBRIUM, MARKER, place_of, read_document
from comity.result.result import Result

MAX_CLIENTS = 2000  # that the page of a graph or a game can show


def write_report(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the report of a result as one HTML file that opens in any browser, without a network.

    The page shows the coalitions, the benefit graph step by step, what each client gains, and the proof in words
    (`docs/report.md` explains how to read it).

    Args:
        result: The result of `comity.solve`, or one that `comity.Result.load` read.
        path: The file to write; an existing file is replaced.

    Raises:
        OutputError: The file cannot be written.

    >>> import comity, pathlib, tempfile
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"ward": ["a", "b"] * 20, "dose": rng.normal(size=40)})
    >>> rows["effect"] = rows["dose"] + rng.normal(size=40)
    >>> result = comity.solve(rows, client="ward", target="effect")
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     page = pathlib.Path(directory, "report.html")
    ...     write_report(result, page)
    ...     "Who should train with whom" in page.read_text("utf-8")
    True
    """
    write_text(path, render(describe_result(result, _format_time(datetime.now(UTC)))))


def write_client_page(own: ClientResult, path: str | os.PathLike[str], job: str = "") -> None:
    """Write the page of what a client received just now, in a job; an existing file is replaced."""
    write_text(path, render_client_page(describe_client_result(own, _format_time(datetime.now(UTC)), job)))


def render_run(run: str | os.PathLike[str], client: str | None = None) -> str:
    """Return the report of a run as HTML, or the page of one client, which has nothing private of other clients."""
    opened = open_run(run)
    if isinstance(opened, Result) and client is None:
        return render(describe_result(opened, _saved_at(run)))
    if isinstance(opened, Result):
        return render_client_page(describe_client_result(ClientResult.of(opened, str(client))))
    if isinstance(opened, ClientResult):
        if client not in (None, opened.client):
            raise InputError(f"{run}: this run holds what {opened.client!r} received, and nothing about {client!r}")
        return render_client_page(describe_client_result(opened, _saved_at(run)))
    if client is not None:
        raise InputError(f"{run}: a graph or a game has no page for one client; omit --for")
    return render(opened)


def open_run(run: str | os.PathLike[str]) -> Result | ClientResult | Story:
    """Read a run: a result, what one client received of it, or the content of the report of a graph or a game."""
    place = place_of(run)
    if not place.is_dir():
        problem = "this is a file; give the directory that it is in" if place.exists() else "there is no such directory"
        raise FormatError(f"{run}: {problem}")
    if (place / MARKER).is_file():
        return ClientResult.load(place) if "own" in read_document(place) else Result.load(place)
    file = place / EQUILIBRIUM
    if not file.is_file():
        raise FormatError(f"{run}: it contains neither {MARKER} nor {EQUILIBRIUM}; give a directory that comity wrote")
    text = read_text(file)
    try:
        story = describe_equilibrium(parse_json(text), _saved_at(run))
    except InputError as error:
        raise FormatError(f"{file}: {error}") from None
    if not fits_on_page(story):
        raise InputError(
            f"{run}: there are {len(story.names):,} clients with {len(story.edges):,} wishes, "
            f"and a report can show {MAX_CLIENTS:,} with {MAX_EDGES:,}"
        )
    return story


def fits_on_page(story: Story) -> bool:
    """Return whether a page can show all clients and edges."""
    return len(story.names) <= MAX_CLIENTS and len(story.edges) <= MAX_EDGES


def _saved_at(run: str | os.PathLike[str]) -> str:
    """Return when a run was saved, as text."""
    place = place_of(run)
    file = place / (MARKER if (place / MARKER).is_file() else EQUILIBRIUM)
    return _format_time(datetime.fromtimestamp(file.stat().st_mtime, UTC))


def _format_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC")
