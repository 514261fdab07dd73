"""Whether the gains that are reported are true, on federations whose truth is known."""

from dataclasses import dataclass

import numpy as np

from benchmarks.federations import Solved, in_parallel
from benchmarks.hierarchies import Setting
from benchmarks.measure import show
from benchmarks.mixed import mixed_losses
from comity.core.arrays import Booleans, Floats
from comity.core.kinds import ModelKind

SETTINGS = (
    Setting("near, few columns", 4, 30, 3, apart=0.35),
    Setting("near", 4, 60, 8, apart=0.35),
    Setting("unrelated", 8, 30, 3, groups=8),
    Setting("identical", 4, 60, 8),
    Setting("near, classes", 4, 100, 8, apart=0.35, task="classes", scale=2.0),
    Setting("identical, classes", 4, 100, 8, task="classes", scale=2.0),
)
SEEDS = range(900_000, 900_060)  # of each setting; the constants were chosen on others
_QUANTILE = 1.96  # of the normal distribution, for an interval of 95 %
_COALITION = list(ModelKind).index(ModelKind.COALITION)


@dataclass(frozen=True, eq=False)
class Judged:
    """One federation: gains of its clients (N,) over being alone, in the metric; positive is better."""

    joined: Booleans
    true: Floats
    reported: Floats
    errors: Floats
    mixed: Floats
    mean_error: float


def judge(given: tuple[Setting, int]) -> Judged:
    setting, seed = given
    solved = Solved.of(setting.draw(seed))
    losses = [solved.losses(ModelKind.ALONE), solved.losses(ModelKind.COALITION), mixed_losses(solved.synthetic)]
    alone, coalition, mixed = np.sqrt(losses) if setting.task == "regression" else losses
    answers = solved.findings.evaluated.evaluations.values()
    mean_error = solved.findings.evaluated.mean_gain_error
    assert mean_error is not None
    return Judged(
        joined=np.asarray(solved.joined, np.bool_),
        true=alone - coalition,
        reported=-np.array([each.gains[_COALITION] for each in answers]),  # both metrics are better when smaller
        errors=np.array([each.gain_errors[_COALITION] for each in answers]),
        mixed=alone - mixed,
        mean_error=mean_error,
    )


def main() -> None:
    print("\nReported minus true gain of clients that joined a coalition: RMSE, or log loss")
    rows = []
    for setting in SETTINGS:
        every = in_parallel(judge, [(setting, seed) for seed in SEEDS])
        sums = np.array([(each.reported - each.true)[each.joined].sum() for each in every])
        counts = np.array([each.joined.sum() for each in every])
        bias = sums.sum() / counts.sum()
        # Clients of one federation are not independent.
        error = _QUANTILE * np.sqrt(((sums - bias * counts) ** 2).sum()) / counts.sum()
        true, reported, errors, mixed = (
            np.concatenate([getattr(each, name) for each in every]) for name in ("true", "reported", "errors", "mixed")
        )
        joined = np.concatenate([each.joined for each in every])
        covered = np.abs(true - reported)[joined] <= _QUANTILE * errors[joined]
        whole = [
            abs(each.true.mean() - each.reported.mean()) <= _QUANTILE * each.mean_error
            for each in every
            if each.joined.any()
        ]
        rows.append(
            [
                f"{setting.name}: {setting.clients} clients, {setting.rows} rows, {setting.columns} columns",
                f"{joined.sum()} of {joined.size}",
                f"{true[joined].mean():+.4f}",
                f"{reported[joined].mean():+.4f}",
                f"{bias:+.4f} ({bias - error:+.4f} to {bias + error:+.4f})",
                f"{covered.mean():.1%}",
                f"{np.mean(whole):.1%}",
                f"{(true[joined] < 0).mean():.0%}",
                f"{true.mean():+.4f}",
                f"{mixed.mean():+.4f}",
            ]
        )
    show(
        ["setting", "joined", "true gain", "reported", "bias", "intervals of 95 % cover", "those of the consortium",
         "truly worse off", "true gain of all", "of a mixed model"],
        rows,
    )  # fmt: skip
