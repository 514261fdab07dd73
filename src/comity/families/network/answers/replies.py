"""A client's answers about networks: gradients, losses, its search on a front, its own model, evaluations."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from comity.core.metrics import METRICS
from comity.errors import InputError
from comity.families.network.adam import Adam, cosine
from comity.families.network.answers.learner import DEVICE, Learner
from comity.families.network.answers.noisy_gradients import noisy_slopes
from comity.families.network.answers.trials import NeuralTrials
from comity.families.network.hypernetworks import Hypernetwork, pull_back
from comity.families.network.rules import rule_of
from comity.questions import (
    EvaluateModels,
    Evaluation,
    Gradients,
    GradientsAnswer,
    HeldLosses,
    HeldLossesAnswer,
    LocalSteps,
    LocalStepsAnswer,
    SearchFront,
    SearchFrontAnswer,
    TrainAlone,
    TrainAloneAnswer,
    TrainLocally,
    TrainLocallyAnswer,
)
from comity.rows.evaluation import evaluate_predictions
from comity.search.collaborators import Search
from comity.search.descent import Points

_CHECKS = 20  # of a model that is trained alone, on held-out rows


def gradients(learner: Learner, question: Gradients) -> GradientsAnswer:
    """Return mean losses and gradients of models on the rows of a step, and train the personal parameters."""
    networks = torch.as_tensor(question.networks, dtype=torch.long, device=DEVICE)
    losses, by_model, by_own = _slopes(learner, _tensor(learner, question.parameters), networks, question.step)
    _train_personal(learner, networks, by_own, _tensor(learner, question.shares), question.rate)
    return GradientsAnswer(_array(losses.double()), _array(by_model))


def local_steps(learner: Learner, question: LocalSteps) -> LocalStepsAnswer:
    """Take steps of the hypernetworks on the client's part of the objective, times the number of clients."""
    network = Hypernetwork.of(question.network)
    parameters = _tensor(learner, question.parameters)
    rays = _tensor(learner, question.rays)
    change = torch.zeros_like(parameters)
    every = torch.arange(len(parameters), device=DEVICE).repeat_interleave(rays.shape[1])
    lost = []
    for number, shares in enumerate(rays):
        at = parameters.detach().requires_grad_()
        models = network(at, shares)
        flat = models.reshape(-1, models.shape[-1])
        step = question.step * len(rays) + number
        losses, by_model, by_own = _slopes(learner, flat.detach(), every, step)
        own = shares[:, question.own].repeat(len(parameters)) / len(shares)
        (gradient,) = pull_back(flat, [at], by_model * own[:, None] * network.clients)
        _train_personal(learner, every, by_own, own, question.rate)
        parameters = parameters - question.rate * gradient
        change = change + gradient
        lost.append(losses.reshape(len(parameters), -1))
    part = _array(torch.stack(lost).double()) * question.rays[:, None, :, question.own]
    return LocalStepsAnswer(_array(change), np.array([part.mean()]))


def _slopes(learner: Learner, parameters: Tensor, networks: Tensor, step: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return losses and gradients that may leave the client: clipped and noisy if it has noise."""
    if learner.noise is None:
        return learner.slopes(parameters, networks, step)
    return noisy_slopes(learner, parameters, networks, learner.noise)


def _train_personal(learner: Learner, networks: Tensor, slopes: Tensor, shares: Tensor, rate: float) -> None:
    """Take a step of the personal parameters along their gradients (M, Dp) for models of networks (M,) by shares."""
    if learner.functional.personal:
        gradient = torch.zeros_like(learner.personal.parameters)
        learner.personal.step(gradient.index_add(0, networks, slopes * shares[:, None]), rate)


def held_losses(learner: Learner, question: HeldLosses) -> HeldLossesAnswer:
    """Return mean losses on the rows held out to choose by, or on the training rows if the recipe holds out none."""
    learner.personal.check(question.step, question.back_to)
    models = _tensor(learner, question.parameters)
    losses = torch.zeros(len(models), dtype=torch.float64, device=DEVICE)
    for number, rows in enumerate(learner.held if learner.recipe.held else (learner.training,)):
        here = np.flatnonzero(question.networks == number)
        if here.size and rows.size:
            with torch.no_grad():
                losses[here] = learner.rows_lost(models[here], number, rows).mean(dim=1).double()
    return HeldLossesAnswer(_array(losses))


def train_alone(learner: Learner, question: TrainAlone) -> TrainAloneAnswer:
    """Train a model for each network on the client's rows alone, and return the one with the best held-out loss."""
    networks = torch.arange(learner.recipe.networks, device=DEVICE)
    models = _tensor(learner, question.parameters).expand(len(networks), learner.functional.size).clone()
    own = learner.personal.began if question.kind == "alone" else learner.personal.parameters
    adam, own_adam = Adam.begin(models), Adam.begin(own)
    lost = _held_losses(learner, models, own)
    found = (models, own, lost)
    every = max(1, question.steps // _CHECKS)
    for step in range(question.steps):
        _, by_model, by_own = learner.slopes(models, networks, step, own)
        rate = cosine(question.rate, step, question.steps)
        models, own = adam.step(models, by_model, rate), own_adam.step(own, by_own, rate)
        if (step + 1) % every == 0 or step + 1 == question.steps:
            lost = _held_losses(learner, models, own)
            if _mean(lost) < _mean(found[2]):
                found = (models, own, lost)
    models, learner.personal.kept[question.kind], lost = found
    if question.kind == "alone":
        learner.lost_alone = lost
    return TrainAloneAnswer(_array(models[-1]), np.array([_mean(lost)]))


def train_locally(learner: Learner, question: TrainLocally) -> TrainLocallyAnswer:
    """Train a model and the personal parameters on the client's rows by a rule."""
    start = torch.cat([_tensor(learner, question.parameters)[None], learner.personal.parameters[:1]], dim=1)
    end, loss = rule_of(question.rule).train(learner, start, question.step)
    learner.personal.parameters = end[:, learner.functional.size :].clone()
    model = _array(end[0, : learner.functional.size])
    if question.weight != 1:
        model = model.astype(np.float64) * question.weight
    return TrainLocallyAnswer(model, np.array([loss * question.weight]))


def _mean(lost: tuple[Tensor, ...]) -> float:
    return float(torch.cat(lost).double().mean())


def _held_losses(learner: Learner, models: Tensor, own: Tensor) -> tuple[Tensor, ...]:
    """Return the losses of each network's model (K, D) on every row that it holds out."""
    with torch.no_grad():
        return tuple(
            learner.rows_lost(models[number : number + 1], number, rows, own)[0]
            for number, rows in enumerate(learner.held)
            if rows.size
        )


def search_front(learner: Learner, question: SearchFront) -> SearchFrontAnswer:
    """Search on a front by the client's own losses: no row, and no loss of a row, leaves the client."""
    faces = question.faces > 0
    count, clients = faces.shape
    trials = NeuralTrials(
        learner=learner,
        network=Hypernetwork.of(question.network),
        parameters=_tensor(learner, question.parameters),
        counts=_tensor(learner, question.counts),
        target=np.full(count, question.own),
        alone=question.alone,
        rows=learner.held,
        lost_alone=None if np.isnan(question.alone) else learner.lost_alone,
    )
    search = Search.of(question.search)
    nowhere = np.zeros(count)
    if question.task == "errors":
        sides = [trials.outcomes(at, nowhere) for at in (question.start, question.other)]
        nothing = np.zeros((count, clients)), np.zeros((3, count, clients)), np.zeros((3, count))
        return SearchFrontAnswer(*nothing, nowhere, trials.standard_error(*sides))
    sets, tolerance = np.zeros((count, clients)), nowhere
    if question.task == "choose":
        choices = search.collaborators(trials, faces, question.strength)
        sets, tolerance = choices.sets.astype(np.float64), choices.tolerance
        points = [choices.chosen, choices.best, choices.alone]
    elif question.task == "best":
        points = [search.best(trials, faces, question.strength)] * 3
    else:
        start = Points(question.start, nowhere, trials.losses(question.start, nowhere))
        points = [search.confined(trials, start, faces, question.strength)] * 3
    weights, losses = np.stack([each.weights for each in points]), np.stack([each.losses for each in points])
    return SearchFrontAnswer(sets, weights, losses, tolerance, nowhere)


def evaluate_models(learner: Learner, question: EvaluateModels) -> Evaluation:
    """Return how well models (M, D) do on the rows that are kept for it, and their gains over the first."""
    rows, scale = learner.judging, learner.target_scale
    if not rows.size:
        raise InputError(f"client {learner.owner!r} has no rows to judge with; keep some, or give rows to test with")
    target = scale.as_given(_array(learner.targets[rows].double()))
    predictions = [
        scale.predictions(learner.outputs(head, model, rows))
        for head, model in zip(question.heads, _tensor(learner, question.parameters), strict=True)
    ]
    return evaluate_predictions(METRICS[question.metric], target, predictions, learner.recipe.seed, learner.owner)


def _tensor(learner: Learner, array: Any) -> Tensor:
    return torch.as_tensor(array, dtype=learner.dtype, device=DEVICE)


def _array(tensor: Tensor) -> Any:
    return tensor.cpu().numpy()
