"""The Grid that other tests run on does what a real one does: an app's state is all that stays between messages."""

import pytest
from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp

from support.grids import InMemoryGrid, after, failing, garbled, silent

FAR = 2**64 - 5  # ids of nodes are drawn from 64 bits


def counting() -> ClientApp:
    app = ClientApp()

    @app.query("count")
    def query(message: Message, context: Context) -> Message:
        times = context.state.config_records.get("kept", ConfigRecord({"times": 0}))["times"]
        context.state["kept"] = ConfigRecord({"times": times + 1})
        if message.content.config_records["asked"].get("raise"):
            raise ValueError("as asked")
        texts = {"times": times + 1, "who": context.node_id, "name": context.node_config["name"]}
        return Message(RecordDict({"texts": ConfigRecord(texts)}), reply_to=message)

    return app


@pytest.fixture
def grid() -> InMemoryGrid:
    return InMemoryGrid(counting(), [3, FAR], {3: {"name": "a"}, FAR: {"name": "b"}})


def ask(grid: InMemoryGrid, timeout: float | None = 1.0, **asked: bool) -> dict[int, Message]:
    content = RecordDict({"asked": ConfigRecord(asked)})
    messages = [Message(content, node, f"{MessageType.QUERY}.count") for node in grid.get_node_ids()]
    return {reply.metadata.src_node_id: reply for reply in grid.send_and_receive(messages, timeout=timeout)}


def emptied(reply: Message) -> Message:
    reply.content = RecordDict()
    return reply


def test_each_node_has_its_own_state_and_configuration(grid):
    ask(grid)
    texts = {node: dict(reply.content.config_records["texts"]) for node, reply in ask(grid).items()}
    assert texts == {3: {"times": 2, "who": 3, "name": "a"}, FAR: {"times": 2, "who": FAR, "name": "b"}}
    assert len(grid.sent) == len(grid.received) == 4


def test_a_restarted_node_has_lost_its_state(grid):
    ask(grid)
    grid.restart(FAR)
    texts = {node: reply.content.config_records["texts"]["times"] for node, reply in ask(grid).items()}
    assert texts == {3: 2, FAR: 1}


def test_what_an_app_raises_comes_back_as_an_error(grid):
    reply = ask(grid, **{"raise": True})[3]
    assert reply.has_error()
    assert "as asked" in reply.error.reason


def test_nodes_misbehave_as_configured(grid):
    grid.faults[3] = failing("out of memory", after(1))
    assert not ask(grid)[3].has_error()
    assert ask(grid)[3].error.reason == "out of memory"
    grid.faults[3] = silent()
    assert set(ask(grid)) == {FAR}
    grid.faults[3] = garbled(emptied)
    assert not ask(grid)[3].content


def test_a_node_may_work_and_die_before_it_answers(grid):
    grid.faults[3] = silent(works=True)
    ask(grid)
    grid.faults.clear()
    assert ask(grid)[3].content.config_records["texts"]["times"] == 2


def test_waiting_for_ever_is_an_error(grid):
    grid.faults[3] = silent()
    with pytest.raises(AssertionError, match="for ever"):
        ask(grid, timeout=None)
