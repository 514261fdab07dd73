"""The content of a report as plain values: sentences, numbers and steps, worked out before anything is drawn."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.core.text import number_coalitions
from comity.result.sections import Section

Edge = tuple[str, str]  # a collaborator, and the client that wants it
MODEL_LABELS = {  # what a report calls the models of a client
    "alone": "alone",
    "coalition": "in the coalition",
    "best": "at best",
    "together": "all together",
}


@dataclass(frozen=True, slots=True)
class Dot:
    """The score of one of a client's models, as a dot on the shared axis: value, interval if known, and text."""

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
    """A client whose rows another client's model uses; its weight and its contribution are empty if unknown.

    `probability` is that of any contribution.
    """

    name: str
    weight: str = ""
    brings: str = ""
    probability: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A client: its coalition (counted from 1), the advice to it, its unmet wishes, its partners and its scores.

    Its gain in the coalition and the probability of a gain are empty if there is none, or it is unknown.
    """

    name: str
    coalition: int
    advice: str
    unmet: tuple[str, ...] = ()
    partners: tuple[Partner, ...] = ()
    rows: int | None = None
    dots: tuple[Dot, ...] = ()
    gain: str = ""
    probability: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A peel: who remained, who was asked, the edges among those who remained, the coalitions that left, and text."""

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
    """The certificate in words: the verdict, the finding as a clause and as a sentence, every inequality, and notes.

    `forgives` is true if some gains count as zero: those within their estimation errors or, if utilities are
    `expected` ones, those that are not worth it.
    """

    verdict: str
    finding: str
    sentence: str
    outer: tuple[Claim, ...] = ()
    inner: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    forgives: bool = False
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How often the coalitions and each edge were found in resamples of the rows; `how` to test it if none were.

    Where collaborators have a probability instead, `edges` have it, and `wrong` says how many of them may be wrong.
    """

    resamples: int = 0
    same: float = math.nan
    edges: tuple[tuple[str, str, float], ...] = ()
    how: str = ""
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """The whole content of a report.

    `answer` holds the sentences at the top; `contributions` what each giver brings to each receiver, in the `unit`;
    `axis` says what the dots show; `done` lists what is needed to repeat the run.
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
        """Whether a client that lost a collaborator was asked again; in a fixed graph it keeps those who remain."""
        return any(step.asked for step in self.steps[1:])

    @property
    def names(self) -> tuple[str, ...]:
        """The clients, in order."""
        return tuple(member.name for member in self.members)

    @property
    def alone(self) -> tuple[str, ...]:
        """The clients that stay alone."""
        return tuple(members[0] for members in self.coalitions if len(members) == 1)

    @property
    def called(self) -> tuple[str, ...]:
        """What people call each coalition: a number, or "alone"."""
        return tuple(number_coalitions([len(members) for members in self.coalitions]))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges of all peels, each once."""
        return tuple(dict.fromkeys(edge for step in self.steps for edge in step.edges))
