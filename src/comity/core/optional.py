"""Packages that comity can use but does not need."""

from importlib import import_module
from typing import Any

from comity.errors import MissingDependencyError


def require(package: str, purpose: str) -> Any:
    """Import an optional package, or say what it is needed for and how to get it.

    >>> require("no_such_package", "to show this message")
    Traceback (most recent call last):
    comity.errors.MissingDependencyError: no_such_package is needed …
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingDependencyError(f"{package} is needed {purpose}; pip install {package}") from None
