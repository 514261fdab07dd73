"""The models that every client gets."""

from enum import StrEnum


class ModelKind(StrEnum):
    """Which of a client's models is meant.

    >>> [kind.value for kind in ModelKind]
    ['alone', 'coalition', 'best', 'together']
    """

    ALONE = "alone"
    """Trained on the client's own rows."""
    COALITION = "coalition"
    """Trained with its collaborators in its coalition."""
    BEST = "best"
    """Trained with the collaborators that it would choose if every client were willing."""
    TOGETHER = "together"
    """One model for all clients, trained on all rows, for comparison."""
