"""The whole way through a federation with neural networks: a front for all, decisions at the clients, judgement."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from comity.collaborators import Search
from comity.decide import decide
from comity.descent import Points
from comity.federation import Federation
from comity.fitting import Tell
from comity.fronts.hypernetwork import State, Trained, Trainer, Training
from comity.learn import Learned, agree_on
from comity.neural.modules import Functional, perceptron
from comity.neural.recipe import Recipe
from comity.prove import prove
from comity.questions import JudgeModels, Split, TrainAlone
from comity.searching import AtClients
from comity.study import Study

if TYPE_CHECKING:
    from comity.checkpoint import Checkpoint

_RATE_ALONE = 1e-2
_FEW_TO_CHOOSE_BY = 20  # rows


def learn_networks(
    federation: Federation, study: Study, tell: Tell | None = None, checkpoint: Checkpoint | None = None
) -> Learned:
    """Learn who should train with whom, with perceptrons; a checkpoint keeps the training, and goes on with it."""
    say = tell or (lambda stage, done, of: None)
    say("asking for the columns", 0, 1)
    rows, agreement, metric = agree_on(federation, study)
    schema, clients = agreement.schema, federation.clients
    classes = len(schema.target.classes)
    recipe = Recipe(
        schema=schema.to_json(),
        width=study.width,
        depth=study.depth,
        loss="cross-entropy" if classes else "squared",
        folds=study.folds or 1,
        seed=study.seed,
    )
    module = perceptron(len(schema.features), classes or 1, study.width, study.depth, study.seed)
    base, _ = Functional.of(module).initial()
    settings = Training(steps=study.steps, seed=study.seed)
    with threadpool_limits(1):
        trained = train(Trainer(federation, recipe, settings, len(base)), base, say, checkpoint)
        say("training alone", 0, 1)
        alone = federation.ask(TrainAlone(recipe.to_json(), base.numpy(), study.steps, _RATE_ALONE))
        counts = np.array([rows[client] if study.weights == "sample" else 1 for client in clients], np.float64)
        searching = AtClients(
            federation=federation,
            recipe=recipe.to_json(),
            network=trained.network.to_json(),
            parameters=trained.parameters,
            counts=counts,
            alone=np.array([alone[client].loss[0] for client in clients]),
            search=_search(study),
        )
        say("finding collaborators", 0, 1)
        decision = decide(searching, clients)
        say("measuring for the proof", 0, 1)
        game, certificate = prove(searching, decision)
    models = np.stack([[alone[client].parameters for client in clients]] * 3)
    for kind, points in ((1, decision.coalition), (2, decision.best)):
        shared = points.weights.sum(axis=1) > np.diag(points.weights)
        models[kind][shared] = _models(trained, points, counts)[shared]
    say("evaluating", 0, 1)
    evaluations = federation.ask(
        {
            client: JudgeModels(recipe.to_json(), metric, np.ascontiguousarray(models[:, place]))
            for place, client in enumerate(clients)
        }
    )
    held = {client: count // recipe.parts if recipe.folds == 1 else count for client, count in rows.items()}
    return Learned(
        schema=schema,
        metric=metric,
        split=Split(folds=recipe.folds, repeats=1, judges=1, resamples=0, seed=study.seed),
        rows=rows,
        decision=decision,
        game=game,
        certificate=certificate,
        models=models.astype(np.float64),
        penalties=np.zeros(models.shape[:2]),
        evaluations=evaluations,
        left_out=agreement.left_out,
        warnings=(*agreement.warnings, *_few_to_choose_by(held)),
    )


def train(trainer: Trainer, base: torch.Tensor, say: Tell, checkpoint: Checkpoint | None = None) -> Trained:
    """Train a front, from a checkpoint if there is one, keeping it at every check."""
    state: State = trainer.begin(base)
    if checkpoint is not None:
        state = checkpoint.load(trainer, state)
    hear = partial(_hear, say)
    for kept in trainer.go_on(state, hear):
        if checkpoint is not None:
            checkpoint.save(trainer, kept)
    return trainer.finish(state)


def _hear(say: Tell, done: int, of: int, loss: float) -> None:
    say(f"training the front (loss {loss:.3g})", done, of)


def _search(study: Study) -> Search:
    """Return how a client searches; a front of all weights needs no leaning."""
    given = study.search()
    return Search(
        standard_errors=given.standard_errors,
        standard_errors_to_join=given.standard_errors_to_join,
        strengths=(0.0,),
        clip_rule=given.clip_rule,
    )


def _models(trained: Trained, points: Points, counts: np.ndarray) -> np.ndarray:
    """Return the models (N, D) of weights (N, N), of the network that was trained on most rows."""
    shares = points.weights * counts
    shares = torch.as_tensor(shares / shares.sum(axis=1, keepdims=True))
    last = torch.as_tensor(trained.parameters[-1:])
    with torch.no_grad():
        return trained.network(last, shares.to(last.dtype))[0].numpy()


def _few_to_choose_by(held: dict[str, int]) -> Iterator[str]:
    few = [client for client, count in held.items() if count < _FEW_TO_CHOOSE_BY]
    if few:
        others = f" and {len(few) - 1} more have" if len(few) > 1 else " has"
        yield (
            f"client {few[0]!r}{others} fewer than {_FEW_TO_CHOOSE_BY} rows to choose collaborators by; with "
            "folds=5 all its rows choose, in five trainings"
        )
