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
from comity.flower.transport.introduction import Introduction, Patience, Roster, Rules
from comity.flower.transport.journal import Journal
from comity.flower.transport.messages import ASK, FAILED, from_content, reason_in, texts_in, to_content
from comity.flower.transport.rounds import Round
from comity.questions import Packed, unpack

_MIN_CLIENTS = 2
_SECONDS_BEFORE_NOTICE = 10.0  # of waiting for clients, before the missing clients are named


@final
@dataclass(frozen=True)
class OverFlower(Federation):
    """Clients behind a Grid.

    `nodes` has the node id of each client. Answers are kept in the `journal`. With `terms`, sums over clients are
    secure: the coordinator sees no single client's answer. `seconds` has the duration of each round that was not
    answered from the journal.
    """

    grid: Grid
    roster: Roster
    nodes: dict[str, int]
    patience: Patience
    journal: Journal
    notify: Notify
    job: str
    rules: Mapping[str, Rules]
    terms: Terms | None
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def join(
        cls,
        grid: Grid,
        roster: Roster,
        patience: Patience,
        journal: Journal,
        notify: Notify,
        job: str = "",
        terms: Terms | None = None,
    ) -> OverFlower:
        """Wait until all clients of the roster are connected, or the grace period is over, and return the federation.

        At least two clients must be connected; the missing ones are reported.
        """
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
        return Round(self, kind, lambda client, content: content).run(contents)

    def _carry(self, questions: Mapping[str, Packed], read: Read) -> dict[str, Any]:
        known: dict[str, Any] = {}
        for client, question in questions.items():
            if (kept := self.journal.find(client, question)) is not None:
                known[client] = read(client, kept)
        asked = {client: question for client, question in questions.items() if client not in known}

        def understand(client: str, content: RecordDict) -> Any:
            texts = texts_in(content)
            if reason := reason_in(texts):
                raise AnswerError(client, reason) if FAILED in texts else RefusedError(reason)
            if texts.get("client") != client:
                raise AnswerError(client, f"its answer is in the name of {texts.get('client')!r}")
            if texts.get("question") != asked[client].digest:
                raise AnswerError(client, "it answers another question")
            packed = from_content(content)
            answer = read(client, packed)
            self.journal.keep(client, asked[client], packed)
            return answer

        if not asked:
            return known
        contents = {client: to_content(question, client=client, job=self.job) for client, question in asked.items()}
        began = time.monotonic()
        answers = Round(self, ASK, understand).run(contents)
        self.seconds.append(time.monotonic() - began)
        return known | answers

    def _carry_total(self, questions: Mapping[str, Packed], read: Read) -> tuple[Any, Traffic]:
        if self.terms is None:
            return super()._carry_total(questions, read)
        everybody = Packed("sum", json.dumps({name: each.digest for name, each in questions.items()}), {})
        if (kept := self.journal.find("", everybody)) is not None:
            summary = json.loads(kept.plain)
            return unpack(Packed(summary["kind"], summary["plain"], kept.arrays)), Traffic(*summary["cost"])
        answer, cost = self._summed(questions, self.terms)
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
                    reason = f"missing from a secure sum after {self.patience.grace:g} seconds"
                    raise DepartedError(dict.fromkeys(error.clients, reason)) from None
            time.sleep(max(self.patience.poll, self.patience.grace / 10))
