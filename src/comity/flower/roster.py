"""Who is expected in a federation, and how long anybody is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from comity.errors import InputError

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, in seconds: for an answer, then for a site to come back; `poll` is between looks."""

    answer: float = 600.0
    grace: float = 300.0
    poll: float = 0.5

    def __post_init__(self) -> None:
        for name in ("answer", "grace", "poll"):
            if not getattr(self, name) > 0:
                raise InputError(f"the time {name!r} is {getattr(self, name)}; it must be a positive number of seconds")


@dataclass(frozen=True, slots=True)
class Roster:
    """The clients that are expected, and which node is whose, where keys are registered: none can speak for another."""

    clients: tuple[str, ...]
    nodes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a client says of itself when it is met.

    These are the questions that it answers, whether it shows its figures, and a mark that changes when its rows do.
    """

    questions: tuple[str, ...] = ()
    shares: bool = False
    rows: str = ""
