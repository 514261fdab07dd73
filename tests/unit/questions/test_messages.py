"""The messages of whole jobs: each is packed and unpacked once, and no record holds JSON text."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import comity
from comity import federation as asking
from comity.client import gate
from comity.questions import RECORDS, Packed, unpack, wire
from support.records import values_in


def clients(classes: bool = False) -> comity.InProcess:
    rng = np.random.default_rng(0)
    members = []
    for name, sign in (("a", 1), ("b", 1), ("c", -1)):
        frame = pd.DataFrame(rng.normal(size=(130, 2)), columns=["x", "z"]).assign(ward=rng.choice(["N", "S"], 130))
        value = sign * frame["x"] + frame["z"] + rng.normal(size=130) / 2
        frame["y"] = np.where(value > 0, "yes", "no") if classes else value
        members.append(comity.Client(name, frame, privacy=comity.Privacy(clip=1e6)))
    return comity.InProcess(tuple(members))


def test_every_message_is_packed_once_and_unpacked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            counts[name] += 1
            return function(*arguments)

        return counted

    for module in (asking, gate):
        for name in ("pack", "unpack"):
            monkeypatch.setattr(module, name, counting(name, getattr(wire, name)))
    monkeypatch.setattr(asking, "check_answer", counting("check", asking.check_answer))
    carry = comity.InProcess._carry

    def carrying(self: comity.InProcess, questions: dict[str, Packed], read: Any) -> dict[str, Any]:
        counts["questions"] += len(questions)
        counts["distinct questions"] += len({question.digest for question in questions.values()})
        return carry(self, questions, read)

    monkeypatch.setattr(comity.InProcess, "_carry", carrying)
    comity.solve(clients(), target="y")
    assert counts["questions"] == 12, "three clients, each asked for columns, moments, an evaluation and its privacy"
    answers = counts["questions"]
    assert counts["unpack"] == counts["questions"] + answers
    assert counts["pack"] == counts["distinct questions"] + answers
    assert counts["check"] == answers


JOBS = {
    "number": {},
    "classes": {},
    "number, spo": {"search": "spo", "judges": 2},
    "classes, spo": {"search": "spo", "judges": 2},
    "network": {"model": "mlp", "steps": 4, "width": 4, "fine_tune": 2},
    "local steps": {"model": "mlp", "steps": 4, "width": 4, "local_steps": 2},
}


@pytest.mark.parametrize("job", JOBS)
def test_no_record_of_a_job_holds_json(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Packed] = []
    carry = comity.InProcess._carry

    def carrying(self: comity.InProcess, questions: dict[str, Packed], read: Any) -> dict[str, Any]:
        def keep(client: str, answer: Packed) -> Any:
            sent.append(answer)
            return read(client, answer)

        sent.extend(questions.values())
        return carry(self, questions, keep)

    monkeypatch.setattr(comity.InProcess, "_carry", carrying)
    comity.solve(clients(classes=job.startswith("classes")), target="y", **JOBS[job])
    kinds = {packed.kind for packed in sent}
    assert {"Describe", "Description", "Evaluation", "PrivacyAnswer"} <= kinds <= set(RECORDS)
    texts = {value for packed in sent for value in values_in(unpack(packed)) if isinstance(value, str)}
    assert "regression" in texts or "classes" in texts, "values_in finds no texts in records"
    for text in texts:
        try:
            parsed = json.loads(text)
        except ValueError:
            continue
        assert not isinstance(parsed, dict | list), f"{text!r} is JSON"
