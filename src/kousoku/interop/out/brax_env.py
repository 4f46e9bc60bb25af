"""One environment as Brax's, for the trainers of Brax and of MuJoCo Playground."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...collectors.env_kernel import env_kernel, partition_env, step_env
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.leaves import key_like
from ...core.spaces import Box
from ...core.timestep import Timestep
from .actions import ArrayReader
from .stepper import made
from .stepping import IMPL, as_key, infos
from .theirs import derived, required

BASE = ("brax.envs.base", "brax", "to_brax")
"""What is required of Brax."""


class BraxState:
    """State of Brax's whose `pipeline_state` is also called `data`, as Playground's wrappers call it."""

    pipeline_state: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dict(vars(self)),)

    @property
    def data(self) -> Any:
        """The environment's state."""
        return self.pipeline_state

    def replace(self, **changes: Any) -> Any:
        """Returns the state with other fields; `data` is `pipeline_state`."""
        if "data" in changes:
            changes["pipeline_state"] = changes.pop("data")
        return dataclasses.replace(self, **changes)  # pyright: ignore[reportArgumentType]


class OurBraxEnv:
    """An environment of ours as `brax.envs.Env`; `to_brax` makes it.

    Actions are in [-1, 1], as Brax's policies give them, and are scaled to the environment's own bounds. As everywhere
    in Brax, a time limit is its `EpisodeWrapper`'s: `episode_length` is what to pass to a trainer. `done` is 1 where
    the task ended, `info["truncation"]` where the environment itself cut the episode. The state's `pipeline_state` is
    the environment's, also under Playground's name `data`; `metrics` are the numbers of its info.

    Args:
        env: an environment whose actions and observations are Boxes.

    Raises:
        ConfigError: for another one, or unbounded actions.
    """

    def __init__(self, env: Env) -> None:
        actions, obs = env.action_space, env.observation_space
        for name, space in (("action space", actions), ("observation space", obs)):
            if not isinstance(space, Box) or len(space.shape) != 1:
                raise ConfigError(name, space, "Brax takes vectors of numbers: a Box of one axis")
        assert isinstance(actions, Box)
        assert isinstance(obs, Box)
        low, high = (np.broadcast_to(np.asarray(end, np.float32), actions.shape) for end in (actions.low, actions.high))
        if not np.isfinite([low, high]).all():
            raise ConfigError("action space", actions, "Brax's actions are scaled to bounds: use finite ones")
        self.env, self.episode_length = env, env.time_limit
        self._middle, self._half = (low + high) / 2, (high - low) / 2
        self._actions = ArrayReader(actions)
        self._sizes = obs.shape[0], actions.shape[0]
        self._state_class = _state_class(required(*BASE).State)

    def __reduce__(self) -> tuple[Any, ...]:
        return to_brax, (self.env,)

    @property
    def observation_size(self) -> int:
        """How many numbers an observation has."""
        return self._sizes[0]

    @property
    def action_size(self) -> int:
        """How many numbers an action has."""
        return self._sizes[1]

    @property
    def backend(self) -> str:
        """The name of what simulates."""
        return "kousoku"

    @property
    def dt(self) -> float:
        """Seconds that a step lasts; 1 without a clock."""
        return float(np.mean(getattr(self.env, "dt", 1.0)))

    def reset(self, rng: PRNGKeyArray) -> Any:
        """Begins an episode: returns Brax's state."""
        key, rest = jax.random.split(as_key("rng", rng))
        arrays, structure = partition_env(self.env)
        env_state, timestep = env_kernel(_reset, structure)(arrays, key)
        state = self._state_class(env_state, timestep.obs, jnp.float32(0.0), jnp.float32(0.0), {}, {})
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), self._metric_shapes(env_state))
        return state.replace(metrics=zeros, info={"truncation": jnp.float32(0.0), "rng": jax.random.key_data(rest)})

    def step(self, state: Any, action: Float[Array, " A"]) -> Any:
        """Takes one action: returns the next state.

        Raises:
            ConfigError: for an action of another shape.
        """
        key, rest = jax.random.split(jax.random.wrap_key_data(state.info["rng"], impl=IMPL))
        arrays, structure = partition_env(self.env)
        given = self._middle + self._half * jnp.clip(self._actions.in_jax(action), -1.0, 1.0)
        env_state, timestep = env_kernel(step_env, structure)(arrays, key, state.pipeline_state, given)
        done, truncation = (timestep.terminated | timestep.truncated), timestep.truncated & ~timestep.terminated
        told = {"truncation": truncation.astype(jnp.float32), "rng": jax.random.key_data(rest)}
        return state.replace(
            pipeline_state=env_state,
            obs=timestep.obs,
            reward=timestep.reward,
            done=done.astype(jnp.float32),
            metrics={**state.metrics, **_metrics(timestep)},
            info={**state.info, **told},
        )

    def _metric_shapes(self, env_state: Any) -> dict[str, Any]:
        """Returns the shapes of what a step tells, which Brax needs to know before the first one."""
        given = jax.ShapeDtypeStruct(self._middle.shape, jnp.float32)
        return jax.eval_shape(lambda *args: _metrics(self.env.step(*args)[1]), key_like(), env_state, given)


def to_brax(env: str | Env, **options: Any) -> Any:
    """Makes a `brax.envs.Env` of an id or an environment of ours.

    Args:
        env: an id, or an environment.
        options: of an environment by id.

    Raises:
        ConfigError: as `OurBraxEnv` does, for an unknown id or option, or without Brax.
    """
    return derived(OurBraxEnv, required(*BASE).Env)(made(env, **options))


@functools.cache
def _state_class(theirs: Any) -> Any:
    """Returns Brax's class of states with what Playground's wrappers read, as a tree of the same fields."""
    made = derived(BraxState, theirs)
    jax.tree_util.register_dataclass(made, [field.name for field in dataclasses.fields(theirs)], [])
    return made


def _restored(fields: dict[str, Any]) -> Any:
    """Returns a state with these fields, of the class that has been in another process."""
    return _state_class(required(*BASE).State)(**fields)


def _reset(env: Env, key: PRNGKeyArray) -> tuple[Any, Timestep]:
    return env.reset(key)


def _metrics(timestep: Timestep) -> dict[str, Array]:
    """Returns the single numbers of a step's info as float32."""
    return {name: value.astype(jnp.float32) for name, value in infos(timestep.info).items() if value.shape == ()}
