"""Being told to end, by a signal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

_told: list[int] = []


def end(number: int, frame: object) -> None:
    """End as for Ctrl-C, so that nothing is left half-written."""
    _told.append(number)
    raise SystemExit(128 + number)


@contextmanager
def kept_in(place: str) -> Iterator[None]:
    """Say, of work that is interrupted, where the finished part of it is."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        click.echo(f"What is finished is kept in {place}; the same command goes on from there.", err=True)
        raise


def check() -> None:
    """End if that was told before: what a handler raises within a callback of C is lost."""
    if _told:
        raise SystemExit(128 + _told[-1])
