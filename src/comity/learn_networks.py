"""The whole way through a federation with neural networks: a front for all, decisions at the clients, judgement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from comity.collaborators import Search
from comity.decide import decide
from comity.federation import Federation
from comity.figures import KINDS
from comity.fitting import Tell
from comity.fronts.hypernetwork import HypernetworkFront, State, Trainer, Training
from comity.learn import Learned, agree_by, ask_privacy, describe_all, private_of
from comity.neural.modules import Functional, perceptron
from comity.neural.recipe import Recipe
from comity.prove import prove
from comity.questions import JudgeModels, Split, TrainAlone
from comity.schema import Schema
from comity.searching import AtClients
from comity.study import Study

if TYPE_CHECKING:
    from comity.checkpoint import Checkpoint

_TO_TUNE = 0.1  # of the rate at which clients train alone
_FEW_TO_CHOOSE_BY = 20  # rows


@dataclass(frozen=True, eq=False)
class Setup:
    """What is to be learned: how clients train, the model that all begins as (D,), and what is known of the rows."""

    recipe: Recipe
    base: torch.Tensor
    training: Training
    rows: dict[str, int]
    schema: Schema
    metric: str
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    private: tuple[str, ...] = ()

    @property
    def sent(self) -> np.ndarray:
        """The first model, as it is sent."""
        return self.base.to(torch.float64 if self.recipe.double else torch.float32).numpy()


def of_tables(federation: Federation, study: Study) -> Setup:
    """Agree on a schema, and return what is to be learned with perceptrons; a linear model has no hidden layer."""
    described = describe_all(federation, study)
    rows, agreement, metric = agree_by(described, study)
    schema = agreement.schema
    classes = len(schema.target.classes)
    depth = 0 if study.model == "linear" else study.depth
    recipe = Recipe(
        schema=schema.to_json(),
        width=study.width,
        depth=depth,
        loss="cross-entropy" if classes else "squared",
        folds=study.folds or 1,
        seed=study.seed,
    )
    module = perceptron(len(schema.features), classes or 1, study.width, depth, study.seed)
    base, _ = Functional.of(module).initial()
    training, private = training_of(study), private_of(described)
    return Setup(recipe, base, training, rows, schema, metric, agreement.left_out, agreement.warnings, private)


def training_of(study: Study) -> Training:
    """Return how a front is trained: step by step with all clients, or with many steps at the clients in a round.

    Then a look at the losses is a round too, and not worth it after every one.
    """
    if not study.local_steps:
        return Training(steps=study.steps, seed=study.seed)
    rounds = -(-study.steps // study.local_steps)
    return Training(steps=rounds, local_steps=study.local_steps, checks=max(1, rounds // 4), seed=study.seed)


def learn_networks(
    federation: Federation,
    study: Study,
    setup: Setup,
    tell: Tell | None = None,
    checkpoint: Checkpoint | None = None,
) -> Learned:
    """Learn who should train with whom, with networks; a checkpoint keeps the training, and goes on with it."""
    say = tell or (lambda stage, done, of: None)
    clients, recipe, search = federation.clients, setup.recipe, _search(study)
    search.check(len(clients))  # not after hours of training
    told = recipe.to_json()
    with threadpool_limits(1):
        trained = train(Trainer(federation, recipe, setup.training, len(setup.base)), setup, say, checkpoint)
        say("training alone", 0, 1)
        steps = setup.training.steps_alone or setup.training.steps
        alone = federation.ask(TrainAlone(told, "alone", setup.sent, steps, setup.training.rate_alone))
        counts = np.array([setup.rows[client] if study.weights == "sample" else 1 for client in clients], np.float64)
        searching = AtClients(
            federation=federation,
            recipe=told,
            network=trained.network.to_json(),
            parameters=trained.parameters,
            counts=counts,
            alone=np.array([alone[client].loss[0] for client in clients]),
            search=search,
        )
        say("finding collaborators", 0, 1)
        decision = decide(searching, clients)
        say("measuring for the proof", 0, 1)
        game, certificate = prove(searching, decision)
        own = np.stack([alone[client].parameters for client in clients])
        models, heads = own[None].repeat(len(KINDS), axis=0), [["alone"] * len(KINDS) for _ in clients]
        for kind, name in enumerate(KINDS[1:], start=1):
            points = decision.points[name]
            shared = points.weights.sum(axis=1) > np.diag(points.weights)
            shares = points.weights * counts
            begin = trained.models_of_all(shares / shares.sum(axis=1, keepdims=True))
            models[kind][shared] = begin[-1][shared]
            for place in np.flatnonzero(shared).tolist():
                heads[place][kind] = name
            if study.fine_tune and shared.any() and name != "together":
                say("tuning", kind - 1, 2)
                rate = _TO_TUNE * setup.training.rate_alone
                tuned = _tuned(federation, told, name, begin, shared, study.fine_tune, rate)
                models[kind][shared] = tuned[shared]
        say("evaluating", 0, 1)
        evaluations = federation.ask(
            {
                client: JudgeModels(
                    told, setup.metric, np.ascontiguousarray(models[:, place]), json.dumps(heads[place])
                )
                for place, client in enumerate(clients)
            }
        )
    held = {client: count // recipe.parts if recipe.folds == 1 else count for client, count in setup.rows.items()}
    return Learned(
        schema=setup.schema,
        metric=setup.metric,
        split=Split(folds=recipe.folds, repeats=1, judges=1, resamples=0, seed=study.seed),
        rows=setup.rows,
        decision=decision,
        game=game,
        certificate=certificate,
        models=models.astype(np.float64),
        penalties=np.zeros(models.shape[:2]),
        evaluations=evaluations,
        left_out=setup.left_out,
        warnings=(*setup.warnings, *_few_to_choose_by(held)),
        training=_told(setup),
        privacy=ask_privacy(federation, setup.private),
    )


def _told(setup: Setup) -> dict[str, Any]:
    """Return how networks were trained, as plain values; what the schema and the study say is not said again."""
    recipe = {name: getattr(setup.recipe, name) for name in ("loss", "personal", "batch", "double", "parts")}
    return {**recipe, **asdict(setup.training)}


def _tuned(
    federation: Federation, recipe: str, kind: str, begin: np.ndarray, shared: np.ndarray, steps: int, rate: float
) -> np.ndarray:
    """Return models (N, D): of clients that share, `begin` (K, N, D) trained further on the client's own rows."""
    clients = federation.clients
    asked = {
        clients[place]: TrainAlone(recipe, kind, np.ascontiguousarray(begin[:, place]), steps, rate)
        for place in np.flatnonzero(shared).tolist()
    }
    tuned = np.array(begin[-1])
    for client, answer in federation.ask(asked).items():
        tuned[clients.index(client)] = answer.parameters
    return tuned


def train(trainer: Trainer, setup: Setup, say: Tell, checkpoint: Checkpoint | None = None) -> HypernetworkFront:
    """Train a front, from a checkpoint if there is one, keeping it at every check."""
    state: State = trainer.begin(setup.base)
    state.origin += str(setup.rows)  # a training that was kept is not gone on with when rows were added or taken
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


def _few_to_choose_by(held: dict[str, int]) -> Iterator[str]:
    few = [client for client, count in held.items() if count < _FEW_TO_CHOOSE_BY]
    if few:
        others = f" and {len(few) - 1} more have" if len(few) > 1 else " has"
        yield (
            f"client {few[0]!r}{others} fewer than {_FEW_TO_CHOOSE_BY} rows to choose collaborators by; with "
            "five folds (--folds 5) all its rows choose, in five trainings"
        )
