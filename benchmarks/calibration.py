"""Whether probabilities are right: of those told nine in ten, nine in ten gain."""

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
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
_PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "calibration.svg"
_MIN_SHOWN = 20  # probabilities in a dot of the picture


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


@dataclass(frozen=True)
class Share:
    """Of `count` probabilities, `mean` on average, a `share` was true, give or take an `error`."""

    count: int
    mean: float
    share: float
    error: float

    @property
    def cells(self) -> list[str]:
        numbers = f"{self.mean:.3f}", f"{self.share:.3f}", f"{self.share - self.mean:+.3f}"
        return [f"{self.count:,}", *numbers]


def shares(told: list[Floats], true: list[Booleans], bins: tuple[tuple[float, float], ...]) -> dict[float, Share]:
    """Return for each bin, by its lower end, how often it was true; errors count federations, not clients."""
    probabilities, outcomes = np.concatenate(told), np.concatenate(true)
    federation = np.repeat(np.arange(len(told)), [len(each) for each in told])
    found = {}
    for low, high in bins:
        here = (probabilities >= low) & (probabilities < high)
        if here.any():
            share = outcomes[here].mean()
            off = np.bincount(federation[here], outcomes[here] - share)
            error = float(np.sqrt((off**2).sum()) / here.sum())
            found[low] = Share(int(here.sum()), float(probabilities[here].mean()), float(share), error)
    return found


def draw_picture(every: dict[str, tuple[list[Floats], list[Booleans]]]) -> None:
    """Draw the share that was true by the probability told, with intervals of 95 %."""
    narrow = tuple((0.5 + step / 20, 0.5 + (step + 1) / 20 + (step == 9) / 1000) for step in range(10))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "comity"}):
        figure = Figure((5.2, 4.4), layout="constrained")
        axes = figure.subplots()
        axes.plot([0.5, 1], [0.5, 1], color="#888", linewidth=1)
        for (name, (told, true)), marker, colour in zip(every.items(), "os", ("#1b6ca8", "#c2571a"), strict=True):
            dots = [each for each in shares(told, true, narrow).values() if each.count >= _MIN_SHOWN]
            x, y, error = (np.array([getattr(each, which) for each in dots]) for which in ("mean", "share", "error"))
            axes.errorbar(x, y, 1.96 * error, fmt=marker, color=colour, label=name, markersize=5, linewidth=1)
        axes.set(xlabel="probability told", ylabel="share that was true", xlim=(0.49, 1.01), ylim=(0.3, 1.03))
        axes.legend(frameon=False, loc="lower right")
        figure.savefig(_PICTURE, metadata={"Date": None})


def main() -> None:
    found = in_parallel(ask, range(FEDERATIONS))
    every = {
        "clients gain": ([each.clients for each in found], [each.gained for each in found]),
        "edges bring something": ([each.edges for each in found], [each.brought for each in found]),
    }
    print(f"\n{FEDERATIONS} planted federations: the probability told, and the share of which it was true")
    ends = {low: f"{low:.1f} to {min(high, 1):.1f}" for low, high in BINS}
    rows = [[name, ends[low], *each.cells] for name, of in every.items() for low, each in shares(*of, BINS).items()]
    show(["of", "told", "how many", "mean told", "share true", "difference"], rows)
    draw_picture(every)
