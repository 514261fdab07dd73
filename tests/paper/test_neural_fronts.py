"""The neural front on the paper's synthetic data, where groups are the truth and the exact front finds them."""

import numpy as np
import torch

from comity.deciding.decision import decide
from comity.families.network.rays import Rays
from comity.families.network.searcher import ClientSearcher
from comity.families.network.trainer import train
from comity.families.network.training import Training
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import Recipe, TrainAlone
from comity.research.datasets.synthetic import TARGET, two_groups
from comity.search.collaborators import Search
from comity.study import Study

GROUPS = {frozenset("012"), frozenset("345")}


def test_linear_modules_find_the_groups_as_the_exact_front_does() -> None:
    """More settings and seeds, and the exact front beside it: ``python -m benchmarks neural``."""
    dim, rows, spread, seed = 50, 60, 0.05, 1
    federation = InProcess(two_groups(seed, dim, rows, spread, noise=1.0).clients())
    problem = state_problem(federation, Study(TARGET))
    recipe = Recipe(schema=problem.schema, depth=0, loss="squared", folds=5, seed=seed, judged=False)
    base = torch.zeros(dim + 1)
    settings = Training(steps=400, per_step=16, rate=2e-2, rays=Rays(sparse=0.9), seed=seed)
    trained = train(federation, recipe, base, settings)
    alone = federation.ask(TrainAlone(recipe, "alone", base.numpy(), 200, 1e-2))
    searching = ClientSearcher(
        federation=federation,
        recipe=recipe,
        network=trained.network,
        parameters=trained.parameters,
        counts=np.ones(6),
        alone=np.array([alone[client].loss[0] for client in federation.clients]),
        search=Search(strengths=(0.0,)),
    )
    assert set(decide(searching, federation.clients).equilibrium.coalitions) == GROUPS
