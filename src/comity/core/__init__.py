"""Names, coalitions, benefit graphs, games and errors: what every other room stands on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from comity.core.game import Game
    from comity.core.graph import BenefitGraph

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

_HOMES = {"BenefitGraph": "graph", "Game": "game"}


# Loaded on first use: at a site, where every message comes to a new process, names are needed and graphs are not.
def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'comity.core' has no attribute {name!r}")
    value = getattr(import_module(f"comity.core.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
