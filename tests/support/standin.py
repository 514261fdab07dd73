"""An app in place of comity's for tests of the deployment itself: every client returns the path of its site.toml."""

import textwrap
from pathlib import Path

SETTINGS = """
[project]
name = "stand-in"
version = "1.0.0"
description = "who is there"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "comity"

[tool.flwr.app.components]
serverapp = "stand_in_server:app"
clientapp = "stand_in_client:app"

[tool.flwr.app.config]
mode = "solve"
study = ""
out = ""
nodes = ""
"""

CLIENT = """
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.query("where")
def where(message: Message, context: Context) -> Message:
    return Message(RecordDict({"answer": ConfigRecord({"site": context.node_config["site"]})}), reply_to=message)
"""

SERVER = """
import json
import time
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    with open(context.run_config["nodes"], encoding="utf-8") as file:
        expected = json.load(file)
    until = time.monotonic() + 60
    while len(list(grid.get_node_ids())) < len(expected) and time.monotonic() < until:
        time.sleep(0.2)
    began = time.monotonic()
    asked = RecordDict({"question": ConfigRecord({"nothing": 0})})
    waiting = set(
        grid.push_messages(
            [
                Message(asked, dst_node_id=node, message_type="query.where", ttl=60.0)
                for node in grid.get_node_ids()
            ]
        )
    )
    answers = {}
    while waiting and time.monotonic() < began + 60:
        for reply in grid.pull_messages(waiting):
            waiting.discard(reply.metadata.reply_to_message_id)
            answers[expected[str(reply.metadata.src_node_id)]] = reply.content["answer"]["site"]
        time.sleep(0.2)
    print("ANSWERS " + json.dumps(answers), flush=True)
    time.sleep(1)  # or Flower may lose the last lines
"""


def write_stand_in(directory: Path) -> Path:
    """Write the app, and return its directory."""
    directory.mkdir(parents=True)
    (directory / "pyproject.toml").write_text(textwrap.dedent(SETTINGS))
    (directory / "stand_in_client.py").write_text(CLIENT)
    (directory / "stand_in_server.py").write_text(SERVER)
    return directory
