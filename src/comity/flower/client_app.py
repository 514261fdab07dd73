"""The Flower client app, which runs beside the rows: it answers the questions that the site's policy allows.

In a deployment a new process handles every message, so state is kept in the site's directory. A message may arrive
twice, if its answer was lost: the same question in the same job gets the same answer.
"""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from comity.client.gate import Respondent
from comity.client.sites import Site
from comity.core.files import read_text, write_text
from comity.errors import ComityError, FormatError, InputError, OutputError, UnfitError, public_message
from comity.flower.delivery import Part
from comity.flower.secure import answer_securely
from comity.flower.transport.journal import Journal
from comity.flower.transport.messages import ASK, HELLO, TAKE, failure, from_content, text_content, texts_in, to_content
from comity.questions import Packed, digest_of, unpack
from comity.report import write_client_page

_JOB_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")
_Handler = Callable[[Site, RecordDict], RecordDict]

app = ClientApp()
_members: dict[tuple[str, int, int], Respondent] = {}


def _handles(kind: str) -> Callable[[_Handler], _Handler]:
    """Register a function for messages of a kind; the reply is what it returns, or the reason why there is nothing.

    A refusal is final; a failure, such as a full disk or a half-written file, makes the coordinator ask again. The
    message of an error may hold values of the rows, so it is printed here and does not leave the site.
    """

    def register(handler: _Handler) -> _Handler:
        @app.query(kind.partition(".")[2])
        def reply(message: Message, context: Context) -> Message:
            name = None
            try:
                site = site_of(context)
                name = site.name
                return Message(handler(site, message.content), reply_to=message)
            except Exception as error:  # noqa: BLE001 - Flower would send its text away
                print(f"comity: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                final = isinstance(error, ComityError) and not isinstance(error, FormatError | OutputError)
                return Message(failure(public_message(name, error), final=final), reply_to=message)

        return handler

    return register


@_handles(HELLO)
def introduce(site: Site, content: RecordDict) -> RecordDict:
    """State which client this is and what its policy allows."""
    shares = "yes" if site.policy.share_utilities else "no"
    return text_content(client=site.name, questions=",".join(site.policy.questions), shares=shares, rows=site.mark())


@_handles(ASK)
def answer(site: Site, content: RecordDict) -> RecordDict:
    """Answer a question, from the site's journal if it was asked before in the same job."""
    texts, question = texts_in(content), from_content(content)
    if texts.get("client") != site.name:
        raise UnfitError(f"a question for client {texts.get('client')!r} was sent to {site.name!r}")
    journal = Journal(site.state / "answered")
    # A changed policy or changed rows invalidate what was answered before.
    name = json.dumps([texts.get("job"), site.name, site.stamp()])
    reply = journal.find(name, question)
    if reply is None:
        reply = Remembering(site).reply(question)
        journal.clear()
        journal.keep(name, question, reply)
    return to_content(reply, client=site.name, question=question.digest)


@_handles(TAKE)
def receive(site: Site, content: RecordDict) -> RecordDict:
    """Save this client's part of a result under the job's name: its models, and a page for people to read.

    If it comes with priors, the personal models are fitted here, on the site's own rows. Nothing of them leaves.
    """
    texts = texts_in(content)
    client, job = texts.get("client"), str(texts.get("job"))
    if client != site.name:
        raise UnfitError(f"the result of client {client!r} was sent to {site.name!r}")
    if not _JOB_NAME.fullmatch(job):
        raise FormatError(f"{job!r} is not the name of a job; it must have 1 to 64 letters, digits and hyphens")
    part = Part.read(from_content(content))
    if part.result.client != client:
        raise InputError(f"the message holds the result of client {part.result.client!r}")
    result = part.completed(partial(_member_of, site))
    result.save(site.received / job, force=True)
    write_client_page(result, site.received / f"{job}.html", job)
    return text_content(client=site.name)


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


def _member_of(site: Site) -> Respondent:
    """Return the site's client, as its file and its rows are now."""
    stamp = site.stamp()
    if stamp not in _members:  # a simulated client answers many messages in one process
        _members[stamp] = site.member()
    return _members[stamp]


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
        member, question, digest = _member_of(self.site), unpack(packed), packed.digest
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
        reply = member.reply_to(question, digest)
        remember(learner, memory)
        return reply
