"""Losses of single rows, by name. A line in `LOSSES` adds another."""

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from comity.errors import InputError

RowLoss = Callable[[Tensor, Tensor], Tensor]


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the squared error of each row (n,), the mean over several outputs."""
    outputs = outputs.reshape(len(outputs), -1)
    return ((outputs - targets.reshape(len(targets), -1)) ** 2).mean(dim=1)


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each row (n,); targets are the numbers of the classes."""
    return functional.cross_entropy(outputs, targets.long(), reduction="none")


LOSSES: dict[str, RowLoss] = {"squared": squared, "cross-entropy": cross_entropy}


def check_fit(outputs: Tensor, every_target: Tensor, loss: RowLoss, name: str) -> None:
    """Raise an error if a model's outputs for the first rows, or any target, do not fit the loss."""
    targets = every_target[: len(outputs)]
    if loss is squared:
        predicted, observed = (each.reshape(len(each), -1).shape for each in (outputs, targets))
        if predicted != observed:
            raise InputError(
                f"the model gives {predicted[1]} numbers a row and the target has {observed[1]}; the loss {name!r} "
                "wants as many"
            )
    if loss is cross_entropy:
        if outputs.dim() != 2:
            raise InputError(
                f"the model gives an array of shape {tuple(outputs.shape)}; for the loss {name!r} it must be "
                "(rows, classes)"
            )
        least, most = int(every_target.min()), int(every_target.max())
        if least < 0 or most >= outputs.shape[1]:
            raise InputError(
                f"the model gives {outputs.shape[1]} classes and the target goes from {least} to {most}; for the loss "
                f"{name!r}, classes are 0 to {outputs.shape[1] - 1}"
            )
    try:
        rows: object = loss(outputs, targets)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        raise InputError(
            f"the model's output of shape {tuple(outputs.shape)} does not fit the loss {name!r} with a target of shape "
            f"{tuple(targets.shape)} ({str(error).splitlines()[0]})"
        ) from None
    shape = tuple(rows.shape) if isinstance(rows, Tensor) else type(rows).__name__
    if shape != (len(outputs),):
        raise InputError(f"the loss {name!r} gives {shape}; it must give one number for each row ({len(outputs)},)")
