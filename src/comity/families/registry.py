"""The families of models, by the name that a study gives as its model. A new kind of model is a line here."""

from comity.families.estimator.family import GIVEN, Estimator
from comity.families.family import Family
from comity.families.glm.family import Linear
from comity.families.network.family import Module, Perceptron

FAMILIES: dict[str, Family] = {
    "linear": Linear(),
    "mlp": Perceptron(),
    "boosting": Estimator("boosting"),
    "forest": Estimator("forest"),
    GIVEN: Estimator(GIVEN),
    "module": Module(),
}
NAMES = tuple(name for name, family in FAMILIES.items() if family.tabular and name != GIVEN)
"""The models of tables that a study can name."""
