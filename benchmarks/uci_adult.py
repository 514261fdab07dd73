"""The paper's experiment on UCI Adult: accuracy on the test rows, alone and with the best weights."""

import os
import sys
from typing import Any

from benchmarks.measure import show
from comity.research.datasets import adult
from comity.solving.solve import solve

METHODS: dict[str, dict[str, Any]] = {
    "spo, penalty 3e-5 for all": {"search": "spo", "judges": 2, "penalty": 3e-5},
    "spo, penalty chosen by the folds": {"search": "spo", "judges": 2},
    **{f"borrow, seed {seed}": {"seed": seed} for seed in range(5)},
}


def main() -> None:
    if not os.environ.get("COMITY_DATA"):
        print("UCI Adult is left out: set COMITY_DATA to the directory of its files", file=sys.stderr)
        return
    data = adult.load()
    print("\nUCI Adult, accuracy on the test rows in per cent (paper: alone 83.5 and 66.9, best weights 82.8 and 77.0)")
    rows = []
    for name, settings in METHODS.items():
        result = solve(data.train, client="client", target=adult.TARGET, metric="accuracy", **settings)
        cells = []
        for model in ("alone", "best"):
            right = (
                result.predict(data.test, model=model)["prediction"].to_numpy() == data.test[adult.TARGET].to_numpy()
            )
            cells += [f"{100 * right[(data.test['client'] == c).to_numpy()].mean():.1f}" for c in ("non-PhD", "PhD")]
        weight = result.weights_of("PhD", "best").get("non-PhD", 0.0)
        rows.append([name, *cells, f"{weight:.2f}", repr(result.equilibrium)])
    columns = ["alone: non-PhD", "alone: PhD", "best: non-PhD", "best: PhD", "weight of non-PhD for PhD", "equilibrium"]
    show(["search", *columns], rows)
