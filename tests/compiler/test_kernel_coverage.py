"""Everything in the registries is compiled: no step of ours falls back to plain JAX."""

import jax
import jax.numpy as jnp
import pytest
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.collectors.slot import advance, begin, plain_slots
from kousoku.collectors.streams import member_key, step_keys
from kousoku.compiler import reason_against
from kousoku.training.loop.iteration import iterate, start
from kousoku.training.metrics.metric_sums import Recording

pytestmark = pytest.mark.contract

KEY = jax.random.key(0)
LARGE = {"Ant-v5", "HalfCheetah-v5", "Humanoid-v5", "HumanoidStandup-v5", "Pusher-v5", "RandomAnt-v0", "Walker2d-v5"}


def learns_step_by_step(id):
    return ks.make_agent(id).learns_from.iteration_steps == 1


def first_action(env):
    return jnp.zeros(env.action_space.shape, env.action_space.dtype)


@pytest.mark.by_default(
    "Bandit-v0",
    "BlockingMaze-v0",
    "CartPole-v1",
    "GridWorld-v0",
    "Hopper-v5",
    "Maze-v0",
    "bsuite/deep_sea_stochastic-v0",
)
@pytest.mark.parametrize(
    "id",
    [
        pytest.param(id, marks=[pytest.mark.full("more cases")] * (id in LARGE))
        for id in OWN_ENVS
        if id != "CustomGrid-v0"
    ],
)
def test_environments(id):
    env = ks.make(id)
    slot = jax.eval_shape(begin, env, KEY)
    assert reason_against(begin, env, KEY) is None
    assert reason_against(advance, env, slot, first_action(env), KEY) is None


@pytest.mark.by_default("bandit_ucb", "dyna_q", "dyna_q_plus", "prioritized_sweeping")
@pytest.mark.parametrize("id", [id for id in ks.list_agents() if learns_step_by_step(id)])
def test_agents(id):
    agent, env = ks.make_agent(id), ks.make("Bandit-v0" if id.startswith("bandit_") else "GridWorld-v0")
    key, recording = member_key(jnp.int32(0)), Recording(metrics=True, visits=True)
    state = jax.eval_shape(lambda: start(agent, env, plain_slots(env), key, recording))
    step = lambda agent, env, state, keys: iterate(agent, plain_slots(env), state, keys)  # noqa: E731
    assert reason_against(step, agent, env, state, step_keys(key, jnp.int32(1))) is None
