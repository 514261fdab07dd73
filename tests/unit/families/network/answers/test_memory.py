"""Personal parameters are returned by their client only."""

import pytest
import torch
from torch import nn

import comity
from comity import InProcess
from comity.client.examples import DatasetClient
from comity.errors import InputError
from comity.families.network.training import Training


def members(module: nn.Module, shape: tuple[int, ...] = (6,), count: int = 150) -> tuple[DatasetClient, ...]:
    generator = torch.Generator().manual_seed(0)
    made = []
    for name in "ab":
        x = torch.randn(count, *shape, generator=generator)
        made.append(DatasetClient(name, (x, x.reshape(count, -1).sum(dim=1)), module, loss="squared"))
    return tuple(made)


@pytest.mark.parametrize("kind", ["alone", "coalition", "best"])
def test_shared_and_personal_parameters_together_are_a_whole_model(kind: str) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 1))
    made = members(module)
    result = comity.solve_modules(InProcess(made), module, loss="squared", personal="^2", training=Training(steps=20))
    shared = result.state_of("a", module, model=kind, personal="^2")
    own = made[0].personal_state(kind)
    assert set(own) == {"2.weight", "2.bias"}
    assert not set(shared) & set(own)
    module.load_state_dict({**shared, **own})
    assert not torch.equal(own["2.weight"], made[1].personal_state(kind)["2.weight"])


def test_a_client_without_personal_parameters_has_none_to_return() -> None:
    with pytest.raises(InputError, match="no model with personal parameters"):
        members(nn.Linear(6, 1))[0].personal_state()


class Recurrent(nn.Module):
    """A recurrent network for sequences of three numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.out = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 1)

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        return self.out(self.inside(sequences)[0][:, -1])


def test_sequences_are_learned_by_recurrent_layers() -> None:
    """These cannot go through several models at once."""
    torch.manual_seed(0)
    module = Recurrent()
    made = members(module, shape=(5, 3))
    result = comity.solve_modules(InProcess(made), module, loss="squared", training=Training(steps=10, per_step=3))
    assert set(result.clients) == {"a", "b"}
