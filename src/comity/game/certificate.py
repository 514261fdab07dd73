"""The proof that a partition is a collaboration equilibrium, or a witness that it is not.

The paper's axioms (Section 3.2) speak about every subset of the clients, 2^N of them. A maximal utility U(i, C) never
falls when the coalition C grows, and therefore a few inequalities suffice; `docs/theory.md` proves this.

*Outer agreement* (Axiom 2), in `comity.game.proof.check_outer`:

1. Find an order of the clients in which each gains nothing from itself and all later clients R: U(i, R) ≤ U(i, C).
2. If there is one, the axiom holds: of any rival coalition, the member that is first in this order gains nothing. The
   peels of an equilibrium are such an order.
3. If there is none, the clients that are left over would all gain together: they are a rival coalition.

*Inner agreement* (Axiom 1), in `comity.game.proof.check_inner`, for each coalition C:

1. Draw an edge j → i wherever leaving j out costs i: U(i, C∖{j}) < U(i, C).
2. If C is strongly connected by these edges, the axiom holds: a part of C that loses nothing contains, with each
   client, all clients that it has an edge from, and so all of C.
3. If it is not (there are ties), a part that loses nothing lacks some component from which no edge leads out. For each
   such component, take the other clients and send away those that lose, until none does. If any are left, they are a
   part that can leave.

Without ties this takes N + |E| inequalities. This module shares no code with the solver that finds partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from comity.core.names import Coalition, check_coalition, check_names, shown, unknown_client
from comity.core.numbers import check_finite
from comity.errors import InputError
from comity.game.axioms import NOTHING_FORGIVEN, Utility, UtilityTable, Witness, find_witness
from comity.game.game import Game
from comity.game.proof import InnerInequality, OuterInequality, Values, check_inner, check_outer


class Verdict(StrEnum):
    """What a certificate concludes about a partition.

    Attributes:
        PROVED: Both axioms hold: the partition is a collaboration equilibrium.
        REFUTED: A witness breaks an axiom.
        UNDECIDED: The utility is not maximal, so that a few values of it decide nothing.

    Example:
        >>> Verdict("proved") is Verdict.PROVED
        True
    """

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@runtime_checkable
class Partition(Protocol):
    """Coalitions together with the collaborators of each client, for example an `Equilibrium`."""

    @property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The coalitions."""

    def collaborators_of(self, client: str) -> Coalition:
        """Return the collaborators of a client in its coalition."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The inequalities that were checked for a partition, each with its margin, and the verdict.

    Attributes:
        coalitions: The partition.
        verdict: The conclusion.
        outer: The inequalities for outer agreement, one for each client that gains nothing from later ones.
        inner: The inequalities for inner agreement, one for each collaborator whose loss costs a client.
        witnesses: The sets that break an axiom; empty unless the partition is refuted.
        order: An order in which whole coalitions can leave one after the other, as far as there is one.
        by_peels: Whether all coalitions can leave in `order` and each is strongly connected. This is more than the
            axioms demand: when a coalition leaves, no remaining client has anything to offer to any of its members.
        notes: Remarks on ties and on what could not be shown.
        tolerance: Differences of up to this much did not count.
        forgiven: For each client, a gain of up to this much did not count.
        evaluations: The number of utilities that were asked for.
        exhaustive: Whether every subset was tried.

    Example:
        >>> from comity import Game, certify
        >>> game = Game([("a", ["a"], 1), ("a", ["a", "b"], 2), ("b", ["b"], 1), ("b", ["a", "b"], 3)])
        >>> certificate = certify([["a", "b"]], game)
        >>> certificate.proved
        True
        >>> [(inequality.client, inequality.margin) for inequality in certificate.inner]
        [('a', 1.0), ('b', 2.0)]
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
        if self.verdict is Verdict.REFUTED:
            return f"refuted: {self.witnesses[0]}"
        if self.verdict is Verdict.UNDECIDED:
            return f"undecided: {self.notes[0]}"
        counts = f"{len(self.outer)} outer and {len(self.inner)} inner inequalities"
        tried = ", and every subset tried" if self.exhaustive else ""
        smallest = min((inequality.margin for inequality in self.inner), default=None)
        cost = "" if smallest is None else f"; losing a collaborator costs at least {smallest:.6g}"
        gains = "gains significantly" if any(self.forgiven.values()) else "gains"
        return f"proved: nobody {gains} by leaving ({counts} hold{tried}){cost}"

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as values that JSON can hold.

        Returns:
            A dictionary with the verdict, the inequalities with their margins, and the witnesses; sets are sorted.
        """
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
    partition: Partition | Iterable[Iterable[str]],
    utility: Utility | Game,
    *,
    tolerance: float = 0.0,
    forgiven: Mapping[str, float] = NOTHING_FORGIVEN,
    exhaustive: bool = False,
) -> Certificate:
    """Prove that a partition is a collaboration equilibrium, or refute it with a witness (paper, Axioms 1 and 2).

    Args:
        partition: An `Equilibrium`, or coalitions, each a list of clients. An equilibrium names the edges to check; in
            other partitions every pair of clients within a coalition is tried.
        utility: A `Game`, or a function ``utility(client, coalition)`` that returns the maximal utility of the client
            with the coalition.
        tolerance: Differences of up to this much do not count.
        forgiven: Where utilities are estimates, how much each client's gain must exceed to count, for example some
            standard errors; 0 for clients that are not listed. Losses always count.
        exhaustive: Whether to try every subset as well (at most 12 clients).

    Returns:
        The certificate. Its verdict is *proved*; *refuted*, with a witness that was checked by definition; or
        *undecided*, if `utility` is found not to be maximal (it fell when a coalition grew).

    Raises:
        InputError: If the coalitions are not a partition, an amount is negative, or `utility` returns anything but
            finite numbers, or different ones when asked twice.

    Example:
        >>> game = Game([
        ...     ("a", ["a"], 0.6), ("a", ["a", "b"], 0.8),
        ...     ("b", ["b"], 0.7), ("b", ["a", "b"], 0.9),
        ...     ("c", ["c"], 0.5), ("c", ["a", "c"], 0.6),
        ... ])
        >>> print(certify([["a", "b"], ["c"]], game).verdict)
        proved
        >>> print(certify([["a"], ["b"], ["c"]], game))
        refuted: {a, b} would all gain by forming a coalition (a 0.6 → 0.8, b 0.7 → 0.9)
    """
    if check_finite(tolerance, "the tolerance") < 0:
        raise InputError(f"the tolerance is {tolerance}; it must be 0 or more")
    if not isinstance(utility, Game) and not callable(utility):
        raise InputError(f"the utility must be a Game or a function of client and coalition, not {shown(utility)}")
    for client, amount in forgiven.items():
        if check_finite(amount, f"the gain forgiven to {shown(client)}") < 0:
            raise InputError(f"the gain forgiven to {shown(client)} is {amount}; it must be 0 or more")
    collaborators_of, given = (
        (partition.collaborators_of, partition.coalitions) if isinstance(partition, Partition) else (None, partition)
    )
    coalitions = check_partition(given, utility if isinstance(utility, Game) else None)
    clients = check_names(i for coalition in coalitions for i in coalition)
    if isinstance(utility, Game):
        utility = utility.maximal_utility
    notes: list[str] = []
    table = None
    if exhaustive:
        table = UtilityTable(clients, utility)
        utility = table
        if table.raised:
            notes.append(f"the utility is not maximal ({table.raised}); the largest over all subsets was taken")

    values = Values(utility, {i: frozenset(home) for home in coalitions for i in home}, tolerance, forgiven)
    outer, order, rival = check_outer(coalitions, values)
    inner, leaving, ties = check_inner(coalitions, values, collaborators_of)
    notes += ties
    all_ordered = len(order) == len(coalitions)
    if not all_ordered and not rival:
        notes.append("there is no order of whole coalitions; the proof orders single clients")
    found = {(witness.axiom, witness.members): witness for witness in (*leaving, rival) if witness}
    witnesses = list(found.values())
    if table is not None:
        tried = find_witness(coalitions, table, tolerance, forgiven)
        witnesses = [tried] if tried else []
    if values.contradiction:
        verdict, witnesses = Verdict.UNDECIDED, []
        notes.insert(0, f"the utility is not maximal: {values.contradiction}; a few values of it prove nothing")
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
        by_peels=verdict is Verdict.PROVED and all_ordered and all(len(i.without) == 1 for i in inner),
        notes=tuple(notes),
        tolerance=float(tolerance),
        forgiven=dict(forgiven),
        evaluations=values.count if table is None else int((~np.isnan(table.values)).sum()),
        exhaustive=exhaustive,
    )


def check_partition(partition: object, game: Game | None = None) -> list[tuple[str, ...]]:
    """Check that coalitions are a partition, of a game's clients if there is one, and return them in order."""
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
