"""How the coalitions form, peel by peel: in words, and as the steps of a report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from comity.report.story import Step
from comity.report.words import list_names

WriteNames = Callable[[Sequence[str]], str]


def build_steps(equilibrium: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the peels of an equilibrium, given as `Equilibrium.to_dict` writes it, perhaps with the ties of a game.

    >>> from comity import find_equilibrium
    >>> steps = build_steps(find_equilibrium({"a": ["b"], "b": ["a"], "c": ["a"]}).to_dict())
    >>> [(step.edges, step.left) for step in steps]
    [((('b', 'a'), ('a', 'b'), ('a', 'c')), (0,)), ((), (1,))]
    """
    lines = describe_peels(equilibrium, list_names)
    for tie in equilibrium.get("ties", ()):
        sets = " or ".join(f"{{{list_names(members)}}}" for members in tie["sets"])
        lines[tie["peel"] - 1].append(f"A tie: {tie['client']} does equally well with {sets}.")
    number_of = {tuple(coalition["members"]): number for number, coalition in enumerate(equilibrium["coalitions"])}
    remaining = tuple(equilibrium["clients"])
    wishes: dict[str, list[str]] = {}
    steps = []
    for number, (peel, text) in enumerate(zip(equilibrium["peels"], lines, strict=True)):
        wishes |= peel["wishes"]
        present = set(remaining)
        edges = tuple((j, i) for i in remaining for j in wishes.get(i, ()) if j in present and j != i)
        left = tuple(number_of[tuple(members)] for members in peel["left"])
        steps.append(Step(number, remaining, tuple(peel["wishes"]), edges, left, tuple(text)))
        gone = {client for members in peel["left"] for client in members}
        remaining = tuple(client for client in remaining if client not in gone)
    return tuple(steps)


def describe_peels(equilibrium: Mapping[str, Any], write_names: WriteNames = ", ".join) -> list[list[str]]:
    """Return lines of text for each peel: who was asked, whom they wanted, who left and why.

    >>> from comity import find_equilibrium
    >>> first, second = describe_peels(find_equilibrium({"a": [], "b": ["a"]}).to_dict())
    >>> for line in second:
    ...     print(line)
    b lost a
    → b wants nobody who remains, and stays alone.
    """
    lost: list[dict[str, list[str]]] = [{} for _ in range(len(equilibrium["peels"]) + 1)]
    for wish in equilibrium["unmet"]:
        lost[wish["peel"]].setdefault(wish["client"], []).append(wish["collaborator"])
    return [_describe(peel, number, lost[number], write_names) for number, peel in enumerate(equilibrium["peels"])]


def _describe(
    peel: Mapping[str, Any], number: int, lost: Mapping[str, list[str]], write_names: WriteNames
) -> list[str]:
    """Return the lines of a peel; `lost` are the collaborators that each client lost in the peel before."""
    lines = [] if number else ["Every client is asked whose data would help it most."]
    for client, wanted in peel["wishes"].items():
        name, wish = write_names([client]), f"wants {write_names(wanted)}" if wanted else "wants nobody"
        again = f"lost {write_names(lost[client])} and is asked again: it now " if client in lost else ""
        lines.append(f"{name} {again}{wish}")
    if not peel["wishes"]:
        lines += [f"{write_names([client])} lost {write_names(gone)}" for client, gone in lost.items()]
    return lines + [
        f"→ {write_names(members)} want each other, directly or in a ring, and nobody else who remains: "
        "they form a stable coalition and leave together."
        if len(members) > 1
        else f"→ {write_names(members)} wants nobody{' who remains' if number else ''}, and stays alone."
        for members in peel["left"]
    ]
