"""The families of models, by the name that a study gives as its model. A new kind of model is a line here."""

from comity.families.family import Family
from comity.families.glm.family import Linear
from comity.families.network.family import Module, Perceptron

FAMILIES: dict[str, Family] = {
    "linear": Linear(),
    "mlp": Perceptron(),
    "module": Module(),
}
