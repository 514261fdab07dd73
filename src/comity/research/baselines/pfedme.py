"""pFedMe: personal models near a shared one."""

from dataclasses import dataclass
from typing import Annotated, final

from comity.core.arrays import Tensors
from comity.core.settings import real, whole
from comity.families.network.rules import Descent, Moreau
from comity.research.baselines.method import Method
from comity.research.baselines.session import Session


@final
@dataclass(frozen=True)
class PFedMe(Method):
    """Moreau envelopes (Dinh et al. 2020, Algorithm 1): clients descend F_i(w) = min over θ of f_i(θ) + λ/2 · |θ - w|².

    Their steps are w_i ← w_i - η λ (w_i - θ_i(w_i)), where λ is `pull` and θ_i is found by `inner` steps of descent,
    two or more, since the first is not pulled. η λ is `reach`, how far a step goes towards θ_i: with 1 it goes all the
    way, which is a step of gradient descent, since F_i is λ-smooth. Then w ← (1 - β) w + β Σ (n_i / n) w_i with β =
    `mixing`. A client's model is θ_i(w), found by as many steps as a round has.
    """

    pull: Annotated[float, real(0, closed=False)] = 1.0
    inner: Annotated[int, whole(2)] = 5
    reach: Annotated[float, real(0, closed=False)] = 1.0
    mixing: Annotated[float, real(0, closed=False)] = 1.0

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the shared model after a round; a step takes several gradients, so a round has fewer steps."""
        budget = session.budget
        steps = budget.steps_in_round(self.inner, number)
        if not steps:
            return state
        rule = Moreau(steps, self.reach / self.pull, self.pull, self.inner, budget.rate_in(number))
        mixed: Tensors = (1 - self.mixing) * state + self.mixing * session.train_together(state, rule, number)
        return mixed.astype(state.dtype)

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return every client's θ_i(w) (N, D)."""
        rule = Descent(session.budget.steps, session.budget.rate, pull=self.pull)
        return session.train(session.repeat(state), rule, session.budget.rounds)[0]
