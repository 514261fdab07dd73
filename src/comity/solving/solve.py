"""`comity.solve`: from tables or a federation to a `Result`."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from comity.core.estimates import Confidence, Contribution, Estimate, Standing
from comity.core.kinds import ModelKind
from comity.core.names import of_clients, unknown_client
from comity.core.progress import Progress, progress_bar
from comity.core.tasks import MetricName, Task
from comity.core.wording import mention
from comity.deciding.borrow import Borrowed
from comity.errors import ComityWarning, InputError
from comity.families.estimator.family import GIVEN
from comity.families.family import Request, silent
from comity.federation import Federation, InProcess
from comity.result.result import Result, contributions_of
from comity.solving.findings import Findings, learn
from comity.study import Rule, SearchName, Study, Weights

if TYPE_CHECKING:
    from comity.client.tables.sources import Source
    from comity.families.network.checkpoint import Checkpoint


def solve(
    source: Source | Federation,
    client: str | None = None,
    target: str | None = None,
    *,
    task: Task | None = None,
    metric: MetricName | None = None,
    exposure: str | None = None,
    time: str | None = None,
    event: str | None = None,
    exclude: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    id: str | None = None,  # noqa: A002 - as on the command line
    group: str | None = None,
    encoding: str = "utf-8",
    without: tuple[str, ...] = (),
    model: str | object = "linear",
    search: SearchName | None = None,
    worth: float = 0.01,
    folds: int | None = None,
    repeats: int | None = None,
    judges: int | None = None,
    confidence: float = 1.0,
    weights: Weights = "sample",
    rule: Rule = "smallest",
    penalty: float | None = None,
    resamples: int = 0,
    seed: int = 0,
    width: int = 32,
    depth: int = 1,
    steps: int = 800,
    fine_tune: int = 0,
    local_steps: int = 0,
    progress: bool = False,
    **unknown: object,
) -> Result:
    """Find out who should train with whom: coalitions that nobody wants to leave, the models, and the proof.

    Args:
        source: A table (a DataFrame, or a CSV, Parquet or Excel file) with a column that says whose each row is; one
            table for each client (a mapping by name, or a directory); or a `Federation`.
        client: The column that says whose each row is, if all rows are in one table.
        target: The column to predict.
        task: ``regression``, ``classes``, ``counts`` or ``survival``; as the target looks unless given.
        metric: How models are evaluated: ``rmse``, ``r2``, ``auc``, ``accuracy``, ``log-loss``, ``deviance`` (counts)
            or ``concordance`` (survival).
        exposure: The column by which expected counts are multiplied.
        time: The column with the times of survival.
        event: The column that says whether the event happened at that time; it is the target.
        exclude: Columns to leave out.
        keep: Columns of numbers to use although they look like identifiers.
        categories: Columns of numbers, with few different values, to take for categories.
        id: A column that identifies rows: it is not learned from, and predictions have it.
        group: A column whose rows with equal values, such as those of one patient, are held out together; it is not
            learned from.
        encoding: The encoding of CSV files.
        without: Clients to leave out.
        model: ``linear``; ``boosting`` or ``forest``, or any estimator of scikit-learn (with the extra ``sklearn``); or
            ``mlp`` for perceptrons (which need torch).
        search: How collaborators are found: ``borrow``, by what all clients' rows tell, the default for linear models;
            ``spo``, as in the paper; or ``exhaustive``, among all subsets of at most twelve clients.
        worth: The share of its loss alone that a client must expect to gain to collaborate (``borrow``).
        folds: Folds of the rows that choose collaborators.
        repeats: How often these folds are drawn.
        judges: Outer folds that evaluate what was chosen without them.
        confidence: How many standard errors a gain must have to count.
        weights: Whether a weight is of a row (``sample``) or of a ``client``, as in the paper.
        rule: Take the ``smallest`` set that is nearly as good as the best, or the paper's ``clip`` rule.
        penalty: The ridge penalty of all models; chosen by the folds unless given.
        resamples: How many resamples of the rows tell how sure each edge is.
        seed: The same seed gives the same result.
        width: Units in a hidden layer of a perceptron.
        depth: Hidden layers of a perceptron.
        steps: Steps in which the front of perceptrons is trained.
        fine_tune: Steps that each client takes in the end on its own rows.
        local_steps: Steps that clients take between two rounds, instead of one.
        progress: Show a progress bar on standard error.
        **unknown: Refused, with a suggestion.

    Returns:
        The result.

    Raises:
        InputError: If the settings or the tables do not make sense.

    Example:
        >>> import numpy as np, pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> rows = pd.DataFrame(rng.normal(size=(160, 8)), columns=list("abcdefgh"))
        >>> effect = rows.sum(axis=1) * np.repeat([1, 1, -1, -1], 40)
        >>> rows["site"] = np.repeat(["North", "South", "West", "East"], 40)
        >>> rows["y"] = effect + rng.normal(size=160) * 3
        >>> set(solve(rows, client="site", target="y").coalitions) == {
        ...     frozenset({"North", "South"}), frozenset({"West", "East"})
        ... }
        True
    """
    settings = {name: value for name, value in locals().items() if name not in ("source", "progress", "unknown")}
    Study.check_names(unknown)
    given = None if isinstance(model, str) else model
    if given is not None:
        if not hasattr(model, "fit"):
            raise InputError(
                f"model is of the type {type(model).__name__}, without fit; give a name or an estimator of "
                "scikit-learn, or take comity.solve_modules to train a torch module"
            )
        settings["model"] = GIVEN
    if target is None and event is None:
        survival = task == "survival" or time is not None
        raise InputError(f"say which column {'holds the event: event=' if survival else 'to predict: target='}")
    study = Study.from_mapping(settings)
    with progress_bar(progress) as report:
        result = run(open_source(source, study), study, report, estimator=given)
    for note in result.warnings:
        warnings.warn(note, ComityWarning, stacklevel=2)
    return result


@dataclass(frozen=True, slots=True)
class Opened:
    """Clients that can be asked, warnings about their rows, and the columns that were left out when these were read."""

    federation: Federation
    warnings: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def study_of_rest(self, study: Study) -> Study:
        """Return a study of the columns that are still there."""
        if study.group is not None and study.group not in self.excluded:
            raise InputError(
                f"clients of a federation group their own rows: leave {mention('group')} out, and give it to each "
                "client (group in site.toml, or of a Client)"
            )
        still_there = tuple(name for name in study.not_features if name not in self.excluded)
        return replace(study, exclude=still_there, id=None, group=None)


def open_source(source: Source | Federation, study: Study) -> Opened:
    """Return the federation of a source."""
    if isinstance(source, Federation):
        if study.without:
            raise InputError("clients of a federation cannot be left out here; give a federation without them")
        return Opened(source)
    from comity.client.tables import read_clients, warnings_about

    clients = read_clients(
        source,
        study.client,
        exclude=tuple(name for name in study.not_features if name != study.group),
        group=study.group,
        encoding=study.encoding,
    )
    for name in study.without:
        if name not in {client.name for client in clients}:
            raise unknown_client(name, [client.name for client in clients])
    clients = tuple(client for client in clients if client.name not in study.without)
    beside = () if study.beside is None else (study.beside,)
    warned = warnings_about(clients, study.target, classes=study.task in ("classes", "survival"), beside=beside)
    return Opened(InProcess(clients), warned, study.not_features)


def run(
    opened: Opened,
    study: Study,
    progress: Progress = silent,
    checkpoint: Checkpoint | None = None,
    estimator: object = None,
) -> Result:
    """Run a study on clients.

    Args:
        opened: The clients.
        study: The settings.
        progress: Called with each stage.
        checkpoint: Where an unfinished training is kept, from which it is resumed.
        estimator: What clients train, if the study's model is one that the user gives.
    """
    return investigate(opened, study, progress, checkpoint, estimator)[0]


def investigate(
    opened: Opened,
    study: Study,
    progress: Progress = silent,
    checkpoint: Checkpoint | None = None,
    estimator: object = None,
) -> tuple[Result, Findings]:
    """Run a study on clients as `run` does, and return the result with the findings that it was made of."""
    request = Request(opened.federation, opened.study_of_rest(study), progress, checkpoint, estimator=estimator)
    findings = learn(request)
    return as_result(replace(request, study=study), findings, opened.warnings), findings


def as_result(request: Request, findings: Findings, warned: tuple[str, ...] = ()) -> Result:
    """Return what was found as a result."""
    decision, evaluated, problem = findings.decision, findings.evaluated, findings.problem
    unknown = [client for client, each in evaluated.evaluations.items() if np.isnan(each.values[0])]
    undefined = [client for client in unknown if problem.rows[client]]
    whose = "their" if undefined[1:] else "its"
    notes = [f"the {problem.metric} of {of_clients(undefined)} cannot be said on {whose} rows"] if undefined else []
    return Result(
        study=request.study,
        schema=problem.schema,
        metric=problem.metric,
        split=findings.fit.split,
        equilibrium=decision.equilibrium,
        graph=decision.graph,
        utilities={client: _standing(findings, client) for client in request.federation.clients},
        game=findings.game,
        certificate=findings.certificate,
        contributions=_contributions(findings),
        weights=decision.weights,
        penalties=evaluated.penalties,
        models=evaluated.models,
        mean_gain=_mean_gain(findings),
        confidence=_confidence(findings),
        traffic=asdict(request.federation.traffic),
        left_out=problem.left_out,
        warnings=(*warned, *findings.warnings, *notes),
        training=findings.fit.training,
        privacy=findings.privacy,
        disclosure=findings.disclosure,
        files=evaluated.files,
    )


def _contributions(findings: Findings) -> tuple[Contribution, ...]:
    """Return what each collaborator brings to each client: the margins of the certificate, and what else is known."""
    measured = contributions_of(findings.certificate)
    if not isinstance(findings.decision, Borrowed):
        return measured
    values = {(each.giver, each.receiver): each.value for each in measured}
    return tuple(
        replace(each, value=values.get((each.giver, each.receiver), each.value))
        for each in findings.decision.contributions
    )


def _standing(findings: Findings, client: str) -> Standing:
    answer = findings.evaluated.evaluations[client]
    values, gains = (
        {kind: Estimate(float(v), float(e)) for kind, v, e in zip(ModelKind, estimates, errors, strict=True)}
        for estimates, errors in ((answer.values, answer.errors), (answer.gains, answer.gain_errors))
    )
    probability = findings.evaluated.probabilities.get(client, math.nan)
    return Standing(
        rows=findings.problem.rows[client],
        **values,
        probability=probability,
        gain=gains[ModelKind.COALITION],
        gain_at_best=gains[ModelKind.BEST],
        gain_together=gains[ModelKind.TOGETHER],
    )


def _mean_gain(findings: Findings) -> Estimate:
    """Return the clients' mean gain in their coalitions; unless its error is known, their errors are independent."""
    answers = findings.evaluated.evaluations.values()
    place = list(ModelKind).index(ModelKind.COALITION)
    gains, errors = (np.array([getattr(each, name)[place] for each in answers]) for name in ("gains", "gain_errors"))
    known = ~np.isnan(gains)
    if not known.any():
        return Estimate(math.nan, math.nan)
    error = findings.evaluated.mean_gain_error
    if error is None:
        error = float(np.sqrt((errors[known] ** 2).sum()) / known.sum())
    return Estimate(float(gains[known].mean()), error)


def _confidence(findings: Findings) -> Confidence | None:
    """Return how often edges and coalitions were found in resamples."""
    if not findings.resampled:
        return None
    count = len(findings.resampled)
    clients = findings.decision.clients
    coalitions = set(findings.decision.equilibrium.coalitions)
    same = sum(set(each.equilibrium.coalitions) == coalitions for each in findings.resampled)
    edges: Counter[tuple[str, str]] = Counter()
    for decision in (findings.decision, *findings.resampled):
        found = np.argwhere(decision.wishes & ~np.eye(len(clients), dtype=np.bool_)).tolist()
        edges.update({(clients[j], clients[i]): decision is not findings.decision for i, j in found})
    ordered = sorted(edges.items(), key=lambda item: (clients.index(item[0][1]), clients.index(item[0][0])))
    return Confidence(count, same / count, {edge: times / count for edge, times in ordered})
