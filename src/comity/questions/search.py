"""The settings of the search for collaborators (paper, Section 4.2), as they are sent to clients."""

from dataclasses import dataclass

from comity.errors import InputError


@dataclass(frozen=True, slots=True)
class ClipRule:
    """The settings of the paper's rule, which is here to reproduce the paper's tables.

    No weight falls below `floor` during the search; afterwards the clients whose weights exceed `threshold` are the
    collaborators. The rule selects clients that bring nothing as well (docs/method.md).

    With `steps`, the search is the paper's too: that many gradient steps of a fixed `rate` from equal weights, each
    clipped and scaled to sum to one. Its result is the last iterate, with the loss before it was scaled.
    """

    floor: float = 0.05
    threshold: float = 0.1
    steps: int = 0
    rate: float = 0.01

    def check(self, clients: int) -> None:
        """Check that a weight can exceed the threshold while those of all other clients are at the floor."""
        highest = 1 - self.floor * (clients - 1)
        if not self.steps and clients > 1 and highest <= self.threshold:
            raise InputError(
                f"with {clients} clients and no weight below {self.floor:g}, none can be above {self.threshold:g}: the "
                "paper's rule (clip) has nothing to choose; take the rule 'smallest', or fewer clients"
            )


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The settings of the search for collaborators, which `comity.search.collaborators.Search` does.

    Attributes:
        steps: The steps of spectral projected gradient from the best start.
        standard_errors: A set is as good as the best if its loss is within this many standard errors.
        standard_errors_to_join: A gain over training alone must exceed this many standard errors.
        penalties: The penalties to try.
        strengths: How strongly weights may be pulled towards equal ones, relative to the loss; the best on inner splits
            is taken.
        clip_rule: The paper's rule for collaborators, instead of the smallest set.
        penalty: One penalty for all models, instead of one chosen by cross-validation.
    """

    steps: int = 40
    standard_errors: float = 1.0
    standard_errors_to_join: float = 1.0
    penalties: tuple[float, ...] = tuple(10.0**power for power in range(-8, 3))
    strengths: tuple[float, ...] = (0.0, 0.1, 0.3)
    clip_rule: ClipRule | None = None
    penalty: float | None = None
