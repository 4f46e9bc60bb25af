"""Agents that learn from rollouts, driven for tests: their loop without reports, and environments that show a fault."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from fast_compile import FAST_COMPILE

from kousoku.agents.deep.ppo import PPO
from kousoku.collectors.slot import kernel_slots
from kousoku.core.agent import Agent
from kousoku.core.collector import Steps, TrainState
from kousoku.core.env import Env
from kousoku.core.spaces import Box, Dict, Discrete, Space
from kousoku.core.timestep import Rollout, Timestep
from kousoku.nn import ActorCriticConfig
from kousoku.training.config import TrainConfig
from kousoku.training.io import compile_cache
from kousoku.training.loop.iteration import start
from kousoku.training.loop.program import CompiledLoop
from kousoku.training.make_population import make_population
from kousoku.training.metrics.metric_sums import MetricSums, Recording, in_one
from kousoku.training.point_envs import point_envs
from kousoku.training.population import Population

compile_cache.enable()

TINY: dict[str, Any] = {"num_envs": 4, "num_steps": 8, "minibatches": 2, "epochs": 2}


fast_jit = partial(eqx.filter_jit, compiler_options=FAST_COMPILE)
"""`eqx.filter_jit` for what runs once: compiling is what takes the time."""


def tiny_ppo(**options: Any) -> PPO:
    """4 environments, 8 steps, one hidden layer of 8, 2 epochs of 2 minibatches; network fields by name too."""
    fields = {name: options.pop(name) for name in list(options) if name in ActorCriticConfig.__dataclass_fields__}
    network = ActorCriticConfig(**{"hidden": (8,), "init": "lecun_normal", **fields})
    return PPO(**{**TINY, "network": network, **options})


def population_of(agent: Agent, env: Env, seeds: Any = 1, **sweep: Any) -> Population:
    config = TrainConfig(seeds=seeds, sweep=sweep)
    return make_population(agent, point_envs(env, {}, config), config)


def loop_of(
    agent: Agent, env: Env, seeds: Any = 1, devices: int = 1, every: int = 1 << 30, **sweep: Any
) -> CompiledLoop:
    """A loop that records everything that an agent tells, and reports so seldom that no call is cut short for it."""
    return CompiledLoop(population_of(agent, env, seeds, **sweep), Recording(metrics=True), devices, every)


def learned(agent: Agent, env: Env, updates: int, seeds: Any = 1, devices: int = 1, **sweep: Any) -> Any:
    """Every member after so many updates, NumPy arrays [N, ...]; N is seeds times the points of the sweep."""
    loop = loop_of(agent, env, seeds, devices, **sweep)
    state, at = loop.start(), 0
    until = updates * loop.iteration_steps
    while at < until:
        state, at = loop.run(state, at, until)
    size = population_of(agent, env, seeds, **sweep).size
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:size], state)


def metrics_of(state: TrainState) -> dict[str, np.ndarray]:
    """Means over the updates since the last report, [N] each."""
    sums = sums_of(state)
    assert sums.metric_sums is not None
    return {name: total / sums.updates for name, total in sums.metric_sums.items()}


def sums_of(state: TrainState) -> MetricSums:
    """Everything since the last report, [N] each, NumPy."""
    return in_one(jax.tree.map(np.asarray, state.metrics))


def of_member(tree: Any, i: int = 0) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)


def leaves_equal(a: Any, b: Any, **tolerance: float) -> None:
    """All leaves of two trees agree: bit for bit, or within a tolerance."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        words = jax.tree_util.keystr(path)
        if tolerance and np.asarray(x).dtype.kind == "f":
            np.testing.assert_allclose(x, y, err_msg=words, **tolerance)
        else:
            np.testing.assert_array_equal(x, y, err_msg=words)


def begin(agent: Agent, env: Env, key: Any) -> TrainState:
    """One member before its first step. Traceable."""
    return start(agent, env, kernel_slots(env), key, Recording(metrics=True))


def collect(agent: Agent, env: Env, state: TrainState, key: Any, iteration: Any) -> tuple[TrainState, Rollout, Steps]:
    """One member's rollout, without an update. Traceable."""
    collector = agent.learns_from
    keys = collector.keys(key, iteration, collector.num_envs, None)
    return collector.collect(agent, kernel_slots(env), state, keys, None)


@fast_jit
def begun(agent: Agent, env: Env, key: Any) -> TrainState:
    return begin(agent, env, key)


@fast_jit
def collected(
    agent: Agent, env: Env, state: TrainState, key: Any, iteration: Any = 0
) -> tuple[TrainState, Rollout, Steps]:
    return collect(agent, env, state, key, jnp.int32(iteration))


class Walk(Env):
    """A clock far from 0 that shows what action it got, and ends by a coin: about every fifth step.

    Observation: (100 + 10 t + noise, sum of the last action as the environment got it), so that unscaled observations
    saturate a network. The reward is the noise plus the clipped action's sum.
    """

    action_space: Space = Box(-0.5, 0.5, (2,))  # type: ignore[assignment]
    time_limit: int | None = eqx.field(static=True, default=7)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (2,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        return self._at(jnp.float32(0.0), jax.random.normal(key, (), jnp.float32), jnp.float32(0.0), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        noise_key, end_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (), jnp.float32)
        got = jnp.sum(jnp.asarray(action).astype(jnp.float32))
        ends = jax.random.uniform(end_key, (), jnp.float32) < 0.2
        return self._at(state + 1.0, noise, got, ends)

    def _at(self, time: Any, noise: Any, got: Any, ends: Any) -> tuple[Any, Timestep]:
        obs = jnp.stack([100.0 + 10.0 * time + noise, got])
        return time, Timestep(obs, noise + got, ends, jnp.array(False))


class Recall(Env):
    """A cue at the start, a question three steps later: +1 for the action that was the cue, -1 for the other.

    Observation: 0 or 1 the cue, 2 nothing, 3 the question. Without a memory the best that one can get is 0.
    """

    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(4)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        cue = jax.random.randint(key, (), 0, 2, jnp.int32)
        return (cue, jnp.int32(0)), Timestep(cue, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        cue, time = state
        asked = time == 3
        reward = jnp.where(asked, jnp.where(action == cue, 1.0, -1.0), 0.0).astype(jnp.float32)
        obs = jnp.where(time == 2, 3, 2).astype(jnp.int32)
        return (cue, time + 1), Timestep(obs, reward, asked, jnp.array(False))


class Scene(Env):
    """Observations of every kind at once: floats far from 0, an image of bytes, and a phase."""

    action_space: Space = Discrete(2)  # type: ignore[assignment]
    time_limit: int | None = eqx.field(static=True, default=5)

    @property
    def observation_space(self) -> Dict:
        parts = {"image": Box(0, 255, (3, 3, 1), np.uint8), "phase": Discrete(3), "where": Box(-np.inf, np.inf, (2,))}
        return Dict(parts)

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        return self._at(key, jnp.int32(0), jnp.float32(0.0))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        return self._at(key, state + 1, jnp.sum(jnp.asarray(action)).astype(jnp.float32))

    def _at(self, key: Any, time: Any, reward: Any) -> tuple[Any, Timestep]:
        where = 1000.0 + jax.random.normal(key, (2,), jnp.float32)
        image = jnp.full((3, 3, 1), 50 * (time % 5), jnp.uint8)
        obs = {"image": image, "phase": time % 3, "where": where}
        return time, Timestep(obs, reward, jnp.array(False), jnp.array(False))
