"""Checking a saved result: that nothing was changed, and that its parts follow from each other."""

from __future__ import annotations

import json
import math
import os

import numpy as np

from comity.core.estimates import Standing
from comity.core.kinds import ModelKind
from comity.core.metrics import METRICS, Metric
from comity.errors import InputError
from comity.questions import QUESTIONS
from comity.result.directory import as_changed, read_sealed
from comity.result.result import Result

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
    document, _ = read_sealed(directory)
    with as_changed(directory):
        for part, again in result.to_dict().items():
            if document.get(part) != json.loads(json.dumps(again)):
                raise InputError(f"the part {part!r} is not what follows from the rest")
        if wrong := _disagreement(result):
            raise InputError(wrong)
    return result


def _disagreement(result: Result) -> str | None:
    """Return in words what in a result does not go together, if anything."""
    if result.graph != result.equilibrium.peels[0].graph:
        return "the graph is not that of the first wishes"
    if METRICS[result.metric].task != result.schema.target.task:
        return f"the metric {result.metric!r} is not for the target"
    if set(result.certificate.forgiven) != set(result.clients):
        return "what the proof forgives is not said of each client"
    counts = [*result.traffic.values(), *(standing.rows for standing in result.utilities.values())]
    if set(result.traffic) != {"rounds", "sent", "received"} or any(type(each) is not int for each in counts):
        return "rows, rounds or bytes are not whole numbers"
    if wrong := _wrong_with_privacy(result):
        return wrong
    if tuple(result.utilities) != result.clients:
        return "the utilities are not those of the clients"
    for client, standing in result.utilities.items():
        if wrong := _wrong_with(standing, METRICS[result.metric]):
            return f"{wrong} of {client!r}"
    for kind in ModelKind:
        weights, models = result.weights[kind], result.models[kind]
        if (weights < 0).any() or not np.allclose(weights.sum(axis=1), 1):
            return f"the weights of the models {kind.value!r} are not shares of a whole"
        penalties = result.penalties[kind]
        allowed = penalties > 0 if result.family.exact else penalties == 0
        if not (allowed & np.isfinite(penalties)).all():
            return f"the penalties of the models {kind.value!r} are not positive"
        size = result.family.size(result.study, result.schema) or models.shape[1]
        if models.shape != (len(result.clients), size) or not np.isfinite(models).all():
            return f"the models {kind.value!r} are not one for each client"
    if not np.array_equal(result.weights[ModelKind.ALONE], np.eye(len(result.clients))):
        return "the models 'alone' have weights on others"
    if not np.allclose(result.weights[ModelKind.TOGETHER], 1 / len(result.clients)):
        return "the models 'together' do not weigh all clients alike"
    for place, client in enumerate(result.clients):
        home = result.equilibrium.coalition_of(client)
        if any(result.clients[j] not in home for j in np.flatnonzero(result.weights[ModelKind.COALITION][place])):
            return f"the model of {client!r} in its coalition has weights on others"
    return None


def _wrong_with_privacy(result: Result) -> str | None:
    """Return in words what in the statements of privacy cannot be, if anything."""
    for client, stated in result.privacy.items():
        if client not in result.clients:
            return f"privacy is stated of {client!r}, which is no client"
        figures = [stated["epsilon"], *(each["epsilon"] for each in stated["by_kind"].values())]
        if any(not isinstance(each, int | float) or not 0 <= each < math.inf for each in figures):
            return f"the privacy of {client!r}, which cannot be"
        if set(stated["covered"]) & set(stated["not_covered"]) or not set(stated["by_kind"]) <= set(QUESTIONS):
            return f"what noise covers of {client!r}"
    return None


def _wrong_with(standing: Standing, metric: Metric) -> str | None:
    """Return in words what in a client's figures does not go together, if anything."""
    gained = (standing.gain, standing.gain_at_best, standing.gain_together)
    for figure, gain in zip((standing.coalition, standing.best, standing.together), gained, strict=True):
        expected = standing.alone.value + gain.value
        if math.isnan(figure.value) != math.isnan(expected):
            return "what cannot be said"
        if abs(figure.value - expected) > _ROUNDING * max(1.0, abs(expected)):
            return "a gain that is not what figures differ by"
        known = [each for each in (figure.error, gain.error, standing.alone.error) if not math.isnan(each)]
        wild = [each for each in known if each < 0 or math.isinf(each)]
        possible = math.isnan(figure.value) or metric.least <= figure.value <= metric.most
        if wild or not possible or standing.rows < 1:
            return "the figures, which cannot be,"
    return None
