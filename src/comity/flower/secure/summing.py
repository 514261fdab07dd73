"""The coordinator's side of a secure sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex

import numpy as np
from flwr.app import ConfigRecord, RecordDict
from flwr.common.secure_aggregation.crypto.symmetric_encryption import generate_shared_key
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage
from flwr.serverapp import Grid
from flwr.supercore.primitives.asymmetric import bytes_to_private_key, bytes_to_public_key

from comity.errors import InputError, MissingClientsError
from comity.federation import Traffic
from comity.flower.messages import to_content
from comity.flower.secure.carrying import Masked
from comity.flower.secure.exchanging import Exchange, listed, single, told
from comity.flower.secure.fixed_point import FixedPoint, Whole
from comity.flower.secure.masks import mask
from comity.flower.secure.recovering import Shares, is_key_of, is_pledged, recover
from comity.flower.secure.terms import Terms
from comity.questions import Packed

Write = Callable[[Packed], RecordDict]


@dataclass(frozen=True, eq=False)
class SecureTotal:
    """The sum of the answers of some `clients`, none of which was seen, within `error` of the plain sum; and its cost.

    Who was lost before it gave its answer is `missing`, with the reason; who was lost after is in the sum.
    """

    answer: Packed
    clients: tuple[str, ...]
    missing: dict[str, str]
    cost: Traffic
    error: float


@dataclass(frozen=True, eq=False)
class SecureSum:
    """Sums over clients, each at the node of a Flower `grid` that `nodes` says, with messages of the type ``train``.

    Whoever has not answered within `timeout` seconds in one of the four exchanges is lost for this sum, and the sum
    goes on without, as long as the threshold of the `terms` holds. `write` makes records of a question.
    """

    grid: Grid
    nodes: Mapping[str, int]
    terms: Terms = field(default_factory=Terms)
    timeout: float = 600.0
    write: Write = to_content

    def __post_init__(self) -> None:
        if not 0 < self.timeout < float("inf"):
            raise InputError(f"the timeout is {self.timeout} seconds; it must be a positive number")

    def total(self, questions: Mapping[str, Packed], *, of_all: bool = False) -> SecureTotal:
        """Ask clients their questions, and return the sum of what they answer.

        If it is to be `of_all` and somebody has given nothing, masks stay on: who asked again for the sum of all, and
        then subtracted, would know the term of the one that was missing.
        """
        unknown = [name for name in questions if name not in self.nodes]
        if unknown:
            raise InputError(f"no node is known for client {unknown[0]!r}; there are {', '.join(self.nodes)}")
        if len(questions) < 2:
            raise InputError(
                f"a secure sum is of {len(questions)} clients; it takes 2 or more, as the sum of one is what it answers"
            )
        names = {self.nodes[name]: name for name in questions}
        if len(names) < len(questions):
            raise InputError("two clients are at the same node; each needs its own")
        contents = {self.nodes[name]: self.write(question) for name, question in questions.items()}
        exchange = Exchange(self.grid, names, token_hex(16), self.timeout)
        return _Sum(self.terms, exchange, self.terms.neighbours(names)).run(contents, of_all=of_all)

    def total_of_all(self, questions: Mapping[str, Packed]) -> tuple[Packed, Traffic]:
        """Return the sum and its cost as `Federation._carry_total` does: of everybody who was asked, or none."""
        total = self.total(questions, of_all=True)
        return total.answer, total.cost


@dataclass(eq=False)
class _Sum:
    """One sum under way: its terms, its exchanges, the neighbours of each node, and the nodes' public keys."""

    terms: Terms
    exchange: Exchange
    neighbours: dict[int, set[int]]
    keys: dict[int, list[bytes]] = field(default_factory=dict)

    @property
    def threshold(self) -> int:
        """How many shares tell a secret."""
        return self.terms.needed(len(self.neighbours))

    def run(self, questions: Mapping[int, RecordDict], *, of_all: bool) -> SecureTotal:
        """Go through the four stages; if the sum is to be of all and somebody is missing, not through the last."""
        self.setup()
        sealed = self.share_keys()
        given = self.collect(sealed, questions)
        if of_all and len(given) < len(self.neighbours):
            gone = "; ".join(f"{name!r} {why}" for name, why in self.exchange.missing.items())
            raise MissingClientsError(
                f"the sum is not of everybody who was asked. Missing: {gone}. Start them again, or leave them out",
                tuple(self.exchange.missing),
            )
        total = self.unmask(set(sealed), given)
        point = FixedPoint(self.terms.largest, len(self.neighbours))
        names = self.exchange.names
        clients = tuple(names[node] for node in names if node in given)
        return SecureTotal(
            answer=next(iter(given.values())).layout.answer(point.real(total)),
            clients=clients,
            missing={name: why for name, why in self.exchange.missing.items() if name not in clients},
            cost=self.exchange.cost,
            error=point.error,
        )

    def setup(self) -> None:
        """Tell the terms, and get two public keys of each client."""
        clients = len(self.neighbours)
        contents = {
            node: _config(
                {
                    Key.SAMPLE_NUMBER: clients,
                    Key.SHARE_NUMBER: self.terms.shares_among(clients),
                    Key.THRESHOLD: self.threshold,
                    Key.CLIPPING_RANGE: float(self.terms.largest),
                    # What follows is for arithmetic of Flower's that is not used: numbers are whole modulo 2⁶⁴.
                    Key.TARGET_RANGE: 0,
                    Key.MOD_RANGE: 0,
                    Key.MAX_WEIGHT: 1.0,
                }
            )
            for node in self.neighbours
        }
        for node, reply in self.exchange.send(Stage.SETUP, contents).items():
            with self.exchange.reading(node, Stage.SETUP, "public keys"):
                keys = [single(told(reply), key, bytes) for key in (Key.PUBLIC_KEY_1, Key.PUBLIC_KEY_2)]
                for key in keys:
                    bytes_to_public_key(key)
                self.keys[node] = keys
        used = Counter(key for keys in self.keys.values() for key in keys)
        for node in [node for node, keys in self.keys.items() if any(used[key] > 1 for key in keys)]:
            self.exchange.lose(node, Stage.SETUP, "gave a key that is another's too, or the same twice")
            del self.keys[node]
        self.check_quorum(set(self.keys), set(self.keys))

    def share_keys(self) -> dict[int, dict[int, bytes]]:
        """Tell neighbours' keys, and get of each client the shares of its secrets, sealed for each neighbour."""
        there = set(self.keys)
        contents = {
            node: _config({str(each): self.keys[each] for each in self.neighbours[node] & there}) for node in there
        }
        sealed = {}
        for node, reply in self.exchange.send(Stage.SHARE_KEYS, contents).items():
            with self.exchange.reading(node, Stage.SHARE_KEYS, "shares of its secrets"):
                meant_for = listed(told(reply), Key.DESTINATION_LIST, int)
                shares = dict(zip(meant_for, listed(told(reply), Key.CIPHERTEXT_LIST, bytes), strict=True))
                if shares.keys() != (self.neighbours[node] & there) - {node}:
                    raise ValueError("they are not for all its neighbours, or for others")
                sealed[node] = shares
        self.check_quorum(set(sealed), set(sealed))
        return sealed

    def collect(
        self, sealed: Mapping[int, Mapping[int, bytes]], questions: Mapping[int, RecordDict]
    ) -> dict[int, Masked]:
        """Hand on the sealed shares, ask the questions, and get the answers under masks."""
        for node in sealed:
            sources = [each for each in sealed if node in sealed[each]]
            handed_on = {Key.SOURCE_LIST: sources, Key.CIPHERTEXT_LIST: [sealed[each][node] for each in sources]}
            questions[node].update(_config(handed_on))
        given = {}
        stage = Stage.COLLECT_MASKED_VECTORS
        for node, reply in self.exchange.send(stage, {node: questions[node] for node in sealed}).items():
            with self.exchange.reading(node, stage, "answer under masks"):
                given[node] = Masked.read(reply)
        self.check_quorum(set(sealed), set(given))
        if len({each.layout for each in given.values()}) > 1:
            each = "; ".join(f"that of {self.exchange.names[node]!r} has {given[node].layout}" for node in given)
            raise InputError(f"answers cannot be summed, as they are not alike: {each}")
        return given

    def unmask(self, shared: set[int], given: Mapping[int, Masked]) -> Whole:
        """Get the shares of those secrets whose masks do not cancel, and return the sum without masks."""
        lost = shared - given.keys()
        contents = {
            node: _config(
                {
                    Key.ACTIVE_NODE_ID_LIST: sorted(self.neighbours[node] & given.keys()),
                    Key.DEAD_NODE_ID_LIST: sorted(self.neighbours[node] & lost),
                }
            )
            for node in given
        }
        shares: dict[int, Shares] = {node: {} for node in shared}
        told_by = set()
        for node, reply in self.exchange.send(Stage.UNMASK, contents).items():
            with self.exchange.reading(node, Stage.UNMASK, "shares of secrets"):
                owners, parts = (
                    listed(told(reply), Key.NODE_ID_LIST, int),
                    listed(told(reply), Key.SHARE_LIST, bytes),
                )
                for owner, part in zip(owners, parts, strict=True):
                    if owner in self.neighbours[node] & shared:
                        shares[owner][node] = part
                told_by.add(node)
        self.check_quorum(shared, told_by)
        number, size = self.exchange.number, next(iter(given.values())).layout.size
        total: Whole = np.zeros(size, np.uint64)
        for node, masked in given.items():
            seed = self.secret_of(node, shares[node], partial(is_pledged, pledge=masked.pledge))
            total = total + masked.values - mask(seed, number, size)
        for node in lost:
            key = bytes_to_private_key(
                self.secret_of(node, shares[node], partial(is_key_of, public=self.keys[node][0]))
            )
            for other in self.neighbours[node] & given.keys():
                between = mask(generate_shared_key(key, bytes_to_public_key(self.keys[other][0])), number, size)
                total = total - between if other > node else total + between
        return total

    def secret_of(self, node: int, shares: Shares, fits: Callable[[bytes], bool]) -> bytes:
        """Return a secret that was shared, having checked that it is the one."""
        secret = recover(shares, self.threshold, fits)
        if secret is None:
            name = self.exchange.names[node]
            givers = ", ".join(repr(self.exchange.names[each]) for each in shares)
            raise MissingClientsError(
                f"the secure sum cannot be unmasked: it takes {self.threshold} shares of a secret of {name!r} that fit "
                f"together, and those from {givers or 'nobody'} do not; start the sum again, or leave out who gives "
                "wrong ones",
                (name,),
            )
        return secret

    def check_quorum(self, of: set[int], there: set[int]) -> None:
        """Check that of every node enough neighbours are there to tell its secrets."""
        fewest = min((len(self.neighbours[node] & there) for node in of), default=0)
        if fewest < self.threshold:
            missing = self.exchange.missing
            gone = "; ".join(f"{name!r} {why}" for name, why in missing.items())
            raise MissingClientsError(
                f"the secure sum cannot go on: {fewest} of those who share a secret are left, and it takes "
                f"{self.threshold}. Missing: {gone}. Start them again, or leave them out",
                tuple(missing),
            )


def _config(values: Mapping[str, object]) -> RecordDict:
    """Return values in a record of the name that Flower's mod reads."""
    record = ConfigRecord()
    for key, value in values.items():
        record[key] = value  # type: ignore[assignment]  # what a record may hold it checks itself
    return RecordDict({RECORD_KEY_CONFIGS: record})
