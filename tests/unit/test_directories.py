"""Result directories are written whole or not at all, and nobody else's files are touched."""

from pathlib import Path

import pytest

from comity.core import InputError, OutputError
from comity.directories import check_free, write_directory

FILES = {"result.json": "{}\n", "model.bin": b"\x00\x01"}


def test_a_new_directory_with_parents(tmp_path: Path) -> None:
    write_directory(tmp_path / "deep" / "run", FILES, "result.json")
    assert (tmp_path / "deep" / "run" / "result.json").read_text() == "{}\n"
    assert (tmp_path / "deep" / "run" / "model.bin").read_bytes() == b"\x00\x01"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["run"]


def test_an_empty_directory_is_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write_directory(tmp_path / "run", FILES, "result.json")
    assert (tmp_path / "run" / "result.json").exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_result_is_replaced_only_with_force(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_directory(run, FILES, "result.json")
    with pytest.raises(OutputError, match="--force"):
        write_directory(run, {"result.json": "new"}, "result.json")
    assert (run / "result.json").read_text() == "{}\n"
    write_directory(run, {"result.json": "new"}, "result.json", force=True)
    assert {path.name: path.read_text() for path in run.iterdir()} == {"result.json": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_other_files_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for force in (False, True):
        with pytest.raises(OutputError, match="other files in it"):
            write_directory(tmp_path, FILES, "result.json", force=force)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(OutputError, match="this is a file"):
        check_free(tmp_path / "thesis.tex", "result.json", force=True)


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write_directory(tmp_path / "file" / "run", FILES, "result.json")
    with pytest.raises(OutputError, match="cannot be written"):
        write_directory(tmp_path / "run", {"result.json": "", "no/such/place": ""}, "result.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(InputError, match="needs its"):
        write_directory(tmp_path / "run", {"other": ""}, "result.json")
