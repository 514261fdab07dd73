"""The paper's examples."""

import pytest

from comity import BenefitGraph, certify, find_equilibrium
from comity.research.datasets.paper import figure_1, figure_2, nested


def sets(*coalitions: str) -> set[frozenset[str]]:
    return {frozenset(coalition) for coalition in coalitions}


def test_figure_2() -> None:
    found = find_equilibrium(figure_2())
    assert set(found.coalitions) == sets("123", "4", "56")
    assert {(wish.client, wish.collaborator) for wish in found.unmet} == {("4", "2"), ("4", "5")}


def test_figure_1_where_client_4_asks_again() -> None:
    game = figure_1()
    found = find_equilibrium(game)
    assert set(found.coalitions) == sets("123", "456")
    first, second = found.peels
    assert set(first.stable) == sets("123")
    assert second.asked == ("4",)
    assert second.graph.collaborators_of("4") == {"4", "5"}
    assert certify(found, game, exhaustive=True).proved


def test_figure_1_without_asking_again_would_leave_4_alone() -> None:
    assert set(find_equilibrium(figure_1().benefit_graph()).coalitions) == sets("123", "4", "56")


def test_inner_agreement_example_below_axiom_1() -> None:
    """{1,2,3,4},{5,6} in Figure 2 fails, because 1, 2 and 3 lose nothing by leaving."""
    wishes = figure_2()

    def utility(client: str, coalition: frozenset[str]) -> float:
        return len(wishes.collaborators_of(client) & coalition)

    certificate = certify([list("1234"), list("56")], utility)
    assert [(w.axiom, set(w.members)) for w in certificate.witnesses] == [("inner", {"1", "2", "3"})]
    assert certify([list("123"), ["4"], list("56")], utility).proved


def test_eicu_as_section_5_3_describes_it() -> None:
    """0 and 3 want each other only; nobody wants 9; the others are held together among themselves."""
    wishes = {"0": ["3"], "3": ["0"], "9": ["0", "1", "4"]}
    rest = ["1", "2", "4", "5", "6", "7", "8"]
    for place, client in enumerate(rest):
        wishes[client] = [rest[place - 1], "0" if place % 2 else "3"]
    found = find_equilibrium(BenefitGraph(wishes))
    assert set(found.coalitions) == sets("03", "9", "1245678")
    assert set(found.peels[0].stable) == sets("03")


@pytest.mark.parametrize("clients", [1, 2, 3, 7, 12])
def test_nested_data_gives_no_collaboration(clients: int) -> None:
    """D1 ⊂ D2 ⊂ … ⊂ DN: the last needs nobody, then the one before has nobody to gain from, and so on."""
    game = nested(clients)
    found = find_equilibrium(game)
    assert found.coalitions == tuple(frozenset([f"D{number}"]) for number in range(clients, 0, -1))
    assert len(found.peels) == clients
    assert certify(found, game).proved
