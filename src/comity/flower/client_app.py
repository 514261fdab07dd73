"""The client app, beside the rows: it answers questions as the site's policy allows, and takes its results.

In a deployment every message comes to a new process, so what must be remembered lies in the site's directory. And a
message may come twice, if nobody heard the answer: asked the same again in the same job, a site gives the same answer.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from comity.errors import ComityError, FormatError, InputError, OutputError, UnfitError, told_outside
from comity.files import read_text, write_text
from comity.flower.messages import ASK, FAILED, HELLO, REFUSED, TAKE, from_content, saying, to_content, told_in
from comity.flower.secure import answer_securely
from comity.flower.taking import take
from comity.journal import Journal
from comity.questions import TellPrivacy, pack, unpack
from comity.sites import Member, Site

app = ClientApp()
_members: dict[tuple[str, int, int], Member] = {}


def _action(kind: str) -> str:
    return kind.partition(".")[2]


@app.query(_action(HELLO))
def hello(message: Message, context: Context) -> Message:
    """Say which client this is."""

    def known(site: Site) -> RecordDict:
        policy = site.policy
        shares = "yes" if policy.share_utilities else "no"
        return saying(client=site.name, questions=",".join(policy.questions), shares=shares, rows=site.mark())

    return _reply(message, context, known)


@app.query(_action(ASK))
def ask(message: Message, context: Context) -> Message:
    """Answer a question."""
    return _reply(message, context, lambda site: _answered(site, message.content))


@app.query(_action(TAKE))
def receive(message: Message, context: Context) -> Message:
    """Take what was found for this client."""

    def taken(site: Site) -> RecordDict:
        told = told_in(message.content)
        if told.get("client") != site.name:
            raise UnfitError(f"what {told.get('client')!r} got came to {site.name!r}")
        take(site.received, told, from_content(message.content).arrays)
        return saying(client=site.name)

    return _reply(message, context, taken)


@app.train()
def give_to_a_sum(message: Message, context: Context) -> Message:
    """Take part in a sum of which the coordinator sees no term."""
    return answer_securely(message, context, Remembering(site_of(context)))


def site_of(context: Context) -> Site:
    """Return the site of a node, whose configuration says where its file is.

    In a simulation nodes have numbers only: the run's configuration has all files then, with commas between.
    """
    if "site" in context.node_config:
        return Site.read(str(context.node_config["site"]))
    if "sites" in context.run_config and "partition-id" in context.node_config:
        files = str(context.run_config["sites"]).split(",")
        return Site.read(files[int(context.node_config["partition-id"])])
    raise InputError("this node does not know its site; start it with --node-config 'site=\"…/site.toml\"'")


def _answered(site: Site, content: RecordDict) -> RecordDict:
    told, question = told_in(content), from_content(content)
    if told.get("client") != site.name:
        raise UnfitError(f"a question for {told.get('client')!r} came to {site.name!r}")
    given = Journal(site.state / "answered")
    name = json.dumps([told.get("job"), site.name, site.stamp()])  # with another policy or other rows it is asked anew
    answer = given.find(name, question)
    if answer is None:
        asked = unpack(question)
        answer = pack(Remembering(site).answer(asked))
        given.clear()
        if not isinstance(asked, TellPrivacy):  # what was spent is never that of before
            given.keep(name, question, answer)
    return to_content(answer, client=site.name, question=question.digest)


@dataclass(frozen=True, slots=True)
class Remembering:
    """A site's client, whose networks go on from where they were, in whatever process it is asked."""

    site: Site

    @property
    def name(self) -> str:
        """Its name."""
        return self.site.name

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""
        member = _member(self.site)
        recipe = getattr(question, "recipe", None)
        if recipe is None:
            return member.answer(question)
        from comity.neural.memory import recall, remember

        memory = self.site.state / f"{hashlib.sha256(recipe.encode()).hexdigest()}.safetensors"
        before, asked = memory.with_suffix(".before"), memory.with_suffix(".asked")
        learner, digest = member.learner(recipe), pack(question).digest
        if asked.exists() and read_text(asked) == digest:  # the answer was lost: what is personal has moved already
            recall(learner, before)
        else:
            recall(learner, memory)
            remember(learner, before)
            write_text(asked, digest)
        answer = member.answer(question)
        remember(learner, memory)
        return answer


def _member(site: Site) -> Member:
    """Return the client of a site, which is made once in a process: in a simulation one has much to answer."""
    stamp = site.stamp()
    if stamp not in _members:
        _members[stamp] = site.member()
    return _members[stamp]


def _reply(message: Message, context: Context, content: Callable[[Site], RecordDict]) -> Message:
    """Return the reply to a message: what a site will not do, it says why.

    What it cannot do now, since a file is half-written or a disk is full, it is asked again. Of errors, nothing leaves
    that may hold a value of the rows: those are told here.
    """
    name = None
    try:
        site = site_of(context)
        name = site.name
        return Message(content(site), reply_to=message)
    except Exception as error:  # noqa: BLE001 - Flower would send its text away
        print(f"comity: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        passing = isinstance(error, FormatError | OutputError) or not isinstance(error, ComityError)
        kind = FAILED if passing else REFUSED
        return Message(saying(**{kind: told_outside(name, error)}), reply_to=message)


def files_of(directory: Path) -> str:
    """Return the files of the sites in a directory, as the configuration of a simulated run has them."""
    return ",".join(str(path) for path in sorted(directory.glob("*/site.toml")))
