"""Values of a problem of three states, learned from random actions: those of exact iteration, to 1e-3."""

import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks

DISCOUNT = 0.8
NEXT = np.array([[2, 1], [0, 2], [0, 1]])
REWARD = np.array([[0.1, 0.3], [-0.1, 0.2], [1.0, -0.5]])
TERMINATED = np.array([[False, False], [False, True], [False, False]])
FORMS = {
    "plain": {"double": False},
    "double": {},
    "dueling": {"dueling": True},
    "prioritised": {"prioritised": True},
    "quantiles": {"distribution": "quantile", "num_atoms": 5, "learning_rate": "linear:0.05:0:100%"},
}


def exact_values():
    """Values of every state and action [3, 2] by iteration."""
    values = np.zeros((3, 2))
    for _ in range(200):
        values = REWARD + DISCOUNT * np.where(TERMINATED, 0.0, values.max(1)[NEXT])
    return values


@pytest.mark.by_default("plain")
@pytest.mark.parametrize("form", FORMS)
def test_values_from_random_actions_are_exact(form):
    """Where a time limit of 7 steps truncates an episode, values go on; where one terminates, they do not."""
    table = {"probability": np.ones((3, 2, 1)), "next_state": NEXT[..., None], "reward": REWARD[..., None]}
    model = ks.TabularModel(**table, terminated=TERMINATED[..., None], start=np.array([1.0, 0.0, 0.0]))
    asked = {
        "hidden": (),
        "layer_norm": False,
        "discount": DISCOUNT,
        "epsilon": 1.0,
        "learning_rate": "linear:0.02:0:100%",
        "capacity": 4_000,
        "batch_size": 64,
        "num_envs": 16,
        "update_ratio": 0.5,
        "learning_starts": 2_000,
        "target_period": 20,
    }
    agent = ks.make_agent("dqn", **{**asked, **FORMS[form]})
    run = ks.train(agent, ks.finite(model, time_limit=7), steps=6_000, out="", progress=False, eval_episodes=0)
    network = run.trained_member("member", 0).state.network
    values = np.stack([np.asarray(network(jnp.int32(s))) for s in range(3)])
    values = values.mean(-1) if values.ndim == 3 else values
    np.testing.assert_allclose(values, exact_values(), atol=1e-3)
