"""The answers of `comity.families.glm.answers.moments` with rows clipped and noise added.

A row contributes a vector to each sum. For a number it is the upper triangle of zzᵀ, z being the encoded row with its
target: its moments, and, by the intercept, a one that counts it. For classes it is a one, the row's loss, its gradient
and the upper triangle of its curvature. A vector that is too long is scaled down, so that the row has less weight in
all sums alike. Noise is added to the sums, and the answer is computed from these: matrices stay symmetric, but noise
may make them indefinite.
"""

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import LogLoss
from comity.core.losses import SquaredLoss
from comity.errors import InputError, RefusedError
from comity.questions import Expand, Expansion, Moments, MomentsAnswer, Slopes, SlopesAnswer
from comity.rows.noise import Noise
from comity.rows.rows import Encoded, Rows
from comity.rows.splits import Splits, max_squared_count


def noisy_moments(rows: Rows, question: Moments, noise: Noise) -> MomentsAnswer:
    """Return noisy moments; a row contributes to all its views, once for each repeat of the folds."""
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    split = question.split
    squares = split.repeats * max_squared_count(split, np.ones(split.views))
    if isinstance(here.loss, SquaredLoss):
        return _of_numbers(here, splits, squares, noise)
    loss = _log_loss(rows, here)
    _check_points(question.points, split.views, loss.size)
    (sums,) = noise.add_to(squares, _of_folds(loss, splits, question.points, noise))
    return MomentsAnswer(*_expanded(sums, question.points[:, None], noise))


def noisy_expand(rows: Rows, question: Expand, noise: Noise) -> Expansion:
    """Return noisy expansions; a row contributes at the own point for each repeat, and at each of the N points."""
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    split, points, loss = question.split, question.points, _log_loss(rows, here)
    _check_points(points, split.views, loss.size)
    squares = (split.repeats + points.shape[1]) * max_squared_count(split, np.ones(split.views))
    own = points[:, question.own]
    views = zip(points, splits.counts, strict=True)
    whole = np.array([[_sums(loss, at, count[None], noise)[0, 2:] for at in each] for each, count in views])
    sums, whole = noise.add_to(squares, _of_folds(loss, splits, own, noise), whole)
    slope, curvature = whole[..., : points.shape[-1]], _mirrored(whole[..., points.shape[-1] :])
    return Expansion(
        *_expanded(sums, own[:, None], noise),
        whole_gram=curvature / 2,
        whole_cross=((curvature @ points[..., None])[..., 0] - slope) / 2,
    )


def noisy_slopes(rows: Rows, question: Slopes, noise: Noise) -> SlopesAnswer:
    """Return noisy loss, gradient and curvature; a row contributes to each model of a view that has it."""
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    split, models, views = question.split, question.parameters, question.views
    if not (np.isin(views, np.arange(split.views)).all() and views.shape == models.shape[:1]):
        raise InputError(f"each model must be asked about one of the {split.views} views")
    loss = _log_loss(rows, here)
    _check_points(models, len(models), loss.size)
    times = np.bincount(views.astype(np.intp), minlength=split.views).astype(np.float64)
    counts = splits.counts[views.astype(np.intp)]
    every = [_sums(loss, model, count[None], noise)[0] for model, count in zip(models, counts, strict=True)]
    (sums,) = noise.add_to(max_squared_count(split, times), np.array(every))
    count, losses, slope, curvature = _apart(sums, models.shape[1])
    return SlopesAnswer(losses, slope, curvature, _at_least_one(count, noise))


def _log_loss(rows: Rows, here: Encoded) -> LogLoss:
    """Return the loss of classes; of other tasks it is not known how much a row can change a sum."""
    if not isinstance(here.loss, LogLoss):
        raise RefusedError(
            f"client {rows.owner!r} clips its answers or adds noise, which is not possible for the task "
            f"{here.spec.task!r}; leave it out, or ask it to answer without (privacy)"
        )
    return here.loss


def _of_numbers(rows: Encoded, splits: Splits, squares: float, noise: Noise) -> MomentsAnswer:
    """Return the moments of rows with a number as target."""
    z = np.column_stack([rows.features, rows.target])
    with np.errstate(over="ignore"):
        lengths = np.sqrt(((z**2).sum(axis=1) ** 2 + (z**4).sum(axis=1)) / 2)
    weight = noise.weights(lengths)
    z = np.where(weight[:, None] > 0, z, 0.0)
    upper = np.triu_indices(z.shape[1])
    sums = np.array(
        [[((z * (weight * view * mask)[:, None]).T @ z)[upper] for mask in splits.masks] for view in splits.counts]
    )
    (sums,) = noise.add_to(squares, sums)
    whole = _mirrored(sums)
    gram, cross, square = whole[..., :-1, :-1], whole[..., :-1, -1], whole[..., -1, -1]
    counted = _at_least_one(gram[..., -1, -1], noise)  # the intercept's square is one in every row
    return MomentsAnswer(*map(np.ascontiguousarray, (gram, cross, square, counted)))


def _of_folds(loss: LogLoss, splits: Splits, points: Floats, noise: Noise) -> Floats:
    """Return the sums (V, K, …) of each view at its point (V, d), for each fold."""
    views = zip(points, splits.counts, strict=True)
    return np.array([_sums(loss, at, count * splits.masks, noise) for at, count in views])


def _sums(loss: LogLoss, at: Floats, counts: Floats, noise: Noise) -> Floats:
    """Return sums (C, 2 + d + d(d + 1)/2) of clipped rows at a point (d,), which count `counts` (C, n) times."""
    upper = np.triu_indices(loss.size)
    with np.errstate(all="ignore"):  # rows that are not finite have the weight zero
        weight = noise.weights(_lengths(loss, at))
    sums = []
    for count in counts:
        taken = count * weight
        here = np.flatnonzero(taken)
        part, taken = loss.some(here), taken[here]
        slope, curvature = part.slope(at, taken), part.curvature(at, taken)
        sums.append(np.concatenate([[taken.sum(), taken @ part.losses(at)], slope, curvature[upper]]))
    return np.array(sums)


def _lengths(loss: LogLoss, at: Floats) -> Floats:
    """Return the length of each row's vector (n,): a one, its loss, gradient and upper triangle of the curvature."""
    share = loss.probabilities(at)
    if loss.outputs == 1:
        residual = (share - loss.target[:, None]) ** 2
        of_block = on_diagonal = (share[:, 0] * (1 - share[:, 0])) ** 2
    else:
        residual = (share - (loss.target[:, None] == np.arange(loss.outputs))) ** 2
        squares = share**2
        on_diagonal = (squares * (1 - share) ** 2).sum(axis=1)
        of_block = on_diagonal + squares.sum(axis=1) ** 2 - (squares**2).sum(axis=1)
    features = loss.features**2
    length = features.sum(axis=1)
    # The upper triangle is half of all entries and of the diagonal together.
    curved = (length**2 * of_block + (features**2).sum(axis=1) * on_diagonal) / 2
    return np.asarray(np.sqrt(1 + loss.losses(at) ** 2 + length * residual.sum(axis=1) + curved))


def _apart(sums: Floats, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the counts (…), losses (…), gradients (…, d) and curvatures (…, d, d) in sums."""
    counted, loss = sums[..., 0].copy(), sums[..., 1].copy()
    return counted, loss, np.ascontiguousarray(sums[..., 2 : 2 + size]), _mirrored(sums[..., 2 + size :])


def _expanded(sums: Floats, points: Floats, noise: Noise) -> tuple[Floats, Floats, Floats, Floats]:
    """Return gram, cross, square and rows of the expansion at the points of sums (V, K, …)."""
    counted, loss, slope, curvature = _apart(sums, points.shape[-1])
    turned = (curvature @ points[..., None])[..., 0]
    level = loss - (slope * points).sum(axis=-1) + (turned * points).sum(axis=-1) / 2
    return curvature / 2, (turned - slope) / 2, level, _at_least_one(counted, noise)


def _mirrored(upper: Floats) -> Floats:
    """Return symmetric matrices (…, d, d) from their upper triangles (…, d(d + 1)/2)."""
    size = int((np.sqrt(8 * upper.shape[-1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(size)
    whole = np.empty((*upper.shape[:-1], size, size))
    whole[..., rows, columns] = upper
    whole[..., columns, rows] = upper
    return whole


def _at_least_one(rows: Floats, noise: Noise) -> Floats:
    """Return counts that can be divided by, at least one if noise may have made them smaller."""
    return np.maximum(rows, 1.0) if noise.noisy else rows


def _check_points(points: Floats, views: int, size: int) -> None:
    """Raise an error unless there is a point of the right size for every view."""
    if points.shape[0] != views or points.shape[-1] != size:
        raise InputError(f"points of shape {points.shape} were given; there must be {views}, of {size} numbers each")
