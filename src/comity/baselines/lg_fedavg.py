"""LG-FedAvg: one head for all, and a representation of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from comity.baselines.averaging import Averaging
from comity.baselines.session import Part


@final
@dataclass(frozen=True)
class LGFedAvg(Averaging):
    """Local representations (Liang et al. 2020, Algorithm 1): θ_g ← Σ (n_i / n) θ_g,i for the head alone.

    The body, which represents the inputs, is trained with it and never leaves its client.
    """

    personal: ClassVar[Part] = "body"
