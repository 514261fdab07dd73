"""Names, coalitions, benefit graphs, games and errors: what every other room stands on."""

from comity.core.game import Game
from comity.core.graph import BenefitGraph
from comity.core.names import Coalition, check_coalition, check_name, check_names, lookalikes, shown, unknown_client
from comity.core.numbers import check_finite
from comity.errors import (
    ComityError,
    FormatError,
    InputError,
    MissingDependencyError,
    OutputError,
    UnknownClientError,
)

__all__ = [
    "BenefitGraph",
    "Coalition",
    "ComityError",
    "FormatError",
    "Game",
    "InputError",
    "MissingDependencyError",
    "OutputError",
    "UnknownClientError",
    "check_coalition",
    "check_finite",
    "check_name",
    "check_names",
    "lookalikes",
    "shown",
    "unknown_client",
]
