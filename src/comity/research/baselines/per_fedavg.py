"""Per-FedAvg: a shared model that one step of each client adapts to its own rows."""

from dataclasses import dataclass, replace
from typing import Annotated, final

from comity.core.arrays import Tensors
from comity.core.settings import real
from comity.families.network.rules import Descent, Meta
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session


@final
@dataclass(frozen=True)
class PerFedAvg(Method):
    """Meta-learning of an initial model (Fallah et al. 2020, Algorithm 1): clients descend F_i(w) = f_i(w - α ∇f_i(w)).

    Then w ← Σ (n_i / n) w_i. `curvature` selects one of the two variants of the paper's Section 5: first-order (FO)
    without it, Hessian-free (HF) with it. α is `adapt` times the rate. A client's model is w - α ∇f_i(w): one step
    from the shared model.
    """

    curvature: bool = False
    adapt: Annotated[float, real(0, closed=False)] = 1.0

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the average of the clients' models; a step takes several gradients, so a round has fewer steps."""
        budget = session.budget
        single = Meta(1, budget.rate_in(number), self.adapt * budget.rate, self.curvature)
        rule = replace(single, steps=budget.steps_in_round(single.gradients, number))
        return session.train_together(state, rule, number) if rule.steps else state

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the shared model after one step of each client (N, D)."""
        step = Descent(1, self.adapt * session.budget.rate, momentum=0.0)
        return session.train(session.repeat(state), step, session.budget.rounds)[0]
