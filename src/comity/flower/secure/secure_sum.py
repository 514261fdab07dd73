"""The coordinator's side of a secure sum."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import cast

import numpy as np
from flwr.app import RecordDict
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage
from flwr.serverapp import Grid
from flwr.supercore.primitives.asymmetric import bytes_to_public_key

from comity.errors import InputError, MissingClientsError
from comity.federation import Traffic
from comity.flower.secure.exchange import Exchange, read_list
from comity.flower.secure.fixed_point import FixedPoint, Whole
from comity.flower.secure.masks import mask, pledge_of, public_key_of, recover, shared_mask
from comity.flower.secure.payload import Masked
from comity.flower.secure.terms import Terms
from comity.flower.transport.messages import to_content
from comity.questions import Packed


@dataclass(frozen=True, eq=False)
class SecureTotal:
    """The sum of the answers of `clients`, within `error` of the plain sum, and what it cost.

    Clients lost before they gave their answer are `missing`, with the reason; those lost later are in the sum.
    """

    answer: Packed
    clients: tuple[str, ...]
    missing: dict[str, str]
    cost: Traffic
    error: float


@dataclass(frozen=True, eq=False)
class SecureSum:
    """Secure sums over the clients at the `nodes` of a Flower `grid`, with messages of the type ``train``.

    A client that does not reply within `timeout` seconds in one of the four exchanges is lost for this sum, which
    continues without it as long as enough clients are left for the threshold of the `terms`.
    """

    grid: Grid
    nodes: Mapping[str, int]
    terms: Terms = field(default_factory=Terms)
    timeout: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < self.timeout < float("inf"):
            raise InputError(f"the timeout is {self.timeout} seconds; it must be a positive number")

    def total(self, questions: Mapping[str, Packed], *, of_all: bool = False) -> SecureTotal:
        """Ask clients their questions and return the sum of their answers.

        With `of_all`, the sum is not unmasked if a client is missing: subtracted from a later sum of all, it would
        reveal the answer of the missing client.
        """
        unknown = [name for name in questions if name not in self.nodes]
        if unknown:
            raise InputError(f"no node is known for client {unknown[0]!r}; the clients are {', '.join(self.nodes)}")
        if len(questions) < 2:
            raise InputError(
                f"a secure sum is over {len(questions)} clients; it needs 2 or more, as a sum over one is its answer"
            )
        names = {self.nodes[name]: name for name in questions}
        if len(names) < len(questions):
            raise InputError("two clients are at the same node; each needs its own")
        contents = {self.nodes[name]: to_content(question) for name, question in questions.items()}
        exchange = Exchange(self.grid, names, token_hex(16), self.timeout)
        return _Sum(self.terms, exchange, self.terms.neighbours(names)).run(contents, of_all=of_all)

    def total_of_all(self, questions: Mapping[str, Packed]) -> tuple[Packed, Traffic]:
        """Return the sum over all clients asked and its cost, as `Federation._carry_total` does, or raise an error."""
        total = self.total(questions, of_all=True)
        return total.answer, total.cost


@dataclass(eq=False)
class _Sum:
    """A sum in progress: its terms, its exchanges, the neighbours of each node, and the nodes' public keys."""

    terms: Terms
    exchange: Exchange
    neighbours: dict[int, set[int]]
    keys: dict[int, list[bytes]] = field(default_factory=dict)

    @property
    def threshold(self) -> int:
        """The number of shares that reveal a secret."""
        return self.terms.needed(len(self.neighbours))

    @property
    def reasons(self) -> str:
        """The missing clients, each with the reason."""
        return "; ".join(f"{name!r} {reason}" for name, reason in self.exchange.missing.items())

    def run(self, questions: Mapping[int, RecordDict], *, of_all: bool) -> SecureTotal:
        """Run the four stages; with `of_all`, stop before the last if a client is missing."""
        self.setup()
        sealed = self.share_keys()
        masked = self.collect(sealed, questions)
        if of_all and len(masked) < len(self.neighbours):
            raise MissingClientsError(
                f"clients are missing from the secure sum: {self.reasons}. Restart them, or leave them out",
                tuple(self.exchange.missing),
            )
        total = self.unmask(set(sealed), masked)
        point = FixedPoint(self.terms.largest, len(self.neighbours))
        names = self.exchange.names
        clients = tuple(names[node] for node in names if node in masked)
        return SecureTotal(
            answer=next(iter(masked.values())).layout.answer(point.real(total)),
            clients=clients,
            missing={name: reason for name, reason in self.exchange.missing.items() if name not in clients},
            cost=self.exchange.cost,
            error=point.error,
        )

    def setup(self) -> None:
        """Send the terms, and receive two public keys from each client."""
        clients = len(self.neighbours)
        terms = {
            Key.SAMPLE_NUMBER: clients,
            Key.SHARE_NUMBER: self.terms.shares_among(clients),
            Key.THRESHOLD: self.threshold,
            Key.CLIPPING_RANGE: float(self.terms.largest),
            # Flower requires these, but comity's arithmetic (integers modulo 2⁶⁴) does not use them.
            Key.TARGET_RANGE: 0,
            Key.MOD_RANGE: 0,
            Key.MAX_WEIGHT: 1.0,
        }
        for node, reply in self.exchange.send(Stage.SETUP, dict.fromkeys(self.neighbours, terms)).items():
            with self.exchange.reading(node, Stage.SETUP, "public keys"):
                values = reply.config_records[RECORD_KEY_CONFIGS]
                keys = [cast(bytes, values[key]) for key in (Key.PUBLIC_KEY_1, Key.PUBLIC_KEY_2)]
                for key in keys:
                    bytes_to_public_key(key)  # a TypeError or ValueError, if it is none
                self.keys[node] = keys
        used = Counter(key for keys in self.keys.values() for key in keys)
        for node in [node for node, keys in self.keys.items() if any(used[key] > 1 for key in keys)]:
            self.exchange.lose(node, Stage.SETUP, "sent a key that another client sent too, or the same key twice")
            del self.keys[node]
        self.check_quorum(set(self.keys), set(self.keys))

    def share_keys(self) -> dict[int, dict[int, bytes]]:
        """Send each client its neighbours' keys; receive the shares of its secrets, encrypted for each neighbour."""
        alive = set(self.keys)
        keys = {node: {str(other): self.keys[other] for other in self.neighbours[node] & alive} for node in alive}
        sealed = {}
        for node, reply in self.exchange.send(Stage.SHARE_KEYS, keys).items():
            with self.exchange.reading(node, Stage.SHARE_KEYS, "shares of its secrets"):
                recipients = read_list(reply, Key.DESTINATION_LIST, int)
                shares = dict(zip(recipients, read_list(reply, Key.CIPHERTEXT_LIST, bytes), strict=True))
                if shares.keys() != (self.neighbours[node] & alive) - {node}:
                    raise ValueError("they are not for exactly its neighbours")
                sealed[node] = shares
        self.check_quorum(set(sealed), set(sealed))
        return sealed

    def collect(
        self, sealed: Mapping[int, Mapping[int, bytes]], questions: Mapping[int, RecordDict]
    ) -> dict[int, Masked]:
        """Forward the encrypted shares, ask the questions, and receive the masked answers."""
        shares = {}
        for node in sealed:
            sources = [source for source in sealed if node in sealed[source]]
            ciphertexts = [sealed[source][node] for source in sources]
            shares[node] = {Key.SOURCE_LIST: sources, Key.CIPHERTEXT_LIST: ciphertexts}
        masked = {}
        stage = Stage.COLLECT_MASKED_VECTORS
        for node, reply in self.exchange.send(stage, shares, questions).items():
            with self.exchange.reading(node, stage, "masked answer"):
                masked[node] = Masked.read(reply)
        self.check_quorum(set(sealed), set(masked))
        if len({answer.layout for answer in masked.values()}) > 1:
            layouts = "; ".join(f"{self.exchange.names[node]!r} sent {masked[node].layout}" for node in masked)
            raise InputError(f"answers cannot be summed, because their layouts differ: {layouts}")
        return masked

    def unmask(self, sharing: set[int], masked: Mapping[int, Masked]) -> Whole:
        """Receive shares of the secrets behind masks that do not cancel, of all nodes `sharing`, and return the sum."""
        lost = sharing - masked.keys()
        requests = {
            node: {
                Key.ACTIVE_NODE_ID_LIST: sorted(self.neighbours[node] & masked.keys()),
                Key.DEAD_NODE_ID_LIST: sorted(self.neighbours[node] & lost),
            }
            for node in masked
        }
        shares: dict[int, dict[int, bytes]] = {node: {} for node in sharing}
        helpers = set()
        for node, reply in self.exchange.send(Stage.UNMASK, requests).items():
            with self.exchange.reading(node, Stage.UNMASK, "shares of secrets"):
                owners = read_list(reply, Key.NODE_ID_LIST, int)
                for owner, share in zip(owners, read_list(reply, Key.SHARE_LIST, bytes), strict=True):
                    if owner in self.neighbours[node] & sharing:
                        shares[owner][node] = share
                helpers.add(node)
        self.check_quorum(sharing, helpers)
        number, size = self.exchange.number, next(iter(masked.values())).layout.size
        total: Whole = np.zeros(size, np.uint64)
        for node, answer in masked.items():
            seed = self.secret_of(node, shares[node], pledge_of, answer.pledge)
            total = total + answer.values - mask(seed, number, size)
        for node in lost:
            key = self.secret_of(node, shares[node], public_key_of, self.keys[node][0])
            for other in self.neighbours[node] & masked.keys():
                shared = shared_mask(key, self.keys[other][0], number, size)
                total = total - shared if other > node else total + shared
        return total

    def secret_of(
        self, node: int, shares: Mapping[int, bytes], fingerprint: Callable[[bytes], bytes], expected: bytes
    ) -> bytes:
        """Return a node's secret from the shares that others sent, if its fingerprint is the expected one."""
        secret = recover(shares.values(), self.threshold, fingerprint, expected)
        if secret is None:
            name = self.exchange.names[node]
            senders = ", ".join(repr(self.exchange.names[sender]) for sender in shares)
            raise MissingClientsError(
                f"the secure sum cannot be unmasked: {self.threshold} consistent shares of a secret of {name!r} are "
                f"needed, and those from {senders or 'nobody'} are not; start the sum again, or leave out the client "
                "that sends wrong shares",
                (name,),
            )
        return secret

    def check_quorum(self, owners: set[int], alive: set[int]) -> None:
        """Check that enough neighbours of every owner of a secret are alive to recover it."""
        fewest = min((len(self.neighbours[node] & alive) for node in owners), default=0)
        if fewest < self.threshold:
            raise MissingClientsError(
                f"the secure sum cannot continue: {fewest} of the clients that share a secret are left, and "
                f"{self.threshold} are needed. Missing: {self.reasons}. Restart them, or leave them out",
                tuple(self.exchange.missing),
            )
