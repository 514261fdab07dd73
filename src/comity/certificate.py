"""The proof that a partition is a collaboration equilibrium, or the reason why it is not.

The paper's axioms speak of every subset, 2^N of them. Maximal utilities never fall when a coalition grows, and that
makes a short proof enough; `docs/theory.md` has it in full.

*Outer.* Order the clients so that each gains nothing from all who come with or after it: U(i, R) ≤ U(i, C). Whatever
rival coalition is proposed, the member that comes first in this order gains nothing by it. Peels are such an order, a
coalition at a time.

*Inner.* Draw an edge j → i in a coalition C wherever leaving j out costs i: U(i, C∖{j}) < U(i, C). A part of C that
loses nothing holds, with each client, all it has an edge from. If C is strongly connected there is no such part. If
it is not (ties), the part leaves out some component that nobody else has an edge from; send away whoever
loses without that component, again and again: nobody is left, or those who are left are the part.

So N + |E| inequalities prove a partition without ties, and a few more decide one with ties. This module knows nothing
of how partitions are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from comity.axioms import NOTHING, Table, Utility, Witness, find_witness
from comity.core import Coalition, Game, InputError, check_coalition, check_finite, check_names, shown, unknown_client
from comity.proof import InnerInequality, OuterInequality, Values, check_inner, check_outer


class Verdict(StrEnum):
    """What the certificate says of the partition."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@runtime_checkable
class Partitioned(Protocol):
    """Something that has coalitions and knows what each client wants in its own: an `Equilibrium`, for example."""

    @property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The coalitions."""

    def collaborators_of(self, client: str) -> Coalition:
        """Return the collaborators of a client in its coalition."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was checked of a partition, with every margin, and the verdict.

    `order` is an order in which whole coalitions can leave, as far as there is one. `by_peels` says that all of them
    can and that each is held together by edges, which is more than the axioms ask: when its turn comes, nobody who
    remains has anything to offer to any member. `notes` say in words what could not be shown.
    """

    coalitions: tuple[Coalition, ...]
    verdict: Verdict
    outer: tuple[OuterInequality, ...]
    inner: tuple[InnerInequality, ...]
    witnesses: tuple[Witness, ...]
    order: tuple[Coalition, ...]
    by_peels: bool
    notes: tuple[str, ...]
    tolerance: float
    forgiven: Mapping[str, float]
    evaluations: int
    exhaustive: bool

    @property
    def proved(self) -> bool:
        """Whether the partition is proved to be an equilibrium."""
        return self.verdict is Verdict.PROVED

    def __str__(self) -> str:
        counted = f"{len(self.outer)} outer and {len(self.inner)} inner inequalities"
        tried = ", and every subset tried" if self.exhaustive else ""
        if self.verdict is Verdict.REFUTED:
            return f"refuted: {self.witnesses[0]}"
        if self.verdict is Verdict.UNDECIDED:
            return f"undecided: {self.notes[0]}"
        smallest = min((inequality.margin for inequality in self.inner), default=None)
        cost = "" if smallest is None else f"; losing a collaborator costs at least {smallest:.6g}"
        gains = "gains significantly" if any(self.forgiven.values()) else "gains"
        return f"proved: nobody {gains} by leaving ({counted} hold{tried}){cost}"

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, for JSON; sets are sorted."""
        return {
            "verdict": str(self.verdict),
            "by_peels": self.by_peels,
            "exhaustive": self.exhaustive,
            "tolerance": self.tolerance,
            "forgiven": dict(self.forgiven),
            "evaluations": self.evaluations,
            "order": [sorted(coalition) for coalition in self.order],
            "outer": [
                {"client": o.client, "among": sorted(o.among), "utility": o.utility, "best": o.best, "margin": o.margin}
                for o in self.outer
            ],
            "inner": [
                {
                    "client": i.client,
                    "without": sorted(i.without),
                    "utility": i.utility,
                    "reduced": i.reduced,
                    "margin": i.margin,
                }
                for i in self.inner
            ],
            "witnesses": [
                {"axiom": w.axiom, "members": list(w.members), "now": dict(w.now), "then": dict(w.then)}
                for w in self.witnesses
            ],
            "notes": list(self.notes),
        }


def certify(
    partition: Partitioned | Iterable[Iterable[str]],
    utility: Utility | Game,
    *,
    tolerance: float = 0.0,
    forgiven: Mapping[str, float] = NOTHING,
    exhaustive: bool = False,
) -> Certificate:
    """Prove that a partition is a collaboration equilibrium, or refute it with a witness.

    `utility` is ``utility(client, coalition)``, the maximal utility that the client can achieve with the coalition, or
    a `Game`. Differences up to `tolerance` count as none. Where utilities are estimates, `forgiven` may say how much a
    client's gain must exceed to be one at all, some standard errors for example; losses are not forgiven.
    `exhaustive` also tries every subset (at most 12 clients).

    The verdict is *proved*; *refuted*, with a witness that has been checked by definition; or *undecided*, if `utility`
    turns out not to be maximal (more clients made a utility smaller), since then nothing follows from a few values.

    An `Equilibrium` brings the edges to check; for a bare partition every pair inside a coalition is tried.

    >>> game = Game.from_records([
    ...     ("a", ["a"], 0.6), ("a", ["a", "b"], 0.8),
    ...     ("b", ["b"], 0.7), ("b", ["a", "b"], 0.9),
    ...     ("c", ["c"], 0.5), ("c", ["a", "c"], 0.6),
    ... ])
    >>> print(certify([["a", "b"], ["c"]], game))
    proved: nobody gains by leaving (3 outer and 2 inner inequalities hold); losing a collaborator costs at least 0.2
    >>> print(certify([["a"], ["b"], ["c"]], game))
    refuted: {a, b} would all gain as a coalition of their own (a 0.6 → 0.8, b 0.7 → 0.9)
    """
    if check_finite(tolerance, "the tolerance") < 0:
        raise InputError(f"the tolerance is {tolerance}; it must be 0 or more")
    if not isinstance(utility, Game) and not callable(utility):
        raise InputError(f"the utility must be a Game or a function of client and coalition, not {shown(utility)}")
    for client, amount in forgiven.items():
        if check_finite(amount, f"what is forgiven {shown(client)}") < 0:
            raise InputError(f"what is forgiven {shown(client)} is {amount}; it must be 0 or more")
    claimed, given = (
        (partition.collaborators_of, partition.coalitions) if isinstance(partition, Partitioned) else (None, partition)
    )
    coalitions = check_partition(given, utility if isinstance(utility, Game) else None)
    clients = check_names(i for coalition in coalitions for i in coalition)
    if isinstance(utility, Game):
        utility = utility.maximal_utility
    notes: list[str] = []
    table = None
    if exhaustive:
        table = Table(clients, utility)
        utility = table
        if table.raised:
            notes.append(f"the utility is not maximal ({table.raised}); the largest over all subsets was taken")

    values = Values(utility, {i: frozenset(home) for home in coalitions for i in home}, tolerance, forgiven)
    outer, order, rival = check_outer(coalitions, values)
    inner, deserters, tied = check_inner(coalitions, values, claimed)
    notes += tied
    whole = len(order) == len(coalitions)
    if not whole and not rival:
        notes.append("there is no order of whole coalitions; the proof sends clients away one at a time")
    found = {(witness.axiom, witness.members): witness for witness in (*deserters, rival) if witness}
    witnesses = list(found.values())
    if table is not None:
        tried = find_witness(coalitions, table, tolerance, forgiven)
        witnesses = [tried] if tried else []
    if values.contradiction:
        verdict, witnesses = Verdict.UNDECIDED, []
        notes.insert(0, f"the utility is not maximal: {values.contradiction}; nothing follows from a few values of it")
    else:
        verdict = Verdict.REFUTED if witnesses else Verdict.PROVED
    for witness in witnesses:
        if not witness.holds(coalitions, utility, tolerance, forgiven):
            raise InputError(f"the utility gives different values when asked twice; it must be a function ({witness})")
    return Certificate(
        coalitions=tuple(map(frozenset, coalitions)),
        verdict=verdict,
        outer=outer,
        inner=inner,
        witnesses=tuple(witnesses),
        order=order,
        by_peels=verdict is Verdict.PROVED and whole and all(len(i.without) == 1 for i in inner),
        notes=tuple(notes),
        tolerance=float(tolerance),
        forgiven=dict(forgiven),
        evaluations=values.count if table is None else int((~np.isnan(table.values)).sum()),
        exhaustive=exhaustive,
    )


def check_partition(partition: object, game: Game | None = None) -> list[tuple[str, ...]]:
    """Return the coalitions of a partition with their members in order, having checked that it is one.

    With a `game`, it must be a partition of the game's clients.
    """
    if isinstance(partition, str | Mapping) or not isinstance(partition, Iterable):
        raise InputError(f"a partition is a list of coalitions, each a list of clients, not {shown(partition)}")
    coalitions: list[tuple[str, ...]] = []
    for number, members in enumerate(partition, start=1):
        ordered = tuple(members) if isinstance(members, list | tuple) else members
        found = check_coalition(ordered, f"coalition {number}")
        if not found:
            raise InputError(f"coalition {number} is empty; leave it out")
        coalitions.append(tuple(dict.fromkeys(ordered)) if isinstance(ordered, tuple) else tuple(sorted(found)))
    if not coalitions:
        raise InputError("the partition has no coalition; give at least one")
    home = {i: number for number, coalition in enumerate(coalitions) for i in coalition}
    for number, coalition in enumerate(coalitions):
        for i in coalition:
            if home[i] != number:
                raise InputError(f"client {shown(i)} is in two coalitions; a partition has every client in one")
    if game is not None:
        for i in home.keys() - frozenset(game.clients):
            raise unknown_client(i, game.clients)
        for i in game.clients:
            if i not in home:
                raise InputError(f"client {shown(i)} is in no coalition; a partition has every client in one")
    return coalitions
