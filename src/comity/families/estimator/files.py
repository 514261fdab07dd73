"""Estimators as files that cannot run code: skops, with a closed list of types.

A file from somebody else is read only if all it holds are numpy arrays, numbers, text and classes of scikit-learn, and
if its trees lead nowhere but down: a node that pointed outside of its tree would make it read foreign memory.
"""

from __future__ import annotations

import io
import zipfile
from functools import lru_cache
from typing import Any

import numpy as np

from comity.core.extras import require
from comity.errors import InputError

_TREES = (
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)
MAX_SIZE = 1 << 28  # bytes of a file
_KEPT = 4096  # files that have been read


def to_file(estimator: Any) -> bytes:
    """Return an estimator as a file; one with anything that cannot be read again is an `InputError`.

    Args:
        estimator: A scikit-learn estimator, trained or not, or a tuple of one and a number.
    """
    skops = require("skops.io", "to save models of scikit-learn")
    name = type(estimator[0] if isinstance(estimator, tuple) else estimator).__name__
    try:
        file: bytes = skops.dumps(estimator, compression=zipfile.ZIP_DEFLATED)
    except Exception as error:  # noqa: BLE001 - whatever skops meets
        raise InputError(f"a {name} cannot be saved without pickle ({error}); take another estimator") from None
    if len(file) > MAX_SIZE:
        raise InputError(f"a {name} has {len(file):,} bytes as a file; there may be {MAX_SIZE:,}: make it smaller")
    from_file(file)
    return file


@lru_cache(_KEPT)
def from_file(file: bytes) -> Any:
    """Return the estimator in a file; the same object each time, so do not train it."""
    skops = require("skops.io", "to read models of scikit-learn")
    if len(file) > MAX_SIZE or _unpacked_size(file) > 8 * MAX_SIZE:
        raise InputError(f"a model has {len(file):,} bytes as a file, or many more unpacked; that is too large")
    try:
        foreign = [name for name in skops.get_untrusted_types(data=file) if name not in _TREES]
        if foreign:
            raise InputError(
                f"a model holds {foreign[0]}, which is not of scikit-learn's own types; only those are read"
            )
        estimator = skops.loads(file, trusted=list(_TREES))
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file can fail anywhere
        raise InputError(f"a model cannot be read ({type(error).__name__})") from None
    _check_trees(estimator)
    return estimator


def _unpacked_size(file: bytes) -> int:
    try:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            return sum(each.file_size for each in archive.infolist())
    except zipfile.BadZipFile:
        raise InputError("a model is not a file of skops") from None


def _check_trees(value: object, seen: set[int] | None = None) -> None:
    """Check all trees in an estimator, however deep: each child comes after its parent, and none is outside."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | complex | type(None)):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            for each in value.ravel().tolist():
                _check_trees(each, seen)
        return
    if type(value).__name__ == "Tree" and type(value).__module__ == "sklearn.tree._tree":
        tree: Any = value
        _check_children(tree.children_left, tree.children_right, tree.feature, tree.n_features)
        return
    if type(value).__name__ == "TreePredictor":
        nodes = value.nodes  # type: ignore[attr-defined]
        leaf = nodes["is_leaf"].astype(bool)
        left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
        _check_children(left, right, nodes["feature_idx"], np.iinfo(np.int64).max)
        return
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else ()
    for each in (*inner, *getattr(value, "__dict__", {}).values()):
        _check_trees(each, seen)


def _check_children(left: Any, right: Any, feature: Any, features: int) -> None:
    place = np.arange(len(left))
    inner = left >= 0
    for child in (left[inner], right[inner]):
        if (child <= place[inner]).any() or (child >= len(left)).any():
            raise InputError("a model has a tree whose nodes do not lead to leaves; it was changed")
    if (np.asarray(feature)[inner] < 0).any() or (np.asarray(feature)[inner] >= features).any():
        raise InputError("a model has a tree that asks for a feature that is not there; it was changed")
