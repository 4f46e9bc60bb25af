"""Everything in the registries is compiled: no step of ours falls back to plain JAX."""

import jax
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.compiler import reason_against
from kousoku.training.interaction import interact, lane_key, start, step_keys
from kousoku.training.rollout import advance, begin
from kousoku.training.tally import Record

KEY = jax.random.key(0)
LARGE = {"Ant-v5", "HalfCheetah-v5", "Humanoid-v5", "HumanoidStandup-v5", "Pusher-v5", "RandomAnt-v0", "Walker2d-v5"}


def learns_from_rollouts(id):
    kind = AGENTS.factory(id)
    return isinstance(kind, type) and issubclass(kind, ks.RolloutAgent)


def first_action(env):
    return jnp.zeros(env.action_space.shape, env.action_space.dtype)


@pytest.mark.parametrize(
    "id",
    [pytest.param(id, marks=[pytest.mark.full] * (id in LARGE)) for id in ks.list_envs() if id != "CustomGrid-v0"],
)
def test_environments(id):
    env = ks.make(id)
    lane = jax.eval_shape(begin, env, KEY)
    assert reason_against(begin, env, KEY) is None
    assert reason_against(advance, env, lane, first_action(env), KEY) is None


@pytest.mark.parametrize("id", [id for id in ks.list_agents() if not learns_from_rollouts(id)])
def test_agents(id):
    agent, env = ks.make_agent(id), ks.make("Bandit-v0" if id.startswith("bandit_") else "GridWorld-v0")
    key = lane_key(jnp.int32(0))
    learner = jax.eval_shape(lambda: start(agent, env, key, Record()))
    assert reason_against(lambda *args: interact(*args)[0], agent, env, learner, step_keys(key, jnp.int32(1))) is None
