"""Time to find equilibria of fixed graphs, relative to one pass of scipy and to networkx."""

from functools import partial

import networkx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from benchmarks.measure import best_of, in_fresh_process, show
from comity import BenefitGraph, Game, certify, find_equilibrium

SIZES = (10**4, 10**5, 10**6)
EDGES_A_CLIENT = 10


def random_graph(clients: int, edges: int) -> BenefitGraph:
    """Every edge joins two random clients: nearly all are in one coalition, the hardest case for the components."""
    ends = np.random.default_rng(0).integers(0, clients, (2, edges))
    return BenefitGraph.from_edges(map(str, range(clients)), *ends)


def layered_graph(clients: int, edges: int) -> BenefitGraph:
    """Every edge goes from a lower to a higher client: no coalition has two members, hardest for the order."""
    ends = np.random.default_rng(0).integers(0, clients, (2, edges))
    return BenefitGraph.from_edges(map(str, range(clients)), ends.min(axis=0), ends.max(axis=0))


def chain(clients: int, edges: int = 0) -> BenefitGraph:
    """Each client wants the one before it, so that there are as many peels as clients."""
    return BenefitGraph.from_edges(map(str, range(clients)), np.arange(clients - 1), np.arange(1, clients))


def by_networkx(graph: networkx.DiGraph) -> list[list[set[str]]]:
    """Return the coalitions of every peel, computed with networkx."""
    condensed = networkx.condensation(graph)
    return [
        [condensed.nodes[component]["members"] for component in peel]
        for peel in networkx.topological_generations(condensed)
    ]


def main() -> None:
    growth()
    against_networkx()
    games()


def growth() -> None:
    print("\nGrowth, and the ratio to one pass of scipy for the components of the same graph")
    rows = []
    for name, make in (("random", random_graph), ("layered", layered_graph), ("chain", chain)):
        before = 0.0
        for clients in SIZES:
            graph = make(clients, EDGES_A_CLIENT * clients)
            ones = np.ones(graph.edge_count)  # the type that scipy needs, so that it does not convert
            matrix = csr_array((ones, graph.wants.indices, graph.wants.indptr), shape=graph.wants.shape)
            scipy_pass = best_of(partial(connected_components, matrix, connection="strong"))
            found = best_of(partial(find_equilibrium, graph))
            equilibrium = find_equilibrium(graph)
            sets = best_of(partial(getattr, equilibrium, "coalitions"), times=1)
            memory = in_fresh_process(
                "from benchmarks.equilibrium import *; from benchmarks.measure import peak_memory\n"
                f"find_equilibrium({make.__name__}({clients}, {EDGES_A_CLIENT * clients})); print(peak_memory())"
            )[0]
            rows.append(
                [
                    name, f"{clients:,}", f"{graph.edge_count:,}", f"{len(equilibrium.peels):,}",
                    f"{scipy_pass:.4f} s", f"{found:.4f} s", f"{found / scipy_pass:.2f}",
                    f"{found / before:.1f}" if before else "", f"{sets:.3f} s", f"{float(memory):.2f} GiB",
                ]
            )  # fmt: skip
            before = found
    show(
        ["graph", "clients", "edges", "peels", "scipy pass", "find_equilibrium", "ratio", "× for 10 × clients",
         "coalitions as sets", "peak memory"],
        rows,
    )  # fmt: skip


def against_networkx() -> None:
    print("\nAgainst networkx (condensation and topological generations), 100,000 clients and a million edges")
    rows = []
    for name, make in (("random", random_graph), ("layered", layered_graph)):
        graph = make(10**5, 10**6)
        drawn = graph.to_networkx()
        peels = by_networkx(drawn)
        theirs = best_of(partial(by_networkx, drawn), times=2)
        ours = best_of(partial(find_equilibrium, graph))
        with_sets = best_of(lambda graph=graph: find_equilibrium(graph).coalitions)  # type: ignore[misc]
        found = find_equilibrium(graph)
        assert [{frozenset(c) for c in peel} for peel in peels] == [set(peel.stable) for peel in found.peels]
        rows.append([name, f"{theirs:.2f} s", f"{ours:.4f} s", f"{theirs / ours:.0f} ×", f"{theirs / with_sets:.0f} ×"])
    show(["graph", "networkx", "find_equilibrium", "faster", "faster, with coalitions as sets"], rows)


def games() -> None:
    print("\nGames: a ring in which every client does best with the one before it")
    rows = []
    for clients in (50, 100, 200, 400):
        names = [str(number) for number in range(clients)]
        alone = [(name, [name], 0.0) for name in names]
        game = Game(alone + [(i, [i, names[place - 1]], 1.0) for place, i in enumerate(names)])
        found = find_equilibrium(game)
        rows.append(
            [f"{clients}", f"{best_of(partial(find_equilibrium, game)):.3f} s"]
            + [f"{best_of(partial(certify, what, game), times=1):.3f} s" for what in (found, [[i] for i in names])]
        )
    show(["clients", "find_equilibrium", "certify: proved", "certify: all alone is refuted"], rows)
