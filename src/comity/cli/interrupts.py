"""Ending on a signal, and what to say about unfinished work."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

_signals: list[int] = []


def end(number: int, frame: object) -> None:
    """Handle a signal: exit as after Ctrl-C, so that nothing is left half-written."""
    _signals.append(number)
    raise SystemExit(128 + number)


@contextmanager
def kept_in(place: str) -> Iterator[None]:
    """If the work is interrupted, print where its finished part is kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        click.echo(f"The finished part is kept in {place}; the same command continues from there.", err=True)
        raise


def check() -> None:
    """Exit if a signal came earlier: an exception that its handler raises inside a C callback is lost."""
    if _signals:
        raise SystemExit(128 + _signals[-1])
