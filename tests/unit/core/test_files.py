"""Results are written whole or not at all, and nobody else's files are touched."""

import os
from pathlib import Path

import pytest

from comity.core import files
from comity.core.files import check_output_directory, open_atomic, write_directory, write_text
from comity.errors import InputError, OutputError

FILES = {"result.json": "{}\n", "model.bin": b"\x00\x01"}
NEW = {"result.json": "new", "model.bin": b""}


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_new_directory_with_parents(tmp_path: Path) -> None:
    write_directory(tmp_path / "deep" / "run", FILES, "result.json")
    assert contents(tmp_path / "deep" / "run") == {"result.json": b"{}\n", "model.bin": b"\x00\x01"}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["run"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"before")

    def stop_halfway() -> None:
        with open_atomic(tmp_path / "data.bin") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_halfway()
    assert contents(tmp_path) == {"data.bin": b"before"}
    with open_atomic(tmp_path / "data.bin") as file:
        file.write(b"after")
    assert contents(tmp_path) == {"data.bin": b"after"}
    with (
        pytest.raises(OutputError, match=r"data.bin: cannot be written"),
        open_atomic(tmp_path / "nowhere" / "data.bin"),
    ):
        pass


def test_an_empty_directory_is_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write_directory(tmp_path / "run", FILES, "result.json")
    assert set(contents(tmp_path / "run")) == set(FILES)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_result_is_replaced_only_with_force(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_directory(run, FILES, "result.json")
    with pytest.raises(OutputError, match="replace it with force=True"):
        write_directory(run, NEW, "result.json")
    assert (run / "result.json").read_text() == "{}\n"
    write_directory(run, NEW, "result.json", force=True)
    assert contents(run) == {"result.json": b"new", "model.bin": b""}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_other_files_are_never_touched(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_directory(run, FILES, "result.json")
    (run / "notes.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(OutputError, match=r"it holds other files \('notes.txt'\)"):
            write_directory(run, NEW, "result.json", force=force)
    assert contents(run) == {"result.json": b"{}\n", "model.bin": b"\x00\x01", "notes.txt": b"years of work"}
    with pytest.raises(OutputError, match="this is a file"):
        check_output_directory(run / "notes.txt", FILES, force=True)
    with pytest.raises(OutputError, match=r"notes.txt is a file"):
        check_output_directory(run / "notes.txt" / "run", FILES, force=True)


def test_the_current_directory_stays_the_same_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    for force in (False, True):
        write_directory(".", NEW, "result.json", force=force)
        assert contents(tmp_path) == {"result.json": b"new", "model.bin": b""}
        assert tmp_path.stat().st_ino == before
    assert [path.name for path in tmp_path.parent.iterdir() if path.name.startswith(f".{tmp_path.name}")] == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_directory(tmp_path / "link", FILES, "result.json")
    write_directory(tmp_path / "link", NEW, "result.json", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "result.json").read_text() == "new"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OutputError):
        write_directory(tmp_path / "loop", FILES, "result.json")


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_directory(tmp_path / "a" / "run", {"result.json": "", "no/such/place": ""}, "result.json")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "no" / "file.json", "")
    with pytest.raises(OutputError, match="is empty"):
        write_directory("", FILES, "result.json")
    with pytest.raises(InputError, match="needs its"):
        write_directory(tmp_path / "run", {"other": ""}, "result.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interruption_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException] | OSError
) -> None:
    run = tmp_path / "run"
    write_directory(run, FILES, "result.json")
    before = contents(run)
    rename = Path.rename
    for broken_call in range(2):
        calls = iter(range(10))

        def fails(self: Path, target: Path, broken: int = broken_call, calls: object = calls) -> Path:
            if next(calls) == broken and isinstance(interruption, type):
                raise interruption
            return rename(self, target)

        monkeypatch.setattr(files.Path, "rename", fails)
        if isinstance(interruption, OSError):
            monkeypatch.setattr(files.Path, "write_bytes", lambda self, content: os.truncate("/dev/full/x", 1))
        with pytest.raises((KeyboardInterrupt, OutputError)):
            write_directory(run, NEW, "result.json", force=True)
        monkeypatch.undo()
        assert contents(run) == before
        assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_files_have_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "file.json", "x")
        write_directory(tmp_path / "run", FILES, "result.json")
    finally:
        os.umask(before)
    assert (tmp_path / "file.json").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o755
