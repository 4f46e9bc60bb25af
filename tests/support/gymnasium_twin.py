"""An environment of ours as Gymnasium's: for its wrappers around the same steps as ours are around."""

from typing import Any

import gymnasium
import jax
import numpy as np

import kousoku as ks


def gym_space(space: Any) -> gymnasium.Space:
    """Returns Gymnasium's space of the same elements."""
    spaces = gymnasium.spaces
    if isinstance(space, ks.Dict):
        return spaces.Dict({name: gym_space(part) for name, part in space.spaces.items()})
    if isinstance(space, ks.Discrete):
        return spaces.Discrete(space.n)
    if isinstance(space, ks.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec)
    low, high = (np.broadcast_to(np.asarray(end, space.dtype), space.shape) for end in (space.low, space.high))
    return spaces.Box(low, high, space.shape, space.dtype.type)


COMPILED: dict[int, tuple[ks.Env, Any, Any]] = {}


def compiled(env: ks.Env) -> tuple[Any, Any]:
    """Returns `reset` and `step` of an environment, compiled once for all that ask for those of the same one."""
    if id(env) not in COMPILED:
        COMPILED[id(env)] = env, jax.jit(lambda key: env.reset(key)), jax.jit(lambda *args: env.step(*args))
    return COMPILED[id(env)][1:]


class Twin(gymnasium.Env):
    """Steps by our functions with keys that are set from outside; a time limit truncates.

    Attributes:
        keys: of the steps to come, one after the other.
        actions: that were taken.
    """

    def __init__(self, env: ks.Env) -> None:
        self.env = env
        self.observation_space, self.action_space = gym_space(env.observation_space), gym_space(env.action_space)
        self.keys: list[Any] = []
        self.actions: list[Any] = []
        self._reset, self._step = compiled(env)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.state, timestep = self._reset(self.keys.pop(0))
        self.count, self.actions = 0, []
        return jax.device_get(timestep.obs), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.actions.append(np.asarray(action))
        taken = jax.tree.map(
            lambda x: jax.numpy.asarray(x, np.int32 if np.asarray(x).dtype.kind == "i" else np.float32), action
        )
        self.state, timestep = self._step(self.keys.pop(0), self.state, taken)
        self.count += 1
        told = jax.device_get(timestep)
        limit = self.env.time_limit
        truncated = bool(told.truncated) or (limit is not None and self.count >= limit)
        return told.obs, float(told.reward), bool(told.terminated), truncated, {}
