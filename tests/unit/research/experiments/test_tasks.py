"""The paper's experiments on synthetic data: which rows train, which test, and with which settings methods run."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comity.client import Client
from comity.families.glm.estimation import OWN_PENALTIES
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import FitAlone
from comity.research.datasets import adult, cifar10, eicu
from comity.research.datasets.published import PublishedFile
from comity.research.experiments.adult import penalty_of_largest
from comity.research.experiments.cells import Outcome
from comity.research.experiments.eicu import _load as read_once
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.reproduction import TASKS
from comity.research.experiments.synthetic import members
from comity.research.experiments.table_task import TableTask
from comity.study import Study
from support.small_eicu import eicu_tables, write_eicu

HOSPITALS = {60: 48, 61: 56, 62: 40, 63: 40, 64: 48, 65: 64, 66: 56, 67: 72, 68: 48, 69: 40}


def task(name: str, directory: Path | None = None, seed: int = 0):
    return TASKS[name](Experiment.load(name, quick=True), directory, seed)


def test_synthetic_reports_the_time_of_an_earlier_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """SPO and CE come from one search; otherwise the second would seem to take no time."""

    def run(self: TableTask, method: str, progress) -> Outcome:
        return Outcome({"0": 0.5}, seconds=100.0)

    monkeypatch.setattr(TableTask, "run", run)
    found = task("synthetic").run("ce", lambda stage, done, of: None)
    assert found.seconds == 200.0, "both sides"
    assert found.values == {f"{side} 0": pytest.approx(0.25 + 1e-4) for side in ("left", "right")}


def test_synthetic_test_rows_are_new_and_without_noise() -> None:
    """With noise or training rows, an error would not measure the distance from the truth."""
    drawn = task("synthetic").sides["left"]
    for client, (x, y), truth in zip(members(drawn), drawn.rows, drawn.truth, strict=True):
        features = [f"x{place}" for place in range(x.shape[1])]
        np.testing.assert_array_equal(client.rows[features], x)
        np.testing.assert_array_equal(client.rows["y"], y)
        assert np.abs(y - x @ truth).max() > 0
        assert len(client.test) == 5000
        np.testing.assert_allclose(client.test["y"], client.test[features].to_numpy() @ truth, atol=1e-12)
        assert not np.isin(client.test["x0"], x[:, 0]).any()


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Synthetic files of UCI Adult: training rows have the occupation Sales, test rows Craft-repair."""
    numbers = iter(range(10_000))

    def line(education: str, occupation: str) -> str:
        number = next(numbers)
        income = ">50K" if number % 3 == 0 else "<=50K"
        return (
            f"{20 + number % 60}, Private, {number}, {education}, 9, Divorced, {occupation}, Husband, White, "
            f"{('Male', 'Female')[number % 2]}, 0, 0, 40, United-States, {income}"
        )

    def lines(occupation: str, others: int, doctors: int) -> list[str]:
        return [line("HS-grad", occupation) for _ in range(others)] + [
            line("Doctorate", occupation) for _ in range(doctors)
        ]

    texts = {
        "TRAIN": "\n".join(lines("Sales", 30, 12)) + "\n\n",
        "TEST": "|1x3 Cross validator\n" + "".join(f"{each}.\n" for each in lines("Craft-repair", 12, 5)),
    }
    for part, text in texts.items():
        published = getattr(adult, part)
        (tmp_path / published.name).write_text(text)
        checksum = hashlib.sha256(text.encode()).hexdigest()
        monkeypatch.setattr(adult, part, PublishedFile(published.name, checksum, len(text)))
    return tmp_path


def test_adult_trains_on_one_file_and_tests_on_the_other(people: Path) -> None:
    """If they were swapped or mixed, accuracies could not be compared with published ones."""
    made = task("adult", people)
    sizes = {"non-PhD": (30, 12), "PhD": (12, 5)}
    for each in (made.own, made.common, made.any_gain):
        assert {client.name: (len(client.rows), len(client.test)) for client in each.clients} == sizes
        for client in each.clients:
            assert set(client.rows["occupation"]) == {"Sales"}
            assert set(client.test["occupation"]) == {"Craft-repair"}
            for frame in (client.rows, client.test):
                assert (frame["education"] == "Doctorate").all() == (client.name == "PhD")
                assert set(frame["income"]) == {"<=50K", ">50K"}
                assert "client" not in frame


def test_the_ending_of_a_method_of_adult_chooses_penalties_and_gains(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise all rows of the table would have one penalty, or only gains beyond chance."""
    ran: list[tuple[str, float | None, float]] = []

    def run(self: TableTask, method: str, progress) -> Outcome:
        ran.append((method, self.study.penalty, self.study.confidence))
        return Outcome({}, seconds=100.0)

    monkeypatch.setattr(TableTask, "run", run)
    made = task("adult", people)
    methods = ("spo", "ce", "spo-folds", "ce-folds", "spo-any", "afl")
    found = {method: made.run(method, lambda stage, done, of: None) for method in methods}
    common = made.common.study.penalty
    assert common is not None
    for method, outcome in found.items():
        chose = method in ("spo", "ce")
        assert outcome.settings == ({"penalty": common} if chose else {})
        assert (outcome.seconds > 100) is chose, "the time to choose the penalty is included"
    expected = [("spo", common), ("ce", common), ("spo", None), ("ce", None), ("spo", None), ("afl", None)]
    assert [each[:2] for each in ran] == expected
    assert [each[2] for each in ran] == [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]


def test_the_common_penalty_is_chosen_on_training_rows_of_the_largest_client() -> None:
    """If test rows had an influence, the table would flatter comity."""
    rng = np.random.default_rng(0)

    def people(count: int, slope: float) -> pd.DataFrame:
        inputs = rng.normal(size=(count, 3))
        target = np.where(inputs @ [slope, 0, 0] + rng.logistic(size=count) > 0, "yes", "no")
        return pd.DataFrame(inputs, columns=["a", "b", "c"]).assign(target=target)

    large, small = people(200, 3.0), people(40, 0.0)
    study = Study("target", search="spo", judges=2)

    def chosen(*clients: Client) -> float:
        return penalty_of_largest(clients, study)

    first, second = Client("large", large), Client("small", small)
    found = chosen(first, second)
    assert chosen(second, first) == found, "the order of clients does not matter"
    assert chosen(Client("large", large, test=small), second) == found, "test rows do not matter"
    schema = state_problem(InProcess((first, second)), study).schema
    question = FitAlone(schema, study.split(2), OWN_PENALTIES)
    each = InProcess((first, second)).ask(question)
    assert found == each["large"].penalties[0]
    assert found != each["small"].penalties[0], "the two clients choose different penalties"


def images(train: int = 16, test: int = 6) -> cifar10.Cifar10:
    """Return images of every class, each with a colour of its own; test images are the bright ones."""

    def of(first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.arange(10 * count)
        colours = np.stack([np.full_like(numbers, first), numbers % 256, numbers // 256], axis=1)
        return np.tile(colours[:, :, None, None], (1, 1, 32, 32)).astype(np.uint8), numbers % 10

    return cifar10.Cifar10(cifar10.Examples(*of(0, train)), cifar10.Examples(*of(255, test)))


def test_cifar10_trains_on_training_images_and_tests_on_test_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If training images were tested, accuracies would measure what was memorised."""
    data = images()
    monkeypatch.setattr(cifar10, "load", lambda directory: data)
    made = task("cifar10")
    assert len(made.clients) == 10
    for part, brightness, count in (("dataset", 0, 160), ("test", 255, 60)):
        examples = [getattr(client, part) for client in made.clients]
        pixels = np.concatenate([inputs[:, :, 0, 0].numpy() for inputs, _ in examples])
        labels = np.concatenate([targets.numpy() for _, targets in examples])
        assert set(pixels[:, 0].tolist()) == {brightness}
        assert sorted(pixels[:, 1].tolist()) == list(range(count)), "every image belongs to one client"
        np.testing.assert_array_equal(labels, pixels[:, 1] % 10)
        assert all(len(targets) == count // 10 for _, targets in examples)
    changed = data.test.images.copy()
    changed[0] += 1
    data = replace(data, test=data.test._replace(images=changed))
    assert task("cifar10").rows != made.rows, "another test image makes another task"


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = eicu_tables(HOSPITALS)
    few = {name: tables[name] for name in ("hospital", "patient", "apacheApsVar")}
    return write_eicu(tmp_path_factory.mktemp("eicu"), few, ".csv")


@pytest.mark.parametrize("single", [False, True])
def test_eicu_tests_every_stay_once_in_five_seeds_and_never_on_training_stays(
    stays: Path, single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the five parts would not be a cross-validation."""
    load, loaded = eicu.load, {}

    def smaller(directory: Path, by: str, **settings: float) -> eicu.Eicu:
        assert settings == {"hours": 24, "min_hours": 24}
        loaded[by] = load(directory, by=by, sizes=(60, 50, 40) if single else eicu.PAPER_SIZES, **settings)
        return loaded[by]

    monkeypatch.setattr(eicu, "load", smaller)
    read_once.cache_clear()
    tasks = [task("eicu", stays, seed) for seed in range(6)]
    table = loaded["hospital" if single else "region and size"].table
    names = [client.name for client in tasks[0].clients]
    assert names == (["hospital 60", "hospital 61", "hospital 67"] if single else ["Midwest", "Northeast"])
    for place, name in enumerate(names):
        stays_of = table[table["client"] == name].drop(columns="client")
        clients = [each.clients[place] for each in tasks]
        for client in clients:
            pd.testing.assert_frame_equal(pd.concat([client.rows, client.test]).loc[stays_of.index], stays_of)
            assert len(client.rows) + len(client.test) == len(stays_of)
            assert 0.1 < len(client.test) / len(stays_of) < 0.3
            assert 0 < client.test["died"].sum() < len(client.test)
        tested = [stay for client in clients[:5] for stay in client.test.index]
        assert sorted(tested) == sorted(stays_of.index)
        assert set(clients[5].test.index) not in [set(client.test.index) for client in clients[:5]]
