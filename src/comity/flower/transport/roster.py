"""The clients that a job expects, how long it waits for them, and what they state when they introduce themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.errors import InputError


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds: for an answer, then for a site to come back, and between polls."""

    answer: float = 600.0
    grace: float = 300.0
    poll: float = 0.5

    def __post_init__(self) -> None:
        for name in ("answer", "grace", "poll"):
            if not getattr(self, name) > 0:
                raise InputError(f"the time {name!r} is {getattr(self, name)}; it must be a positive number of seconds")


@dataclass(frozen=True, slots=True)
class Roster:
    """The names of the expected clients, and where keys are registered, the node id of each client.

    With node ids, no node can answer in the name of another client.
    """

    clients: tuple[str, ...]
    nodes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a client states when it introduces itself.

    `questions` are the kinds of questions that its policy allows, `shares` says whether others may see its utilities,
    and `rows_mark` is a text that changes when its rows change.
    """

    questions: tuple[str, ...] = ()
    shares: bool = False
    rows_mark: str = ""
