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
    from comity.client import Client, Policy, Privacy
    from comity.client.sites import Site
    from comity.core.names import Coalition
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
    from comity.game.axioms import Witness
    from comity.game.certificate import Certificate, Verdict, certify
    from comity.game.equilibrium import find_equilibrium, stable_coalitions
    from comity.game.game import Game
    from comity.game.graph import BenefitGraph
    from comity.game.peels import Equilibrium, Peel, UnmetWish
    from comity.research.leaderboard import compare
    from comity.result.result import Result
    from comity.result.verification import verify
    from comity.solving.modules import solve_modules
    from comity.solving.solve import solve
    from comity.study import Study

__version__ = "0.1.0"

# Loaded on first use, so that `import comity` and `comity --help` take no time.
_HOMES = {
    "BenefitGraph": "game.graph",
    "Certificate": "game.certificate",
    "ChangedError": "errors",
    "Client": "client.client",
    "Coalition": "core.names",
    "ComityError": "errors",
    "ComityWarning": "errors",
    "Equilibrium": "game.peels",
    "Federation": "federation",
    "FormatError": "errors",
    "Game": "game.game",
    "InProcess": "federation",
    "InputError": "errors",
    "MissingDependencyError": "errors",
    "OutputError": "errors",
    "Peel": "game.peels",
    "Policy": "client.policy",
    "Privacy": "client.privacy",
    "RefusedError": "errors",
    "Result": "result.result",
    "Site": "client.sites",
    "Study": "study",
    "UnknownClientError": "errors",
    "UnmetWish": "game.peels",
    "Verdict": "game.certificate",
    "Witness": "game.axioms",
    "certify": "game.certificate",
    "compare": "research.leaderboard",
    "find_equilibrium": "game.equilibrium",
    "solve": "solving.solve",
    "solve_modules": "solving.modules",
    "stable_coalitions": "game.equilibrium",
    "verify": "result.verification",
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
    "compare",
    "find_equilibrium",
    "solve",
    "solve_modules",
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
