"""What a learner must not forget between two questions, kept in a file: it may be asked in another process each time.

It is what is personal to the client and what its own model loses, row by row: neither ever leaves the client.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from comity.errors import FormatError
from comity.files import writing
from comity.neural.adam import Adam
from comity.neural.learner import DEVICE, Learner


def remember(learner: Learner, path: Path) -> None:
    """Keep a learner's memory in a file, which is there wholly or not at all."""
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
    with writing(path) as opened:
        opened.write(save({name: each.detach().cpu().clone().contiguous() for name, each in tensors.items()}))


def recall(learner: Learner, path: Path) -> None:
    """Give a learner the memory that was kept, if there is one."""
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
        raise FormatError(f"{path}: this is no memory of a training ({error}); remove it, and train anew") from None
    lost = sorted((int(name.removeprefix("lost ")), each) for name, each in tensors.items() if name.startswith("lost "))
    learner.lost_alone = tuple(each for _, each in lost) or None
