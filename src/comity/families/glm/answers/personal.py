"""A client's models, fitted at its own side on all of its rows; they are no answer to anybody."""

from dataclasses import replace

import numpy as np

from comity.core.arrays import Floats
from comity.core.kinds import ModelKind
from comity.core.tasks import BY_EXPANSION
from comity.families.glm.answers.own import fit_by_evidence
from comity.families.glm.own import fit_own
from comity.families.glm.priors import Priors
from comity.families.glm.sums import Sums
from comity.questions.schema import Schema
from comity.rows.encoding import with_target
from comity.rows.rows import Encoded, Rows


def fit_personal(rows: Rows, schema: Schema, priors: Priors) -> dict[ModelKind, Floats]:
    """Return the client's models (1, d) alone, in its coalition and at best.

    No row is hidden. Rows whose target the models do not know, such as a class that no other client has, are left out.

    Args:
        rows: The client's rows.
        schema: How they become numbers.
        priors: What its models with collaborators are pulled towards.

    Raises:
        InputError: The rows do not fit the schema.
    """
    here = replace(rows, frame=with_target(rows.frame, schema), _encoded={}, _splits={}).encoded(schema)
    if here.spec.task in BY_EXPANSION:
        alone, chosen = fit_by_evidence(here.loss, np.ones(len(here.target)))[0], priors.fit_expanded(here.loss)
    else:
        sums = _sums_of(here)
        alone, chosen = fit_own(sums)[0][0], priors.fit_number(sums)
    if not len(here.target):
        alone = chosen[0]
    coalition, best = np.where(priors.shared[:, None], chosen, alone)
    by_kind = {ModelKind.ALONE: alone, ModelKind.COALITION: coalition, ModelKind.BEST: best}
    return {kind: model[None] for kind, model in by_kind.items()}


def _sums_of(rows: Encoded) -> Sums:
    """Return the sums over all rows, as those of one client."""
    features, target = rows.features, rows.target
    return Sums(
        (features.T @ features)[None],
        (features.T @ target)[None],
        np.array([target @ target]),
        np.array([float(len(target))]),
    )
