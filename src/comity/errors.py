"""The errors that comity raises, as one tree under `ComityError`.

Every message explains what was given, what was expected and what to do about it; the command line prints it unchanged.
"""

from collections.abc import Mapping


class ComityError(Exception):
    """The base class of all errors that comity raises deliberately.

    Example:
        >>> import comity
        >>> try:
        ...     comity.BenefitGraph({"a": ["b"]})
        ... except comity.ComityError as error:
        ...     print(error)
        the collaborators of 'a' (each needs its own entry): unknown client 'b'; the clients are 'a'
    """


class InputError(ComityError, ValueError):
    """An argument or a file is not valid: a name, a graph, a game, a partition, a table, a setting."""


class UnknownClientError(InputError, LookupError):
    """A name is not that of a client; the message suggests the most similar one."""


class FormatError(InputError):
    """A file cannot be read, or not in the format that its name indicates."""


class ChangedError(FormatError):
    """A saved result was changed after it was written, or its conclusions do not follow from its numbers."""


class OutputError(ComityError, OSError):
    """A file or directory cannot be written."""


class MissingDependencyError(ComityError, ImportError):
    """An optional package is needed and not installed; the message names the extra that installs it."""


class RefusedError(ComityError):
    """A client refuses a question because its policy forbids it."""


class UnfitError(InputError):
    """A question does not fit a client's rows: a column is missing, or rows are too few. The message holds no value."""


class AnswerError(ComityError):
    """A client's answer is not valid: another kind of record, another shape, not a number, or in another's name."""

    def __init__(self, client: str, reason: str) -> None:
        super().__init__(f"the answer of client {client!r} is not valid: {reason}")
        self.client, self.reason = client, reason


class DepartedError(ComityError):
    """Clients no longer answer, or not with valid answers; `reasons` has the reason for each client."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"client {client!r} has left: {reason}" for client, reason in reasons.items()))
        self.reasons = dict(reasons)


class TrainingError(ComityError, ArithmeticError):
    """Training cannot continue because a loss is not a number."""


class NotFiniteError(TrainingError):
    """The answer of `client` holds a value that is infinite or not a number."""

    def __init__(self, client: str) -> None:
        super().__init__(
            f"the answer of client {client!r} holds a value that is infinite or not a number; it cannot be summed"
        )
        self.client = client


class MissingClientsError(ComityError):
    """The work cannot continue without the missing `clients`."""

    def __init__(self, message: str, clients: tuple[str, ...]) -> None:
        super().__init__(message)
        self.clients = clients


def public_message(name: str | None, error: Exception) -> str:
    """Return the message of an error that a client may send to others: without any value of its rows.

    >>> public_message("a", InputError("column 'name' has 'Smith', which is not a finite number"))
    "client 'a' cannot answer: its rows or its settings do not fit (InputError); its audit log and its terminal say why"
    """
    if isinstance(error, RefusedError | UnfitError):
        return str(error)
    sender, kind = "a site" if name is None else f"client {name!r}", type(error).__name__
    return (
        f"{sender} cannot answer: its rows or its settings do not fit ({kind}); its audit log and its terminal say why"
    )


class ComityWarning(UserWarning):
    """A decision that the user may want to know about, such as a column that was left out."""
