"""Evaluation of linear models on rows that they were not trained on."""

from comity.core.metrics import METRICS
from comity.errors import InputError
from comity.questions import Evaluate, EvaluateLinear, Evaluation
from comity.rows.evaluation import evaluate_kinds, evaluate_predictions
from comity.rows.rows import Rows


def evaluate(rows: Rows, question: Evaluate) -> Evaluation:
    """Return how well models do, those of each view on the part of the rows that it leaves out."""
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    kinds = [[here.predict(model) for model in models] for models in question.parameters]
    metric, target = METRICS[question.metric], here.as_given(here.target)
    return evaluate_kinds(metric, target, splits.judge, kinds, question.counted, question.split.seed, rows.owner)


def evaluate_linear(rows: Rows, question: EvaluateLinear) -> Evaluation:
    """Return how well linear models do on the test rows."""
    here = rows.encoded_tests(question.schema)
    if here is None:
        raise InputError(f"client {rows.owner!r} has no rows to test with")
    predictions = [here.predict(model) for model in question.parameters]
    return evaluate_predictions(
        METRICS[question.metric], here.as_given(here.target), predictions, question.seed, rows.owner
    )
