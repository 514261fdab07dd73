"""Table 3: CIFAR-10, ten clients with two classes each."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from comity.client.examples import DatasetClient
from comity.core.progress import Progress
from comity.families.family import Request
from comity.families.network.fit import NetworkFit, Setup
from comity.families.network.rays import Rays
from comity.families.network.training import Training
from comity.questions import Evaluation
from comity.research.baselines import Budget
from comity.research.baselines.session import personal_pattern
from comity.research.datasets import cifar10
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.methods import BaselineRun
from comity.research.experiments.task import FederationTask
from comity.solving.findings import Findings, find
from comity.solving.modules import module_setup
from comity.study import Study

_PADDING = 4
_PIXEL_MEAN, _PIXEL_SPREAD = 120.0, 64.0


class Preparation(nn.Module):
    """Scales images of bytes; in training, it also shifts a batch by up to four pixels and mirrors half of it."""

    def forward(self, images: Tensor) -> Tensor:
        """Return the images (n, 3, 32, 32) as scaled numbers."""
        numbers = (images.to(torch.float32) - _PIXEL_MEAN) / _PIXEL_SPREAD
        if self.training:
            size = numbers.shape[-1]
            down, right = torch.randint(0, 2 * _PADDING + 1, (2,), device=numbers.device).tolist()
            padded = functional.pad(numbers, (_PADDING,) * 4)
            numbers = padded[:, :, down : down + size, right : right + size]
            mirrored = torch.rand(len(numbers), 1, 1, 1, device=numbers.device) < 0.5
            numbers = torch.where(mirrored, numbers.flip(3), numbers)
        return numbers.contiguous(memory_format=torch.channels_last)


def lenet(seed: int) -> nn.Module:
    """Return the experiment's network: convolutions of 16 and 32 filters of 5 × 5, and layers of 120, 84 and 10."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return nn.Sequential(
            Preparation(), nn.Conv2d(3, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
            nn.Linear(84, 10),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class ModuleTask(FederationTask[DatasetClient]):
    """Clients with training and test examples, and the module that all methods train.

    comity's models have a personal head, as in FedPer; `training` has the settings of their front. `rows` is a digest
    of the examples.
    """

    training: Training
    batch: int
    rows: str

    @property
    def _module(self) -> nn.Module:
        return self.clients[0].module

    @cached_property
    def _setup(self) -> Setup:
        head = personal_pattern(self._module, "head")
        setup = module_setup(
            self.federation, self.study, self._module, personal=head, batch=self.batch, training=self.training
        )
        return replace(setup, recipe=replace(setup.recipe, judged=False))

    def _solve(self, progress: Progress) -> tuple[Findings, Mapping[str, Evaluation]]:
        request = Request(self.federation, self.study, progress)
        findings = find(request, self._setup.problem, NetworkFit(request, self._setup))
        return findings, findings.evaluated.evaluations


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> ModuleTask:
    """Return the task of a seed, which draws the clients' classes and images, and the initial network."""
    settings, front = experiment.settings, dict(experiment.settings["front"])
    network, digest, members = lenet(seed), hashlib.sha256(), []
    for client in cifar10.clients(cifar10.load(directory), seed, held_out=0.0):
        for examples in (client.train, client.test):
            digest.update(examples.images.tobytes())
            digest.update(examples.labels.tobytes())
        train, test = (tuple(map(torch.as_tensor, examples)) for examples in (client.train, client.test))
        members.append(DatasetClient(client.name, train, network, test=test))
    steps, fine_tune = settings["rounds"] * settings["steps"], front.pop("fine_tune")
    rays = Rays(sparse=front.pop("sparse"))
    return ModuleTask(
        clients=tuple(members),
        study=Study("target", model="module", metric="accuracy", steps=steps, fine_tune=fine_tune, seed=seed),
        training=Training(rays=rays, per_step=1, steps=steps, seed=seed, **front),
        batch=settings["batch"],
        budget=Budget(settings["rounds"], settings["steps"], checks=settings["checks"]),
        baselines=BaselineRun(tuple(settings["rates"]), settings["refit"], settings["methods"]),
        rows=digest.hexdigest(),
    )
