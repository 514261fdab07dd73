"""The proof that a partition is a collaboration equilibrium, or a witness that it is not.

The paper's axioms (Section 3.2) speak about every subset of the clients, 2^N of them. A maximal utility U(i, C) never
falls when the coalition C grows, and therefore N + |E| inequalities suffice if there are no ties: `comity.game.proof`
checks them, and `docs/theory.md` proves this. Nothing here shares code with the solver that finds partitions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np

from comity.core.names import Coalition, check_coalition, check_names, shown, unknown_client
from comity.core.numbers import check_finite
from comity.errors import InputError
from comity.game.axioms import NOTHING_FORGIVEN, Utility, UtilityTable, Witness, find_witness
from comity.game.game import Game
from comity.game.proof import InnerInequality, OuterInequality, Partition, Values, check_inner, check_outer


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
            "outer": [{**_fields(each), "among": sorted(each.among), "margin": each.margin} for each in self.outer],
            "inner": [{**_fields(each), "without": sorted(each.without), "margin": each.margin} for each in self.inner],
            "witnesses": [{**_fields(each), "members": list(each.members)} for each in self.witnesses],
            "notes": list(self.notes),
        }


def _fields(record: OuterInequality | InnerInequality | Witness) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


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

    homes = {i: home for coalition in coalitions for home in (frozenset(coalition),) for i in coalition}
    values = Values(utility, homes, tolerance, forgiven)
    outer, order, rival = check_outer(coalitions, values)
    inner, leaving, ties = check_inner(coalitions, values, collaborators_of)
    notes += ties
    all_ordered = len(order) == len(coalitions)
    if not all_ordered and not rival:
        notes.append("there is no order of whole coalitions; the proof orders single clients")
    found = [*leaving, rival] if table is None else [find_witness(coalitions, table, tolerance, forgiven)]
    witnesses = list({(each.axiom, each.members): each for each in found if each}.values())
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
        evaluations=len(values.known) if table is None else int((~np.isnan(table.values)).sum()),
        exhaustive=exhaustive,
    )


def check_partition(partition: object, game: Game | None = None) -> list[tuple[str, ...]]:
    """Check that coalitions are a partition, of a game's clients if there is one, and return them in order."""
    if isinstance(partition, str | Mapping) or not isinstance(partition, Iterable):
        raise InputError(f"a partition is a list of coalitions, each a list of clients, not {shown(partition)}")
    coalitions: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for number, members in enumerate(partition, start=1):
        found = check_coalition(members, f"coalition {number}")
        if not found:
            raise InputError(f"coalition {number} is empty; leave it out")
        for i in sorted(seen & found):
            raise InputError(f"client {shown(i)} is in two coalitions; a partition has every client in one")
        seen |= found
        coalitions.append(tuple(dict.fromkeys(members) if isinstance(members, list | tuple) else sorted(found)))
    if not coalitions:
        raise InputError("the partition has no coalition; give at least one")
    if game is not None:
        for i in seen.difference(game.clients):
            raise unknown_client(i, game.clients)
        for i in game.clients:
            if i not in seen:
                raise InputError(f"client {shown(i)} is in no coalition; a partition has every client in one")
    return coalitions
