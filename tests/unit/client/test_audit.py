"""The audit log: a line for every question, written before the answer leaves, and only ever appended to."""

import os
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from torch import nn

from comity.client import AuditEntry, Client, Policy, Privacy, read_log
from comity.client.examples import DatasetClient
from comity.errors import FormatError, InputError, RefusedError
from comity.questions import AskPrivacy, Describe, Split, pack
from support.small_client import ask_moments, rows

LINE = AuditEntry("moments", 20, 8, "2026-01-01T00:00:00.000+00:00", "a" * 64, "b" * 64, "", 1, 2.0)


def test_every_question_has_a_line(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    before = datetime.now(UTC)
    client = Client("a", rows(), Policy(questions=("describe", "moments")), log_file=file)
    described, question = client.answer(Describe("y")), ask_moments()
    given = client.answer(question)
    with pytest.raises(RefusedError):
        client.answer(AskPrivacy())
    with pytest.raises(RefusedError):
        client.answer("give me your rows")
    with pytest.raises(InputError):
        client.answer(replace(question, split=Split(judges=99)))
    lines = read_log(file)
    assert list(lines) == client.log
    assert [line.question for line in lines] == ["describe", "moments", "privacy", "str", "moments"]
    assert [line.given for line in lines] == [pack(described).digest, pack(given).digest, "", "", ""]
    assert [line.size for line in lines] == [pack(described).size, pack(given).size, 0, 0, 0]
    assert lines[1].asked == pack(question).digest
    assert [bool(line.refused) for line in lines] == [False, False, True, True, True]
    assert "its policy forbids it" in lines[2].refused
    assert "too few for 99 parts" in lines[4].refused
    ago = [(datetime.fromisoformat(line.when) - before).total_seconds() for line in lines]
    assert -0.001 <= min(ago) <= max(ago) < 60
    assert all(line.when.endswith("+00:00") for line in lines)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_digests_tell_answers_apart() -> None:
    one, same, other = (pack(Describe(target)).digest for target in ("y", "y", "z"))
    assert one == same != other
    client, plain = Client("a", rows()), Client("a", rows())
    assert pack(client.answer(ask_moments())).digest == pack(plain.answer(ask_moments())).digest


def test_a_client_with_examples_has_the_same_gate(tmp_path: Path) -> None:
    examples = (torch.ones(20, 2), torch.zeros(20))
    client = DatasetClient("d", examples, nn.Linear(2, 1), "squared", log_file=tmp_path / "log")
    client.answer(Describe("target"))
    with pytest.raises(InputError, match="has examples and no table"):
        client.answer(ask_moments())
    assert [(line.question, bool(line.refused)) for line in read_log(tmp_path / "log")] == [
        ("describe", False),
        ("moments", True),
    ]


def test_the_log_is_only_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "log"
    Client("a", rows(), log_file=file).answer(Describe("y"))
    first = file.read_bytes()
    Client("a", rows(), log_file=file).answer(Describe("y"))
    assert file.read_bytes().startswith(first)
    assert len(read_log(file)) == 2
    client = Client("a", rows(), log_file=file)
    file.write_bytes(first)
    with pytest.raises(FormatError, match="lines that were there are gone"):
        client.answer(Describe("y"))


def test_the_line_is_there_before_the_answer_leaves(tmp_path: Path) -> None:
    """A process that is killed as soon as it has its answer has left its line."""
    script = (
        "import os, sys\nfrom comity.client import Client\nfrom comity.questions import Describe\n"
        "from support.small_client import rows\n"
        "Client('a', rows(), log_file=sys.argv[1]).answer(Describe('y'))\nos._exit(0)"
    )
    beside = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    subprocess.run(
        [sys.executable, "-c", script, tmp_path / "log"], check=True, env={**os.environ, "PYTHONPATH": beside}
    )
    assert [line.question for line in read_log(tmp_path / "log")] == ["describe"]


def test_a_log_that_cannot_be_written_refuses_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "log"
    with pytest.raises(RefusedError, match=r"client 'a' answers nothing: its log .*log cannot be written"):
        Client("a", rows(), log_file=file)
    file.parent.mkdir()
    client = Client("a", rows(), log_file=file)
    file.unlink()
    file.mkdir()
    with pytest.raises(RefusedError, match="cannot be written"):
        client.answer(Describe("y"))
    assert client.log == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_refuses_the_answer() -> None:
    client = Client("a", rows(), log_file="/dev/full")
    with pytest.raises(RefusedError, match="cannot be written"):
        client.answer(Describe("y"))


def test_an_entry_survives_json() -> None:
    assert AuditEntry.from_json(LINE.to_json()) == LINE


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rubbish", "line 2: this is not JSON"),
        ("[]", "line 2: there must be question, rows"),
        ("{}", "line 2: there must be question, rows"),
        ("", "line 2: this is not JSON"),
        (replace(LINE, rows=-1).to_json(), "rows is -1; it must be a whole number"),
        (replace(LINE, size=2.5).to_json(), "size is 2.5"),
        (replace(LINE, releases=True).to_json(), "releases is True"),
        (replace(LINE, question=3).to_json(), "question is 3; it must be text"),
        (replace(LINE, noise=-1).to_json(), "noise is -1"),
        (replace(LINE, noise=0).to_json(), "more than 0 where there were releases"),
        (LINE.to_json().replace("2.0", "Infinity"), "noise is inf"),
        (replace(LINE, asked="").to_json(), "asked is ''; it must be a SHA-256"),
        (replace(LINE, given="B" * 64).to_json(), "it must be a SHA-256"),
        (replace(LINE, given="").to_json(), "refused is ''; it must be a reason if nothing was given"),
        (replace(LINE, refused="no").to_json(), "refused is 'no'"),
        (replace(LINE, when="yesterday").to_json(), "when is 'yesterday'; it must be a time with its zone"),
        (replace(LINE, when="2026-01-01T00:00:00").to_json(), "it must be a time with its zone"),
    ],
)
def test_a_changed_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(f"{LINE.to_json()}\n{line}\n")
    with pytest.raises(FormatError, match=message):
        read_log(file)
    with pytest.raises(FormatError, match=message):
        Client("a", rows(), log_file=file)


def test_a_line_cut_off_and_a_file_that_is_no_log(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(LINE.to_json()[:40])
    with pytest.raises(FormatError, match="line 1: it was cut off while it was written, and its answer never left"):
        read_log(file)
    file.write_bytes(b"\xff\xfe\n")
    with pytest.raises(FormatError, match="line 1: this is not UTF-8"):
        read_log(file)
    with pytest.raises(FormatError, match="cannot be read"):
        read_log(tmp_path / "nothing")


def test_two_clients_with_one_log_spend_together(tmp_path: Path) -> None:
    """Each reads what the other wrote before it answers."""
    private = Privacy(clip=1.0, noise=1.0, delta=1e-5, epsilon=7.0)
    one, other = (Client("a", rows(), privacy=private, log_file=tmp_path / "log") for _ in range(2))
    one.answer(ask_moments())
    other.answer(ask_moments())
    for client in (one, other):
        with pytest.raises(RefusedError, match=r"epsilon would be 8\.\d+ \(delta 1e-05\); it is 6\.\d+"):
            client.answer(ask_moments())
