"""Cost of a hypernetwork's front: the graph of the paper's six clients, and a step relative to federated averaging."""

import time

import numpy as np
import torch
from torch import nn

from benchmarks.measure import in_fresh_process, peak_memory, show
from comity.client.examples import DatasetClient
from comity.deciding.decision import decide
from comity.families.network.modules import Functional
from comity.families.network.rays import Rays
from comity.families.network.searcher import ClientSearcher
from comity.families.network.trainer import Trainer, train
from comity.families.network.training import Training
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import Gradients, Recipe, TrainAlone
from comity.questions.networks import Parametrisation
from comity.research.datasets.synthetic import TARGET, two_groups
from comity.search.collaborators import Search
from comity.study import Study

CLIENTS = (5, 10, 50)
STEPS = 60


def graph() -> None:
    """Print the CPU seconds of training, of models alone and of the search for the paper's six clients."""
    torch.set_num_threads(1)
    federation = InProcess(two_groups(0, 20, 2_000, 0.1, 0.01).clients())
    began = time.process_time()
    problem = state_problem(federation, Study(TARGET))
    recipe = Recipe(schema=problem.schema, depth=0, loss="squared", judged=False, batch=256)
    front = train(federation, recipe, torch.zeros(21), Training(steps=200, per_step=4, rate=1e-2, checks=5))
    trained = time.process_time()
    start = np.zeros(21, np.float32)
    alone = federation.ask(TrainAlone(recipe, "alone", start, 150, 2e-2))
    alone_done = time.process_time()
    searching = ClientSearcher(
        federation, recipe, front.network, front.parameters,
        np.array([*problem.rows.values()], np.float64),
        np.array([each.loss[0] for each in alone.values()]), Search(strengths=(0.0,)),
    )  # fmt: skip
    found = decide(searching, federation.clients).equilibrium
    ended = time.process_time()
    print(trained - began, alone_done - trained, ended - alone_done, ended - began, len(found.coalitions))


def module() -> nn.Module:
    """Return a network for small images, with about 62,000 parameters."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(32 * 25, 60), nn.ReLU(), nn.Linear(60, 10),
    )  # fmt: skip


def steps(clients: int, kind: Parametrisation) -> None:
    """Print the CPU milliseconds of a step of plain averaging and of two hypernetworks, and the peak memory in GiB.

    One hypernetwork has rays on all clients, so that a step asks as many clients as plain averaging; the other has the
    default rays, on a few.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = module()
    members = [
        DatasetClient(f"c{number}", (torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))), network)
        for number in range(clients)
    ]
    federation = InProcess(tuple(members))
    recipe = Recipe(loss="cross-entropy", batch=32)
    base, _ = Functional.of(network).initial()
    every = Rays(sparse=0.0, most=clients)
    trainings = [Training(kind=kind, per_step=1, rays=rays, steps=STEPS, checks=1) for rays in (every, Rays())]
    trainers = [Trainer(federation, recipe, each, len(base)) for each in trainings]
    states = [each.begin(base) for each in trainers]
    plain: list[float] = []
    ours: tuple[list[float], list[float]] = [], []
    model = base.numpy()
    for step in range(STEPS):  # in turn, so that other work on the machine slows all alike
        began = time.process_time()
        model = averaged(federation, recipe, model, step)
        plain.append(time.process_time() - began)
        for trainer, state, taken in zip(trainers, states, ours, strict=True):
            began = time.process_time()
            gradients, _ = trainer._exact(state)
            state.adam.move(state.parameters, gradients, trainer.settings.rate)
            state.step += 1
            taken.append(time.process_time() - began)
    means = [1e3 * np.mean(each) for each in (plain, *ours)]
    print(*means, peak_memory(), len(base), trainers[0].network.parameters)


def averaged(federation: InProcess, recipe: Recipe, model: np.ndarray, step: int) -> np.ndarray:
    """Return a model after a step along the average of the clients' gradients."""
    one = np.ones(1)
    answers = federation.ask(Gradients(recipe, model[None], one - 1, one, step, 0.01))
    return np.asarray(model - 0.01 * np.mean([answer.gradients[0] for answer in answers.values()], axis=0))


def main() -> None:
    print("\nThe paper's six clients (2,000 rows × 20 columns) by hypernetwork, one thread: CPU")
    training, alone, search, whole, coalitions = in_fresh_process("from benchmarks.hypernetwork import *; graph()")
    show(
        ["training the front", "models alone", "search and equilibrium", "in all", "coalitions"],
        [[*(f"{float(each):.2f} s" for each in (training, alone, search, whole)), coalitions]],
    )
    print(
        "\nA step of exact gradients with one ray, relative to plain averaging of the same network: CPU on one thread"
    )
    rows = []
    for kind in ("residual", "lowrank"):
        for clients in CLIENTS:
            call = f"from benchmarks.hypernetwork import *; steps({clients}, '{kind}')"
            plain, every, few, memory, size, front = map(float, in_fresh_process(call))
            rows.append(
                [kind, str(clients), f"{size:,.0f}", f"{front:,.0f}", f"{plain:.1f} ms", f"{every:.1f} ms",
                 f"{every / plain:.2f}", f"{few:.1f} ms", f"{few / plain:.2f}", f"{memory:.2f} GiB"]
            )  # fmt: skip
    heads = ["front", "clients", "parameters", "of the front", "averaging", "rays on everybody", "ratio"]
    show([*heads, "rays on a few", "ratio", "peak memory"], rows)
