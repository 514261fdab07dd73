"""Methods with a torch module, and the network of the experiment with images."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from comity.research.datasets import cifar10
from comity.research.experiments import cifar10 as experiment
from comity.research.experiments.experiment import EXPERIMENTS, Experiment
from comity.research.experiments.reproduction import TASKS, Reproduction, reproduce


def small(seed: int = 0, train: int = 24, test: int = 24) -> cifar10.Cifar10:
    """Return images whose class shows in their brightness."""
    rng = np.random.default_rng(seed)

    def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(10), count)
        images = rng.integers(0, 30, (10 * count, 3, 32, 32)) + 22 * labels[:, None, None, None]
        return images.astype(np.uint8), labels.astype(np.int64)

    return cifar10.Cifar10(cifar10.Examples(*drawn(train)), cifar10.Examples(*drawn(test)))


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few images, and four clients instead of ten: searching among ten takes most of a minute."""
    data = small()
    monkeypatch.setattr(cifar10, "load", lambda directory: data)
    monkeypatch.setattr(cifar10, "clients", partial(cifar10.clients, count=4))


def quick() -> Experiment:
    whole = Experiment.load("cifar10", quick=True)
    front = {**whole.settings["front"], "width": 8, "depth": 1}
    return replace(whole, settings={**whole.settings, "rounds": 2, "steps": 2, "batch": 8, "front": front})


def test_a_table_of_images_and_the_same_again(images: None, tmp_path: Path) -> None:
    chosen = quick().with_choices(("local", "fedavg", "spo", "ce"), None)
    one = reproduce(chosen, None, tmp_path / "one")
    two = reproduce(quick().with_choices(("fedavg", "spo"), None), None, tmp_path / "two")
    same = [cell.values for cell in one.cells if cell.method in ("fedavg", "spo")]
    assert same == [cell.values for cell in two.cells]
    assert len({cell.rows for cell in one.cells}) == 1
    assert [line.method for line in one.summaries] == ["local", "fedavg", "spo", "ce"]
    assert "A quick run" in (tmp_path / "one" / "table.md").read_text()
    again = Reproduction.from_json((tmp_path / "one" / "table.json").read_text())
    assert again.to_markdown() == one.to_markdown()


def test_every_client_is_tested_on_its_own_classes(images: None) -> None:
    task = experiment.task(quick(), None, seed=0)
    for member in task.federation.members:
        train, test = (torch.unique(part[1]) for part in (member._examples, member._tests))
        assert train.tolist() == test.tolist()
        assert len(train) == 2


def test_images_are_mirrored_in_training_only() -> None:
    preparation = experiment.Preparation()
    image = torch.randint(0, 255, (4, 3, 32, 32), dtype=torch.uint8)
    preparation.eval()
    assert torch.equal(preparation(image), preparation(image))
    assert preparation(image).mean() == pytest.approx((float(image.float().mean()) - 120) / 64, abs=1e-5)
    preparation.train()
    assert not torch.equal(preparation(image), preparation(image))


def test_a_seed_determines_the_network() -> None:
    one, same, other = (experiment.lenet(seed)[1].weight for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_its_task_and_the_papers_values_are_of_its_methods(name: str) -> None:
    assert name in TASKS
    for quickly in (False, True):
        loaded = Experiment.load(name, quick=quickly)
        assert set(loaded.methods) <= set(Experiment.load(name).methods)
        assert set(loaded.paper) <= set(Experiment.load(name).methods)
        for columns in loaded.paper.values():
            assert set(columns) <= {*loaded.columns, "mean"}
        assert set(loaded.labels or {}) <= set(Experiment.load(name).methods)
