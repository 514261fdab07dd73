"""A federation over Flower's Grid: questions are carried to sites and answers back, whatever happens to a site.

A site may be late, die and come back, or send what cannot be understood. It is waited for, and asked again, within
stated times; after that it is gone (`DepartedError`), and whoever runs the job goes on with the others. What a policy
forbids is refused, which ends the job: that is for people to talk about.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import final

from flwr.app import RecordDict
from flwr.serverapp import Grid

from comity.checks import check_answer
from comity.errors import AnswerError, DepartedError, InputError, MissingClientsError, RefusedError
from comity.federation import Federation, Traffic
from comity.flower.meeting import Meeting
from comity.flower.messages import ASK, FAILED, from_content, reason_in, to_content, told_in
from comity.flower.roster import Patience, Roster, Rules, Say
from comity.flower.rounds import Round
from comity.flower.secure import SecureSum, Terms
from comity.journal import Journal
from comity.questions import Packed, TellPrivacy, unpack

_FEWEST = 2  # clients
_SOON = 10.0  # seconds after which it is said who is waited for


@final
@dataclass(frozen=True)
class OverFlower(Federation):
    """Clients behind a Grid; `nodes` says which node each is. Answers are kept in a `journal`, if there is one.

    With `terms`, sums over clients are secure: the coordinator sees no single term of them. `seconds` says how long
    each round took that was not in the journal.
    """

    grid: Grid
    roster: Roster
    nodes: dict[str, int]
    patience: Patience = field(default_factory=Patience)
    journal: Journal | None = None
    say: Say = print
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
        say: Say = print,
        job: str = "",
        terms: Terms | None = None,
    ) -> OverFlower:
        """Wait until all clients of the roster are there, or the grace period is over, and return who is.

        At least two must be; who is not is told.
        """
        waiting = patience or Patience()
        met = Meeting(grid, roster, waiting, say)
        end = time.monotonic() + waiting.grace
        soon = time.monotonic() + _SOON
        while len(met.nodes) < len(roster.clients) and time.monotonic() < end:
            met.greet()
            time.sleep(waiting.poll)
            if time.monotonic() > soon:
                say(f"waiting for {', '.join(name for name in roster.clients if name not in met.nodes)}")
                soon = end
        missing = [name for name in roster.clients if name not in met.nodes]
        if len(met.nodes) < _FEWEST:
            raise InputError(
                f"after {waiting.grace:g} seconds there are {len(met.nodes)} of {len(roster.clients)} clients, and it "
                f"takes two; missing: {', '.join(map(repr, missing))}. Are their nodes running?"
            )
        for name in missing:
            say(f"client {name!r} is not there after {waiting.grace:g} seconds, and has no part in this")
        nodes = {name: met.nodes[name] for name in roster.clients if name in met.nodes}
        return cls(grid, roster, nodes, waiting, journal, say, job, met.rules, terms)

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return tuple(self.nodes)

    @property
    def hides_terms(self) -> bool:
        """Whether sums are secure."""
        return self.terms is not None

    def without(self, gone: Collection[str]) -> OverFlower:
        """Return the federation of those who remain."""
        nodes = {name: node for name, node in self.nodes.items() if name not in gone}
        if len(nodes) < _FEWEST:
            raise InputError(f"without {', '.join(map(repr, gone))} there are not two clients left")
        left = replace(self, nodes=nodes)
        left.traffic.add(self.traffic)  # it was spent all the same
        return left

    def send(self, kind: str, contents: Mapping[str, RecordDict]) -> dict[str, RecordDict]:
        """Send each client something, and return what each replies; nobody is waited for beyond the patience."""
        return Round(self, kind, contents, lambda client, content: content).finish()

    def _carry(self, questions: Mapping[str, Packed]) -> Mapping[str, Packed]:
        known: dict[str, Packed] = {}
        for client, question in questions.items():
            journal = self._journal_for(question)
            if journal is not None and (kept := journal.find(client, question)) is not None:
                known[client] = kept
        asked = {client: question for client, question in questions.items() if client not in known}

        def understood(client: str, content: RecordDict) -> Packed:
            told = told_in(content)
            if why := reason_in(told):
                raise AnswerError(client, why) if FAILED in told else RefusedError(why)
            if told.get("client") != client:
                raise AnswerError(client, f"its answer is in the name of {told.get('client')!r}")
            if told.get("question") != asked[client].digest:
                raise AnswerError(client, "it answers another question")
            answer = from_content(content)
            check_answer(client, unpack(asked[client]), unpack(answer))
            if (journal := self._journal_for(asked[client])) is not None:
                journal.keep(client, asked[client], answer)
            return answer

        if not asked:
            return known
        contents = {client: to_content(question, client=client, job=self.job) for client, question in asked.items()}
        began = time.monotonic()
        answers = Round(self, ASK, contents, understood).finish()
        self.seconds.append(time.monotonic() - began)
        return known | answers

    def _journal_for(self, question: Packed) -> Journal | None:
        """Return where the answer to a question is kept, if it is: what was spent grows with every answer."""
        return None if question.kind == TellPrivacy.__name__ else self.journal

    def _carry_total(self, questions: Mapping[str, Packed]) -> tuple[Packed, Traffic]:
        if self.terms is None:
            return super()._carry_total(questions)
        everybody = Packed("sum", json.dumps({name: each.digest for name, each in questions.items()}), {})
        kept = None if self.journal is None else self.journal.find("", everybody)
        if kept is not None:
            told = json.loads(kept.plain)
            return Packed(told["kind"], told["plain"], kept.arrays), Traffic(*told["cost"])
        answer, cost = self._summed(questions, self.terms)
        if self.journal is not None:
            told = {"kind": answer.kind, "plain": answer.plain, "cost": [cost.rounds, cost.sent, cost.received]}
            self.journal.keep("", everybody, Packed("sum", json.dumps(told), answer.arrays))
        return answer, cost

    def _summed(self, questions: Mapping[str, Packed], terms: Terms) -> tuple[Packed, Traffic]:
        """Return a secure sum; if somebody is missing, it is tried again as long as the grace period lasts."""
        summing = SecureSum(self.grid, self.nodes, terms, self.patience.answer)
        until = time.monotonic() + self.patience.answer + self.patience.grace
        while True:
            try:
                return summing.total_of_all(questions)
            except MissingClientsError as error:
                self.say(str(error))
                if time.monotonic() >= until:
                    reasons = dict.fromkeys(error.clients, f"it has no part in a sum after {self.patience.grace:g} s")
                    raise DepartedError(reasons) from None
            time.sleep(max(self.patience.poll, self.patience.grace / 10))
