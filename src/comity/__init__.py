"""comity: who should train with whom.

Who benefits from whom (a `BenefitGraph`, or the utilities of a `Game`) goes in; coalitions that nobody wants to leave
come out (`find_equilibrium`), with a proof (`certify`).

>>> from comity import BenefitGraph, find_equilibrium
>>> find_equilibrium(BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]}))
Equilibrium({a, b}, {c})
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comity.axioms import Witness
    from comity.certificate import Certificate, Verdict, certify
    from comity.core import BenefitGraph, Coalition, Game
    from comity.equilibrium import find_equilibrium, stable_coalitions
    from comity.errors import (
        ComityError,
        FormatError,
        InputError,
        MissingDependencyError,
        OutputError,
        UnknownClientError,
    )
    from comity.peels import Equilibrium, Peel, UnmetWish

__version__ = "0.1.0"

# Loaded on first use, so that `import comity` and `comity --help` take no time.
_HOMES = {
    "BenefitGraph": "core",
    "Certificate": "certificate",
    "Coalition": "core",
    "ComityError": "errors",
    "Equilibrium": "peels",
    "Game": "core",
    "FormatError": "errors",
    "InputError": "errors",
    "MissingDependencyError": "errors",
    "OutputError": "errors",
    "UnknownClientError": "errors",
    "Peel": "peels",
    "UnmetWish": "peels",
    "Verdict": "certificate",
    "Witness": "axioms",
    "certify": "certificate",
    "find_equilibrium": "equilibrium",
    "stable_coalitions": "equilibrium",
}

__all__ = [
    "BenefitGraph",
    "Certificate",
    "Coalition",
    "ComityError",
    "Equilibrium",
    "FormatError",
    "Game",
    "InputError",
    "MissingDependencyError",
    "OutputError",
    "Peel",
    "UnknownClientError",
    "UnmetWish",
    "Verdict",
    "Witness",
    "__version__",
    "certify",
    "find_equilibrium",
    "stable_coalitions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'comity' has no attribute {name!r}")
    value = getattr(import_module(f"comity.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
