"""Training one hypernetwork for all weights at once, through a federation (paper, Section 4.2.1).

For shares c of the N clients on the simplex, the hypernetwork H gives a model H(c) whose loss Σ c_i l_i(H(c)) is to be
small, l_i being client i's mean loss and c drawn at random: one training serves every client's search and every face of
the simplex. There are two ways to train:

- *exact*: the server sends models H(c), clients return gradients by the model, and the server takes the step; the
  steps are those of training in one place;
- *averaging* (`local_steps`): each client takes several steps on H for its own part of the objective, and the server
  steps along the mean of the clients' changes. With one local step it is the same as exact training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from comity.core.arrays import Floats, Tensors
from comity.core.progress import TrainingProgress
from comity.errors import InputError, NotFiniteError, TrainingError
from comity.families.network.adam import Adam, cosine
from comity.families.network.hypernetworks import Hypernetwork, HypernetworkFront, pull_back
from comity.families.network.training import Training
from comity.federation import Federation
from comity.questions import Gradients, HeldLosses, LocalSteps, Recipe
from comity.search.scalarisers import SCALARISERS

if TYPE_CHECKING:
    from comity.families.network.checkpoint import Checkpoint

_MIN_CLIENTS_IN_HIDDEN_SUM = 2


@dataclass(eq=False)
class State:
    """The state of a training: everything needed to continue it after an interruption.

    `origin` says where it began: a digest of the initial parameters, and what else must be the same to continue it.
    """

    parameters: Tensor
    adam: Adam
    best: Tensor
    best_step: int = 0
    best_loss: float = float("inf")
    step: int = 0
    checks: list[tuple[int, float]] = field(default_factory=list)
    origin: str = ""

    def stalled(self, patience: int) -> bool:
        """Return whether the last `patience` checks brought no improvement; with a patience of 0, always False."""
        return 0 < patience <= sum(step > self.best_step for step, _ in self.checks)


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains a hypernetwork for a federation whose clients train models of `size` parameters by a `recipe`."""

    federation: Federation
    recipe: Recipe
    settings: Training
    size: int

    @cached_property
    def network(self) -> Hypernetwork:
        """The hypernetwork."""
        return self.settings.network(len(self.federation.clients), self.size)

    def begin(self, base: Tensor) -> State:
        """Return the state before training: all networks give the model `base` (D,)."""
        if self.recipe.personal and self.settings.scalariser != "linear":
            raise InputError(
                f"personal parameters are trained by shares, and the scalariser {self.settings.scalariser!r} weighs "
                "clients otherwise; take the scalariser 'linear', or no personal parameters"
            )
        dtype = torch.float64 if self.recipe.double else torch.float32
        start = torch.stack([self.network.initial(base.to(dtype), self.settings.seed)] * self.recipe.networks)
        origin = hashlib.sha256(start.numpy().tobytes()).hexdigest()
        return State(start, Adam.begin(start), start.clone(), origin=origin)

    def step(self, state: State, progress: TrainingProgress | None = None) -> Iterator[State]:
        """Train from a state to the end, and yield it after every check, when it may be saved to resume from."""
        settings = self.settings
        every = max(1, settings.steps // settings.checks)
        if not state.step and not state.checks:
            self._check(state, back_to=0)
        while state.step < settings.steps and not state.stalled(settings.patience):
            gradients, loss = self._averaged(state) if settings.local_steps else self._exact(state)
            rate = cosine(settings.rate, state.step, settings.steps)
            state.adam.move(state.parameters, gradients, rate)
            state.step += 1
            if progress is not None:
                progress(state.step, settings.steps, loss)
            if state.step % every == 0 or state.step == settings.steps:
                self._check(state)
                yield state

    def finish(self, state: State) -> HypernetworkFront:
        """Return the front at the best check, and set the clients' personal parameters back to that check."""
        if self.recipe.personal:
            self._ask_held(state.best, self._fixed_rays()[:1], state.step + 1, state.best_step)
        return HypernetworkFront(self.network, state.best.numpy(), state.best_step, tuple(state.checks))

    def _exact(self, state: State) -> tuple[Sequence[Tensor], float]:
        """Return the gradients (K, …) of the objective by the hypernetwork's parts, and its value."""
        settings, network = self.settings, self.network
        clients = self.federation.clients
        rays = settings.rays.draw(len(clients), settings.per_step, settings.seed, state.step)
        parts = [part.requires_grad_() for part in network.parts(state.parameters.detach())]
        models = network.of_parts(parts, torch.as_tensor(rays, dtype=parts[0].dtype))
        count, sent = len(models), models.detach().numpy()
        places = {number: np.flatnonzero(rays[:, number]) for number in np.flatnonzero(rays.any(axis=0)).tolist()}
        answers = self.federation.ask(
            {
                clients[number]: Gradients(
                    recipe=self.recipe,
                    parameters=np.ascontiguousarray(sent[:, here].reshape(count * here.size, -1)),
                    networks=np.repeat(np.arange(count, dtype=np.float64), here.size),
                    shares=np.tile(rays[here, number], count) / settings.per_step,
                    step=state.step,
                    rate=cosine(settings.rate, state.step, settings.steps),
                )
                for number, here in places.items()
            }
        )
        losses, slopes = np.zeros((count, *rays.shape)), {}
        for number, here in places.items():
            answer = answers[clients[number]]
            _check_finite(clients[number], state.step, answer.losses, answer.gradients)
            losses[:, here, number] = answer.losses.reshape(count, -1)
            slopes[number] = torch.as_tensor(answer.gradients).reshape(count, here.size, -1)
        coefficients = self._coefficients(rays, losses, slopes, places)
        pull = torch.zeros_like(models)
        for number, here in places.items():
            share = torch.as_tensor(coefficients[:, here, number], dtype=models.dtype) / settings.per_step
            pull[:, here] += share[..., None] * slopes[number]
        return pull_back(models, parts, pull), float((losses * rays).sum(axis=2).mean())

    def _coefficients(
        self, rays: Floats, losses: Floats, slopes: dict[int, Tensor], places: dict[int, np.ndarray]
    ) -> Floats:
        """Return how much each client's gradient counts (K, R, N)."""
        if self.settings.scalariser == "linear":
            return np.broadcast_to(rays, losses.shape)
        scalariser = SCALARISERS[self.settings.scalariser]
        found = np.zeros_like(losses)
        for network in range(len(losses)):
            for ray in range(len(rays)):
                here = np.flatnonzero(rays[ray])
                place = {client: int(np.searchsorted(places[client], ray)) for client in here.tolist()}
                rows = torch.stack([slopes[client][network, position] for client, position in place.items()])
                gram = (rows @ rows.T).double().numpy()
                found[network, ray, here] = scalariser.coefficients(rays[ray, here], losses[network, ray, here], gram)
        return found

    def _averaged(self, state: State) -> tuple[Sequence[Tensor], float]:
        """Return the clients' mean change (K, P) for each local step, as a list of one part, and the objective."""
        settings, clients = self.settings, self.federation.clients
        steps = range(state.step * settings.local_steps, (state.step + 1) * settings.local_steps)
        rays = np.stack([settings.rays.draw(len(clients), settings.per_step, settings.seed, step) for step in steps])
        asked = {
            client: LocalSteps(
                recipe=self.recipe,
                network=self.network,
                parameters=state.parameters.numpy(),
                rays=rays,
                own=own,
                step=state.step,
                rate=settings.local_rate,
            )
            for own, client in enumerate(clients)
            if self.federation.hides_terms or rays[:, :, own].any()
        }
        if self.federation.hides_terms and rays.any(axis=(0, 1)).sum() < _MIN_CLIENTS_IN_HIDDEN_SUM:
            raise InputError(
                f"all rays of step {state.step} are on one client, so the sum would reveal its term; take more rays a "
                "step, or more local steps"
            )
        try:
            total = self.federation.total(asked)
        except NotFiniteError as error:
            raise _not_a_number(error.client, state.step) from None
        change = torch.as_tensor(total.change) / (len(clients) * settings.local_steps)
        return [change], float(total.objective[0])

    def _check(self, state: State, back_to: int = -1) -> None:
        """Compute the held-out loss, and keep the parameters if it is the smallest so far.

        It is the mean over clients of the loss on each client's best ray: a client does not choose a model that mixes
        it with clients unlike it, so the mean over rays would not matter to it. With a scalariser other than the linear
        one, it is the mean over rays of the largest weighted loss.
        """
        rays = self._fixed_rays()
        losses = self._ask_held(state.parameters, rays, state.step, back_to)
        best = losses.min(axis=0) if self.settings.scalariser == "linear" else (rays * losses[:-1]).max(axis=1)
        loss = float(best.mean())
        state.checks.append((state.step, loss))
        if loss < state.best_loss:
            state.best, state.best_step, state.best_loss = state.parameters.clone(), state.step, loss

    def _ask_held(self, parameters: Tensor, rays: Floats, step: int, back_to: int) -> Floats:
        """Return the clients' held-out losses (R + 1, N), with models of some rays (R, N) and with their own.

        A client's own model is that of the ray on which all of the weight is the client's.
        """
        folds, clients = self.recipe.folds, self.federation.clients
        with torch.no_grad():
            models = self.network(parameters[:folds], torch.as_tensor(rays, dtype=parameters.dtype)).numpy()
            own = self.network(parameters[:folds], torch.eye(len(clients), dtype=parameters.dtype)).numpy()
        answers = self.federation.ask(
            {
                client: HeldLosses(
                    recipe=self.recipe,
                    parameters=np.concatenate([models, own[:, [place]]], axis=1).reshape(-1, self.size),
                    networks=np.repeat(np.arange(folds, dtype=np.float64), len(rays) + 1),
                    step=step,
                    back_to=back_to,
                )
                for place, client in enumerate(clients)
            }
        )
        for client, answer in answers.items():
            _check_finite(client, step, answer.losses)
        return np.stack([answers[client].losses.reshape(folds, -1).mean(axis=0) for client in clients], axis=1)

    def _fixed_rays(self) -> Floats:
        """Return the rays of every check (R, N): equal shares, and some rays that are drawn once."""
        count, settings = len(self.federation.clients), self.settings
        drawn = settings.rays.draw(count, settings.check_rays, settings.seed, 2**31)
        return np.concatenate([np.full((1, count), 1 / count), drawn])


def _check_finite(client: str, step: int, *arrays: Tensors) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise _not_a_number(client, step)


def _not_a_number(client: str, step: int) -> TrainingError:
    return TrainingError(
        f"the loss of client {client!r} is not a number at step {step}; take a smaller rate, or look for values in its "
        "rows that are too large"
    )


def train(
    federation: Federation,
    recipe: Recipe,
    base: Tensor,
    settings: Training,
    progress: TrainingProgress | None = None,
    checkpoint: Checkpoint | None = None,
    rows: str = "",
) -> HypernetworkFront:
    """Train a hypernetwork whose models are all `base` (D,) before the first step.

    With a checkpoint, the training continues from there if it was saved with the same `rows`, a description of the
    clients' rows, and is saved there at intervals.
    """
    trainer = Trainer(federation, recipe, settings, len(base))
    state = trainer.begin(base)
    state.origin += rows
    if checkpoint is not None:
        state = checkpoint.load(trainer, state)
    for saved in trainer.step(state, progress):
        if checkpoint is not None:
            checkpoint.save(trainer, saved)
    return trainer.finish(state)
