"""`comity.solve` with torch modules and examples of any shape."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import comity
from comity.client.examples import DatasetClient
from comity.errors import InputError
from comity.families.network.modules import Functional
from comity.families.network.trainer import Trainer
from comity.families.network.training import Training
from comity.questions import Recipe

pytestmark = pytest.mark.filterwarnings("ignore:.*rows to choose collaborators by:comity.ComityWarning")
QUICK = Training(steps=100, per_step=4, rate=1e-2)


class Small(nn.Module):
    """A convolution and a head for images of 6 × 6."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Dropout(0.1), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(16, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(images))


def images(seed: int, rows: int, *, turned: bool = False) -> TensorDataset:
    """Stripes, across or along; `turned` clients call them the other way round."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, rows)
    stripes = np.sin(np.arange(6) * 2.0)
    pictures = np.where(kind[:, None, None] == 1, stripes[None, :, None], stripes[None, None, :])
    noisy = pictures + 0.8 * rng.normal(size=(rows, 6, 6))
    return TensorDataset(torch.tensor(noisy[:, None], dtype=torch.float32), torch.tensor(1 - kind if turned else kind))


def module() -> nn.Module:
    torch.manual_seed(0)
    return Small()


@pytest.fixture(scope="module")
def solved() -> comity.Result:
    clients = {"a": images(0, 60), "b": images(1, 60), "c": images(2, 60, turned=True)}
    return comity.solve_modules(clients, module(), loss="cross-entropy", metric="accuracy", training=QUICK, folds=3)


def test_images_of_one_kind_go_together(solved: comity.Result) -> None:
    assert solved.metric == "accuracy"
    assert frozenset("c") in solved.coalitions, "what is turned round helps nobody"
    assert solved.certificate.proved


def test_a_result_of_a_module_is_saved_loaded_checked_and_fills_it(solved: comity.Result, tmp_path: Path) -> None:
    solved.save(tmp_path / "run")
    loaded = comity.verify(tmp_path / "run")
    assert loaded.coalitions == solved.coalitions
    filled = module()
    filled.load_state_dict(loaded.state_of("c", filled, model="alone"))
    filled.eval()
    pictures, kinds = images(9, 200, turned=True).tensors
    with torch.no_grad():
        right = (filled(pictures).argmax(dim=1) == kinds).double().mean()
    assert right > 0.7
    with pytest.raises(InputError, match="of a torch module, which predicts itself"):
        loaded.predict(None)
    with pytest.raises(InputError, match="give the module that it was trained with"):
        loaded.state_of("c", nn.Linear(3, 2))


def test_a_seed_determines_everything_even_dropout() -> None:
    clients = {"a": images(0, 40), "b": images(1, 40)}
    settings = {"module": module(), "training": Training(steps=8, per_step=4), "batch": 16}
    one, other = (comity.solve_modules(clients, **settings) for _ in range(2))
    np.testing.assert_array_equal(one.models["alone"], other.models["alone"])
    assert one.game == other.game or list(one.game.records()) == list(other.game.records())


def test_a_personal_head_never_leaves() -> None:
    clients = {"a": images(0, 60), "b": images(1, 60), "c": images(2, 60, turned=True)}
    network = module()
    result = comity.solve_modules(clients, network, personal="^head", training=Training(steps=5), folds=2)
    body = sum(each.numel() for each in network.body.parameters())
    assert result.models["coalition"].shape == (3, body)
    state = result.state_of("a", network, personal="^head")
    assert set(state) == {"body.0.weight", "body.0.bias"}


def test_tuning_leaves_models_alone_as_they_are() -> None:
    clients = {"a": images(0, 60), "b": images(1, 60)}
    settings = {"module": module(), "training": Training(steps=5, per_step=4), "folds": 2}
    plain, tuned = (comity.solve_modules(clients, **settings, fine_tune=steps) for steps in (0, 5))
    assert plain.coalitions == tuned.coalitions
    np.testing.assert_array_equal(plain.models["alone"], tuned.models["alone"])


def numbers(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(rows, 3, generator=torch.Generator().manual_seed(rows))
    return x, x.sum(dim=1)


def test_numbers_and_a_loss_of_ones_own() -> None:
    def absolute(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return (outputs[:, 0] - targets).abs()

    clients = {"a": numbers(40), "b": numbers(50)}
    result = comity.solve_modules(clients, nn.Linear(3, 1), loss=absolute, training=Training(steps=30), seed=3)
    assert result.metric == "rmse"
    assert result.study.seed == 3


PAIR = {"a": numbers(40), "b": numbers(40)}
GAPS = (torch.ones(40, 3), torch.full((40,), torch.nan))
WIDE = (torch.ones(40, 5), torch.ones(40))
SQUARED = {"loss": "squared"}


@pytest.mark.parametrize(
    ("clients", "settings", "message"),
    [
        ({"a": numbers(40)}, SQUARED, "there is one client only"),
        ([numbers(40)], SQUARED, "clients come as a mapping from name to examples"),
        ({"a": numbers(40), "b": 3}, SQUARED, "client 'b' must be a torch dataset of pairs"),
        (PAIR, {}, "they must be classes"),
        (PAIR, {"loss": "cube"}, "no loss 'cube'; there are squared, cross-entropy"),
        (PAIR, SQUARED | {"metric": "auc"}, "is not for"),
        (PAIR, SQUARED | {"personal": "head"}, "matches the pattern 'head'"),
        (PAIR, SQUARED | {"repeats": 3}, "repeats has no effect on a torch module; leave it out"),
        (PAIR, SQUARED | {"stepz": 3}, "no setting 'stepz'; did you mean 'steps'"),
        ({"a": numbers(40), "b": GAPS}, SQUARED, "missing or infinite"),
        ({"a": numbers(40), "b": (torch.ones(40, 3), torch.ones(39))}, SQUARED, "40 inputs and 39 targets"),
        ({"a": numbers(40), "b": WIDE}, SQUARED, "cannot take examples of shape"),
        ({"a": numbers(40), "b": numbers(11)}, SQUARED | {"folds": 9}, "client 'b' has 11 rows, too few"),
    ],
)
def test_what_makes_no_sense(clients: object, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        comity.solve_modules(clients, nn.Linear(3, 1), **settings)


def test_who_stays_alone_is_judged_with_the_head_that_it_trained_alone() -> None:
    clients = {"a": images(0, 60), "b": images(1, 60), "c": images(2, 60, turned=True)}
    settings = {"personal": "^head", "metric": "log-loss", "training": Training(steps=20, per_step=4)}
    result = comity.solve_modules(clients, module(), **settings, confidence=50)
    assert len(result.coalitions) == 3
    for standing in result.utilities.values():
        assert standing.alone == standing.coalition == standing.best


def test_a_federation_that_is_asked_twice_answers_alike() -> None:
    network = module()
    members = tuple(DatasetClient(name, images(seed, 50), network) for seed, name in enumerate("ab"))
    federation = comity.InProcess(members)
    settings = {"module": network, "personal": "^head", "training": Training(steps=5, per_step=4), "folds": 2}
    one, other = (comity.solve_modules(federation, **settings) for _ in range(2))
    assert list(one.game.records()) == list(other.game.records())
    np.testing.assert_array_equal(one.models["best"], other.models["best"])


def test_the_front_and_what_is_personal_are_of_the_same_step() -> None:
    network = module()
    members = tuple(DatasetClient(name, images(seed, 50), network) for seed, name in enumerate("ab"))
    recipe = Recipe(loss="cross-entropy", personal="^head")
    base, _ = Functional.of(network, "^head").initial()
    trainer = Trainer(comity.InProcess(members), recipe, Training(steps=40, checks=4), len(base))
    state = trainer.begin(base)
    for _ in trainer.step(state):
        pass
    state.best_step = 20  # as if that check had been the best
    trainer.finish(state)
    for member in members:
        personal = member._learners[recipe].personal
        assert torch.equal(personal.parameters, personal.at[20])
        assert not torch.equal(personal.parameters, personal.at[40])


def test_what_is_frozen_stays_and_what_is_no_parameter_comes_along() -> None:
    network = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1))
    network.register_buffer("note", torch.tensor([7.0]))
    network[0].requires_grad_(False)
    result = comity.solve_modules(PAIR, network, loss="squared", training=Training(steps=20))
    assert result.models["alone"].shape[1] == 8 + 5
    state = result.state_of("a", network)
    assert set(state) == set(network.state_dict())
    assert torch.equal(state["0.weight"], network[0].weight)
    network.load_state_dict(state)


def test_a_client_may_be_left_out_here_too() -> None:
    three = PAIR | {"c": numbers(45)}
    result = comity.solve_modules(three, nn.Linear(3, 1), loss="squared", training=Training(steps=20), without=["b"])
    assert result.clients == ("a", "c")
    assert result.study.steps == 20


@pytest.mark.parametrize(
    ("targets", "loss", "message"),
    [
        (torch.ones(40, 2), "squared", r"targets of shape \(40, 2\); there must be one a row"),
        (torch.ones(40), "cross-entropy", "they must be classes, whole numbers from 0 on"),
        (torch.arange(40) % 3 - 1, "cross-entropy", "has the class -1"),
        (torch.arange(40) // 39 * 5, "cross-entropy", "gives 2 classes and the target goes from 0 to 5"),
    ],
)
def test_targets_that_do_not_fit(targets: torch.Tensor, loss: str, message: str) -> None:
    examples = (torch.ones(40, 3), targets)
    with pytest.raises(InputError, match=message):
        comity.solve_modules({"a": examples, "b": examples}, nn.Linear(3, 2), loss=loss)


def test_targets_in_a_column_and_whole_numbers_are_numbers_for_a_squared_loss() -> None:
    x, _ = numbers(40)
    clients = {"a": (x, x.sum(dim=1, keepdim=True)), "b": (x, x.sum(dim=1).round().long())}
    result = comity.solve_modules(clients, nn.Linear(3, 1), loss="squared", training=Training(steps=20))
    assert result.metric == "rmse"
