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

from comity.errors import ComityError, RefusedError, told_outside
from comity.federation import Member, check_summable
from comity.flower.messages import from_content
from comity.flower.secure.carrying import FORGOTTEN, REFUSED, SUM, Layout, Masked
from comity.flower.secure.fixed_point import FixedPoint
from comity.flower.secure.masks import mask
from comity.questions import Packed, pack, unpack

Read = Callable[[RecordDict], Packed]


def answer_securely(
    message: Message, context: Context, member: Member, *, least: int = 2, read: Read = from_content
) -> Message:
    """Take part in a secure sum: answer a message of any of its stages, which must have the type ``train``.

    All that is kept between messages is in `context.state`, as each may be answered by another process. The member is
    asked in the third stage, and its answer leaves under masks. It refuses sums of fewer than `least` clients, and what
    would unveil a term; a refusal is an answer too, with the reason. A client that knows nothing of a sum, as it was
    started again since, says that: the sum goes on without it.
    """
    try:
        return _answer(message, context, member, least, read)
    except ComityError as error:
        told = ConfigRecord({"kind": type(error).__name__, "why": told_outside(member.name, error)})
        return Message(RecordDict({REFUSED: told}), reply_to=message)


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
    raise AssertionError("Flower's mod asks nothing in these stages")


def _check_terms(name: str, configs: ConfigRecord, least: int) -> None:
    """Refuse terms by which a term could be unveiled."""
    clients, shares, threshold = (
        cast(int, configs[key]) for key in (Key.SAMPLE_NUMBER, Key.SHARE_NUMBER, Key.THRESHOLD)
    )
    if clients < least:
        raise RefusedError(
            f"client {name!r} takes no part in a secure sum of {clients} clients: there must be {least} or more"
        )
    if not (2 <= threshold <= shares <= clients and 2 * threshold > shares):
        raise RefusedError(
            f"client {name!r} does not share its secrets among {shares} of {clients} clients such that {threshold} can "
            "tell them: it must take more than half, and 2 at the least"
        )


def _check_unmasking(name: str, configs: ConfigRecord) -> None:
    """Refuse to help to unveil a term: of a client, either its own mask or those with others may be taken away."""
    active, dead = (set(cast(list[int], configs[key])) for key in (Key.ACTIVE_NODE_ID_LIST, Key.DEAD_NODE_ID_LIST))
    if active & dead:
        raise RefusedError(
            f"client {name!r} is asked for both secrets of another, with which its term could be read; it gives one"
        )


def _collect(message: Message, context: Context, member: Member, number: str, read: Read) -> Masked:
    """Ask the member, and mask what it answers: by its own secret, and by one with each who has shared with it."""
    configs = message.content.config_records[RECORD_KEY_CONFIGS]
    state = SecAggPlusState(**context.state.config_records[RECORD_KEY_STATE])
    check_stage(state.current_stage, configs)
    state.current_stage = cast(str, configs[Key.STAGE])
    check_configs(state.current_stage, configs)
    others = _take_shares(member.name, state, configs)
    answer = pack(member.answer(unpack(read(message.content))))
    check_summable(member.name, answer)
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
    """Keep the shares of others' secrets, and return who they are."""
    sources = cast(list[int], configs[Key.SOURCE_LIST])
    sealed = cast(list[bytes], configs[Key.CIPHERTEXT_LIST])
    if len(set(sources) - {state.nid}) + 1 < state.threshold:
        raise RefusedError(
            f"client {name!r} shares secrets with {len(set(sources))} others who are there; it gives nothing with "
            f"fewer than {state.threshold - 1}"
        )
    for source, each in zip(sources, sealed, strict=True):
        try:
            written_by, meant_for, seed, key = share_keys_plaintext_separate(decrypt(state.ss2_dict[source], each))
        except (KeyError, InvalidToken):
            raise RefusedError(f"client {name!r} cannot read the shares that are said to be of node {source}") from None
        if (written_by, meant_for) != (source, state.nid):
            raise RefusedError(f"client {name!r} was given shares of another than node {source}, or for another")
        state.rd_seed_share_dict[source], state.sk1_share_dict[source] = seed, key
    return sources
