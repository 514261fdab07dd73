"""A client that fits its personal models itself gets what the coordinator computes from its sums."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from comity.core.kinds import ModelKind
from comity.deciding.borrow import borrow
from comity.families.glm.hierarchy import Hierarchy
from comity.families.glm.priors import Priors, find_priors
from comity.families.glm.pulled_view import borrowing_of
from support.parts import Rows, parts_of, planted, sums_of

SIZE = 4


def clients_of(seed: int, count: int, fewest: int = 2) -> list[Rows]:
    """Return clients of two groups, with few to many rows."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2, SIZE))[rng.integers(0, 2, size=count)]
    models = centres + rng.choice([0.05, 0.5]) * rng.normal(size=(count, SIZE))
    return planted(models, rng.integers(fewest, 60, size=count).tolist(), rng.choice([0.05, 0.7]), seed=seed)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(2, 8),
    pulls=st.lists(st.floats(0.002, 8.0), min_size=1, max_size=4),
    data=st.data(),
)
def test_with_any_sets_and_pulls(seed: int, count: int, pulls: list[float], data: st.DataObject) -> None:
    sums = sums_of(clients_of(seed, count, fewest=0))
    hierarchy = Hierarchy.learn(sums, 1)
    weights = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=len(pulls), max_size=len(pulls))))
    weights /= weights.sum()
    client = data.draw(st.integers(0, count - 1))
    others = data.draw(st.sets(st.integers(0, count - 1)))
    members = sparse.csr_array(np.array([[float(j in others or j == client) for j in range(count)]]))
    pulled = [hierarchy.pulled(pull) for pull in pulls]
    there = sum(
        weight * each.models(members, np.array([client]))[0] for weight, each in zip(weights, pulled, strict=True)
    )
    priors = Priors(
        np.linalg.inv(hierarchy.spread),
        np.array(hierarchy.noise),
        np.array(pulls),
        np.stack([each.set_means(members)[1][0] for each in pulled]),
        np.stack([weights, weights]),
    )
    here = Priors.from_arrays(priors.to_arrays(), SIZE).fit_number(sums.some([client]))
    np.testing.assert_allclose(here, np.stack([there, there]), rtol=1e-6, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(3, 9))
def test_with_what_was_decided(seed: int, count: int) -> None:
    lender = borrowing_of(parts_of(clients_of(seed, count), 5), 1)
    decision = borrow(lender, [str(number) for number in range(count)], 0.01)
    for client, priors in enumerate(find_priors(lender, decision)):
        here = Priors.from_arrays(priors.to_arrays(), SIZE).fit_number(lender.whole.sums.some([client]))
        for kind, sets, model, shared in zip(
            (ModelKind.COALITION, ModelKind.BEST), (decision.sets, decision.wishes), here, priors.shared, strict=True
        ):
            assert shared == (sets[client].sum() > 1)
            there = decision.models[kind][client]
            np.testing.assert_allclose(
                model if shared else lender.whole.alone[client], there, rtol=1e-6, atol=1e-9, err_msg=str(kind)
            )
