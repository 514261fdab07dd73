"""A torch module on images: four laboratories read an amount from pictures, and two of them have negatives.

Images are made up: what counts is a pattern in noise. At C and D, bright means what dark means at A and B. One model
for all cannot be right for everybody; comity finds who belongs together.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn

import comity
from comity.families.network.training import Training
from comity.report import write_report

SIZE, ROWS = 8, 100
PATTERN = 2 / SIZE * torch.randn(1, SIZE, SIZE, generator=torch.Generator().manual_seed(99))


def images(seed: int, *, negative: bool) -> tuple[Tensor, Tensor]:
    """Return images (n, 1, 8, 8) and the amounts (n,) that they show."""
    generator = torch.Generator().manual_seed(seed)
    pictures = torch.randn(ROWS, 1, SIZE, SIZE, generator=generator)
    amounts = (pictures * PATTERN).sum(dim=(1, 2, 3)) + torch.randn(ROWS, generator=generator)
    return -pictures if negative else pictures, amounts


def main(out: Path) -> None:
    """Solve, and fill a module with the parameters of one client."""
    clients = {name: images(seed, negative=name in "CD") for seed, name in enumerate("ABCD")}
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 1, SIZE), nn.Flatten(0))  # a filter as large as the image
    result = comity.solve_modules(
        clients, module, loss="squared", training=Training(steps=120, rate=0.02, per_step=4, checks=5), folds=3
    )
    print(result)
    for client, standing in result.utilities.items():
        print(
            f"{client}: RMSE {standing.alone.value:.2f} alone, {standing.coalition.value:.2f} in its coalition, "
            f"{standing.together.value:.2f} all together"
        )
    result.save(out)
    write_report(result, out / "report.html")
    module.load_state_dict(result.state_of("A", module))
    print(f"open {out / 'report.html'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=Path("out/images"), help="a new directory (%(default)s)")
    main(parser.parse_args().out)
