"""Secure sums: what a plain sum is, with nobody's term seen, whoever is lost on the way."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, RECORD_KEY_STATE, Key, Stage
from flwr.common.serde import message_to_proto
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comity.errors import InputError, MissingClientsError, NotFiniteError, RefusedError
from comity.flower.secure import FixedPoint, SecureSum, Terms, answer_securely
from comity.flower.secure.masks import mask
from comity.flower.secure.payload import REFUSED, SUM, Masked
from comity.questions import HeldLosses, LocalStepsAnswer, Packed, Recipe, pack, unpack
from support.grids import InMemoryGrid, When, failing, garbled, silent

QUESTION = pack(HeldLosses(Recipe(), np.zeros((1, 2)), np.zeros(1), 0, -1))
STAGES = Stage.all()


@dataclass
class Says:
    """A client that answers with arrays of its own, and keeps what it was asked."""

    name: str
    change: np.ndarray
    objective: float = 1.0
    asked: list[Any] = field(default_factory=list)

    def reply(self, packed: Packed) -> Packed:
        self.asked.append(unpack(packed))
        return pack(LocalStepsAnswer(self.change, np.array([self.objective])))


def app_of(member: Any, **options: Any) -> ClientApp:
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return answer_securely(message, context, member, **options)

    return app


class Secured:
    """Clients on a grid in memory, at nodes whose ids are as Flower draws them, and sums over them."""

    def __init__(self, members: Iterable[Says], terms: Terms | None = None, **options: Any) -> None:
        self.members = list(members)
        ids = np.random.default_rng(5).integers(1, 2**64 - 1, len(self.members), np.uint64).tolist()
        self.nodes = {member.name: node for member, node in zip(self.members, ids, strict=True)}
        self.grid = InMemoryGrid({self.nodes[each.name]: app_of(each, **options) for each in self.members})
        self.sum = SecureSum(self.grid, self.nodes, terms or Terms(), timeout=5.0)

    def total(self, names: Iterable[str] | None = None):
        return self.sum.total(dict.fromkeys(self.nodes if names is None else names, QUESTION))

    def break_at(self, name: str, fault: Any) -> None:
        self.grid.faults[self.nodes[name]] = fault

    def plain(self, names: Iterable[str]) -> np.ndarray:
        return sum(each.change.astype(np.float64) for each in self.members if each.name in set(names))


def some(count: int, shape: tuple[int, ...] = (2, 3), seed: int = 0, dtype: type = np.float64) -> list[Says]:
    drawn = np.random.default_rng(seed).normal(size=(count, *shape)).astype(dtype)
    return [Says(f"c{place}", each, objective=float(place)) for place, each in enumerate(drawn)]


def at(*stages: str) -> When:
    return lambda message: message.content.config_records[RECORD_KEY_CONFIGS][Key.STAGE] in stages


def from_on(stage: str) -> When:
    return at(*STAGES[STAGES.index(stage) :])


@given(arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=st.floats(-1e4, 1e4)))
@settings(max_examples=15)
def test_it_is_the_plain_sum_within_its_quantisation(values: np.ndarray) -> None:
    secured = Secured(Says(f"c{place}", each) for place, each in enumerate(values))
    total = secured.total()
    clients = len(values)
    assert total.error == FixedPoint(2.0**16, clients).error == clients * FixedPoint(2.0**16, clients).step / 2
    rounding = 2.0**-52 * clients * np.abs(values).sum(axis=0).max()  # of the plain sum
    np.testing.assert_allclose(total.answer.arrays["change"], values.sum(axis=0), rtol=0, atol=total.error + rounding)
    assert total.answer.arrays["objective"].tolist() == [clients]
    assert total.clients == tuple(secured.nodes)
    assert not total.missing


def test_a_coarse_quantisation_stays_within_its_stated_error() -> None:
    secured = Secured(some(3), Terms(largest=2.0**45))  # steps of 2⁻¹⁵
    total = secured.total()
    off = np.abs(total.answer.arrays["change"] - secured.plain(secured.nodes))
    assert 2.0**-20 < off.max() <= total.error == 3 * 2.0**-16


def test_types_shapes_and_kind_come_back() -> None:
    answer = Secured(some(3, (4, 2), dtype=np.float32)).total().answer
    assert answer.kind == "LocalStepsAnswer"
    assert (answer.arrays["change"].dtype, answer.arrays["change"].shape) == (np.float32, (4, 2))
    assert answer.arrays["objective"].dtype == np.float64


def test_each_is_asked_its_own_question_once_and_sums_follow_each_other() -> None:
    secured = Secured(some(3))
    for number in (1, 2):
        questions = {
            name: pack(HeldLosses(Recipe(loss=name), np.full((1, 2), float(number)), np.zeros(1), 0, -1))
            for name in secured.nodes
        }
        total = secured.sum.total(questions)
        np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(secured.nodes), atol=1e-12)
        for member in secured.members:
            assert [each.recipe.loss for each in member.asked] == [member.name] * number
            assert member.asked[-1].parameters.tolist() == [[number, number]]


def test_four_exchanges_and_all_bytes_are_counted() -> None:
    secured = Secured(some(4, (1, 1000)))
    cost = secured.total().cost
    assert cost.rounds == 4
    assert 4 * 8 * 1001 < cost.received < 4 * 8 * 1001 + 20_000
    assert cost.sent < 20_000
    assert len(secured.grid.sent) == len(secured.grid.received) == 16
    assert all(message.metadata.message_type == MessageType.TRAIN for message in secured.grid.sent)


def test_no_message_holds_an_answer_in_plain() -> None:
    secured = Secured(some(4, (5, 20)))
    total = secured.total()
    point = FixedPoint(2.0**16, 4)
    by_stage: dict[str, int] = {}
    for message in secured.grid.received:
        wire = message_to_proto(message).SerializeToString()
        by_stage[message.metadata.message_id] = 1
        for member in secured.members:
            whole = point.whole(member.change, member.name).reshape(-1)
            for value in (*member.change.reshape(-1), *member.change.astype(np.float32).reshape(-1), *whole):
                assert value.tobytes() not in wire
        for record in message.content.array_records.values():
            for array in record.values():
                assert array.numpy().dtype == np.uint64
    assert len(by_stage) == 16
    wire = total.answer.arrays["change"].tobytes()
    assert wire != secured.members[0].change.tobytes()


def test_terms_stay_masked_without_the_masks_that_the_coordinator_removes() -> None:
    """It learns each client's own mask, to take it off the sum; those between clients stay on each term."""
    secured = Secured(some(3, (1, 200)))
    secured.total()
    point = FixedPoint(2.0**16, 3)
    number = secured.grid.sent[0].content.config_records[SUM]["number"]
    masked = [each for each in secured.grid.received if "comity_masked" in each.content.config_records]
    assert len(masked) == 3
    for message in masked:
        node = message.metadata.src_node_id
        member = next(each for each in secured.members if secured.nodes[each.name] == node)
        values = Masked.read(message.content).values
        seed = secured.grid.contexts[node].state.config_records[RECORD_KEY_STATE]["rd_seed"]
        left = (values - mask(seed, number, len(values)))[:200]
        plain = point.whole(member.change.reshape(-1), member.name)
        for seen in (values[:200], left):
            assert (seen != plain).all()
            bits = np.unpackbits(seen.view(np.uint8)).mean()
            assert abs(bits - 0.5) < 6 * 0.5 / np.sqrt(200 * 64)


def test_the_same_answers_get_new_masks_each_time() -> None:
    secured = Secured(some(2))
    secured.total()
    secured.total()
    masked = [Masked.read(each.content) for each in secured.grid.received if "comity_masked" in each.content]
    assert len(masked) == 4
    for one in range(4):
        for other in range(one):
            assert (masked[one].values != masked[other].values).all()


@pytest.mark.parametrize("how", [silent, lambda when: silent(when, works=True), lambda when: failing("broke", when)])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("shares", [0, 3])
def test_a_sum_continues_without_a_client_that_is_lost_in_any_stage(stage: str, how: Any, shares: int) -> None:
    secured = Secured(some(5), Terms(shares=shares))
    secured.break_at("c2", how(from_on(stage)))
    total = secured.total()
    there = set(secured.nodes) - ({"c2"} if stage != Stage.UNMASK else set())
    assert set(total.clients) == there
    assert set(total.missing) == set(secured.nodes) - there
    np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(there), atol=1e-12)


def test_the_reason_of_a_loss_is_stated() -> None:
    secured = Secured(some(4))
    secured.break_at("c2", silent(from_on(Stage.COLLECT_MASKED_VECTORS)))
    assert secured.total().missing == {"c2": "did not answer within 5 s (stage 'collect masked vectors')"}
    secured.break_at("c2", failing("out of memory"))
    assert secured.total().missing == {"c2": "failed: out of memory (stage 'setup')"}


def test_several_may_be_lost_in_different_stages_as_long_as_the_threshold_holds() -> None:
    secured = Secured(some(7))
    for name, stage in (("c0", STAGES[1]), ("c5", STAGES[2]), ("c6", STAGES[2])):
        secured.break_at(name, silent(from_on(stage)))
    total = secured.total()
    assert set(total.missing) == {"c0", "c5", "c6"}
    np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(total.clients), atol=1e-12)


@given(st.data(), st.integers(2, 6))
@settings(max_examples=25)
def test_whoever_is_lost_the_result_is_the_sum_of_those_who_answered_or_an_error(
    data: st.DataObject, clients: int
) -> None:
    secured = Secured(some(clients), Terms(threshold=data.draw(st.sampled_from([0.5, 0.7, 0.99]))))
    lost = data.draw(st.dictionaries(st.sampled_from(list(secured.nodes)), st.sampled_from(STAGES), max_size=clients))
    for name, stage in lost.items():
        secured.break_at(name, silent(from_on(stage)))
    needed = secured.sum.terms.needed(clients)
    if clients - len(lost) < needed:
        with pytest.raises(MissingClientsError) as raised:
            secured.total()
        assert set(raised.value.clients) <= set(lost)
        return
    total = secured.total()
    gave = {name for name in secured.nodes if lost.get(name, Stage.UNMASK) == Stage.UNMASK}
    assert (set(total.clients), set(total.missing)) == (gave, set(secured.nodes) - gave)
    np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(gave), atol=1e-12)


@pytest.mark.parametrize("stage", STAGES)
def test_below_the_threshold_an_error_names_the_missing_clients(stage: str) -> None:
    secured = Secured(some(4))
    for name in ("c1", "c3"):
        secured.break_at(name, silent(from_on(stage)))
    with pytest.raises(
        MissingClientsError, match=r"2 of the clients .* are left, and 3 are needed\. Missing: "
    ) as raised:
        secured.total()
    assert set(raised.value.clients) == {"c1", "c3"}
    assert "'c1' did not answer within 5 s" in str(raised.value)
    secured.grid.faults.clear()
    assert set(secured.total().clients) == set(secured.nodes), "the next sum is as any other"


@pytest.mark.parametrize("stage", STAGES[1:])
def test_a_sum_continues_without_a_node_that_was_restarted(stage: str) -> None:
    secured = Secured(some(4))
    node = secured.nodes["c1"]

    def forget(message: Message, answer: Any) -> Message:
        if at(stage)(message):
            secured.grid.restart(node)
        return answer(message)

    secured.grid.faults[node] = forget
    total = secured.total()
    there = set(secured.nodes) - ({"c1"} if stage != Stage.UNMASK else set())
    assert set(total.clients) == there
    assert all("does not know this sum" in reason for reason in total.missing.values())
    np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(there), atol=1e-12)


def test_a_message_of_another_sum_is_not_answered() -> None:
    secured = Secured(some(3))
    up_to(secured, Stage.UNMASK)
    nodes = list(secured.nodes.values())
    lists = ConfigRecord({Key.STAGE: Stage.UNMASK, Key.ACTIVE_NODE_ID_LIST: nodes, Key.DEAD_NODE_ID_LIST: []})
    content = RecordDict({RECORD_KEY_CONFIGS: lists, SUM: ConfigRecord({"number": "of yesterday"})})
    (reply,) = secured.grid.send_and_receive([Message(content, nodes[0], MessageType.TRAIN)], timeout=1)
    assert set(reply.content) == {"comity_forgotten"}
    fair = {Key.ACTIVE_NODE_ID_LIST: nodes, Key.DEAD_NODE_ID_LIST: []}
    assert RECORD_KEY_CONFIGS in stage_message(secured, "c0", Stage.UNMASK, **fair).content, "its own still is"


def emptied(reply: Message) -> Message:
    reply.content = RecordDict()
    return reply


def scrambled(reply: Message) -> Message:
    for record in reply.content.config_records.values():
        for key, value in list(record.items()):
            record[key] = _scrambled(value)
    for record in reply.content.array_records.values():
        record.clear()
    return reply


def _scrambled(value: Any) -> Any:
    if isinstance(value, list):
        return [_scrambled(each) for each in value]
    return b"x" * (len(value) + 1) if isinstance(value, bytes) else "garbage" if isinstance(value, str) else 7


def retyped(reply: Message) -> Message:
    for record in reply.content.config_records.values():
        for key in list(record):
            record[key] = 5
    return reply


@pytest.mark.parametrize("garble", [emptied, scrambled, retyped])
@pytest.mark.parametrize("stage", STAGES)
def test_a_client_that_sends_garbage_is_lost(stage: str, garble: Any) -> None:
    secured = Secured(some(5))
    secured.break_at("c4", garbled(garble, from_on(stage)))
    total = secured.total()
    there = set(secured.nodes) - ({"c4"} if stage != Stage.UNMASK else set())
    assert set(total.clients) == there
    np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(there), atol=1e-12)


def with_wrong_shares(reply: Message) -> Message:
    record = reply.content.config_records[RECORD_KEY_CONFIGS]
    record[Key.SHARE_LIST] = [each[:4] + bytes(len(each) - 4) for each in record[Key.SHARE_LIST]]
    return reply


@pytest.mark.parametrize("liar", ["c0", "c1", "c2", "c4"])
@pytest.mark.parametrize("lost", [True, False])
def test_wrong_shares_do_not_become_a_wrong_sum(liar: str, lost: bool) -> None:
    secured = Secured(some(5))
    secured.break_at(liar, garbled(with_wrong_shares, at(Stage.UNMASK)))
    if lost:
        secured.break_at("c3", silent(from_on(Stage.COLLECT_MASKED_VECTORS)))
    total = secured.total()
    np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(total.clients), atol=1e-12)


def test_too_many_wrong_shares_end_a_sum() -> None:
    secured = Secured(some(5))
    for liar in ("c1", "c2"):
        secured.break_at(liar, garbled(with_wrong_shares, at(Stage.UNMASK)))
    secured.break_at("c3", silent(from_on(Stage.COLLECT_MASKED_VECTORS)))
    with pytest.raises(MissingClientsError, match="are not; start the sum again"):
        secured.total()


def test_a_key_of_another_client_is_rejected() -> None:
    """Clients are asked in an order that is drawn: the second sends the key of the first as its own."""
    secured = Secured(some(5))
    two: list[int] = []

    def stolen(reply: Message) -> Message:
        two.append(reply.metadata.src_node_id)
        if len(two) == 2:
            first = next(each for each in secured.grid._replies.values() if each.metadata.src_node_id == two[0])
            reply.content = first.content
        return reply

    for name in secured.nodes:
        secured.break_at(name, garbled(stolen, at(Stage.SETUP)))
    total = secured.total()
    assert set(total.missing) == {name for name, node in secured.nodes.items() if node in two[:2]}
    np.testing.assert_allclose(total.answer.arrays["change"], secured.plain(total.clients), atol=1e-12)


def test_values_that_are_too_large_or_not_finite_end_the_sum_with_the_clients_name() -> None:
    for value, error in ((70_000.0, InputError), (np.nan, NotFiniteError), (np.inf, NotFiniteError)):
        members = some(3)
        members[1].change[0, 0] = value
        with pytest.raises(error, match="client 'c1'"):
            Secured(members).total()
    assert Secured(members[::2], Terms(largest=1e6)).total().answer.arrays["change"].shape == (2, 3)


def test_answers_with_different_layouts_are_an_error() -> None:
    members = [*some(2), Says("odd", np.zeros((3, 3)))]
    with pytest.raises(InputError, match=r"layouts differ: .*'odd' sent a LocalStepsAnswer of change \(3, 3\)"):
        Secured(members).total()


def test_a_refusal_is_raised_with_its_reason() -> None:
    class Refuses(Says):
        def reply(self, packed: Packed) -> Packed:
            raise RefusedError("client 'c9' does not answer the question 'local-steps': its policy forbids it")

    secured = Secured([*some(3), Refuses("c9", np.zeros((2, 3)))])
    with pytest.raises(RefusedError, match="client 'c9' does not answer the question 'local-steps'"):
        secured.total()
    with pytest.raises(RefusedError, match="takes no part in a secure sum over 3 clients; it requires 4 or more"):
        Secured(some(3), least=4).total()


def test_invalid_sums_and_terms_are_refused() -> None:
    secured = Secured(some(3))
    with pytest.raises(InputError, match="a secure sum is over 1 clients; it needs 2 or more"):
        secured.total(["c0"])
    with pytest.raises(InputError, match="no node is known for client 'x'"):
        secured.total(["c0", "x"])
    with pytest.raises(InputError, match="two clients are at the same node"):
        SecureSum(secured.grid, {"a": 1, "b": 1}).total({"a": QUESTION, "b": QUESTION})
    with pytest.raises(InputError, match="the timeout is 0 seconds"):
        SecureSum(secured.grid, {}, timeout=0)
    for wrong in ({"shares": 4}, {"shares": 1}, {"threshold": 0.4}, {"threshold": 1.0}, {"largest": -1.0}):
        with pytest.raises(InputError):
            Terms(**wrong)


def stage_message(secured: Secured, name: str, stage: str, **values: Any) -> Message:
    """Return what a client answers to a message that an honest coordinator would not send."""
    number = secured.grid.sent[0].content.config_records[SUM]["number"]
    record = ConfigRecord({Key.STAGE: stage, **values})
    content = RecordDict({RECORD_KEY_CONFIGS: record, SUM: ConfigRecord({"number": number})})
    (reply,) = secured.grid.send_and_receive([Message(content, secured.nodes[name], MessageType.TRAIN)], timeout=1)
    return reply


def up_to(secured: Secured, stage: str) -> None:
    """Go through a sum until before a stage, which nobody answers."""
    for name in secured.nodes:
        secured.break_at(name, silent(from_on(stage)))
    with pytest.raises(MissingClientsError):
        secured.total()
    secured.grid.faults.clear()


def test_a_client_does_not_help_to_reveal_another() -> None:
    secured = Secured(some(4))
    up_to(secured, Stage.UNMASK)
    nodes = list(secured.nodes.values())
    both = {Key.ACTIVE_NODE_ID_LIST: nodes, Key.DEAD_NODE_ID_LIST: nodes[:1]}
    refusal = stage_message(secured, "c1", Stage.UNMASK, **both).content.config_records["comity_refused"]
    assert "asked for both secrets of another" in refusal["why"]
    few = {Key.ACTIVE_NODE_ID_LIST: nodes[:2], Key.DEAD_NODE_ID_LIST: nodes[2:]}
    assert stage_message(secured, "c1", Stage.UNMASK, **few).has_error()
    fair = {Key.ACTIVE_NODE_ID_LIST: nodes, Key.DEAD_NODE_ID_LIST: []}
    assert len(stage_message(secured, "c1", Stage.UNMASK, **fair).content.config_records[RECORD_KEY_CONFIGS]) == 2
    other_way = {Key.ACTIVE_NODE_ID_LIST: nodes[1:], Key.DEAD_NODE_ID_LIST: nodes[:1]}
    assert stage_message(secured, "c1", Stage.UNMASK, **other_way).has_error(), "once is enough"


@pytest.mark.parametrize(("clients", "shares", "threshold"), [(4, 4, 2), (4, 4, 1), (4, 4, 5), (4, 5, 3), (1, 1, 1)])
def test_a_client_refuses_terms_that_could_reveal_its_answer(clients: int, shares: int, threshold: int) -> None:
    secured = Secured(some(2))
    secured.total()
    terms = {Key.SAMPLE_NUMBER: clients, Key.SHARE_NUMBER: shares, Key.THRESHOLD: threshold}
    reply = stage_message(secured, "c0", Stage.SETUP, **terms)
    assert reply.content.config_records["comity_refused"]["kind"] == "RefusedError"


def test_a_client_refuses_shares_that_were_changed() -> None:
    secured = Secured(some(4))
    up_to(secured, Stage.COLLECT_MASKED_VECTORS)
    nodes = [node for name, node in secured.nodes.items() if name != "c0"]
    forged = {Key.SOURCE_LIST: nodes, Key.CIPHERTEXT_LIST: [b"forged"] * 3}
    reply = stage_message(secured, "c0", Stage.COLLECT_MASKED_VECTORS, **forged)
    reason = f"cannot decrypt the shares that node {nodes[0]} is said to have sent"
    assert reason in reply.content.config_records[REFUSED]["why"]
    none = {Key.SOURCE_LIST: [], Key.CIPHERTEXT_LIST: []}
    reply = stage_message(secured, "c0", Stage.COLLECT_MASKED_VECTORS, **none)
    assert "it requires 2 or more" in reply.content.config_records[REFUSED]["why"]
    assert not secured.members[0].asked, "nothing was computed, and nothing left"
