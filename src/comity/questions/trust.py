"""What may be asked of a client about its own rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TellPrivacy:
    """By what rules do you answer, and what have you spent of your privacy? Answered by a `PrivacyTold`."""


@dataclass(frozen=True, slots=True)
class PrivacyTold:
    """A client's settings and what it has spent so far (JSON), and whether others may see its utilities.

    `stated` has `clip`, `noise`, `delta`, the `limit` of epsilon if there is one; the `epsilon` of all noisy answers
    given so far, and `by_kind` of those of each kind (`answers`, `releases`, `epsilon`); `covered` and `not_covered`,
    the kinds of questions with and without noise; and `without_noise`, how many answers of which kinds had none.
    """

    stated: str
    shares_utilities: bool
