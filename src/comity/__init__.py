"""comity: who should train with whom.

Tables of several owners go in; coalitions that nobody wants to leave come out, with models and proof (`solve`). Or what
is known already goes in, who benefits from whom (a `BenefitGraph`, or the utilities of a `Game`), and coalitions
(`find_equilibrium`) and proof (`certify`) come out. `comity.errors` has every error, under `ComityError`.

>>> from comity import BenefitGraph, find_equilibrium
>>> find_equilibrium(BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]}))
Equilibrium({a, b}, {c})
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The public names, for type checkers and editors.
if TYPE_CHECKING:
    from comity.client import Client as Client
    from comity.client import Policy as Policy
    from comity.client import Privacy as Privacy
    from comity.client.sites import Site as Site
    from comity.errors import ComityError as ComityError
    from comity.errors import ComityWarning as ComityWarning
    from comity.errors import InputError as InputError
    from comity.federation import Federation as Federation
    from comity.federation import InProcess as InProcess
    from comity.game.certificate import Certificate as Certificate
    from comity.game.certificate import certify as certify
    from comity.game.equilibrium import find_equilibrium as find_equilibrium
    from comity.game.game import Game as Game
    from comity.game.graph import BenefitGraph as BenefitGraph
    from comity.game.peels import Equilibrium as Equilibrium
    from comity.research.leaderboard import compare as compare
    from comity.result.result import Result as Result
    from comity.result.verification import verify as verify
    from comity.solving.collaboration import CollaborationClassifier as CollaborationClassifier
    from comity.solving.collaboration import CollaborationRegressor as CollaborationRegressor
    from comity.solving.modules import solve_modules as solve_modules
    from comity.solving.solve import solve as solve
    from comity.study import Study as Study

__version__ = "0.1.0"

# The same names, each loaded on first use, so that `import comity` and `comity --help` take no time.
_NAMES = {
    "client": ("Client", "Policy", "Privacy"),
    "client.sites": ("Site",),
    "errors": ("ComityError", "ComityWarning", "InputError"),
    "federation": ("Federation", "InProcess"),
    "game.certificate": ("Certificate", "certify"),
    "game.equilibrium": ("find_equilibrium",),
    "game.game": ("Game",),
    "game.graph": ("BenefitGraph",),
    "game.peels": ("Equilibrium",),
    "research.leaderboard": ("compare",),
    "result.result": ("Result",),
    "result.verification": ("verify",),
    "solving.collaboration": ("CollaborationClassifier", "CollaborationRegressor"),
    "solving.modules": ("solve_modules",),
    "solving.solve": ("solve",),
    "study": ("Study",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'comity' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"comity.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
