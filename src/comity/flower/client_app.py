"""The Flower client app, which runs beside the rows: it answers the questions that the site's policy allows.

In a deployment a new process handles every message, so state is kept in the site's directory. A message may arrive
twice, if its answer was lost: the same question in the same job gets the same answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from comity.client.gate import Respondent
from comity.client.sites import Site
from comity.core.files import read_text, write_text
from comity.errors import ComityError, FormatError, InputError, OutputError, UnfitError, public_message
from comity.flower.secure import answer_securely
from comity.flower.transport.delivery import save_delivery
from comity.flower.transport.journal import Journal
from comity.flower.transport.messages import (
    ASK,
    FAILED,
    HELLO,
    REFUSED,
    TAKE,
    from_content,
    saying,
    to_content,
    told_in,
)
from comity.questions import AskPrivacy, Packed, digest_of, unpack

app = ClientApp()
_members: dict[tuple[str, int, int], Respondent] = {}


def _action(kind: str) -> str:
    return kind.partition(".")[2]


@app.query(_action(HELLO))
def hello(message: Message, context: Context) -> Message:
    """State which client this is and what its policy allows."""

    def introduce(site: Site) -> RecordDict:
        policy = site.policy
        shares = "yes" if policy.share_utilities else "no"
        return saying(client=site.name, questions=",".join(policy.questions), shares=shares, rows=site.mark())

    return _reply(message, context, introduce)


@app.query(_action(ASK))
def ask(message: Message, context: Context) -> Message:
    """Answer a question."""
    return _reply(message, context, lambda site: _answer(site, message.content))


@app.query(_action(TAKE))
def receive(message: Message, context: Context) -> Message:
    """Save this client's part of a result."""

    def save(site: Site) -> RecordDict:
        metadata = told_in(message.content)
        if metadata.get("client") != site.name:
            raise UnfitError(f"the result of client {metadata.get('client')!r} was sent to {site.name!r}")
        save_delivery(site.received, metadata, from_content(message.content).arrays)
        return saying(client=site.name)

    return _reply(message, context, save)


@app.train()
def join_secure_sum(message: Message, context: Context) -> Message:
    """Take part in a sum in which the coordinator sees no single client's answer."""
    return answer_securely(message, context, Remembering(site_of(context)))


def site_of(context: Context) -> Site:
    """Return the site of a node, whose configuration has the path of its file (`site`).

    A simulated node has only a number; there the run's configuration has the paths of all files (`sites`, separated by
    commas).
    """
    if "site" in context.node_config:
        return Site.read(str(context.node_config["site"]))
    if "sites" in context.run_config and "partition-id" in context.node_config:
        files = str(context.run_config["sites"]).split(",")
        return Site.read(files[int(context.node_config["partition-id"])])
    raise InputError("this node has no site; start it with --node-config 'site=\"…/site.toml\"'")


def _answer(site: Site, content: RecordDict) -> RecordDict:
    """Answer a question, from the site's journal if it was asked before in the same job."""
    metadata, question = told_in(content), from_content(content)
    if metadata.get("client") != site.name:
        raise UnfitError(f"a question for client {metadata.get('client')!r} was sent to {site.name!r}")
    journal = Journal(site.state / "answered")
    # A changed policy or changed rows invalidate what was answered before.
    name = json.dumps([metadata.get("job"), site.name, site.stamp()])
    answer = journal.find(name, question)
    if answer is None:
        answer = Remembering(site).reply(question)
        journal.clear()
        if question.kind != AskPrivacy.__name__:  # the privacy spent grows with every answer
            journal.keep(name, question, answer)
    return to_content(answer, client=site.name, question=question.digest)


@dataclass(frozen=True, slots=True)
class Remembering:
    """A site's client whose networks keep their personal parameters on disk, from one process to the next."""

    site: Site

    @property
    def name(self) -> str:
        """The client's name."""
        return self.site.name

    def reply(self, packed: Packed) -> Packed:
        """Answer a question, or refuse it."""
        member, question, digest = _member(self.site), unpack(packed), packed.digest
        recipe = getattr(question, "recipe", None)
        if recipe is None:
            return member.reply_to(question, digest)
        from comity.families.network.answers.memory import recall, remember

        memory = self.site.state / f"{digest_of(recipe)}.safetensors"
        before, asked = memory.with_suffix(".before"), memory.with_suffix(".asked")
        learner = member.learner(recipe)
        if asked.exists() and read_text(asked) == digest:  # its answer was lost: start from the parameters of then
            recall(learner, before)
        else:
            recall(learner, memory)
            remember(learner, before)
            write_text(asked, digest)
        answer = member.reply_to(question, digest)
        remember(learner, memory)
        return answer


def _member(site: Site) -> Respondent:
    """Return the client of a site, made once per process: a simulated client answers many messages in one process."""
    stamp = site.stamp()
    if stamp not in _members:
        _members[stamp] = site.member()
    return _members[stamp]


def _reply(message: Message, context: Context, content: Callable[[Site], RecordDict]) -> Message:
    """Return the reply to a message, which is an answer or the reason why there is none.

    A refusal is final; a failure, such as a full disk or a half-written file, makes the coordinator ask again. The
    message of an error may hold values of the rows, so it is printed here and does not leave the site.
    """
    name = None
    try:
        site = site_of(context)
        name = site.name
        return Message(content(site), reply_to=message)
    except Exception as error:  # noqa: BLE001 - Flower would send its text away
        print(f"comity: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        temporary = isinstance(error, FormatError | OutputError) or not isinstance(error, ComityError)
        kind = FAILED if temporary else REFUSED
        return Message(saying(**{kind: public_message(name, error)}), reply_to=message)
