"""The front of neural networks: one hypernetwork, trained for all weights at once (paper, Section 4.2.1).

For shares c of the clients on the simplex, the hypernetwork H gives a model whose loss Σ c_i l_i(H(c)) is to be small,
for c drawn at random: one training serves every client's search and every face of the simplex. Two ways lead there:

- *exact*: the server sends models H(c), clients return gradients by the model, and the server takes the step; it is
  training in one place, told apart;
- *averaging* (`local_steps`): clients take several steps on H by themselves, each on its own part of the objective, and
  the server steps along the mean of where they went. With one local step it is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from comity.errors import InputError, NotFiniteError, TrainingError
from comity.federation import Federation
from comity.neural.adam import Adam, cosine
from comity.neural.hypernetworks import Hypernetwork, Parametrisation
from comity.neural.pulling import pull_back
from comity.neural.rays import Rays
from comity.neural.recipe import Recipe
from comity.questions import Gradients, HeldLosses, LocalSteps, Tensors
from comity.scalarisers import SCALARISERS
from comity.simplex import Floats

_FEWEST_HIDDEN = 2  # clients with a part in a sum whose terms are hidden

Tell = Callable[[int, int, float], None]


@dataclass(frozen=True, slots=True)
class Training:
    """How a hypernetwork is trained.

    `kind`, `width`, `depth` and `rank` are those of the `Hypernetwork`; `scalariser` weighs the clients' gradients;
    `per_step` rays are drawn a step; `rate` falls along a cosine over the `steps`. In `checks` of them, evenly, the
    losses on rows held out are looked at, on `check_rays` that are drawn once, and the best parameters kept; after
    `patience` checks without progress the training ends (0: never). With `local_steps`, clients take so many steps by
    themselves, at `local_rate`. Models that a client trains alone begin at `rate_alone` and take `steps_alone` (0:
    as many as the front), and those that it tunes further begin at a tenth of it.
    """

    kind: Parametrisation = "residual"
    width: int = 64
    depth: int = 2
    rank: int = 16
    scalariser: str = "linear"
    rays: Rays = field(default_factory=Rays)
    per_step: int = 8
    steps: int = 800
    rate: float = 5e-3
    checks: int = 20
    check_rays: int = 48
    patience: int = 0
    local_steps: int = 0
    local_rate: float = 1e-3
    rate_alone: float = 1e-2
    steps_alone: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scalariser not in SCALARISERS:
            raise InputError(f"there is no scalariser {self.scalariser!r}; there are {', '.join(SCALARISERS)}")
        if self.local_steps and self.scalariser != "linear":
            raise InputError(
                f"the scalariser {self.scalariser!r} needs every client's gradient, which local steps do not give; "
                "take exact gradients (no local steps) or the scalariser 'linear'"
            )
        for name in ("per_step", "steps", "checks"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        for name in ("patience", "local_steps", "check_rays", "steps_alone"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 0 or more")
        for name in ("rate", "local_rate", "rate_alone"):
            if not getattr(self, name) > 0:
                raise InputError(f"the {name} is {getattr(self, name)}; it must be positive")

    def network(self, clients: int, size: int) -> Hypernetwork:
        """Return the hypernetwork for so many clients and parameters."""
        return Hypernetwork(clients, size, self.kind, self.width, self.depth, self.rank)


@dataclass(frozen=True, eq=False)
class HypernetworkFront:
    """A trained front: the hypernetwork, its parameters (K, P), the step they are of, and the losses at the checks."""

    network: Hypernetwork
    parameters: Tensors
    step: int
    checks: tuple[tuple[int, float], ...]

    def models(self, shares: Floats) -> Tensors:
        """Return the models (R, D) for shares of the clients (R, N), by the network that was trained on most rows."""
        return np.asarray(self.models_of_all(shares)[-1])

    def models_of_all(self, shares: Floats) -> Tensors:
        """Return the models (K, R, D) of every network for shares of the clients (R, N)."""
        parameters = torch.as_tensor(self.parameters)
        with torch.no_grad():
            models: Tensors = self.network(parameters, torch.as_tensor(shares, dtype=parameters.dtype)).numpy()
        return models


@dataclass(eq=False)
class State:
    """Where a training stands: all that it takes to go on as if nothing had happened."""

    parameters: Tensor
    adam: Adam
    best: Tensor
    best_step: int = 0
    best_loss: float = float("inf")
    step: int = 0
    checks: list[tuple[int, float]] = field(default_factory=list)
    origin: str = ""

    @classmethod
    def begin(cls, parameters: Tensor) -> State:
        """Return the state before the first step; `origin` tells by a digest what it began as."""
        origin = hashlib.sha256(parameters.numpy().tobytes()).hexdigest()
        return cls(parameters, Adam.begin(parameters), parameters.clone(), origin=origin)

    def stalled(self, patience: int) -> bool:
        """Tell whether there was no progress for so many checks (0: that is never told)."""
        return 0 < patience <= sum(step > self.best_step for step, _ in self.checks)


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains a hypernetwork for the clients of a federation, who train by a `recipe` models of `size` parameters."""

    federation: Federation
    recipe: Recipe
    settings: Training
    size: int

    @cached_property
    def _told(self) -> str:
        return self.recipe.to_json()

    @cached_property
    def network(self) -> Hypernetwork:
        """The hypernetwork."""
        return self.settings.network(len(self.federation.clients), self.size)

    def begin(self, base: Tensor) -> State:
        """Return where a training begins: all networks with the model `base` (D,)."""
        if self.recipe.personal and self.settings.scalariser != "linear":
            raise InputError(
                f"personal parameters are trained by shares, and the scalariser {self.settings.scalariser!r} weighs "
                "clients otherwise; take the scalariser 'linear', or no personal parameters"
            )
        dtype = torch.float64 if self.recipe.double else torch.float32
        start = [self.network.initial(base.to(dtype), self.settings.seed)] * self.recipe.networks
        return State.begin(torch.stack(start))

    def go_on(self, state: State, tell: Tell | None = None) -> Iterator[State]:
        """Train from a state to the end, yielding it after every check: it may be kept, and gone on from."""
        settings = self.settings
        every = max(1, settings.steps // settings.checks)
        if not state.step and not state.checks:
            self._check(state, back_to=0)
        while state.step < settings.steps and not state.stalled(settings.patience):
            gradients, loss = self._averaged(state) if settings.local_steps else self._exact(state)
            rate = cosine(settings.rate, state.step, settings.steps)
            state.adam.move(state.parameters, gradients, rate)
            state.step += 1
            if tell is not None:
                tell(state.step, settings.steps, loss)
            if state.step % every == 0 or state.step == settings.steps:
                self._check(state)
                yield state

    def finish(self, state: State) -> HypernetworkFront:
        """Return the best front that was met, with what was personal to clients then."""
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
        count = len(models)
        sent = models.detach().numpy()
        asked, places = {}, {}
        for number, client in enumerate(clients):
            here = np.flatnonzero(rays[:, number])
            if here.size:
                places[number] = here
                asked[client] = Gradients(
                    recipe=self._told,
                    parameters=np.ascontiguousarray(sent[:, here].reshape(count * here.size, -1)),
                    networks=np.repeat(np.arange(count, dtype=np.float64), here.size),
                    shares=np.tile(rays[here, number], count) / settings.per_step,
                    step=state.step,
                    rate=cosine(settings.rate, state.step, settings.steps),
                )
        answers = self.federation.ask(asked)
        losses = np.zeros((count, *rays.shape))
        slopes = {}
        for number, here in places.items():
            answer = answers[clients[number]]
            self._check_finite(clients[number], state.step, answer.losses, answer.gradients)
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
                at = {i: int(np.searchsorted(places[i], ray)) for i in here.tolist()}
                rows = torch.stack([slopes[i][network, place] for i, place in at.items()])
                gram = (rows @ rows.T).double().numpy()
                found[network, ray, here] = scalariser.coefficients(rays[ray, here], losses[network, ray, here], gram)
        return found

    def _averaged(self, state: State) -> tuple[Sequence[Tensor], float]:
        """Return the mean way (K, P) that clients went themselves, in units of a step (one part), and the objective."""
        settings = self.settings
        clients = self.federation.clients
        steps = range(state.step * settings.local_steps, (state.step + 1) * settings.local_steps)
        rays = np.stack([settings.rays.draw(len(clients), settings.per_step, settings.seed, step) for step in steps])
        asked = {
            client: LocalSteps(
                recipe=self._told,
                network=self.network.to_json(),
                parameters=state.parameters.numpy(),
                rays=rays,
                own=own,
                step=state.step,
                rate=settings.local_rate,
            )
            for own, client in enumerate(clients)
            if self.federation.hides_terms or rays[:, :, own].any()
        }
        if self.federation.hides_terms and rays.any(axis=(0, 1)).sum() < _FEWEST_HIDDEN:
            raise InputError(
                f"all rays of step {state.step} are on one client, whose term the sum would be; take more rays a step, "
                "or more local steps"
            )
        try:
            total = self.federation.total(asked)
        except NotFiniteError as error:
            raise _not_a_number(error.client, state.step) from None
        gone = torch.as_tensor(total.change) / (len(clients) * settings.local_steps)
        return [gone], float(total.objective[0])

    def _check(self, state: State, back_to: int = -1) -> None:
        """Look at what clients lose on rows held out, and keep the parameters if that is the least so far.

        What counts for a client is the best ray, not the mean: nobody takes a model that mixes those who do not go
        together. With another scalariser than the linear one, it is the greatest of the weighted losses on each ray.
        """
        rays = self._fixed_rays()
        losses = self._ask_held(state.parameters, rays, state.step, back_to)
        plain = self.settings.scalariser == "linear"
        loss = float((losses.min(axis=0) if plain else (rays * losses[:-1]).max(axis=1)).mean())
        state.checks.append((state.step, loss))
        if loss < state.best_loss:
            state.best, state.best_step, state.best_loss = state.parameters.clone(), state.step, loss

    def _ask_held(self, parameters: Tensor, rays: Floats, step: int, back_to: int) -> Floats:
        """Return what clients lose (R + 1, N) on rows held out, with models of some rays (R, N) and with their own.

        A client's own model is that of the ray on which nobody else is.
        """
        folds, clients = self.recipe.folds, self.federation.clients
        with torch.no_grad():
            models = self.network(parameters[:folds], torch.as_tensor(rays, dtype=parameters.dtype)).numpy()
            own = self.network(parameters[:folds], torch.eye(len(clients), dtype=parameters.dtype)).numpy()
        answers = self.federation.ask(
            {
                client: HeldLosses(
                    recipe=self._told,
                    parameters=np.concatenate([models, own[:, place : place + 1]], axis=1).reshape(
                        -1, models.shape[-1]
                    ),
                    networks=np.repeat(np.arange(folds, dtype=np.float64), len(rays) + 1),
                    step=step,
                    back_to=back_to,
                )
                for place, client in enumerate(clients)
            }
        )
        for client, answer in answers.items():
            self._check_finite(client, step, answer.losses)
        return np.stack([answers[client].losses.reshape(folds, -1).mean(axis=0) for client in clients], axis=1)

    def _fixed_rays(self) -> Floats:
        """Return the rays of a check (R, N): all together, and some drawn once."""
        count, settings = len(self.federation.clients), self.settings
        drawn = settings.rays.draw(count, settings.check_rays, settings.seed, 2**31)
        return np.concatenate([np.full((1, count), 1 / count), drawn])

    @staticmethod
    def _check_finite(client: str, step: int, *arrays: Tensors) -> None:
        if not all(np.isfinite(each).all() for each in arrays):
            raise _not_a_number(client, step)


def _not_a_number(client: str, step: int) -> TrainingError:
    return TrainingError(
        f"the loss of client {client!r} is not a number at step {step}; take a smaller rate, or look for values in its "
        "rows that are too large"
    )


def train(
    federation: Federation, recipe: Recipe, base: Tensor, settings: Training, tell: Tell | None = None
) -> HypernetworkFront:
    """Train a hypernetwork from a first model `base` (D,), which all of it begins as."""
    trainer = Trainer(federation, recipe, settings, len(base))
    state = trainer.begin(base)
    for _ in trainer.go_on(state, tell):
        pass
    return trainer.finish(state)
