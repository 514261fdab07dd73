"""Deciding with borrowed strength, on planted federations and with a lender made by hand."""

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.kinds import ModelKind
from comity.deciding.borrow import Borrowed, _given_up, borrow
from comity.deciding.evidence import Evidence, Posterior, weigh
from comity.families.glm.pulled_view import borrowing_of
from support.parts import parts_of, planted, two_opposite_groups

NAMES = tuple("abcdef")
CHOSEN = (ModelKind.COALITION, ModelKind.BEST)


@cache
def two_groups(worth: float = 0.0) -> Borrowed:
    return borrow(borrowing_of(two_opposite_groups(), 1), NAMES, worth)


@cache
def mixed(seed: int) -> Borrowed:
    """Eight clients with few to many rows, and models near to each other and far."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2, 4))[rng.integers(0, 2, size=8)]
    rows = planted(centres + 0.2 * rng.normal(size=(8, 4)), rng.integers(4, 60, size=8).tolist(), 0.7, seed=seed)
    return borrow(borrowing_of(parts_of(rows, 5), 1), "abcdefgh", 0.01)


def test_the_coalitions_are_the_planted_groups() -> None:
    found = two_groups()
    assert set(found.equilibrium.coalitions) == {frozenset("abc"), frozenset("def")}
    assert found.clients == NAMES
    assert set(found.graph.clients) == set(NAMES)
    assert found.certificate.proved
    assert (found.gains[ModelKind.COALITION] > 0).all()
    np.testing.assert_array_equal(found.sets, found.wishes)
    inside = np.kron(np.eye(2), np.ones((3, 3))) > 0
    np.testing.assert_array_equal(found.sets, inside)
    assert (found.weights[ModelKind.COALITION][~inside] == 0).all()


def everything() -> list[object]:
    return [
        pytest.param(two_groups, (), id="two groups"),
        *(pytest.param(mixed, (seed,), id=f"mixed {seed}") for seed in range(6)),
    ]


@pytest.mark.parametrize(("make", "arguments"), everything())
def test_the_certificate_is_proved(make: object, arguments: tuple[int, ...]) -> None:
    found = make(*arguments)
    assert found.certificate.proved, str(found.certificate)


@pytest.mark.parametrize(("make", "arguments"), everything())
def test_utilities_are_expected_losses_with_a_minus_and_never_fall_within_a_set(
    make: object, arguments: tuple[int, ...]
) -> None:
    found = make(*arguments)
    records = {(each["client"], frozenset(each["coalition"])): each["utility"] for each in found.game.records()}
    coalition_loss = found.alone - found.gains[ModelKind.COALITION]
    for place, client in enumerate(found.clients):
        mine = frozenset(found.clients[j] for j in np.flatnonzero(found.sets[place]))
        assert records[client, mine] == pytest.approx(-coalition_loss[place])
        for (other, members), utility in records.items():
            if other == client and members < mine:
                assert utility <= records[client, mine] + 1e-12


@pytest.mark.parametrize(("make", "arguments"), everything())
def test_the_utility_alone_is_the_expected_loss_alone(make: object, arguments: tuple[int, ...]) -> None:
    """What a collaborator of one client brings must not change what that client is said to have alone."""
    found = make(*arguments)
    utilities = [found.game.utility(client, [client]) for client in found.clients]
    np.testing.assert_allclose(utilities, -found.alone)


@pytest.mark.parametrize(("make", "arguments"), everything())
def test_contributions_are_never_negative_and_likely(make: object, arguments: tuple[int, ...]) -> None:
    found = make(*arguments)
    pairs = {(each.receiver, each.giver) for each in found.contributions}
    assert len(pairs) == len(found.contributions)
    assert pairs == {
        (found.clients[i], found.clients[j]) for i, j in zip(*np.nonzero(found.sets), strict=True) if i != j
    }
    for each in found.contributions:
        assert each.value >= 0
        assert 0.5 <= each.probability <= 1


@pytest.mark.parametrize(("make", "arguments"), everything())
def test_what_is_returned_fits_together(make: object, arguments: tuple[int, ...]) -> None:
    found = make(*arguments)
    count = len(found.clients)
    for kind in CHOSEN:
        assert ((found.probabilities[kind] >= 0) & (found.probabilities[kind] <= 1)).all()
        sets = found.sets if kind is ModelKind.COALITION else found.wishes
        alone = sets.sum(axis=1) == 1
        assert (found.gains[kind][alone] == 0).all()
        assert (found.errors[kind][alone] == 0).all()
        assert (found.errors[kind][~alone] > 0).all()
        assert (found.gains[kind] >= -1e-12).all()
        assert np.isfinite(found.models[kind]).all()
        np.testing.assert_allclose(found.weights[kind].sum(axis=1), 1.0)
        assert (found.weights[kind][~sets] == 0).all()
    assert (found.gains[ModelKind.BEST] >= found.gains[ModelKind.COALITION] - 1e-9).all()
    np.testing.assert_array_equal(found.weights[ModelKind.ALONE], np.eye(count))
    np.testing.assert_array_equal(found.weights[ModelKind.TOGETHER], 1 / count)
    for place, client in enumerate(found.clients):
        members = frozenset(found.clients[j] for j in np.flatnonzero(found.sets[place]))
        assert members == found.equilibrium.collaborators_of(client)


def test_unrelated_clients_with_very_many_rows_stay_alone() -> None:
    models = np.random.default_rng(1).normal(size=(6, 4))
    lender = borrowing_of(parts_of(planted(models, [3000] * 6, 0.5), 5), 1)
    found = borrow(lender, NAMES, 0.01)
    assert [len(each) for each in found.equilibrium.coalitions] == [1] * 6
    np.testing.assert_array_equal(found.models[ModelKind.COALITION], lender.final[:, 0])
    assert found.certificate.proved
    assert not found.contributions


def test_nothing_is_worth_all_of_the_loss() -> None:
    found = two_groups(1.0)
    assert [len(each) for each in found.equilibrium.coalitions] == [1] * 6
    np.testing.assert_array_equal(found.sets, np.eye(6) > 0)
    np.testing.assert_array_equal(found.wishes, np.eye(6) > 0)
    for kind in CHOSEN:
        np.testing.assert_array_equal(found.gains[kind], 0.0)
        np.testing.assert_array_equal(found.weights[kind], np.eye(6))


def test_two_runs_are_identical() -> None:
    one, other = two_groups(), borrow(borrowing_of(two_opposite_groups(), 1), NAMES, 0.0)
    assert one.equilibrium == other.equilibrium
    assert one.game == other.game
    assert one.contributions == other.contributions
    for kind in CHOSEN:
        np.testing.assert_array_equal(one.models[kind], other.models[kind])


@dataclass
class ByHand:
    """Four clients that lose 1 alone and 0.5 with whom they want.

    The first two want each other, the third wants the first, and the fourth the third. With others than it wants, a
    client's predictions are `away` from the best, and alone by 2.
    """

    away: float = 0.1
    clients: int = 4
    number: int = 1
    asked: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)

    @property
    def level(self) -> Floats:
        return np.full(4, 0.5)

    @property
    def final(self) -> Floats:
        return np.tile(np.array([[2.0], [0.0]]), (4, 1, 1))

    def evidence(self) -> Evidence:
        only = np.tile(np.diag([1.0, 0.0]), (4, 1, 1))
        excess = np.tile([0.5, 0.0], (4, 2, 1))
        many = np.full((4, 2), 1e9)
        return Evidence(
            common=1,
            excess=excess,
            rows=many,
            expected=excess,
            unit=np.full(4, 1e-6),
            gained=np.full(4, 9.0),
            noise=1e-12 * only,
            spread=0.01 * only,
            final=excess[:, 0] / 0.97,  # with all rows, distances are worth less
            final_spread=np.full(4, 0.01),
            moved=np.zeros((4, 2)),
        )

    def pull_of(self, number: int) -> float:
        return (0.0, 0.4)[number]

    def is_nearest(self, number: int) -> bool:
        return True

    def members_of(self, number: int) -> sparse.csr_array:
        wanted = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]], np.float64)
        return sparse.csr_array(wanted if number else np.eye(4))

    def others_of(self, target: int, present: Booleans, number: int) -> Integers:
        self.asked.append((target, tuple(np.flatnonzero(present).tolist())))
        order = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [2, 0, 1]])[target]
        return order[present[order]]

    def personal(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        return np.where(members.toarray().sum(axis=1) > 1, self.away, 2.0)[:, None]

    def distance(self, target: Integers, one: Floats, other: Floats) -> tuple[Floats, Floats]:
        return ((one - other) ** 2)[:, 0], np.full(len(target), 0.1)

    def misfit(
        self, target: Integers, members: sparse.csr_array, without: sparse.csr_array, number: Integers
    ) -> Floats:
        return np.zeros(len(target))

    def shares(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        sets = members.toarray()
        return sets / sets.sum(axis=1, keepdims=True)


def test_a_client_whose_collaborator_left_asks_again() -> None:
    lender = ByHand()
    found = borrow(lender, "abcd", 0.0)
    assert found.equilibrium.coalitions == (frozenset("ab"), frozenset("cd"))
    assert lender.asked == [(2, (2, 3))]
    np.testing.assert_array_equal(found.wishes[2], [True, False, True, False])
    np.testing.assert_array_equal(found.sets[2], [False, False, True, True])
    np.testing.assert_allclose(found.gains[ModelKind.BEST], 0.5, atol=1e-4)
    np.testing.assert_allclose(found.gains[ModelKind.COALITION], [0.5, 0.5, 0.49, 0.5], atol=1e-4)
    np.testing.assert_allclose(found.models[ModelKind.COALITION][:, 0], [0, 0, 0.1, 0])
    np.testing.assert_allclose(found.models[ModelKind.BEST], 0.0)
    assert found.certificate.proved
    assert found.equilibrium.unmet[0].client == "c"


@pytest.mark.parametrize(("away", "worth"), [(0.9, 0.0), (0.65, 0.3)])
def test_it_stays_alone_if_those_that_remain_are_not_worth_it(away: float, worth: float) -> None:
    found = borrow(ByHand(away), "abcd", worth)
    assert set(found.equilibrium.coalitions) == {frozenset("ab"), frozenset("c"), frozenset("d")}
    assert found.gains[ModelKind.COALITION][2] == 0
    assert found.models[ModelKind.COALITION][2, 0] == 2.0
    np.testing.assert_array_equal(found.weights[ModelKind.COALITION][2], [0, 0, 1, 0])
    assert found.certificate.proved, "what is not worth it is forgiven"


def test_clients_get_whom_they_want_unless_one_of_them_left_before() -> None:
    again = 0
    for seed in range(6):
        found = mixed(seed)
        peel = [found.equilibrium.peel_number_of(client) for client in found.clients]
        for place in np.flatnonzero((found.wishes != found.sets).any(axis=1)).tolist():
            assert min(peel[j] for j in np.flatnonzero(found.wishes[place])) < peel[place]
            again += 1
    assert again, "no client asked again"


def several(seed: int, noise: float | None, worth: float) -> Borrowed:
    """Up to fifteen clients of three kinds, some with few rows; with some seeds, some clients have none."""
    rng = np.random.default_rng(seed)
    count, size, fewest = int(rng.integers(2, 16)), int(rng.integers(1, 6)), 3 * int(rng.integers(0, 2))
    rows = rng.integers(fewest, 60, size=count).tolist()
    centres = rng.normal(size=(3, size))[rng.integers(0, 3, count)]
    models = centres + rng.choice([0, 0.2, 0.6]) * rng.normal(size=(count, size))
    lender = borrowing_of(parts_of(planted(models, rows, 0.7, seed=seed), 5), 1, noise)
    return borrow(lender, [f"c{number:02}" for number in range(count)], worth)


@pytest.mark.parametrize("seed", [*range(8), pytest.param(66, id="a better set that was not chosen")])
def test_coalitions_of_several_kinds_are_proved(seed: int) -> None:
    found = several(seed, 0.5, 0.0)
    assert found.certificate.proved, str(found.certificate)


@pytest.mark.parametrize("seed", [109, 115, 237])
def test_coalitions_are_proved_although_some_clients_have_no_rows(seed: int) -> None:
    found = several(seed, None, 0.01)
    assert found.certificate.proved, str(found.certificate)
    assert all(each.value > 0 for each in found.contributions), "a client without rows brings nothing"


def test_where_a_gain_is_worth_it_for_all_half_of_it_is_enough_for_one() -> None:
    """Clients gain 0.5 of 1 alone, and the third 0.15 with whom remains."""
    lender = ByHand(away=0.6)  # the third can expect 0.5 - 0.36 with those that remain
    assert borrow(lender, "abcd", 0.2).sets[2].sum() == 2, "0.14 is more than half of 0.2"
    assert borrow(lender, "abcd", 0.4).sets[2].sum() == 1, "but not of 0.4"


def test_edges_with_a_single_giver_are_never_quite_sure() -> None:
    found = borrow(ByHand(), "abcd", 0.0)
    assert all(each.probability <= 0.5 + 0.75 * 0.5 for each in found.contributions)


@pytest.mark.parametrize("reported", [0.2, 0.5, 0.9])
def test_what_is_reported_may_differ_from_what_clients_decided_by(
    reported: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets stay as they are; who joined gains something at least, and who is alone keeps its loss."""
    decided = borrow(ByHand(0.9), "abcd", 0.0)

    def weigh_again(evidence: Evidence) -> Posterior:
        return replace(weigh(evidence), alone=np.full(4, reported - 0.5))

    monkeypatch.setattr("comity.deciding.borrow.weigh", weigh_again)
    found = borrow(ByHand(0.9), "abcd", 0.0)
    np.testing.assert_array_equal(found.sets, decided.sets)
    gain = max(reported - 0.5, 1e-9)
    np.testing.assert_allclose(found.alone[:2], 0.5 + gain)
    np.testing.assert_allclose(found.alone[2:], decided.alone[2:])
    np.testing.assert_allclose(found.gains[ModelKind.BEST][:2], gain)
    np.testing.assert_allclose(found.gains[ModelKind.COALITION], [gain, gain, 0.0, 0.0])
    assert found.certificate.proved


def test_no_collaborator_brings_more_than_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a member is told that it hardly gains, none of its collaborators can bring more."""

    def weigh_again(evidence: Evidence) -> Posterior:
        return replace(weigh(evidence), alone=np.full(len(evidence.final), -1.0))

    plain = two_groups()
    monkeypatch.setattr("comity.deciding.borrow.weigh", weigh_again)
    found = borrow(borrowing_of(two_opposite_groups(), 1), NAMES, 0.0)
    assert found.equilibrium == plain.equilibrium
    assert any(each.value > 1e-3 for each in plain.contributions)
    gains = dict(zip(NAMES, found.gains[ModelKind.COALITION], strict=True))
    assert all(each.value <= gains[each.receiver] + 1e-12 for each in found.contributions)


def test_a_smaller_set_gives_up_a_share_of_the_gain_or_of_the_loss_whichever_is_less() -> None:
    gain, loss = np.array([0.01, 0.5, -0.1]), np.array([1.0, 0.5, 1.0])
    np.testing.assert_allclose(_given_up(gain, loss), [0.02 * 0.01, 0.003 * 0.5, 0.0])
