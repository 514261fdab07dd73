"""What may be asked of a client about its own rules."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AskPrivacy:
    """Asks by what rules the client answers, and how much privacy it has spent. Answer: `PrivacyAnswer`."""


@dataclass(frozen=True, slots=True)
class NoisyAnswers:
    """The noisy answers of one kind: how many, of how many noisy sums (`releases`) they consist, and their ε."""

    answers: int
    releases: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """A client's privacy settings, and what it has spent so far.

    `clip`, `noise`, `delta` and the `limit` of ε are the settings; `epsilon` is that of all noisy answers so far, and
    `by_kind` that of each kind of question; `covered` and `not_covered` are the kinds that are answered with and
    without noise; `without_noise` counts the answers of each kind that had none. `disclosed` is the share of the
    independent numbers that left in the numbers of the rows, and `disclosure` its limit.
    """

    clip: float | None
    noise: float
    delta: float
    limit: float | None
    epsilon: float
    by_kind: dict[str, NoisyAnswers]
    covered: tuple[str, ...]
    not_covered: tuple[str, ...]
    without_noise: dict[str, int]
    disclosed: float
    disclosure: float | None


@dataclass(frozen=True, slots=True)
class PrivacyAnswer:
    """A client's statement about its privacy, and whether others may see its utilities."""

    statement: PrivacyStatement
    shares_utilities: bool
