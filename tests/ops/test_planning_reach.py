"""Which states of a model are reached, and from which an episode can end, beside the definition."""

import numpy as np
import pytest

from kousoku.core.model import TabularModel
from kousoku.ops.planning import ends


def random_model(seed: int) -> TabularModel:
    rng = np.random.default_rng(seed)
    states, *rest = rng.integers(1, (12, 4, 4))
    shape = (states, *rest)
    probability = np.float32(rng.random(shape) * (rng.random(shape) > 0.4))
    next_state = np.int32(rng.integers(0, states, shape))
    terminated = rng.random(shape) < 0.1
    return TabularModel(probability, next_state, np.zeros(shape, np.float32), terminated, np.ones(states, np.float32))


@pytest.mark.property
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_an_episode_can_end_where_a_possible_outcome_ends_it_or_leads_to_such_a_state(first):
    for seed in range(first, first + 50):
        model = random_model(seed)
        possible = model.probability > 0
        found = np.any(possible & model.terminated, axis=(1, 2))
        for _ in range(model.num_states):
            found = found | np.any(possible & found[model.next_state], axis=(1, 2))
        np.testing.assert_array_equal(ends(model), found, err_msg=f"seed {seed}")


def test_the_way_may_be_as_long_as_the_model(monkeypatch):
    """A row of states in which one steps left or right: each outcome is looked at once, not once for each step."""
    states = 30_000
    here = np.arange(states, dtype=np.int32)
    next_state = np.stack([np.maximum(here - 1, 0), np.minimum(here + 1, states - 1)], 1)[..., None]
    ones, last = np.ones((states, 2, 1), np.float32), np.zeros((states, 2, 1), bool)
    last[-2, 1] = True
    model = TabularModel(ones, next_state, np.zeros_like(ones), last, np.float32(here == 0))
    looked_at = []
    unique = np.unique
    monkeypatch.setattr(np, "unique", lambda rows: looked_at.append(len(rows)) or unique(rows))
    assert ends(model).all()
    assert sum(looked_at) == 2 * states
