"""The client's side of a secure sum."""

from typing import cast

import numpy as np
from cryptography.fernet import InvalidToken
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.client.mod import secaggplus_mod
from flwr.client.mod.secure_aggregation.secaggplus_mod import SecAggPlusState, check_configs, check_stage
from flwr.common.secure_aggregation.crypto.symmetric_encryption import decrypt
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, RECORD_KEY_STATE, Key, Stage
from flwr.common.secure_aggregation.secaggplus_utils import share_keys_plaintext_separate

from comity.errors import ComityError, InputError, RefusedError, public_message
from comity.federation import Member
from comity.flower.secure.fixed_point import FixedPoint
from comity.flower.secure.masks import mask, pledge_of, shared_mask
from comity.flower.secure.payload import FORGOTTEN, REFUSED, SUM, Layout, Masked
from comity.flower.transport.messages import from_content


def answer_securely(message: Message, context: Context, member: Member, *, least: int = 2) -> Message:
    """Take part in a secure sum: answer a message of any of its stages, which must have the type ``train``.

    State between messages is kept in `context.state`, as another process may answer the next one. The member is asked
    in the third stage, and its answer leaves under masks. The client refuses sums over fewer than `least` clients, and
    requests that would reveal a single answer; the reply then holds the reason. A client that was restarted during the
    sum replies that it does not know the sum, which continues without it.
    """
    try:
        return _answer(message, context, member, least)
    except ComityError as error:
        refusal = ConfigRecord({"kind": type(error).__name__, "why": public_message(member.name, error)})
        return Message(RecordDict({REFUSED: refusal}), reply_to=message)


def _answer(message: Message, context: Context, member: Member, least: int) -> Message:
    configs = message.content.config_records[RECORD_KEY_CONFIGS]
    number = str(message.content.config_records[SUM]["number"])
    stage = configs[Key.STAGE]
    if stage == Stage.SETUP:
        _check_terms(member.name, configs, least)
        context.state[SUM] = ConfigRecord({"number": number})
    elif SUM not in context.state.config_records or context.state.config_records[SUM]["number"] != number:
        return Message(RecordDict({FORGOTTEN: ConfigRecord({"number": number})}), reply_to=message)
    if stage == Stage.COLLECT_MASKED_VECTORS:
        return Message(_collect(message, context, member, number).write(), reply_to=message)
    if stage == Stage.UNMASK:
        active, dead = (set(cast(list[int], configs[key])) for key in (Key.ACTIVE_NODE_ID_LIST, Key.DEAD_NODE_ID_LIST))
        if active & dead:  # without its own mask and those it shares, an answer is open
            raise RefusedError(
                f"client {member.name!r} was asked for both secrets of another client, which would reveal its answer; "
                "it gives one"
            )
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


def _collect(message: Message, context: Context, member: Member, number: str) -> Masked:
    """Ask the member and mask its answer: with its own secret, and with one shared with each neighbour."""
    configs = message.content.config_records[RECORD_KEY_CONFIGS]
    state = SecAggPlusState(**context.state.config_records[RECORD_KEY_STATE])
    check_stage(state.current_stage, configs)
    state.current_stage = cast(str, configs[Key.STAGE])
    check_configs(state.current_stage, configs)
    others = _take_shares(member.name, state, configs)
    answer = member.reply(from_content(message.content))
    if answer.plain != "{}":
        raise InputError(f"a {answer.kind} cannot be summed: beside arrays it has {answer.plain}")
    flat = np.concatenate([each.astype(np.float64).reshape(-1) for each in answer.arrays.values()])
    values = FixedPoint(state.clipping_range, state.sample_num).whole(flat, member.name)
    values = values + mask(state.rd_seed, number, len(values))
    for node in others:
        shared = shared_mask(state.sk1, state.public_keys_dict[node][0], number, len(values))
        values = values + shared if state.nid > node else values - shared
    context.state[RECORD_KEY_STATE] = ConfigRecord(state.to_dict())
    return Masked(Layout.of(answer), values, pledge_of(state.rd_seed))


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
