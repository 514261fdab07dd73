"""What can go wrong, as one tree under `ComityError`.

Every message says what was given, what was expected and what to do about it; the command line prints it as it is.
"""

from collections.abc import Mapping


class ComityError(Exception):
    """Any error that comity raises on purpose."""


class InputError(ComityError, ValueError):
    """What was given does not make sense: a name, a graph, a game, a partition, a file."""


class UnknownClientError(InputError, LookupError):
    """A name that is not a client's."""


class FormatError(InputError):
    """A file cannot be read as what its name says it is."""


class ChangedError(FormatError):
    """A saved result is not as it was written, or what it says does not follow from its own figures."""


class OutputError(ComityError, OSError):
    """A result cannot be written where it was asked for."""


class MissingDependencyError(ComityError, ImportError):
    """An optional package is needed for this and is not installed."""


class RefusedError(ComityError):
    """A client refuses a question: its policy forbids it."""


class UnfitError(InputError):
    """What is asked does not fit the rows that are there: a column lacks, or rows are too few. It tells no value."""


class AnswerError(ComityError):
    """A client's answer is not what was asked for: of another record or shape, not a number, or in another's name."""

    def __init__(self, client: str, reason: str) -> None:
        super().__init__(f"client {client!r} cannot be understood: {reason}")
        self.client, self.reason = client, reason


class DepartedError(ComityError):
    """Clients do not answer any more, or not in a way that can be understood; `reasons` says of each why."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"client {client!r} is gone: {why}" for client, why in reasons.items()))
        self.reasons = dict(reasons)


class TrainingError(ComityError, ArithmeticError):
    """A training cannot go on: a loss is not a number."""


class NotFiniteError(TrainingError):
    """An answer holds a value that is infinite or not a number; `client` says whose it is."""

    def __init__(self, client: str) -> None:
        super().__init__(
            f"the answer of client {client!r} holds a value that is infinite or not a number; it cannot be summed"
        )
        self.client = client


class MissingClientsError(ComityError):
    """Clients are missing, `clients`, and it cannot go on without them."""

    def __init__(self, message: str, clients: tuple[str, ...]) -> None:
        super().__init__(message)
        self.clients = clients


def told_outside(name: str | None, error: Exception) -> str:
    """Return what a client says outside of an error: the message if it can hold no value of its rows, else its kind.

    >>> told_outside("a", InputError("column 'name' has 'Smith', which is not a finite number"))
    "client 'a' cannot answer: its rows or its settings do not fit (InputError); its audit log and its terminal say why"
    """
    if isinstance(error, RefusedError | UnfitError):
        return str(error)
    who, kind = "a site" if name is None else f"client {name!r}", type(error).__name__
    return f"{who} cannot answer: its rows or its settings do not fit ({kind}); its audit log and its terminal say why"


class ComityWarning(UserWarning):
    """Something had to be decided that the user may want to know, such as a column that was left out."""
