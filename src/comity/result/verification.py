"""Checking a saved result: that nothing was changed, and that its parts follow from each other."""

import json
import math
import os
from collections.abc import Iterator

import numpy as np

from comity.core.estimates import Standing
from comity.core.kinds import ModelKind
from comity.core.metrics import METRICS, Metric
from comity.errors import InputError
from comity.questions import QUESTIONS
from comity.result.directory import as_changed, read_document
from comity.result.result import Result, contributions_of

_ROUNDING = 1e-9


def verify(directory: str | os.PathLike[str]) -> Result:
    """Check a saved result: that nothing was changed, that coalitions follow from wishes, and the proof.

    The seal finds every slip and every change by hand. Whoever changes a result and seals it again can only write what
    is consistent: coalitions that follow from the wishes, and a proof that follows from the utilities.

    Args:
        directory: The directory that `Result.save` or ``comity solve --out`` wrote.

    Returns:
        The result. If its proof does not hold, its certificate says so.

    Raises:
        ChangedError: If something was changed; it says where.
        FormatError: If it is something else than a result.
    """
    result = Result.load(directory)
    document = read_document(directory)
    with as_changed(directory):
        for part, again in result.to_dict().items():
            if document.get(part) != json.loads(json.dumps(again)):
                raise InputError(f"the part {part!r} is not what follows from the rest")
        for contradiction in _contradictions(result):
            raise InputError(contradiction)
    return result


def _contradictions(result: Result) -> Iterator[str]:
    """Yield what contradicts something else in a result; each check relies on those before it."""
    if result.graph != result.equilibrium.peels[0].graph:
        yield "the graph is not that of the first wishes"
    if METRICS[result.metric].task != result.schema.target.task:
        yield f"the metric {result.metric!r} is not for the target"
    if set(result.certificate.forgiven) != set(result.clients):
        yield "what the proof forgives is not said of each client"
    counts = [*result.traffic.values(), *(standing.rows for standing in result.utilities.values())]
    if set(result.traffic) != {"rounds", "sent", "received"} or any(type(each) is not int for each in counts):
        yield "rows, rounds or bytes are not whole numbers"
    yield from _contradictions_in_privacy(result)
    if tuple(result.utilities) != result.clients:
        yield "the utilities are not those of the clients"
    for client, standing in result.utilities.items():
        yield from _contradictions_in_scores(client, standing, METRICS[result.metric])
    gains = [each.gain.value for each in result.utilities.values() if not math.isnan(each.gain.value)]
    mean = sum(gains) / len(gains) if gains else math.nan
    if math.isnan(mean) != math.isnan(result.mean_gain.value) or abs(mean - result.mean_gain.value) > _ROUNDING:
        yield "the mean gain is not the mean of the gains"
    for kind in ModelKind:
        weights, models, penalties = result.weights[kind], result.models[kind], result.penalties[kind]
        if (weights < 0).any() or not np.allclose(weights.sum(axis=1), 1):
            yield f"the weights of the models {kind.value!r} are not shares of a whole"
        allowed = penalties > 0 if result.family.exact else penalties == 0
        if not (allowed & np.isfinite(penalties)).all():
            yield f"the penalties of the models {kind.value!r} are not positive"
        size = result.family.size(result.study, result.schema) or models.shape[1]
        if models.shape != (len(result.clients), size) or not np.isfinite(models).all():
            yield f"the models {kind.value!r} are not one for each client"
    yield from _contradictions_in_stacks(result)
    if not np.array_equal(result.weights[ModelKind.ALONE], np.eye(len(result.clients))):
        yield "the models 'alone' have weights on others"
    if not np.allclose(result.weights[ModelKind.TOGETHER], 1 / len(result.clients)):
        yield "the models 'together' do not weigh all clients alike"
    yield from _contradictions_in_contributions(result)
    for client in result.clients:
        if not result.weights_of(client).keys() <= result.equilibrium.coalition_of(client):
            yield f"the model of {client!r} in its coalition has weights on others"


def _contradictions_in_stacks(result: Result) -> Iterator[str]:
    """Yield what contradicts models that are weights of what clients trained."""
    count = len(result.clients)
    for kind in ModelKind:
        yield from result.family.contradictions(result.schema, result.models[kind], result.files)
    if not result.files:
        return
    for place, client in enumerate(result.clients):
        if not result.utilities[client].rows:
            continue
        alone, coalition = (
            {result.clients[j] for j in np.flatnonzero(result.models[kind][place, :count]).tolist()}
            for kind in (ModelKind.ALONE, ModelKind.COALITION)
        )
        if not alone <= {client} or not coalition <= result.equilibrium.coalition_of(client):
            yield f"the model of {client!r} alone or in its coalition uses models of others"


def _contradictions_in_contributions(result: Result) -> Iterator[str]:
    measured = {(each.giver, each.receiver): each.value for each in contributions_of(result.certificate)}
    stated = {(each.giver, each.receiver): each for each in result.contributions}
    if len(stated) < len(result.contributions) or not measured.keys() <= stated.keys():
        yield "the contributions are not those that the proof measures"
    for (giver, receiver), each in stated.items():
        if receiver not in result.clients or giver not in result.equilibrium.coalition_of(receiver):
            yield f"{giver!r} contributes to {receiver!r}, which is not in its coalition"
        if each.value != measured.get((giver, receiver), each.value):
            yield f"what {giver!r} contributes to {receiver!r} is not what the proof measures"
        if not (math.isfinite(each.value) and (math.isnan(each.probability) or 0 <= each.probability <= 1)):
            yield f"what {giver!r} contributes to {receiver!r}, or its probability, is impossible"


def _contradictions_in_privacy(result: Result) -> Iterator[str]:
    for client, each in result.disclosure.items():
        if client not in result.clients or set(each) != {"disclosed", "limit"}:
            yield f"what {client!r} disclosed is not that of a client, or not its share and the limit"
        if any(not isinstance(value, int | float) or not 0 <= value < math.inf for value in each.values()):
            yield f"what {client!r} disclosed, or its limit, is not a finite number, 0 or more"
    for client, stated in result.privacy.items():
        if client not in result.clients:
            yield f"privacy is stated of {client!r}, which is no client"
        epsilons = [stated["epsilon"], *(each["epsilon"] for each in stated["by_kind"].values())]
        if any(not isinstance(each, int | float) or not 0 <= each < math.inf for each in epsilons):
            yield f"an epsilon of {client!r} is not a finite number, 0 or more"
        if set(stated["covered"]) & set(stated["not_covered"]) or not set(stated["by_kind"]) <= set(QUESTIONS):
            yield f"what noise covers at {client!r} contradicts itself, or names an unknown question"


def _contradictions_in_scores(client: str, standing: Standing, metric: Metric) -> Iterator[str]:
    for score, gain in (
        (standing.coalition, standing.gain),
        (standing.best, standing.gain_at_best),
        (standing.together, standing.gain_together),
    ):
        expected = standing.alone.value + gain.value
        if math.isnan(score.value) != math.isnan(expected):
            yield f"of a score of {client!r} and its gain, only one is known"
        if abs(score.value - expected) > _ROUNDING * max(1.0, abs(expected)):
            yield f"a gain of {client!r} is not the difference of its scores"
        if not (math.isnan(standing.probability) or 0 <= standing.probability <= 1):
            yield f"the probability that {client!r} gains is impossible"
        errors = [each for each in (score.error, gain.error, standing.alone.error) if not math.isnan(each)]
        possible = math.isnan(score.value) or metric.least <= score.value <= metric.most
        if any(error < 0 or math.isinf(error) for error in errors) or not possible or standing.rows < 0:
            yield f"a score of {client!r}, its error or the number of rows is impossible"
