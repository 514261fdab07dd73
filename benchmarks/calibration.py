"""Whether probabilities are right: of those told nine in ten, nine in ten gain."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from benchmarks.federations import Solved, in_parallel
from benchmarks.hierarchies import Setting
from benchmarks.measure import show
from comity.core.arrays import Booleans, Floats
from comity.core.kinds import ModelKind
from comity.core.tasks import Task

FEDERATIONS = 320
KINDS = ("groups", "near", "unrelated", "identical")
TASKS: tuple[Task, ...] = ("regression", "classes")
BINS = ((0.5, 0.7), (0.7, 0.9), (0.9, 1.001))
_MOST_EDGES = 60  # of a federation, drawn at random


@dataclass(frozen=True, eq=False)
class Told:
    """Probabilities that were told, and whether it was so: of clients that they gain, of edges that they bring."""

    clients: Floats
    gained: Booleans
    edges: Floats
    brought: Booleans


def draw(seed: int) -> Setting:
    """Return a setting at random: 2 to 100 clients, numbers or classes, of one of the kinds by turns."""
    rng = np.random.default_rng([seed, 77])
    return setting(KINDS[seed % len(KINDS)], TASKS[seed // len(KINDS) % len(TASKS)], rng)


def setting(kind: str, task: Task, rng: np.random.Generator) -> Setting:
    clients = round(float(np.exp(rng.uniform(np.log(2), np.log(100)))))
    columns = int(rng.integers(3, 13))
    rows = int(columns * np.exp(rng.uniform(np.log(2.5), np.log(12)))) * (3 if task == "classes" else 1)
    groups = {"groups": min(int(rng.integers(2, 6)), clients), "unrelated": clients}.get(kind, 1)
    apart = {"groups": rng.uniform(0.0, 0.3), "near": rng.uniform(0.2, 0.5)}.get(kind, 0.0)
    return Setting(kind, clients, rows, columns, groups, apart, task, 2.0 if task == "classes" else 1.0)


def ask(seed: int) -> Told:
    solved = Solved.of(draw(seed).draw(seed))
    decision, lender = solved.decision, solved.findings.fit.lender()
    alone, coalition = solved.losses(ModelKind.ALONE), solved.losses(ModelKind.COALITION)
    joined = solved.joined
    rng = np.random.default_rng(seed)
    shown = [each for each in decision.contributions if each.probability >= BINS[0][0]]
    some = [shown[at] for at in rng.permutation(len(shown))[:_MOST_EDGES]]
    place = {client: at for at, client in enumerate(decision.clients)}
    brought = []
    for each in some:
        i, j = place[each.receiver], place[each.giver]
        members = decision.sets[i].copy()
        members[j] = False
        if members.sum() == 1:
            without = lender.final[i, 0]
        else:
            row = sparse.csr_array(members[None].astype(np.float64))
            without = lender.personal(np.array([i]), row, decision.by[[i]])[0]
        brought.append(solved.true_losses(without[None], [i])[0] > coalition[i])
    return Told(
        clients=decision.probabilities[ModelKind.COALITION][joined],
        gained=(coalition < alone)[joined],
        edges=np.array([each.probability for each in some]),
        brought=np.array(brought, np.bool_),
    )


def main() -> None:
    every = in_parallel(ask, range(FEDERATIONS))
    print(f"\n{FEDERATIONS} planted federations: the probability told, and the share of which it was true")
    rows = []
    for name, told, true in (("clients gain", "clients", "gained"), ("edges bring something", "edges", "brought")):
        probabilities = np.concatenate([getattr(each, told) for each in every])
        outcomes = np.concatenate([getattr(each, true) for each in every])
        for low, high in BINS:
            here = (probabilities >= low) & (probabilities < high)
            if here.any():
                mean, share = probabilities[here].mean(), outcomes[here].mean()
                label = f"{low:.1f} to {min(high, 1):.1f}"
                rows.append([name, label, f"{here.sum():,}", f"{mean:.3f}", f"{share:.3f}", f"{share - mean:+.3f}"])
    show(["of", "told", "how many", "mean told", "share true", "difference"], rows)
