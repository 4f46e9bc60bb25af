"""Environments whose rewards change smoothly with actions, and a bare agent that is differentiated through them."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kousoku.collectors.differentiated import DifferentiatedRollouts
from kousoku.core.agent import Agent
from kousoku.core.env import Env
from kousoku.core.spaces import Box
from kousoku.core.timestep import Timestep
from kousoku.ops.advantages import lambda_returns

A, B = np.array([[1.0, 0.1], [-0.05, 0.95]]), np.array([0.0, 0.5])
Q, R = np.diag([1.0, 0.1]), 0.2


class Linear(Env):
    """s <- A s + B a, reward -(s' Q s + R a^2) of the state before; s[0] > `edge` terminates.

    Attributes:
        edge: where it ends.
        again: whether an episode begins where the last one ended, turned round, and not anywhere.
        time_limit: steps until it is truncated.
    """

    edge: float = 1e9
    again: bool = eqx.field(static=True, default=False)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (2,))

    @property
    def action_space(self) -> Box:
        return Box(-np.inf, np.inf, (1,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        state = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
        return state, Timestep(state, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def restart(self, key: Any, state: Any) -> tuple[Any, Timestep]:
        first, timestep = self.reset(key)
        if self.again:
            first = -0.5 * state
        return first, eqx.tree_at(lambda t: t.obs, timestep, first)

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        after = jnp.asarray(A, jnp.float32) @ state + jnp.asarray(B, jnp.float32) * action[0]
        cost = state @ jnp.asarray(Q, jnp.float32) @ state + R * action[0] * action[0]
        return after, Timestep(after, -cost, after[0] > self.edge, jnp.array(False))


class Jump(Linear):
    """Pays for being on one side: no reward changes smoothly."""

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        after, timestep = super().step(key, state, action)
        return after, Timestep(timestep.obs, jnp.sign(after[0]), timestep.terminated, timestep.truncated)


class Gain(Agent):
    """a = k s + noise; what it is asked for is the gradient, which is its state after an update.

    Attributes:
        num_envs, num_steps: of the collector.
        noise: deviation of the action.
        discount: gamma.
        terminal: P of the value -s' P s at the end of a stretch, [2, 2].
    """

    num_envs: int = eqx.field(static=True, default=3)
    num_steps: int = eqx.field(static=True, default=8)
    noise: float = 0.0
    discount: float = 0.9
    terminal: Any = eqx.field(static=True, default=None)

    @property
    def learns_from(self) -> DifferentiatedRollouts:
        return DifferentiatedRollouts(self.num_envs, self.num_steps)

    def init(self, spec: Any, key: Any) -> Any:
        return {"gain": jnp.array([-0.4, -0.6], jnp.float32), "gradient": jnp.zeros(2, jnp.float32)}

    def act(self, state: Any, obs: Any, carry: Any, key: Any, *, greedy: bool = False) -> Any:
        noise = self.noise * jax.random.normal(key, (), jnp.float32)
        return (state["gain"] @ obs + noise)[None], carry, noise

    def parameters(self, state: Any) -> Float[Array, "2"]:
        return state["gain"]

    def with_parameters(self, state: Any, parameters: Float[Array, "2"]) -> Any:
        return state | {"gain": parameters}

    def rollout_loss(self, state: Any, rollout: Any, axis: str | None) -> Any:
        value = jnp.zeros_like(rollout.reward)
        if self.terminal is not None:
            p = jnp.asarray(self.terminal, jnp.float32)
            value = jax.vmap(jax.vmap(lambda s: -s @ p @ s))(rollout.next_obs)
        returns = jax.vmap(lambda_returns, (1, 1, 1, 1, None, None), 1)(
            rollout.reward, value, rollout.terminated, rollout.truncated, self.discount, 1.0
        )
        ended = rollout.terminated | rollout.truncated
        first = jnp.concatenate([jnp.ones_like(ended[:1]), ended[:-1]])
        return -jnp.sum(jnp.where(first, returns, 0.0)), None

    def update(self, state: Any, data: Any, key: Any, *, axis: str | None = None) -> Any:
        gradient = data.gradient if axis is None else jax.lax.pmean(data.gradient, axis)
        return state | {"gradient": gradient}, {}


class Track(Env):
    """A target x, -1 or 1, for ever, or until a place beyond 2 is reached: the place moves by the action.

    reward = 1 - (place - x)^2, so that the best there is is 1 a step.
    """

    time_limit: int | None = eqx.field(static=True, default=20)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (2,))

    @property
    def action_space(self) -> Box:
        return Box(-0.5, 0.5, (1,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        target_key, place_key = jax.random.split(key)
        target = jnp.where(jax.random.bernoulli(target_key), 1.0, -1.0).astype(jnp.float32)
        state = jnp.stack([target, jax.random.uniform(place_key, (), jnp.float32, -1.0, 1.0)])
        return state, Timestep(state, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        target, place = state
        place = place + action[0]
        after = jnp.stack([target, place])
        reward = 1.0 - (place - target) * (place - target)
        return after, Timestep(after, reward, jnp.abs(place) > 2.0, jnp.array(False))
