"""A result on one screen: the answer first, then a line for each client, why some are alone, and what is proved."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from comity.cli.screen import aligned, printable
from comity.core.estimates import Estimate
from comity.core.metrics import METRICS
from comity.core.text import (
    count,
    decimals_for,
    format_bytes,
    format_change,
    format_number,
    format_percent,
    format_probability,
    join,
    number_coalitions,
)
from comity.result.result import Result
from comity.result.sections import forgiven, stability

_MAX_NAME = 24  # columns
_MIN_NAME = 8
_MAX_NAMES = 4  # listed in a sentence
_MAX_SIZES = 6  # of coalitions
_MAX_TURNED_AWAY = 3  # clients with a sentence each
_MAX_LINES_OF_PARAGRAPH = 4
_MIN_ROWS = 3  # clients in the table, however many lines the rest takes


def overview(result: Result, width: int, height: int) -> list[str]:
    """Return a result in at most `height` lines of at most `width` columns."""
    above = [*_wrap([_answer(result), *_consortium(result)], width), "", *_wrap([_columns(result)], width)]
    below = ["", *_wrap([*_alone(result), *_turned_away(result), *_also_wanted(result)], width)]
    below += ["", *_wrap([*_proof(result), *_resampled(result), _asked(result), *_revealed(result)], width)]
    room = height - len(above) - len(below) - 1  # the head of the table
    return [*above, *_clients(result, width, max(room, _MIN_ROWS)), *(below if below[1] else below[1:])]


def _answer(result: Result) -> str:
    """Say how many train together, and how many alone."""
    sizes = sorted((len(each) for each in result.coalitions if len(each) > 1), reverse=True)
    alone = len(result.coalitions) - len(sizes)
    found = f"all {count(len(result.clients), 'client')} train alone"
    if sizes:
        of = [f"{size:,}" for size in sizes[:_MAX_SIZES]] + ["…"] * (len(sizes) > _MAX_SIZES)
        train = "trains" if len(sizes) == 1 else "train"
        found = f"{count(len(sizes), 'coalition')} (of {join(of)}) {train} together"
        found += f", {alone:,} {'stays' if alone == 1 else 'stay'} alone" if alone else ""
    purpose = f"To predict {_name(result.schema.target.name)}, " if result.family.tabular else ""
    return _sentence(f"{purpose}{found}")


def _consortium(result: Result) -> list[str]:
    """Say what clients gain on average, and how many of them gain."""
    metric, joined = METRICS[result.metric], [client for client in result.clients if _joined(result, client)]
    if not joined:
        return []
    gain, places = _improvement(result, result.mean_gain), _places(result)
    if math.isnan(gain.value):
        return ["What clients gain cannot be told from their rows."]
    change = f"improves by {format_number(gain.value, places)}, from {_number(_mean_alone(result), places)}"
    least, most = _possible_gains(result, _mean_alone(result))
    low, high = format_number(max(gain.low, least), places), format_number(min(gain.high, most), places)
    ends = f" (95 % interval {low} to {high})"
    mean = f"The clients' mean {metric.title} {change}{'' if math.isnan(gain.error) else ends}."
    better = round(result.share_better_off * len(result.clients))
    who = f"{better:,} of {count(len(result.clients), 'client')} {'is' if better == 1 else 'are'} expected to gain"
    if not result.study.borrows:
        clear = sum(_improvement(result, result.utilities[client].gain).low > 0 for client in joined)
        who = f"{clear:,} of {count(len(result.clients), 'client')} {'gains' if clear == 1 else 'gain'} significantly"
    worst = result.worst_off
    value = math.nan if worst is None else _improvement(result, result.utilities[worst].gain).value
    loses = f"; {_name(str(worst))} may do worse, by {format_number(-value, places)}" if value < 0 else ""
    return [mean, f"{who}{loses}."]


def _possible_gains(result: Result, alone: float) -> tuple[float, float]:
    """Return the least and the largest improvement that the metric allows."""
    metric = METRICS[result.metric]
    least, most = metric.least - alone, metric.most - alone
    return (least, most) if metric.more_is_better else (-most, -least)


def _mean_alone(result: Result) -> float:
    """Return the mean metric alone of the clients whose gain is known."""
    known = [each.alone.value for each in result.utilities.values() if not math.isnan(each.gain.value)]
    return sum(known) / len(known)


def _columns(result: Result) -> str:
    """Say what the columns of the table are."""
    metric = METRICS[result.metric]
    better = "higher" if metric.more_is_better else "lower"
    expected = " (expected)" if result.study.borrows else ""
    scores = f"{metric.title} ({metric.meaning}; {better} is better) alone → in the coalition{expected}"
    chance = "chance of a gain" if metric.is_loss or metric.is_root else "chance that the model's loss falls"
    return f"{scores}, gain with 95 % interval{f', {chance}' if result.study.borrows else ''}:"


def _clients(result: Result, width: int, room: int) -> list[str]:
    """Return a line for each client, or for those that gain most."""
    numbers = _coalition_numbers(result)
    last = len(numbers) + 1

    def place(client: str) -> tuple[int, float]:
        gain = _improvement(result, result.utilities[client].gain).value
        return numbers.get(client, last), -math.inf if math.isnan(gain) else -gain

    shown = sorted(result.clients, key=place)
    if len(shown) > room:  # those that gain most
        joined = [client for client in shown if client in numbers]
        shown = sorted(joined or shown, key=lambda client: place(client)[1])[: room - 1]
    places = _places(result)
    columns = ["coalition", "client", "rows", METRICS[result.metric].title, "gain"]
    right = [True, False, True, False, False]
    if result.study.borrows:
        columns, right = [*columns, "chance"], [*right, True]
    rows = []
    for client in shown:
        standing, joined_others = result.utilities[client], _joined(result, client)
        alone, coalition = (_number(each.value, places) for each in (standing.alone, standing.coalition))
        possible = _possible_gains(result, standing.alone.value)
        gain = format_change(_improvement(result, standing.gain), places, *possible) if joined_others else "–"
        scores = f"{alone} → {coalition}" if joined_others else alone
        cells = [str(numbers.get(client, "alone")), _name(client), f"{standing.rows:,}", scores, gain]
        if result.study.borrows:
            cells.append(format_probability(standing.probability) if joined_others else "–")
        rows.append(cells)
    lines = _fit(columns, rows, right, width)
    if more := len(result.clients) - len(shown):
        lines.append(f"… and {more:,} more: --verbose shows all")
    return lines


def _fit(columns: list[str], rows: list[list[str]], right: list[bool], width: int) -> list[str]:
    """Return aligned columns, with names as short as the width demands."""
    lines = list(aligned([columns, *rows], right))
    if rows and (over := max(map(cell_len, lines)) - width) > 0:
        longest = max(cell_len(row[1]) for row in rows)
        rows = [[row[0], _shorten(row[1], max(longest - over, _MIN_NAME)), *row[2:]] for row in rows]
        lines = list(aligned([columns, *rows], right))
    return lines


def _alone(result: Result) -> list[str]:
    """Say who is alone because nobody helps it."""
    unmet = {wish.client for wish in result.equilibrium.unmet}
    alone = [client for client in _lonely(result) if client not in unmet]
    if not alone:
        return []
    models = "its model" if len(alone) == 1 else "their models"
    reason = f"nobody was found to make {models} significantly better"
    if result.study.borrows:
        reason = (
            f"no other client is expected to improve {models} by {100 * result.study.worth:g} % of the loss or more"
        )
    elif result.study.rule == "clip":
        reason = f"no other client has much weight in {models}"
    return [f"Alone: {_names(alone)}; {reason}."]


def _turned_away(result: Result) -> list[str]:
    """Say who is alone because those it wants gain nothing from it."""
    wanted: dict[str, list[str]] = {}
    for wish in result.equilibrium.unmet:
        wanted.setdefault(wish.client, []).append(wish.collaborator)
    away = [client for client in _lonely(result) if client in wanted]
    lines = []
    for client in away[:_MAX_TURNED_AWAY]:
        others = wanted[client]
        nothing = "does not want it" if len(others) == 1 else "do not want it"
        if result.study.rule == "smallest":
            nothing = "gains nothing from it" if len(others) == 1 else "gain nothing from it"
            nothing += " beyond what they have from each other" if _share_coalition(result, others) else ""
        they = _name(others[0]) if len(others) == 1 else "they"
        lines.append(f"Turned away: {_name(client)} would gain from {_names(others)}, but {they} {nothing}.")
    if more := len(away) - len(lines):
        lines.append(f"… and {count(more, 'more client')} turned away: --verbose shows all")
    return lines


def _share_coalition(result: Result, clients: Sequence[str]) -> bool:
    return len({result.equilibrium.coalition_of(client) for client in clients}) == 1 and len(clients) > 1


def _also_wanted(result: Result) -> list[str]:
    """Say how many clients with others in their coalitions also wanted somebody else."""
    numbers = _coalition_numbers(result)
    also = {wish.client for wish in result.equilibrium.unmet if wish.client in numbers}
    if not also:
        return []
    clients = f"{count(len(also), 'client')} in coalitions also {'wants' if len(also) == 1 else 'want'}"
    return [f"{clients} others that gain nothing from them: --verbose shows whom."]


def _proof(result: Result) -> list[str]:
    """Say what is proved, and what is forgiven."""
    return [printable(" ".join(_sentence(text) for text in (stability(result), *forgiven(result))))]


def _asked(result: Result) -> str:
    rounds, sent, received = (result.traffic[name] for name in ("rounds", "sent", "received"))
    traffic = f"{format_bytes(sent)}, {format_bytes(received)} back"
    models = ", but the clients' models, which may hold values of rows" if result.files else ""
    return f"{count(rounds, 'round')} of questions to the clients ({traffic}); no rows were sent{models}."


def _resampled(result: Result) -> list[str]:
    """Say how often resamples of the rows gave the same coalitions, if there were any."""
    sure = result.confidence
    if sure is None:
        return []
    return [f"These coalitions were found in {format_percent(sure.equilibrium)} of {sure.resamples:,} resamples."]


def _revealed(result: Result) -> list[str]:
    """Say where to read what clients with privacy or a limit to disclosure have revealed, if there are any."""
    stated = [name for name, given in (("privacy", result.privacy), ("disclosure", result.disclosure)) if given]
    return [f"What was spent of {join(stated)}: --verbose shows it for each client."] if stated else []


def _joined(result: Result, client: str) -> bool:
    """Return whether a client's model uses rows of others."""
    return set(result.weights_of(client)) != {client}


def _lonely(result: Result) -> list[str]:
    return [client for client in result.clients if len(result.equilibrium.coalition_of(client)) == 1]


def _coalition_numbers(result: Result) -> dict[str, int]:
    """Return the number of each client's coalition, from 1; clients alone have none."""
    called = number_coalitions(list(map(len, result.coalitions)))
    named = zip(called, result.coalitions, strict=True)
    return {client: int(number) for number, coalition in named if number.isdigit() for client in coalition}


def _improvement(result: Result, gain: Estimate) -> Estimate:
    """Return a gain so that more is better."""
    return gain if METRICS[result.metric].more_is_better else -gain


def _places(result: Result) -> int:
    return decimals_for([result.utilities[client].gain.error for client in result.clients])


def _number(value: float, places: int) -> str:
    return "–" if math.isnan(value) else format_number(value, places)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _name(name: str) -> str:
    return _shorten(printable(name), _MAX_NAME)


def _shorten(name: str, width: int) -> str:
    return name if cell_len(name) <= width else set_cell_size(name, width - 1).rstrip() + "…"


def _names(names: Sequence[str]) -> str:
    first = [_name(name) for name in names[:_MAX_NAMES]]
    more = len(names) - len(first)
    return f"{', '.join(first)} and {more:,} more" if more else join(first)


def _wrap(paragraphs: Sequence[str], width: int) -> list[str]:
    """Return paragraphs as lines; all but the first of a paragraph are indented, and long paragraphs are cut."""
    lines: list[str] = []
    for paragraph in paragraphs:
        wrapped = [""]
        for word in (_shorten(each, width - 4) for each in paragraph.split(" ")):
            if wrapped[-1] and cell_len(wrapped[-1]) + 1 + cell_len(word) > width:
                wrapped.append(f"  {word}")
            else:
                wrapped[-1] += f" {word}" if wrapped[-1] else word
        if len(wrapped) > _MAX_LINES_OF_PARAGRAPH:
            wrapped = wrapped[:_MAX_LINES_OF_PARAGRAPH]
            wrapped[-1] = _shorten(f"{wrapped[-1]} …", width)
        lines += wrapped
    return lines
