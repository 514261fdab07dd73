"""A learner's state between two questions, saved in a file, as each question may be answered by another process.

It holds the personal parameters, and the losses of the client's own model row by row; neither leaves the client.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from comity.core.files import open_atomic
from comity.errors import FormatError
from comity.families.network.adam import Adam
from comity.families.network.answers.learner import DEVICE, Learner


def remember(learner: Learner, path: Path) -> None:
    """Save a learner's state in a file; it is never half-written."""
    personal = learner.personal
    tensors = {
        "parameters": personal.parameters,
        "mean": personal.adam.mean,
        "square": personal.adam.square,
        "steps": torch.tensor(personal.adam.steps),
    }
    tensors |= {f"kept {kind}": each for kind, each in personal.kept.items()}
    tensors |= {f"at {step}": each for step, each in personal.at.items()}
    tensors |= {f"lost {number}": each for number, each in enumerate(learner.lost_alone or ())}
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_atomic(path) as opened:
        opened.write(save({name: each.detach().cpu().clone().contiguous() for name, each in tensors.items()}))


def recall(learner: Learner, path: Path) -> None:
    """Restore a learner's state from a file, if there is one."""
    if not path.exists():
        return
    try:
        with safe_open(str(path), framework="pt") as opened:
            tensors: dict[str, Tensor] = {name: opened.get_tensor(name).to(DEVICE) for name in opened.keys()}  # noqa: SIM118
        personal = learner.personal
        personal.parameters = tensors["parameters"]
        personal.adam = Adam(tensors["mean"], tensors["square"], int(tensors["steps"]))
        personal.kept = {name.removeprefix("kept "): each for name, each in tensors.items() if name.startswith("kept ")}
        personal.at = {int(name.removeprefix("at ")): each for name, each in tensors.items() if name.startswith("at ")}
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise FormatError(f"{path}: this is no saved training ({error}); remove it, and train anew") from None
    lost = sorted((int(name.removeprefix("lost ")), each) for name, each in tensors.items() if name.startswith("lost "))
    learner.lost_alone = tuple(each for _, each in lost) or None
