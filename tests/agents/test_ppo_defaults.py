"""PPO by the defaults of its class learns a drifting double integrator, whatever unit its costs are in."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.agents.deep.ppo import PPO
from kousoku.collectors.slot import kernel_slots
from kousoku.core.collector import TrainState
from kousoku.core.env import Env
from kousoku.core.spaces import Box
from kousoku.core.timestep import Timestep

pytestmark = pytest.mark.learning

STEPS, EPISODES = 200, 64
SCALES = (1e-3, 1.0, 1e2, 1e4)


class DoubleIntegrator(Env):
    """A mass on a line, pushed with a force in [-1, 1]: 20 s in steps of 0.1 s.

    reward = -scale (x^2 + 0.1 v^2 + 0.01 u^2). Nothing holds the mass back: with random forces it ends some 15 m away,
    and an episode costs 15,000 scale; a learned one costs about 10 scale.

    Attributes:
        scale: the unit of the costs.
    """

    scale: Any = 1.0
    time_limit: int | None = eqx.field(static=True, default=STEPS)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (2,))

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (1,))

    def reset(self, key):
        state = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
        return state, Timestep(state, jnp.float32(0.0), jnp.bool_(False), jnp.bool_(False))

    def step(self, key, state, action):
        (x, v), u = state, jnp.clip(action[0], -1.0, 1.0)
        reward = -self.scale * (x * x + 0.1 * v * v + 0.01 * u * u)
        v = v + 0.1 * u
        state = jnp.stack([x + 0.1 * v, v])
        return state, Timestep(state, jnp.float32(reward), jnp.bool_(False), jnp.bool_(False))


def greedy_return(agent: PPO, env: DoubleIntegrator, state: Any, key: Any) -> Any:
    """Mean return of greedy episodes, in units of the costs' scale."""

    def episode(key: Any) -> Any:
        def step(at: Any, _: None) -> tuple[Any, Any]:
            action, _, _ = agent.act(state, at, (), key, greedy=True)
            at, timestep = env.step(key, at, action)
            return at, timestep.reward

        return jnp.sum(jax.lax.scan(step, env.reset(key)[0], length=STEPS)[1])

    return jnp.mean(jax.vmap(episode)(jax.random.split(key, EPISODES))) / env.scale


@eqx.filter_jit
def returns(agent: PPO, scales: Any, keys: Any, updates: Any) -> Any:
    """Greedy returns before and after so many updates, [members, 2]."""

    def of_member(scale: Any, key: Any) -> Any:
        env, collector = DoubleIntegrator(scale), agent.learns_from
        slots = kernel_slots(env)
        init_key, start_key, loop_key, eval_key = jax.random.split(key, 4)

        def iteration(i: Any, state: TrainState) -> TrainState:
            now = collector.keys(loop_key, i, collector.num_envs, None)
            state, data, _ = collector.collect(agent, slots, state, now, None)
            return collector.learn(agent, state, data, now, None)[0]

        first = agent.init(env.spec, init_key)
        state = TrainState(first, *collector.init(agent, first, slots, start_key), ())
        state = jax.lax.fori_loop(0, updates, iteration, state)
        return jnp.stack([greedy_return(agent, env, at, eval_key) for at in (first, state.agent)])

    return jax.vmap(of_member)(scales, keys)


@pytest.mark.full("learning")
@pytest.mark.parametrize(
    ("scales", "seeds", "updates"),
    [((1e4,), (0,), 16), pytest.param(SCALES, (0, 1, 2, 3), 28, marks=pytest.mark.full("more cases"))],
    ids=["large costs", "every scale, four seeds"],
)
def test_costs_in_any_unit(scales, seeds, updates):
    """With lambda = 0.95 three of these four seeds cost more after 16 updates than before."""
    members = [(scale, jax.random.key(seed)) for scale in scales for seed in seeds]
    scale, keys = jnp.array([s for s, _ in members], jnp.float32), jnp.stack([key for _, key in members])
    before, after = returns(PPO(), scale, keys, jnp.int32(updates)).T
    assert np.all(after > before / 10), (before, after)
