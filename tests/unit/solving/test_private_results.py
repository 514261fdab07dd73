"""Whole jobs with noise and without: the same without, and what was spent in the result with it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import comity
from comity.client.examples import DatasetClient
from comity.errors import ChangedError, RefusedError
from comity.families.network.training import Training
from comity.report import write_report
from comity.result.directory import seal
from support.small_tables import classes, numbers

SPO = {"search": "spo", "folds": 2, "repeats": 1, "judges": 2}
NETWORK = {"model": "mlp", "width": 4, "steps": 3, "folds": 2}


def with_noise(noise: float = 0.5, seed: int = 0) -> comity.Privacy:
    return comity.Privacy(clip=8.0, noise=noise, delta=1e-5, generator=np.random.default_rng(seed))


def federation(frame, **options) -> comity.InProcess:
    parts = frame.groupby("site", sort=False)
    return comity.InProcess(
        tuple(comity.Client(name, part.drop(columns="site").reset_index(drop=True), **options) for name, part in parts)
    )


@pytest.mark.parametrize(
    ("frame", "target", "settings"),
    [
        (numbers(), "effect", {}),
        (classes(), "cured", {}),
        (numbers(), "effect", SPO | {"resamples": 2}),
        (classes(), "cured", SPO),
        (numbers(), "effect", NETWORK),
    ],
    ids=["number", "classes", "number, spo", "classes, spo", "network"],
)
def test_no_noise_is_the_plain_run(frame, target: str, settings: dict) -> None:
    plain, same = (
        comity.solve(federation(frame, privacy=privacy), target=target, **settings)
        for privacy in (None, comity.Privacy())
    )
    assert same.to_dict() == plain.to_dict()
    assert "privacy" not in plain.to_dict()
    for kind in plain.models:
        np.testing.assert_array_equal(same.models[kind], plain.models[kind])


def examples(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(40, 3, generator=generator)
    return x, x.sum(dim=1) + torch.randn(40, generator=generator)


@pytest.mark.parametrize("local_steps", [0, 2])
def test_modules_with_noise_and_without(local_steps: int) -> None:
    training = Training(steps=3, per_step=2, local_steps=local_steps)

    def solved(privacy: comity.Privacy | None) -> comity.Result:
        module = nn.Linear(3, 1)
        nn.init.zeros_(module.weight)
        nn.init.zeros_(module.bias)
        members = tuple(DatasetClient(f"c{n}", examples(n), module, "squared", privacy=privacy) for n in range(2))
        return comity.solve_modules(comity.InProcess(members), module, loss="squared", training=training, folds=2)

    plain, same, noisy = (solved(privacy) for privacy in (None, comity.Privacy(), with_noise()))
    assert same.to_dict() == plain.to_dict()
    (kind,) = noisy.privacy["c0"]["by_kind"]
    assert kind == ("local-steps" if local_steps else "gradients")
    spent = noisy.privacy["c0"]["by_kind"][kind]
    assert spent["releases"] == spent["answers"] * (local_steps or 1)
    assert {"describe", "train-alone", "search-front", "held-losses", "evaluate-models"} <= set(
        noisy.privacy["c0"]["without_noise"]
    )


@pytest.fixture(scope="module")
def noisy() -> comity.Result:
    return comity.solve(federation(numbers(rows=400), privacy=with_noise()), target="effect")


def test_a_result_says_what_was_spent(noisy: comity.Result, tmp_path: Path) -> None:
    stated = noisy.privacy["South"]
    assert list(noisy.privacy) == list(noisy.clients)
    assert stated["epsilon"] == stated["by_kind"]["moments"]["epsilon"] == pytest.approx(9.997, rel=0.001)
    assert stated["without_noise"] == {"describe": 1, "evaluate": 1}
    assert noisy.traffic["rounds"] == 4, "one round more, to ask what was spent"
    noisy.save(tmp_path / "run")
    again = comity.verify(tmp_path / "run")
    assert again.privacy == noisy.privacy
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    document["privacy"]["South"]["epsilon"] = 0.1
    (tmp_path / "run" / "result.json").write_text(json.dumps(document))
    with pytest.raises(ChangedError, match="its seal is broken"):
        comity.verify(tmp_path / "run")


def test_a_report_says_it_too(noisy: comity.Result, tmp_path: Path) -> None:
    write_report(noisy, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    section = page[page.index('<section id="privacy"') :].partition("</section>")[0]
    for client, stated in noisy.privacy.items():
        assert f"<tr><td>{client}</td><td>{stated['epsilon']:.3g}</td><td>1e-05</td><td>moments</td>" in section
    assert '<a href="#privacy">' in page


@pytest.mark.parametrize(
    "change",
    [
        lambda privacy: privacy.update({"East": privacy["South"]}),
        lambda privacy: privacy["South"].update({"epsilon": -1}),
        lambda privacy: privacy["South"].update({"epsilon": "little"}),
        lambda privacy: privacy["South"].pop("by_kind"),
        lambda privacy: privacy["South"].update({"not_covered": ["moments"]}),
        lambda privacy: privacy.update({"South": None}),
    ],
)
def test_what_cannot_be_is_found_even_if_sealed_again(change, noisy: comity.Result, tmp_path: Path) -> None:
    noisy.save(tmp_path / "run")
    file = tmp_path / "run" / "result.json"
    document = json.loads(file.read_text())
    change(document["privacy"])
    document["seal"] = seal(document)
    file.write_text(json.dumps(document))
    with pytest.raises(ChangedError):
        comity.verify(tmp_path / "run")


def test_it_is_shown(noisy: comity.Result, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    noisy.save(tmp_path / "run")
    shown = request.getfixturevalue("comity")("show", tmp_path / "run", "--verbose").stdout
    assert "Privacy spent so far, for tables that differ by one row" in shown
    assert "describe, evaluate" in shown
    assert "nothing is guaranteed for answers without noise" in shown


def test_only_those_who_are_private_are_asked() -> None:
    frame = numbers(rows=200)
    plain = federation(frame)
    mixed = comity.InProcess((*plain.members[:2], federation(frame, privacy=with_noise()).members[2]))
    result = comity.solve(mixed, target="effect")
    assert list(result.privacy) == ["West"]
    assert [line.question for line in mixed.members[0].log] == ["describe", "moments", "evaluate"]
    assert [line.question for line in mixed.members[2].log][-1] == "privacy"


def test_a_budget_that_does_not_suffice_ends_the_job_with_the_client_named() -> None:
    spent = comity.Privacy(clip=8.0, noise=0.5, delta=1e-5, epsilon=5.0)
    with pytest.raises(RefusedError, match=r"client 'North' .* epsilon would be 9\.997 .* its limit is 5"):
        comity.solve(federation(numbers(), privacy=spent), target="effect")


@pytest.mark.filterwarnings("ignore::comity.errors.ComityWarning")
@pytest.mark.parametrize("noise", [5, 100])
@pytest.mark.parametrize(("frame", "target"), [(numbers(), "effect"), (classes(), "cured")], ids=["number", "classes"])
def test_a_job_ends_however_much_noise_there_is(frame, target: str, noise: float, tmp_path: Path) -> None:
    """Matrices may be indefinite then, and losses below zero; the result is of no use, and can still be checked."""
    result = comity.solve(federation(frame, privacy=with_noise(noise)), target=target)
    result.save(tmp_path / "run")
    assert comity.verify(tmp_path / "run").privacy == result.privacy


def test_with_a_little_noise_models_do_as_well() -> None:
    plain, noisy = (
        comity.solve(federation(numbers(rows=2000), privacy=each), target="effect")
        for each in (None, comity.Privacy(clip=40.0, noise=1e-3, delta=1e-5))
    )
    for client, standing in plain.utilities.items():
        assert noisy.utilities[client].alone.value == pytest.approx(standing.alone.value, rel=0.02)
