"""Collaboration equilibrium: peel stable coalitions until nobody remains (paper, Algorithm 1)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from comity.core.names import Coalition, check_coalition, check_names, shown, unknown_client
from comity.errors import InputError, UnknownClientError
from comity.game.components import closed_components, components, layers
from comity.game.game import Game
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium, Peel, Wishes

Collaborators = Callable[[str, Coalition], Iterable[str]]
CollaboratorsOfMany = Callable[[tuple[str, ...], Coalition], Mapping[str, Iterable[str]]]
Settle = Callable[[Coalition], Mapping[str, Coalition]]


def find_equilibrium(
    clients: BenefitGraph | Game | Mapping[str, Iterable[str]] | Iterable[str],
    collaborators_of: Collaborators | None = None,
    *,
    collaborators_of_many: CollaboratorsOfMany | None = None,
) -> Equilibrium:
    """Find the coalitions that nobody wants to leave, by peeling stable coalitions (paper, Section 4.1, Algorithm 1).

    1. Each remaining client names its collaborators among the remaining clients; this is the benefit graph.
    2. The strongly connected components of the graph whose members want no other client are stable, and leave
       (Theorem 1).
    3. The remaining clients that lost a collaborator are asked again; the others would give the same answer, because
       their maximum over the smaller set is attained by the same collaborators. Repeat until no client remains.

    A `BenefitGraph` is fixed: a client that lost collaborators keeps the others. One pass for the components and one
    for their order then give all peels, in time proportional to clients plus edges. A `Game` answers for its clients,
    and settles ties so that both axioms hold. Otherwise a function answers for the clients.

    Args:
        clients: A `BenefitGraph`, or a mapping of each client to its collaborators; a `Game`; or the clients' names, if
            a function names the collaborators.
        collaborators_of: A function ``collaborators_of(client, remaining)`` that returns the best collaborators of a
            client among the remaining clients. The client itself may be left out.
        collaborators_of_many: A function ``collaborators_of_many(clients, remaining)`` that returns the collaborators
            of each of some clients, as a mapping. It is called once a peel; use it instead of `collaborators_of` where
            it is cheaper to answer for many clients at once.

    Returns:
        The coalitions, with the peels that produced them.

    Raises:
        InputError: If the arguments do not fit together, or a function returns no collection of clients.
        UnknownClientError: If a function names a client that is unknown or has left.

    Example:
        >>> find_equilibrium(BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]}))
        Equilibrium({a, b}, {c})

        After {a, b} has left, d is asked again and names e:

        >>> wishes = {"a": "b", "b": "a", "d": "ae", "e": "d"}
        >>> find_equilibrium(["a", "b", "d", "e"], lambda client, remaining: remaining & set(wishes[client]))
        Equilibrium({a, b}, {d, e})
    """
    if collaborators_of_many is not None:
        if collaborators_of is not None:
            raise InputError("give either collaborators_of or collaborators_of_many, not both")
        if isinstance(clients, BenefitGraph | Game | Mapping):
            raise InputError("collaborators_of_many needs the names of clients, not a graph or a game")
        return _ask_and_peel(check_names(clients), collaborators_of_many, None)
    if isinstance(clients, Mapping) and collaborators_of is None:
        clients = BenefitGraph(clients)
    if isinstance(clients, BenefitGraph | Game) and collaborators_of is not None:
        kind = type(clients).__name__
        raise InputError(
            f"a {kind} has collaborators already; give either it, or clients and collaborators_of, not both"
        )
    if isinstance(clients, BenefitGraph):
        return _peel_fixed(clients)
    if isinstance(clients, Game):
        return _ask_and_peel(clients.clients, _one_by_one(clients.collaborators_of), clients.settle)
    if not callable(collaborators_of):
        raise InputError(
            "find_equilibrium needs a BenefitGraph, a Game, or clients and collaborators_of(client, remaining)"
        )
    return _ask_and_peel(check_names(clients), _one_by_one(collaborators_of), None)


def replay_peels(document: Mapping[str, Any]) -> Equilibrium:
    """Peel again by the wishes in a document of ``Equilibrium.to_dict``, and check that the same coalitions result.

    This reads equilibria that were found by asking a function, which have an answer wherever a collaborator was lost.

    >>> wishes = {"a": ["b"], "b": ["a"], "c": ["a"]}
    >>> found = find_equilibrium(wishes, lambda client, remaining: [i for i in wishes[client] if i in remaining])
    >>> replay_peels(found.to_dict()) == found
    True
    """
    wishes: dict[int, Mapping[str, Iterable[str]]] = {}
    remaining = len(document["clients"])
    for peel in document["peels"]:
        wishes[remaining] = peel["wishes"]  # the number of remaining clients identifies the peel
        remaining -= sum(len(left) for left in peel["left"])

    def answer(asked: tuple[str, ...], remaining: Coalition) -> dict[str, Iterable[str]]:
        return {client: wishes.get(len(remaining), {}).get(client, ()) for client in asked}

    found = find_equilibrium(document["clients"], collaborators_of_many=answer)
    if found.to_dict() != dict(document):
        raise InputError("the coalitions are not those that follow from the wishes")
    return found


def stable_coalitions(graph: BenefitGraph) -> tuple[Coalition, ...]:
    """Return the stable coalitions of a benefit graph: the first peel (paper, Definition 3).

    They are the strongly connected components that no edge enters from outside (Theorem 1).

    Args:
        graph: The benefit graph.

    Returns:
        The stable coalitions, in the order of their first clients.

    Raises:
        InputError: If `graph` is not a `BenefitGraph`.

    Example:
        >>> stable_coalitions(BenefitGraph({"a": ["b"], "b": ["a"], "c": ["a"]})) == ({"a", "b"},)
        True
    """
    if not isinstance(graph, BenefitGraph):
        raise InputError(f"stable coalitions are those of a BenefitGraph, not of {shown(graph)}")
    return Peel(_peel_fixed(graph), 0).stable


def _peel_fixed(graph: BenefitGraph) -> Equilibrium:
    """Peel a fixed graph.

    When a component leaves, the others stay components; therefore the layers of the components are the peels.
    """
    wants = graph.wants
    count, labels = components(wants)
    layer = layers(wants, count, labels)
    first = np.empty(count, np.intp)
    positions = np.arange(len(graph))
    first[labels[::-1]] = positions[::-1]  # of equal labels the last assignment stays: the first client
    order = np.lexsort((first, layer))
    number = np.empty(count, np.int32)
    number[order] = np.arange(count)
    wishes = Wishes(positions, np.zeros(len(graph), np.int32), wants)
    return Equilibrium(graph.clients, number[labels], layer[order], wishes)


def _one_by_one(collaborators_of: Collaborators) -> CollaboratorsOfMany:
    return lambda asked, remaining: {client: collaborators_of(client, remaining) for client in asked}


def _ask_and_peel(clients: tuple[str, ...], oracle: CollaboratorsOfMany, settle: Settle | None) -> Equilibrium:
    """Peel with an oracle, asking again only the clients that lost a collaborator."""
    remaining = set(clients)
    position = {client: index for index, client in enumerate(clients)}
    wishes: dict[str, Coalition] = {}
    wanted_by: dict[str, set[str]] = {client: set() for client in clients}
    entries: list[tuple[int, str, Coalition]] = []
    numbers = np.empty(len(clients), np.int32)
    peel_of: list[int] = []
    settle = settle or (lambda coalition: {client: wishes[client] for client in coalition})
    asked = clients
    for peel in range(len(clients)):
        present = frozenset(remaining)
        named = oracle(asked, present) if asked else {}
        for client in asked:
            if client not in named:
                raise InputError(
                    f"collaborators_of_many returned no collaborators for {shown(client)}; return some for every client"
                )
        answers = {client: _check_answer(client, named[client], present, position) for client in asked}
        wishes.update(answers)
        # A coalition that was not stable before has a member that was asked again: the search starts from those.
        parts = map(settle, closed_components(answers, wishes))
        stable = sorted(parts, key=lambda part: min(position[client] for client in part))
        answers |= {i: wanted for part in stable for i, wanted in part.items() if wanted != wishes[i]}
        wishes.update(answers)
        for client, wanted in answers.items():
            entries.append((peel, client, wanted))
            for other in wanted:
                wanted_by[other].add(client)
        for part in stable:
            numbers[[position[client] for client in part]] = len(peel_of)
            peel_of.append(peel)
        gone = frozenset().union(*stable)
        remaining -= gone
        if not remaining:
            break
        lost = {i for j in gone for i in wanted_by[j] if i in remaining and j in wishes[i]}
        asked = tuple(sorted(lost, key=position.__getitem__))
    return Equilibrium(clients, numbers, np.array(peel_of, np.int32), _make_wishes(entries, position))


def _check_answer(client: str, answer: Iterable[str], remaining: Coalition, clients: Mapping[str, int]) -> Coalition:
    """Check the collaborators that an oracle named for a client, and return them together with the client."""
    whose = f"the collaborators of {shown(client)}, as given by collaborators_of"
    wanted = check_coalition(answer, whose)
    for other in sorted(wanted - remaining):
        if other in clients:
            raise UnknownClientError(f"{whose}: {shown(other)} has left already; name only members of remaining")
        raise unknown_client(other, sorted(remaining), whose)
    return wanted | {client}


def _make_wishes(entries: Sequence[tuple[int, str, Coalition]], position: Mapping[str, int]) -> Wishes:
    """Put answers (peel, client, collaborators) into arrays."""
    cells = [(row, position[other]) for row, (_, client, wanted) in enumerate(entries) for other in wanted - {client}]
    rows, columns = np.array(cells, np.int32).reshape(-1, 2).T
    shape = (len(entries), len(position))
    matrix = coo_array((np.ones(len(cells), np.bool_), (rows, columns)), shape=shape).tocsr()
    asker = np.array([position[client] for _, client, _ in entries], np.int32)
    return Wishes(asker, np.array([peel for peel, _, _ in entries], np.int32), matrix)
