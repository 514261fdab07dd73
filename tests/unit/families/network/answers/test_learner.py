"""A client's side of a training: the use of its rows, personal parameters, and the search."""

import numpy as np
import pytest
import torch

from comity.errors import InputError
from comity.families.network.answers.learner import Learner
from comity.families.network.answers.replies import search_front, train_alone
from comity.families.network.answers.trials import NeuralTrials
from comity.families.network.hypernetworks import Hypernetwork
from comity.families.network.modules import Functional, perceptron
from comity.questions import SearchFront, TrainAlone
from comity.search.collaborators import Search
from support.linear_networks import Linear


@pytest.mark.parametrize("folds", [1, 4])
def test_each_row_judges_or_is_held_out_or_trains(folds: int) -> None:
    learner = Linear.drawn(2, folds=folds).learners[0]
    everything = set(range(len(learner.targets)))
    for network, held in enumerate(learner.held):
        trains = set(np.flatnonzero(learner.trains[network]).tolist())
        assert trains | set(held.tolist()) | set(learner.judging.tolist()) == everything
        assert not trains & set(held.tolist())
        assert not (trains | set(held.tolist())) & set(learner.judging.tolist())
    assert len(learner.held) == (1 if folds == 1 else folds + 1)
    if folds > 1:
        chosen = np.concatenate(learner.held)
        assert sorted(chosen.tolist()) == sorted(everything - set(learner.judging.tolist())), "every row chooses once"


def test_slopes_are_derivatives_of_the_mean_loss() -> None:
    learner = Linear.drawn(2, folds=3).learners[0]
    models = torch.randn(5, learner.functional.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    networks = torch.tensor([0, 1, 2, 3, 1])
    losses, by_model, _ = learner.slopes(models, networks, step=0)
    for number in range(5):
        moved = models.clone()
        moved[number, 2] += 1e-6
        ahead, _, _ = learner.slopes(moved, networks, step=0)
        assert (ahead[number] - losses[number]) / 1e-6 == pytest.approx(by_model[number, 2].item(), rel=1e-4)
        one, slope, _ = learner.slopes(models[number : number + 1], networks[number : number + 1], step=0)
        torch.testing.assert_close(one[0], losses[number])
        torch.testing.assert_close(slope[0], by_model[number])


def trials(linear: Linear, own: int = 0, count: int = 4) -> NeuralTrials:
    clients = len(linear.federation.members)
    network = Hypernetwork(clients, linear.size, width=8)
    generator = torch.Generator().manual_seed(1)
    parameters = torch.randn(linear.recipe.networks, network.parameters, dtype=torch.float64, generator=generator) * 0.3
    counts = torch.arange(1.0, clients + 1, dtype=torch.float64)
    learner = linear.learners[own]
    return NeuralTrials(learner, network, parameters, counts, np.full(count, own), np.nan, learner.held)


def test_trials_know_their_derivatives() -> None:
    given = trials(Linear.drawn(4, folds=3))
    weights = np.random.default_rng(0).dirichlet(np.ones(4), 4)
    losses, slope, by_penalty = given.derivatives(weights, np.zeros(4))
    np.testing.assert_allclose(losses, given.losses(weights, np.zeros(4)))
    assert not by_penalty.any()
    for client in range(4):
        moved = weights.copy()
        moved[:, client] += 1e-6
        np.testing.assert_allclose((given.losses(moved, np.zeros(4)) - losses) / 1e-6, slope[:, client], atol=1e-4)


def test_the_two_halves_are_disjoint_and_have_all_held_out_rows() -> None:
    given = trials(Linear.drawn(3, folds=2))
    for searching, judging in given.halves():
        for held, one, other in zip(given.rows, searching.rows, judging.rows, strict=True):
            assert not set(one.tolist()) & set(other.tolist())
            assert set(one.tolist()) | set(other.tolist()) == set(held.tolist())


def test_the_standard_error_is_that_of_paired_rows() -> None:
    given = trials(Linear.drawn(3))
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4))
    one, other = (given.outcomes(each, np.zeros(4)) for each in weights)
    difference = one - other
    expected = difference.std(axis=1, ddof=1) / np.sqrt(difference.shape[1])
    np.testing.assert_allclose(given.standard_error(one, other), expected)


def test_a_search_at_the_client_is_the_search_on_its_trials() -> None:
    linear = Linear.drawn(3)
    given = trials(linear, count=1)
    search, face = Search(strengths=(0.0,)), np.ones((1, 3), np.bool_)
    expected = search.collaborators(given, face)
    empty = np.zeros((1, 3))
    question = SearchFront(
        recipe=linear.recipe, network=given.network, parameters=given.parameters.numpy(),
        counts=given.counts.numpy(), own=0, alone=np.nan, task="choose", search=search, strength=0.0,
        faces=np.ones((1, 3)), start=empty, other=empty,
    )  # fmt: skip
    found = search_front(given.learner, question)
    np.testing.assert_array_equal(found.sets > 0, expected.sets)
    np.testing.assert_array_equal(found.weights[0], expected.chosen.weights)
    np.testing.assert_array_equal(found.losses[2], expected.alone.losses)


def test_training_alone_finds_the_clients_own_optimum() -> None:
    linear = Linear.drawn(2, rows=200)
    for own, learner in enumerate(linear.learners):
        answer = train_alone(learner, TrainAlone(linear.recipe, "alone", np.zeros(linear.size), 400, 0.05))
        best = linear.exact(np.eye(2))[own]
        loss, least = (linear.losses(each[None])[0, own] for each in (answer.parameters, best))
        assert loss < 1.02 * least


def test_personal_parameters_are_trained_at_the_client() -> None:
    module = perceptron(8, 1, width=4, depth=1, seed=0)
    plain = Linear.drawn(2).learners[0]
    learner = Learner(
        "a", plain.recipe, Functional.of(module, r"^2\."), plain.loss, plain.inputs, plain.targets, plain.strata,
        plain.target_scale,
    )  # fmt: skip
    before = learner.personal.parameters.clone()
    _, by_model, by_own = learner.slopes(
        torch.zeros(1, learner.functional.size, dtype=torch.float64), torch.zeros(1).long(), 0
    )
    assert by_model.shape == (1, 36)
    assert by_own.shape == (1, 5)
    learner.personal.step(by_own, 0.1)
    assert not torch.equal(before, learner.personal.parameters)


def test_too_few_rows() -> None:
    with pytest.raises(InputError, match=r"client 'c0' has 12 rows, too few .* \(it takes 16\)"):
        Linear.drawn(2, rows=12, folds=10).learners[0]


def test_fine_tuning_starts_from_each_networks_model_and_never_ends_worse() -> None:
    linear = Linear.drawn(2, folds=3)
    learner = linear.learners[0]
    begin = np.random.default_rng(0).normal(size=(4, linear.size))
    unmoved = train_alone(learner, TrainAlone(linear.recipe, "coalition", begin, 1, 1e-12))
    np.testing.assert_allclose(unmoved.parameters, begin[-1], atol=1e-9)
    held = [
        learner.rows_lost(torch.as_tensor(begin[fold : fold + 1]), fold, rows)[0]
        for fold, rows in enumerate(learner.held[:3])
    ]
    assert unmoved.loss[0] == pytest.approx(torch.cat(held).mean().item(), rel=1e-6)
    tuned = train_alone(learner, TrainAlone(linear.recipe, "coalition", begin, 100, 0.05))
    assert tuned.loss[0] < unmoved.loss[0]
    assert set(learner.personal.kept) == {"coalition"}
    assert learner.lost_alone is None, "only the model alone says what is lost alone"
