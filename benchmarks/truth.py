"""Whether the truth is found on the paper's synthetic data, where every subset was tried (docs/benchmarks.md)."""

import time

from benchmarks.federations import Asked
from benchmarks.measure import show
from comity.deciding.decision import decide
from comity.families.glm.searcher import FrontSearcher
from comity.research.datasets.synthetic import two_groups
from comity.study import Study

GROUPS = [{"0", "1", "2"}, {"3", "4", "5"}]
SINGLETONS = [{str(number)} for number in range(6)]
# dim, rows, spread, noise; what the truth is, and how many seeds
SETTINGS = (
    (100, 75, 0.05, 1.0, GROUPS, 20),
    (100, 75, 0.1, 1.0, GROUPS, 20),
    (50, 60, 0.05, 1.0, GROUPS, 20),
    (20, 2000, 0.1, 0.01, SINGLETONS, 20),
    (20, 20000, 1.0, 0.01, SINGLETONS, 5),
)


def main() -> None:
    print("\nThe paper's six clients: how often just the true coalitions are found, and CPU for graph and equilibrium")
    search = Study("y").search_settings()
    rows = []
    for dim, count, spread, noise, truth, seeds in SETTINGS:
        right, asking, deciding = 0, 0.0, 0.0
        for seed in range(seeds):
            drawn = two_groups(seed, dim, count, spread, noise)
            start = time.process_time()
            asked = Asked.of(drawn)
            front = asked.front()
            middle = time.process_time()
            decision = decide(FrontSearcher(front, search), asked.federation.clients)
            asking, deciding = asking + middle - start, deciding + time.process_time() - middle
            right += sorted(map(sorted, decision.equilibrium.coalitions)) == [sorted(c) for c in truth]
        name = "two groups" if truth is GROUPS else "singletons"
        rows.append(
            [f"{dim}", f"{count:,}", f"{spread}", f"{noise}", name, f"{right}/{seeds}", f"{asking / seeds:.2f} s",
             f"{deciding / seeds:.2f} s"]
        )  # fmt: skip
    show(["dim", "rows", "ρ", "σ", "truth", "found", "CPU: asking", "CPU: graph and equilibrium"], rows)
