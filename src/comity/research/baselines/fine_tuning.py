"""FedAvg, followed by fine-tuning at every client."""

from dataclasses import dataclass, replace
from typing import Annotated, final

from comity.core.arrays import Tensors
from comity.core.settings import real
from comity.research.baselines.fedavg import FedAvg
from comity.research.baselines.method import Method
from comity.research.baselines.session import Budget, Session


@final
@dataclass(frozen=True)
class FedAvgFineTuned(Method):
    """FedAvg (McMahan et al. 2017); then every client continues from the average: θ_i ← θ_i - η ∇f_i(θ_i).

    The last `share` of the rounds are for fine-tuning. Each of the two phases has its own cosine schedule of the rate;
    fine-tuning starts at `rate_factor` times the rate.
    """

    share: Annotated[float, real(0, 1, closed=False)] = 0.2
    rate_factor: Annotated[float, real(0, closed=False)] = 1.0

    def begin(self, session: Session) -> Tensors:
        """Return the clients' initial models (N, D)."""
        return session.repeat(session.base)

    def step(self, session: Session, state: Tensors, number: int) -> Tensors:
        """Return the models after a round of averaging, or of fine-tuning."""
        averaging, tuning = self.phases(session.budget)
        if number >= averaging.rounds:
            return session.train(state, tuning.descent(number - averaging.rounds), number)[0]
        return session.repeat(FedAvg().step(replace(session, budget=averaging), state[0], number))

    def models(self, session: Session, state: Tensors) -> Tensors:
        """Return the clients' models (N, D)."""
        return state

    def phases(self, budget: Budget) -> tuple[Budget, Budget]:
        """Return the budgets of averaging and of fine-tuning."""
        tuning = max(1, round(self.share * budget.rounds))
        averaging = max(1, budget.rounds - tuning)
        return replace(budget, rounds=averaging), replace(budget, rounds=tuning, rate=self.rate_factor * budget.rate)
