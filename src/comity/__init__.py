"""comity: who should train with whom.

Tables of several owners go in; coalitions that nobody wants to leave come out, with models and proof (`solve`). Or what
is known already goes in, who benefits from whom (a `BenefitGraph`, or the utilities of a `Game`), and coalitions
(`find_equilibrium`) and proof (`certify`) come out.

>>> from comity import BenefitGraph, find_equilibrium
>>> find_equilibrium(BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]}))
Equilibrium({a, b}, {c})
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comity.axioms import Witness
    from comity.certificate import Certificate, Verdict, certify
    from comity.client import Client, Policy, Privacy
    from comity.core import BenefitGraph, Coalition, Game
    from comity.equilibrium import find_equilibrium, stable_coalitions
    from comity.errors import (
        ChangedError,
        ComityError,
        ComityWarning,
        FormatError,
        InputError,
        MissingDependencyError,
        OutputError,
        RefusedError,
        UnknownClientError,
    )
    from comity.federation import Federation, InProcess
    from comity.peels import Equilibrium, Peel, UnmetWish
    from comity.result import Result, verify
    from comity.sites import Site
    from comity.solving import solve
    from comity.study import Study

__version__ = "0.1.0"

# Loaded on first use, so that `import comity` and `comity --help` take no time.
_HOMES = {
    "BenefitGraph": "core",
    "Certificate": "certificate",
    "ChangedError": "errors",
    "Client": "client",
    "Coalition": "core",
    "ComityError": "errors",
    "ComityWarning": "errors",
    "Equilibrium": "peels",
    "Federation": "federation",
    "Game": "core",
    "FormatError": "errors",
    "InProcess": "federation",
    "InputError": "errors",
    "MissingDependencyError": "errors",
    "OutputError": "errors",
    "Peel": "peels",
    "Policy": "client",
    "Privacy": "client",
    "RefusedError": "errors",
    "Result": "result",
    "Site": "sites",
    "Study": "study",
    "UnknownClientError": "errors",
    "UnmetWish": "peels",
    "Verdict": "certificate",
    "Witness": "axioms",
    "certify": "certificate",
    "find_equilibrium": "equilibrium",
    "solve": "solving",
    "stable_coalitions": "equilibrium",
    "verify": "result",
}

__all__ = [
    "BenefitGraph",
    "Certificate",
    "ChangedError",
    "Client",
    "Coalition",
    "ComityError",
    "ComityWarning",
    "Equilibrium",
    "Federation",
    "FormatError",
    "Game",
    "InProcess",
    "InputError",
    "MissingDependencyError",
    "OutputError",
    "Peel",
    "Policy",
    "Privacy",
    "RefusedError",
    "Result",
    "Site",
    "Study",
    "UnknownClientError",
    "UnmetWish",
    "Verdict",
    "Witness",
    "__version__",
    "certify",
    "find_equilibrium",
    "solve",
    "stable_coalitions",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'comity' has no attribute {name!r}")
    value = getattr(import_module(f"comity.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
