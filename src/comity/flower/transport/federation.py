"""A federation over Flower's Grid, which carries questions to sites and answers back.

A site may be late, crash and restart, or send an answer that cannot be read. It is asked again within the times of
`Patience`; after that it has departed (`DepartedError`), and the coordinator continues with the other clients. A
question that a policy forbids is refused, which ends the job: people have to settle that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

from flwr.app import RecordDict
from flwr.serverapp import Grid

from comity.core.progress import Notify
from comity.errors import AnswerError, DepartedError, InputError, MissingClientsError, RefusedError
from comity.federation import Federation, Read, Traffic
from comity.flower.secure import SecureSum, Terms
from comity.flower.transport.introduction import Introduction
from comity.flower.transport.journal import Journal
from comity.flower.transport.messages import ASK, FAILED, from_content, reason_in, to_content, told_in
from comity.flower.transport.roster import Patience, Roster, Rules
from comity.flower.transport.rounds import Round
from comity.questions import AskPrivacy, Packed, unpack

_MIN_CLIENTS = 2
_SECONDS_BEFORE_NOTICE = 10.0  # of waiting for clients, before people are told who is missing


@final
@dataclass(frozen=True)
class OverFlower(Federation):
    """Clients behind a Grid.

    `nodes` has the node id of each client. Answers are kept in the `journal`, if there is one. With `terms`, sums over
    clients are secure: the coordinator sees no single client's answer. `seconds` has the duration of each round that
    was not answered from the journal.
    """

    grid: Grid
    roster: Roster
    nodes: dict[str, int]
    patience: Patience = field(default_factory=Patience)
    journal: Journal | None = None
    notify: Notify = print
    job: str = ""
    rules: Mapping[str, Rules] = field(default_factory=dict)
    terms: Terms | None = None
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def join(
        cls,
        grid: Grid,
        roster: Roster,
        patience: Patience | None = None,
        journal: Journal | None = None,
        notify: Notify = print,
        job: str = "",
        terms: Terms | None = None,
    ) -> OverFlower:
        """Wait until all clients of the roster are connected, or the grace period is over, and return the federation.

        At least two clients must be connected; the missing ones are reported.
        """
        patience = patience or Patience()
        introduction = Introduction(grid, roster, patience, notify)
        end = time.monotonic() + patience.grace
        notice_at = time.monotonic() + _SECONDS_BEFORE_NOTICE
        while len(introduction.nodes) < len(roster.clients) and time.monotonic() < end:
            introduction.greet()
            time.sleep(patience.poll)
            if time.monotonic() > notice_at:
                notify(f"waiting for {', '.join(name for name in roster.clients if name not in introduction.nodes)}")
                notice_at = end
        nodes = {name: introduction.nodes[name] for name in roster.clients if name in introduction.nodes}
        missing = [name for name in roster.clients if name not in nodes]
        if len(nodes) < _MIN_CLIENTS:
            raise InputError(
                f"after {patience.grace:g} seconds {len(nodes)} of {len(roster.clients)} clients are connected; at "
                f"least two are needed. Missing: {', '.join(map(repr, missing))}. Are their nodes running?"
            )
        for name in missing:
            notify(f"client {name!r} has not connected after {patience.grace:g} seconds; the job runs without it")
        return cls(grid, roster, nodes, patience, journal, notify, job, introduction.rules, terms)

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return tuple(self.nodes)

    @property
    def hides_terms(self) -> bool:
        """Whether sums are secure."""
        return self.terms is not None

    def without(self, gone: Collection[str]) -> OverFlower:
        """Return the federation without the clients that are gone."""
        nodes = {name: node for name, node in self.nodes.items() if name not in gone}
        if len(nodes) < _MIN_CLIENTS:
            raise InputError(
                f"without {', '.join(map(repr, gone))} fewer than two clients are left; nothing can be shared"
            )
        remaining = replace(self, nodes=nodes)
        remaining.traffic.add(self.traffic)
        return remaining

    def send(self, kind: str, contents: Mapping[str, RecordDict]) -> dict[str, RecordDict]:
        """Send each client a message and return the replies; a `DepartedError` names clients that did not reply."""
        return Round(self, kind, contents, lambda client, content: content).finish()

    def _carry(self, questions: Mapping[str, Packed], read: Read) -> dict[str, Any]:
        known: dict[str, Any] = {}
        for client, question in questions.items():
            journal = self._journal_for(question)
            if journal is not None and (kept := journal.find(client, question)) is not None:
                known[client] = read(client, kept)
        asked = {client: question for client, question in questions.items() if client not in known}

        def understand(client: str, content: RecordDict) -> Any:
            metadata = told_in(content)
            if reason := reason_in(metadata):
                raise AnswerError(client, reason) if FAILED in metadata else RefusedError(reason)
            if metadata.get("client") != client:
                raise AnswerError(client, f"its answer is in the name of {metadata.get('client')!r}")
            if metadata.get("question") != asked[client].digest:
                raise AnswerError(client, "it answers another question")
            packed = from_content(content)
            answer = read(client, packed)
            if (journal := self._journal_for(asked[client])) is not None:
                journal.keep(client, asked[client], packed)
            return answer

        if not asked:
            return known
        contents = {client: to_content(question, client=client, job=self.job) for client, question in asked.items()}
        began = time.monotonic()
        answers = Round(self, ASK, contents, understand).finish()
        self.seconds.append(time.monotonic() - began)
        return known | answers

    def _journal_for(self, question: Packed) -> Journal | None:
        """Return the journal for the answer to a question, or None: privacy spent grows, so it is never kept."""
        return None if question.kind == AskPrivacy.__name__ else self.journal

    def _carry_total(self, questions: Mapping[str, Packed], read: Read) -> tuple[Any, Traffic]:
        if self.terms is None:
            return super()._carry_total(questions, read)
        everybody = Packed("sum", json.dumps({name: each.digest for name, each in questions.items()}), {})
        kept = None if self.journal is None else self.journal.find("", everybody)
        if kept is not None:
            summary = json.loads(kept.plain)
            return unpack(Packed(summary["kind"], summary["plain"], kept.arrays)), Traffic(*summary["cost"])
        answer, cost = self._summed(questions, self.terms)
        if self.journal is not None:
            summary = {"kind": answer.kind, "plain": answer.plain, "cost": [cost.rounds, cost.sent, cost.received]}
            self.journal.keep("", everybody, Packed("sum", json.dumps(summary), answer.arrays))
        return unpack(answer), cost

    def _summed(self, questions: Mapping[str, Packed], terms: Terms) -> tuple[Packed, Traffic]:
        """Return a secure sum; if a client is missing, try again until the grace period is over."""
        summing = SecureSum(self.grid, self.nodes, terms, self.patience.answer)
        until = time.monotonic() + self.patience.answer + self.patience.grace
        while True:
            try:
                return summing.total_of_all(questions)
            except MissingClientsError as error:
                self.notify(str(error))
                if time.monotonic() >= until:
                    reasons = dict.fromkeys(
                        error.clients, f"missing from a secure sum after {self.patience.grace:g} seconds"
                    )
                    raise DepartedError(reasons) from None
            time.sleep(max(self.patience.poll, self.patience.grace / 10))
