"""How much more counts vary than the Poisson distribution says, from sums over disjoint parts of the clients' rows.

If the variance of a count is k times its mean, the slope of a part's loss at the right parameters varies with the
covariance k H, where H is the part's curvature. So k follows from how much the slopes of a client's parts differ,
beyond what its parameters can explain; nothing is asked for that is not known already.
"""

import numpy as np

from comity.core.arrays import Floats
from comity.families.glm.sums import Parts

_RIDGE = 1e-6  # of the mean curvature


def dispersion(parts: Parts, models: Floats) -> float:
    """Return k, at least 1, from the losses on parts, expanded at the clients' models (N, d).

    With s the slope and H the curvature of a part, and S and G their sums over a client's parts, the residual
    s - H G⁻¹ S has the covariance k (H - H G⁻¹ H). Residuals are measured by the curvature of all clients.
    """
    sums = parts.by_part
    curvature = 2 * sums.gram
    slope = 2 * ((sums.gram @ models[:, None, :, None])[..., 0] - sums.cross)
    whole = curvature.sum(axis=1)
    through = curvature @ np.linalg.inv(_regular(whole))[:, None]
    left = slope - (through @ slope.sum(axis=1)[:, None, :, None])[..., 0]
    expected = curvature - through @ curvature
    measure = np.linalg.inv(_regular(whole.sum(axis=0)))
    seen = float(np.einsum("nfa,ab,nfb->", left, measure, left))
    freedom = float(np.einsum("ab,nfba->", measure, expected))
    return max(seen / freedom, 1.0) if freedom > 0 else 1.0


def _regular(curvature: Floats) -> Floats:
    size = curvature.shape[-1]
    small = _RIDGE * np.trace(curvature, axis1=-2, axis2=-1) / size + np.finfo(np.float64).tiny
    return np.asarray(curvature + small[..., None, None] * np.eye(size))
