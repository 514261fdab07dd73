"""A learner's state between two questions, saved in a file, as each question may be answered by another process.

It holds the personal parameters, and the losses of the client's own model row by row; neither leaves the client.
"""

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
        personal.kept = _named(tensors, "kept")
        personal.at = {int(step): each for step, each in _named(tensors, "at").items()}
        lost = {int(number): each for number, each in _named(tensors, "lost").items()}
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise FormatError(f"{path}: this is no saved training ({error}); remove it, and train anew") from None
    learner.lost_alone = tuple(lost[number] for number in sorted(lost)) or None


def _named(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    """Return the tensors of a kind, such as those named "kept alone" and "kept best", by the rest of the name."""
    return {name.partition(" ")[2]: each for name, each in tensors.items() if name.startswith(f"{kind} ")}
