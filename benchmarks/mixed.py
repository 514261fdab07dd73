"""A textbook mixed model: every client's coefficients N(μ, Ω), with a full covariance, by EM."""

import numpy as np

from comity.core.arrays import Floats
from comity.research.datasets.synthetic import Synthetic

_ROUNDS = {"regression": 100, "classes": 40}
_NEWTON_STEPS = 10


def mixed_losses(synthetic: Synthetic) -> Floats:
    """Return the true loss (N,) of each client's model in a mixed model of all clients."""
    rows = synthetic.test_rows()
    features = np.column_stack([rows.to_numpy(), np.ones(len(rows))])
    scores = features @ fit(synthetic).T
    if synthetic.task == "regression":
        return np.array([synthetic.true_loss(i, rows, each) for i, each in enumerate(scores.T)])
    yes = 1 / (1 + np.exp(-scores))
    return np.array([synthetic.true_loss(i, rows, np.column_stack([1 - p, p])) for i, p in enumerate(yes.T)])


def fit(synthetic: Synthetic) -> Floats:
    """Return each client's coefficients (N, d), the intercept last."""
    classes = synthetic.task == "classes"
    data = [(np.column_stack([x, np.ones(len(x))]), y) for x, y in synthetic.rows]
    size, rows = data[0][0].shape[1], sum(len(y) for _, y in data)
    models = np.zeros((len(data), size))
    mean, spread, noise = np.zeros(size), 0.3 * np.eye(size), 1.0
    for _ in range(_ROUNDS[synthetic.task]):
        inverse: Floats = np.asarray(np.linalg.inv(spread))
        covariances, left = [], 0.0
        for i, (x, y) in enumerate(data):
            if classes:
                models[i], covariance = _newton(x, y, models[i], mean, inverse)
            else:
                covariance = np.asarray(np.linalg.inv(x.T @ x / noise + inverse))
                models[i] = covariance @ (x.T @ y / noise + inverse @ mean)
                left += ((y - x @ models[i]) ** 2).sum() + np.trace(covariance @ x.T @ x)
            covariances.append(covariance)
        mean = models.mean(axis=0)
        apart = models - mean
        spread = np.asarray((sum(covariances) + apart.T @ apart) / len(data) + 1e-5 * np.eye(size))
        noise = 1.0 if classes else left / rows
    return models


def _newton(x: Floats, y: Floats, start: Floats, mean: Floats, inverse: Floats) -> tuple[Floats, Floats]:
    """Return the most likely coefficients of a logistic model with a normal prior, and their covariance."""
    model = start
    for _ in range(_NEWTON_STEPS):
        yes = 1 / (1 + np.exp(-(x @ model)))
        curvature = (x * (yes * (1 - yes))[:, None]).T @ x + inverse
        model = model - np.linalg.solve(curvature, x.T @ (yes - y) + inverse @ (model - mean))
    return model, np.asarray(np.linalg.inv(curvature))
