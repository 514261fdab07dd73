"""Names become directories that any machine can have, and texts TOML strings; a tree is written whole or not at all."""

import os
import re
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from comity.core.files import TreeFile, write_tree
from comity.core.names import lookalikes
from comity.errors import InputError, OutputError
from comity.flower.deploy.addresses import Address
from comity.flower.deploy.deployment import Deployment, toml_text
from support.strategies import names


@given(st.lists(names, min_size=1, max_size=8, unique=True))
def test_directories_are_safe_and_differ(clients: list[str]) -> None:
    assume(not any("," in name or name != name.strip() for name in clients) and not lookalikes(clients))
    directories = Deployment(tuple(clients)).directories
    assert list(directories) == clients
    assert len({slug.lower() for slug in directories.values()}) == len(clients)
    for slug in directories.values():
        assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,45}[A-Za-z0-9])?", slug)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_toml_text_is_read_back(text: str) -> None:
    assert tomllib.loads(f"text = {toml_text(text)}") == {"text": text}


@pytest.mark.parametrize(
    ("clients", "more"),
    [(("a, b",), {}), ((" a",), {}), ((), {}), (("a",), {"addresses": ()}), (("a",), {"target": ""})],
)
def test_invalid_deployments_are_refused(clients: tuple[str, ...], more: dict[str, tuple[Address, ...]]) -> None:
    with pytest.raises(InputError):
        Deployment(clients, **more)  # type: ignore[arg-type]


def test_a_tree_has_its_files_and_modes(tmp_path: Path) -> None:
    write_tree(tmp_path / "a" / "b", {"x": TreeFile("é"), "deep/down/y": TreeFile(b"\0", 0o600)})
    assert (tmp_path / "a/b/x").read_text("utf-8") == "é"
    assert (tmp_path / "a/b/deep/down/y").read_bytes() == b"\0"
    assert stat.S_IMODE((tmp_path / "a/b/deep/down/y").stat().st_mode) == 0o600


def test_nobody_else_can_change_a_tree(tmp_path: Path) -> None:
    """Else they could put a key or a script of their own in its place."""
    before = os.umask(0)
    try:
        write_tree(tmp_path / "a", {"deep/down/y": TreeFile("", 0o600), "x": TreeFile("", 0o755)})
    finally:
        os.umask(before)
    assert not [path for path in (tmp_path / "a", *(tmp_path / "a").rglob("*")) if path.stat().st_mode & 0o022]


def test_a_tree_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_tree(tmp_path / "a" / "b", {"x": TreeFile("1"), "x/y": TreeFile("2")})  # a file and a directory
    assert not list(tmp_path.iterdir())
