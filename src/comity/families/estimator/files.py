"""Estimators as files that cannot run code: skops, with a closed list of types.

A file from somebody else is read only if all it holds are numpy arrays, plain values, and estimators that predict by
numpy or by trees that are checked here: each child comes after its parent and is there. Compiled code that trusts what
it is given, as that of support vectors and neighbours does, would read foreign memory.
"""

from __future__ import annotations

import io
import json
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
_NO_LIMIT = 1 << 62
_SCHEMA, _NUMBER = "schema.json", "__id__"
_ALLOWED = (
    "sklearn._loss",
    "sklearn.compose",
    "sklearn.decomposition._pca",
    "sklearn.discriminant_analysis",
    "sklearn.dummy",
    "sklearn.ensemble._bagging",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._hist_gradient_boosting",
    "sklearn.impute._base",
    "sklearn.kernel_ridge",
    "sklearn.linear_model",
    "sklearn.naive_bayes",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.tree",
    "builtins",
    "collections",
    "numpy",
)
MAX_SIZE = 1 << 26  # bytes of a file
_MAX_UNPACKED = 1 << 28
_KEPT = 1024  # files that have been read


def to_file(estimator: Any) -> bytes:
    """Return an estimator as a file; one with anything that cannot be read again is an `InputError`.

    Args:
        estimator: A scikit-learn estimator, trained or not, or a tuple of one and a number.
    """
    skops = require("skops.io", "to save models of scikit-learn")
    name = type(estimator[0] if isinstance(estimator, tuple) else estimator).__name__
    try:
        file = _canonical(skops.dumps(estimator))
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
    if len(file) > MAX_SIZE or _unpacked_size(file) > _MAX_UNPACKED:
        raise InputError(f"a model has {len(file):,} bytes as a file, or many more unpacked; that is too large")
    try:
        for name in _types(file):
            if not name.startswith(_ALLOWED):
                raise InputError(f"a model holds {name}, which is not on the list of what is read; take another")
        estimator = skops.loads(file, trusted=list(_TREES))
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file can fail anywhere
        raise InputError(f"a model cannot be read ({type(error).__name__})") from None
    _check_trees(estimator)
    return estimator


def _canonical(file: bytes) -> bytes:
    """Return a file whose bytes depend on its content alone: skops writes the time, and places in memory as numbers."""
    numbers: dict[object, int] = {}

    def renumber(node: object) -> object:
        if isinstance(node, list):
            return [renumber(each) for each in node]
        if not isinstance(node, dict):
            return node
        found = {key: each if key == _NUMBER else renumber(each) for key, each in node.items()}
        if _NUMBER in found:
            shared = found[_NUMBER] if node.get("__loader__") != "JsonNode" else object()  # a value is never shared
            found[_NUMBER] = numbers.setdefault(shared, len(numbers) + 1)
        if isinstance(node.get("file"), str):
            name, _, kind = node["file"].partition(".")
            found["file"] = files[node["file"]] = f"{numbers.setdefault(int(name), len(numbers) + 1)}.{kind}"
        return found

    files: dict[str, str] = {}
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as there, zipfile.ZipFile(written, "w") as here:
        schema = json.dumps(renumber(json.loads(there.read(_SCHEMA))), separators=(",", ":"))
        contents = {new: there.read(old) for old, new in files.items()}
        for name, content in ({_SCHEMA: schema.encode()} | contents).items():
            here.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _types(file: bytes) -> set[str]:
    """Return the names of all types in a file."""
    found: set[str] = set()

    def look(node: object) -> None:
        if isinstance(node, dict):
            if "__class__" in node:
                found.add(f"{node['__module__']}.{node['__class__']}")
            for each in node.values():
                look(each)
        elif isinstance(node, list):
            for each in node:
                look(each)

    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        look(json.loads(archive.read(_SCHEMA)))
    return found


def _unpacked_size(file: bytes) -> int:
    try:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            return sum(each.file_size for each in archive.infolist())
    except zipfile.BadZipFile:
        raise InputError("a model is not a file of skops") from None


def _check_trees(value: object, features: int = _NO_LIMIT, seen: set[int] | None = None) -> None:
    """Check all trees in an estimator that takes `features` columns, and that it keeps nothing in a directory."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | complex | type(None)):
        return
    seen.add(id(value))
    features = min(features, getattr(value, "n_features_in_", _NO_LIMIT))
    if getattr(value, "memory", None) is not None:
        raise InputError("a model has a directory as its memory; take that out")
    inner: list[Any] = []
    if isinstance(value, np.ndarray):
        inner = value.ravel().tolist() if value.dtype == object else []
    elif type(value).__name__ == "Tree":
        _check_tree(value, features)
    elif type(value).__name__ == "TreePredictor":
        _check_predictor(value, features)
    elif isinstance(value, dict):
        inner = [*value.values()]
    elif isinstance(value, list | tuple | set):
        inner = [*value]
    for each in (*inner, *getattr(value, "__dict__", {}).values()):
        _check_trees(each, features, seen)


def _check_tree(tree: Any, features: int) -> None:
    """Check a tree of a forest, where -1 is no child."""
    inner = tree.children_left != -1
    if ((tree.children_right != -1) != inner).any():
        raise InputError("a model has a tree with a node of one child; it was changed")
    _check_nodes(inner, (tree.children_left, tree.children_right), tree.feature, min(features, tree.n_features))


def _check_predictor(predictor: Any, features: int) -> None:
    """Check a tree of a histogram boosting; encoded columns are numbers, so that none asks for categories."""
    nodes = predictor.nodes
    children = tuple(nodes[side].astype(np.int64) for side in ("left", "right"))
    _check_nodes(nodes["is_leaf"] == 0, children, nodes["feature_idx"], features)
    if nodes["is_categorical"].any():
        raise InputError("a model has a tree that asks for categories; it was changed")


def _check_nodes(inner: Any, children: tuple[Any, ...], feature: Any, features: int) -> None:
    """Check that children of inner nodes come after these and are there, and so are the features."""
    place = np.arange(len(inner))
    for child in children:
        if not len(inner) or (child[inner] <= place[inner]).any() or (child[inner] >= len(inner)).any():
            raise InputError("a model has a tree whose nodes do not lead to leaves; it was changed")
    if (feature[inner] < 0).any() or (feature[inner] >= features).any():
        raise InputError("a model has a tree that asks for a feature that is not there; it was changed")
