"""The paper's experiments on made-up data: whose rows train, whose test, and with which settings methods run."""

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


def test_synthetic_reports_the_time_of_a_search_also_if_it_was_made_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """SPO and CE come of one search: without that, the second would seem to take no time."""

    def run(self: TableTask, method: str, progress) -> Outcome:
        return Outcome({"0": 0.5}, seconds=100.0)

    monkeypatch.setattr(TableTask, "run", run)
    found = task("synthetic").run("ce", lambda stage, done, of: None)
    assert found.seconds == 200.0, "both sides"
    assert found.values == {f"{side} 0": pytest.approx(0.25 + 1e-4) for side in ("left", "right")}


def test_synthetic_rows_to_test_with_are_new_and_without_noise() -> None:
    """With noise or rows that trained, an error would not be what a model misses of the truth."""
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
    """UCI Adult made up: who is to train with is in sales, who is to test with repairs."""
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


def test_adult_trains_with_the_one_file_and_tests_with_the_other(people: Path) -> None:
    """If they were swapped, or rows tested that trained, accuracies would not be comparable with anybody's."""
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


def test_adult_has_penalties_by_folds_where_the_name_ends_so(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise all lines of the table would be of one penalty, or of gains beyond chance only."""
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
        assert (outcome.seconds > 100) is chose, "what it takes to choose the penalty counts"
    expected = [("spo", common), ("ce", common), ("spo", None), ("ce", None), ("spo", None), ("afl", None)]
    assert [each[:2] for each in ran] == expected
    assert [each[2] for each in ran] == [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]


def test_one_penalty_for_all_is_that_of_the_largest_client_by_rows_to_train_with() -> None:
    """If test rows had an influence, the table would flatter comity."""
    rng = np.random.default_rng(0)

    def people(count: int, slope: float) -> pd.DataFrame:
        inputs = rng.normal(size=(count, 3))
        target = np.where(inputs @ [slope, 0, 0] + rng.logistic(size=count) > 0, "yes", "no")
        return pd.DataFrame(inputs, columns=["a", "b", "c"]).assign(target=target)

    large, small = people(200, 3.0), people(40, 0.0)
    study = Study("target", judges=2)

    def chosen(*clients: Client) -> float:
        return penalty_of_largest(clients, study)

    first, second = Client("large", large), Client("small", small)
    found = chosen(first, second)
    assert chosen(second, first) == found, "whichever comes first"
    assert chosen(Client("large", large, test=small), second) == found, "whatever there is to test with"
    schema = state_problem(InProcess((first, second)), study).schema
    question = FitAlone(schema, study.split(2), OWN_PENALTIES)
    each = InProcess((first, second)).ask(question)
    assert found == each["large"].penalties[0]
    assert found != each["small"].penalties[0], "so that it is clear whose it is"


def images(train: int = 16, test: int = 6) -> cifar10.Cifar10:
    """So many images of each class, each of one colour of its own: those to test with are the bright ones."""

    def of(first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.arange(10 * count)
        colours = np.stack([np.full_like(numbers, first), numbers % 256, numbers // 256], axis=1)
        return np.tile(colours[:, :, None, None], (1, 1, 32, 32)).astype(np.uint8), numbers % 10

    return cifar10.Cifar10(cifar10.Examples(*of(0, train)), cifar10.Examples(*of(255, test)))


def test_cifar10_trains_with_its_images_to_train_with_and_tests_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If they were swapped, or images tested that trained, accuracies would be of what was learned by heart."""
    data = images()
    monkeypatch.setattr(cifar10, "load", lambda directory: data)
    made = task("cifar10")
    assert len(made.clients) == 10
    for part, brightness, count in (("dataset", 0, 160), ("test", 255, 60)):
        given = [getattr(member, part) for member in made.clients]
        pixels = np.concatenate([inputs[:, :, 0, 0].numpy() for inputs, _ in given])
        labels = np.concatenate([targets.numpy() for _, targets in given])
        assert set(pixels[:, 0].tolist()) == {brightness}
        assert sorted(pixels[:, 1].tolist()) == list(range(count)), "every image is one client's"
        np.testing.assert_array_equal(labels, pixels[:, 1] % 10)
        assert all(len(targets) == count // 10 for _, targets in given)
    changed = data.test.images.copy()
    changed[0] += 1
    data = replace(data, test=data.test._replace(images=changed))
    assert task("cifar10").rows != made.rows, "another image to test with is another task"


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = eicu_tables(HOSPITALS)
    few = {name: tables[name] for name in ("hospital", "patient", "apacheApsVar")}
    return write_eicu(tmp_path_factory.mktemp("eicu"), few, ".csv")


@pytest.mark.parametrize("single", [False, True])
def test_eicu_tests_every_stay_once_in_five_seeds_and_never_one_that_trains(
    stays: Path, single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If stays that train were tested, or some never, the five parts would not be a cross-validation."""
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
