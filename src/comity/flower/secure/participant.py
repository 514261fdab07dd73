"""The client's side of a secure sum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import cast

from cryptography.fernet import InvalidToken
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.client.mod import secaggplus_mod
from flwr.client.mod.secure_aggregation.secaggplus_mod import SecAggPlusState, check_configs, check_stage
from flwr.common.secure_aggregation.crypto.symmetric_encryption import decrypt, generate_shared_key
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, RECORD_KEY_STATE, Key, Stage
from flwr.common.secure_aggregation.secaggplus_utils import share_keys_plaintext_separate
from flwr.supercore.primitives.asymmetric import bytes_to_private_key, bytes_to_public_key

from comity.errors import ComityError, InputError, RefusedError, public_message
from comity.federation import Member
from comity.flower.secure.fixed_point import FixedPoint
from comity.flower.secure.masks import mask
from comity.flower.secure.payload import FORGOTTEN, REFUSED, SUM, Layout, Masked
from comity.flower.transport.messages import from_content
from comity.questions import Packed

Read = Callable[[RecordDict], Packed]


def answer_securely(
    message: Message, context: Context, member: Member, *, least: int = 2, read: Read = from_content
) -> Message:
    """Take part in a secure sum: answer a message of any of its stages, which must have the type ``train``.

    State between messages is kept in `context.state`, as another process may answer the next one. The member is asked
    in the third stage, and its answer leaves under masks. The client refuses sums over fewer than `least` clients, and
    requests that would reveal a single answer; the reply then holds the reason. A client that was restarted during the
    sum replies that it does not know the sum, which continues without it.
    """
    try:
        return _answer(message, context, member, least, read)
    except ComityError as error:
        refusal = ConfigRecord({"kind": type(error).__name__, "why": public_message(member.name, error)})
        return Message(RecordDict({REFUSED: refusal}), reply_to=message)


def _answer(message: Message, context: Context, member: Member, least: int, read: Read) -> Message:
    configs = message.content.config_records[RECORD_KEY_CONFIGS]
    number = str(message.content.config_records[SUM]["number"])
    stage = configs[Key.STAGE]
    if stage == Stage.SETUP:
        _check_terms(member.name, configs, least)
        context.state[SUM] = ConfigRecord({"number": number})
    elif SUM not in context.state.config_records or context.state.config_records[SUM]["number"] != number:
        return Message(RecordDict({FORGOTTEN: ConfigRecord({"number": number})}), reply_to=message)
    if stage == Stage.COLLECT_MASKED_VECTORS:
        return Message(_collect(message, context, member, number, read).write(), reply_to=message)
    if stage == Stage.UNMASK:
        _check_unmasking(member.name, configs)
    return secaggplus_mod(message, context, _never)


def _never(message: Message, context: Context) -> Message:
    raise AssertionError("Flower's mod does not call the app in these stages")


def _check_terms(name: str, configs: ConfigRecord, least: int) -> None:
    """Refuse terms under which a single answer could be revealed."""
    clients, shares, threshold = (
        cast(int, configs[key]) for key in (Key.SAMPLE_NUMBER, Key.SHARE_NUMBER, Key.THRESHOLD)
    )
    if clients < least:
        raise RefusedError(
            f"client {name!r} takes no part in a secure sum over {clients} clients; it requires {least} or more"
        )
    if not (2 <= threshold <= shares <= clients and 2 * threshold > shares):
        raise RefusedError(
            f"client {name!r} does not share its secrets among {shares} of {clients} clients with a threshold of "
            f"{threshold}; it requires more than half of the shares, and at least 2"
        )


def _check_unmasking(name: str, configs: ConfigRecord) -> None:
    """Refuse to give both secrets of a client: with its own mask and those it shares removed, its answer is open."""
    active, dead = (set(cast(list[int], configs[key])) for key in (Key.ACTIVE_NODE_ID_LIST, Key.DEAD_NODE_ID_LIST))
    if active & dead:
        raise RefusedError(
            f"client {name!r} was asked for both secrets of another client, which would reveal its answer; it gives one"
        )


def _collect(message: Message, context: Context, member: Member, number: str, read: Read) -> Masked:
    """Ask the member and mask its answer: with its own secret, and with one shared with each neighbour."""
    configs = message.content.config_records[RECORD_KEY_CONFIGS]
    state = SecAggPlusState(**context.state.config_records[RECORD_KEY_STATE])
    check_stage(state.current_stage, configs)
    state.current_stage = cast(str, configs[Key.STAGE])
    check_configs(state.current_stage, configs)
    others = _take_shares(member.name, state, configs)
    answer = member.reply(read(message.content))
    if answer.plain != "{}":
        raise InputError(f"a {answer.kind} cannot be summed: beside arrays it has {answer.plain}")
    layout = Layout.of(answer)
    values = FixedPoint(state.clipping_range, state.sample_num).whole(layout.flat(answer), member.name)
    values = values + mask(state.rd_seed, number, len(values))
    for node in others:
        private, public = bytes_to_private_key(state.sk1), bytes_to_public_key(state.public_keys_dict[node][0])
        shared = mask(generate_shared_key(private, public), number, len(values))
        values = values + shared if state.nid > node else values - shared
    masked = Masked(layout, values, hashlib.sha256(state.rd_seed).digest())
    context.state[RECORD_KEY_STATE] = ConfigRecord(state.to_dict())
    return masked


def _take_shares(name: str, state: SecAggPlusState, configs: ConfigRecord) -> list[int]:
    """Keep the shares of other clients' secrets, and return the node ids of those clients."""
    sources = cast(list[int], configs[Key.SOURCE_LIST])
    sealed = cast(list[bytes], configs[Key.CIPHERTEXT_LIST])
    if len(set(sources) - {state.nid}) + 1 < state.threshold:
        raise RefusedError(
            f"client {name!r} shares secrets with {len(set(sources))} clients that are left; it requires "
            f"{state.threshold - 1} or more"
        )
    for source, each in zip(sources, sealed, strict=True):
        try:
            written_by, meant_for, seed, key = share_keys_plaintext_separate(decrypt(state.ss2_dict[source], each))
        except (KeyError, InvalidToken):
            raise RefusedError(
                f"client {name!r} cannot decrypt the shares that node {source} is said to have sent"
            ) from None
        if (written_by, meant_for) != (source, state.nid):
            raise RefusedError(f"client {name!r} received shares that node {source} did not write, or not for it")
        state.rd_seed_share_dict[source], state.sk1_share_dict[source] = seed, key
    return sources
