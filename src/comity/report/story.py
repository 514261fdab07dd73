"""What a report says, worked out before anything is drawn: sentences, figures and steps, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comity.tellings import Section

Edge = tuple[str, str]  # a collaborator, and the client that wants it
MODELS = {  # by which a client is judged, as they are told
    "alone": "alone",
    "coalition": "in the coalition",
    "best": "at best",
    "together": "all together",
}


@dataclass(frozen=True, slots=True)
class Dot:
    """A figure of a client on the axis that all share: which model's, its value, and its interval if there is one."""

    model: str
    value: float
    low: float = math.nan
    high: float = math.nan
    text: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return self.known and not math.isnan(self.low)


@dataclass(frozen=True, slots=True)
class Partner:
    """A client whose rows another's model uses, with its weight and what it brings, as far as these are known."""

    name: str
    weight: str = ""
    brings: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A client: its coalition (counted from 1), what it gets, whom it has and misses, and whether it should join."""

    name: str
    coalition: int
    advice: str
    unmet: tuple[str, ...] = ()
    partners: tuple[Partner, ...] = ()
    rows: int | None = None
    dots: tuple[Dot, ...] = ()
    gain: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A peel: who remained, who was asked, what those who remained wanted, which coalitions left, and the words."""

    number: int
    remaining: tuple[str, ...]
    asked: tuple[str, ...]
    edges: tuple[Edge, ...]
    left: tuple[int, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """An inequality of the proof: in words, and its margin."""

    text: str
    margin: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What the certificate says: the verdict as a word, a clause and a sentence, every inequality, and notes.

    It `forgives` where gains within their errors count as none.
    """

    verdict: str
    said: str
    sentence: str
    outer: tuple[Claim, ...] = ()
    inner: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    forgives: bool = False


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How often the coalitions and each wish were found in resamples of the rows; if there were none, how to do it."""

    resamples: int = 0
    same: float = math.nan
    edges: tuple[tuple[str, str, float], ...] = ()
    how: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """All that a report says.

    `answer` are the sentences at its top; `contributions` say what givers bring to receivers, in the `unit`; `axis`
    names what the dots show; `done` says what was done, so that it can be repeated.
    """

    title: str
    answer: tuple[str, ...]
    coalitions: tuple[tuple[str, ...], ...]
    members: tuple[Member, ...]
    steps: tuple[Step, ...]
    unmet: tuple[Edge, ...]
    contributions: Mapping[Edge, float] = field(default_factory=dict)
    unit: str = ""
    axis: str = ""
    more_is_better: bool = True
    proof: Proof | None = None
    sensitivity: Sensitivity | None = None
    done: tuple[tuple[str, str], ...] = ()
    privacy: Section | None = None
    warnings: tuple[str, ...] = ()

    @property
    def asks_again(self) -> bool:
        """Whether somebody who lost a collaborator named others; in a fixed graph those who remain are kept."""
        return any(step.asked for step in self.steps[1:])

    @property
    def names(self) -> tuple[str, ...]:
        """The clients, in order."""
        return tuple(member.name for member in self.members)

    @property
    def alone(self) -> tuple[str, ...]:
        """The clients that stay alone."""
        return tuple(members[0] for members in self.coalitions if len(members) == 1)


def steps_of(told: Mapping[str, Any], lines: list[list[str]]) -> tuple[Step, ...]:
    """Return the peels of what `Equilibrium.to_dict` tells.

    >>> from comity import find_equilibrium
    >>> told = find_equilibrium({"a": ["b"], "b": ["a"], "c": ["a"]}).to_dict()
    >>> [(step.edges, step.left) for step in steps_of(told, [[], []])]
    [((('b', 'a'), ('a', 'b'), ('a', 'c')), (0,)), ((), (1,))]
    """
    number_of = {tuple(each["members"]): number for number, each in enumerate(told["coalitions"])}
    remaining = tuple(told["clients"])
    wishes: dict[str, list[str]] = {}
    steps = []
    for number, (peel, words) in enumerate(zip(told["peels"], lines, strict=True)):
        wishes |= peel["wishes"]
        here = set(remaining)
        edges = tuple((j, i) for i in remaining for j in wishes.get(i, ()) if j in here and j != i)
        left = tuple(number_of[tuple(members)] for members in peel["left"])
        steps.append(Step(number, remaining, tuple(peel["wishes"]), edges, left, tuple(words)))
        gone = {client for members in peel["left"] for client in members}
        remaining = tuple(client for client in remaining if client not in gone)
    return tuple(steps)
