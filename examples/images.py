"""A convolutional network on images: four clients, two of whom give the classes other names.

Images are made up: a bar, upright or level, somewhere in noise. For A and B an upright bar is class 0, for C and D it
is class 1. One model for all cannot be right for everybody; comity finds who belongs together.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor, nn

import comity
from comity.fronts.hypernetwork import Training
from comity.report import write_report

SIZE, ROWS = 8, 150


def images(seed: int, *, swapped: bool) -> tuple[Tensor, Tensor]:
    """Return images (n, 1, 8, 8) and their classes (n,)."""
    generator = torch.Generator().manual_seed(seed)
    pictures = 0.5 * torch.randn(ROWS, 1, SIZE, SIZE, generator=generator)
    classes = torch.randint(0, 2, (ROWS,), generator=generator)
    places = torch.randint(0, SIZE, (ROWS,), generator=generator)
    for picture, kind, place in zip(pictures, classes.tolist(), places.tolist(), strict=True):
        (picture[0, :, place] if kind == 0 else picture[0, place]).add_(1.0)
    return pictures, 1 - classes if swapped else classes


def main(out: Path) -> None:
    """Solve, and fill a module with the parameters of one client."""
    clients = {name: images(seed, swapped=name in "CD") for seed, name in enumerate("ABCD")}
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(16, 2)
    )
    training = Training(steps=400, per_step=4)
    result = comity.solve(clients, model=module, training=training, metric="accuracy")
    print(result)
    for client, standing in result.utilities.items():
        print(
            f"{client}: accuracy {standing.alone.value:.2f} alone, {standing.coalition.value:.2f} in its coalition, "
            f"{standing.together.value:.2f} all together"
        )
    result.save(out)
    write_report(result, out / "report.html")
    module.load_state_dict(result.state_of("A", module))
    print(f"open {out / 'report.html'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
