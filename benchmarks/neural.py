"""Whether the front of hypernetworks leads to the same coalitions as the exact one (docs/benchmarks.md)."""

import time

import numpy as np
import torch

from benchmarks.federations import Asked
from benchmarks.measure import show
from comity.core.names import Coalition
from comity.deciding.decision import decide
from comity.families.glm.searcher import FrontSearcher
from comity.families.network.rays import Rays
from comity.families.network.searcher import ClientSearcher
from comity.families.network.trainer import train
from comity.families.network.training import Training
from comity.questions import Recipe, TrainAlone
from comity.research.datasets.synthetic import Synthetic, two_groups
from comity.search.collaborators import Search
from comity.study import Study

SEEDS = 10
# dim, rows, spread, noise: where two groups are the truth
SETTINGS = ((100, 75, 0.05, 1.0), (100, 75, 0.1, 1.0), (50, 60, 0.05, 1.0))
FOLDS = 5
STEPS, PER_STEP, RATE, SPARSE = 400, 16, 2e-2, 0.9
STEPS_ALONE, RATE_ALONE = 200, 1e-2


def by_exact_front(drawn: Synthetic) -> set[Coalition]:
    asked = Asked.of(drawn)
    return set(
        decide(
            FrontSearcher(asked.front(), Study("y").search_settings()), asked.federation.clients
        ).equilibrium.coalitions
    )


def by_neural_front(drawn: Synthetic, seed: int) -> set[Coalition]:
    """Return the coalitions by a hypernetwork of linear modules, trained through the federation."""
    asked = Asked.of(drawn)
    federation = asked.federation
    recipe = Recipe(
        schema=asked.schema, depth=0, loss="squared", folds=FOLDS, seed=seed, judged=False
    )  # fmt: skip
    base = torch.zeros(len(asked.schema.features) + 1)
    settings = Training(steps=STEPS, per_step=PER_STEP, rate=RATE, rays=Rays(sparse=SPARSE), seed=seed)
    trained = train(federation, recipe, base, settings)
    alone = federation.ask(TrainAlone(recipe, "alone", base.numpy(), STEPS_ALONE, RATE_ALONE))
    searching = ClientSearcher(
        federation=federation,
        recipe=recipe,
        network=trained.network,
        parameters=trained.parameters,
        counts=np.array([len(y) for _, y in drawn.rows], np.float64),
        alone=np.array([alone[client].loss[0] for client in federation.clients]),
        search=Search(strengths=(0.0,)),
    )
    return set(decide(searching, federation.clients).equilibrium.coalitions)


def main() -> None:
    torch.set_num_threads(1)
    print(
        "\nThe paper's six clients, linear modules: how often the neural front gives the exact coalitions, and "
        f"CPU a seed\n({STEPS} steps of {PER_STEP} rays at rate {RATE}, {SPARSE:.0%} of them on a few clients; "
        f"{FOLDS} folds)"
    )
    rows = []
    for dim, count, spread, noise in SETTINGS:
        same, spent = 0, 0.0
        for seed in range(SEEDS):
            drawn = two_groups(seed, dim, count, spread, noise)
            exact = by_exact_front(drawn)
            start = time.process_time()
            same += by_neural_front(drawn, seed) == exact
            spent += time.process_time() - start
        rows.append([f"{dim}", f"{count}", f"{spread}", f"{noise}", f"{same}/{SEEDS}", f"{spent / SEEDS:.1f} s"])
    show(["dim", "rows", "ρ", "σ", "same coalitions", "CPU"], rows)
