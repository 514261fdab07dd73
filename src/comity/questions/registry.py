"""The closed list of questions. To add one, write its record and that of its answer, and add a line to `QUESTIONS`."""

from typing import Any

from comity.questions import estimators, networks, privacy, tables

QUESTIONS: dict[str, tuple[type[Any], type[Any]]] = {
    "describe": (tables.Describe, tables.Description),
    "moments": (tables.Moments, tables.MomentsAnswer),
    "expand": (tables.Expand, tables.Expansion),
    "slopes": (tables.Slopes, tables.SlopesAnswer),
    "fit-alone": (tables.FitAlone, tables.FitAloneAnswer),
    "fit-own": (tables.FitOwn, tables.FitOwnAnswer),
    "part-losses": (tables.PartLosses, tables.PartLossesAnswer),
    "evaluate": (tables.Evaluate, tables.Evaluation),
    "evaluate-linear": (tables.EvaluateLinear, tables.Evaluation),
    "fit-estimator": (estimators.FitEstimator, estimators.FitEstimatorAnswer),
    "stack-moments": (estimators.StackMoments, tables.MomentsAnswer),
    "stack-losses": (estimators.StackLosses, tables.PartLossesAnswer),
    "evaluate-stacks": (estimators.EvaluateStacks, tables.Evaluation),
    "test-stacks": (estimators.TestStacks, tables.Evaluation),
    "gradients": (networks.Gradients, networks.GradientsAnswer),
    "local-steps": (networks.LocalSteps, networks.LocalStepsAnswer),
    "held-losses": (networks.HeldLosses, networks.HeldLossesAnswer),
    "train-alone": (networks.TrainAlone, networks.TrainAloneAnswer),
    "search-front": (networks.SearchFront, networks.SearchFrontAnswer),
    "evaluate-models": (networks.EvaluateModels, tables.Evaluation),
    "train-locally": (networks.TrainLocally, networks.TrainLocallyAnswer),
    "privacy": (privacy.AskPrivacy, privacy.PrivacyAnswer),
}
RECORDS: dict[str, type[Any]] = {record.__name__: record for pair in QUESTIONS.values() for record in pair}
_KINDS = {question: kind for kind, (question, _) in QUESTIONS.items()}


def kind_of(question: object) -> str | None:
    """Return the kind of a question, or None if it is not in `QUESTIONS`."""
    return _KINDS.get(type(question))
