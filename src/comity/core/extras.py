"""Optional packages, and the extras that install them."""

from importlib import import_module
from typing import Any

from comity.errors import MissingDependencyError

_EXTRAS = {
    "cryptography": "flower",
    "dp_accounting": "privacy",
    "flwr": "flower",
    "matplotlib": "figures",
    "openpyxl": "excel",
    "pyarrow": "parquet",
    "safetensors": "neural",
    "sklearn": "sklearn",
    "skops": "sklearn",
    "torch": "neural",
}


def missing_dependency(package: str, purpose: str) -> MissingDependencyError:
    """Return the error that explains what a package is needed for and how to install it."""
    name = package.partition(".")[0]
    extra = _EXTRAS.get(name)
    advice = (
        f"install comity's extra {extra!r} (in its clone: pip install '.[{extra}]')" if extra else f"pip install {name}"
    )
    return MissingDependencyError(f"{name} is needed {purpose}; {advice}")


def require(package: str, purpose: str) -> Any:
    """Import an optional package; if it is missing, the error explains what it is needed for and how to install it.

    >>> require("no_such_package", "to show this message")
    Traceback (most recent call last):
    comity.errors.MissingDependencyError: no_such_package is needed …
    """
    try:
        return import_module(package)
    except ImportError:
        raise missing_dependency(package, purpose) from None
