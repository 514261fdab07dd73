"""Packages that comity can use but does not need."""

from importlib import import_module
from typing import Any

from comity.errors import MissingDependencyError

_EXTRAS = {
    "cryptography": "flower",
    "dp_accounting": "privacy",
    "flwr": "flower",
    "matplotlib": "figures",
    "pyarrow": "parquet",
    "safetensors": "neural",
    "torch": "neural",
}


def lacking(package: str, purpose: str) -> MissingDependencyError:
    """Return the error that says what a package is needed for and how to get it."""
    name = package.partition(".")[0]
    extra = _EXTRAS.get(name)
    how = (
        f"install comity's extra {extra!r} (in its clone: pip install '.[{extra}]')" if extra else f"pip install {name}"
    )
    return MissingDependencyError(f"{name} is needed {purpose}; {how}")


def require(package: str, purpose: str) -> Any:
    """Import an optional package, or say what it is needed for and how to get it.

    >>> require("no_such_package", "to show this message")
    Traceback (most recent call last):
    comity.errors.MissingDependencyError: no_such_package is needed …
    """
    try:
        return import_module(package)
    except ImportError:
        raise lacking(package, purpose) from None
