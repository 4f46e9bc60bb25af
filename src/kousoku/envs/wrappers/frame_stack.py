"""Frame stacks: the last few observations as one, for what a single one does not show, such as speeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from ...core.action_mask import ACTION_MASK
from ...core.errors import ConfigError, check_count
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.spaces import Bound, Box, Dict, Discrete, MultiDiscrete, Space
from ...core.timestep import Timestep
from ...core.wrapper import Wrapper
from ..fields import choice, convert_fields
from .base import known_space, model_of, panels_of, with_obs

RESET, ZERO = "reset", "zero"
FIRST, LAST = 0, -1


def _axis(value: Any) -> int:
    if isinstance(value, bool) or value not in (FIRST, LAST):
        raise ConfigError("axis", value, "use 0, before the observation's own axes, or -1, after them")
    return int(value)


class FrameStackState(eqx.Module):
    """The state of the environment inside, and what was seen last.

    Attributes:
        env_state: of the environment inside.
        frames: the observations, stacked, the newest last.
    """

    env_state: Any
    frames: PyTree[Array]


class FrameStackObservation(Wrapper):
    """The last `stack_size` observations as one, the newest last, as Gymnasium's FrameStackObservation.

    Boxes become boxes with one axis more; a number of a Discrete space becomes a MultiDiscrete vector; in a Dict each
    is stacked by itself, but for an `action_mask`: the newest says what may be done. The stack begins anew with each
    episode.

    Attributes:
        stack_size: how many.
        padding_type: what stands for observations before the first: "reset", the first one, or "zero", the numbers of
            the space that are nearest to 0.
        axis: where the new axis is: 0, as Gymnasium has it, or -1, where images have their channels here.
        inside: where a single observation lies.

    References:
        Mnih et al., Human-level control through deep reinforcement learning, Nature 518 (2015), methods: the last four
        images.

    Examples:
        >>> import kousoku as ks
        >>> env = FrameStackObservation(ks.make("CustomGrid-v0", map="S.G"), 3)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(1))
        >>> timestep.obs.tolist()
        [0, 0, 1]
    """

    stack_size: int = eqx.field(static=True, converter=partial(check_count, "stack_size", high=1 << 10))
    padding_type: str = choice("padding_type", RESET, (RESET, ZERO))
    axis: int = eqx.field(static=True, default=FIRST, converter=_axis)
    inside: Space = known_space()

    def __post_init__(self) -> None:
        convert_fields(self)
        self.inside = self.env.observation_space
        _ = self.observation_space  # checks what it is made of

    @property
    def observation_space(self) -> Space:
        """The space inside, as often as frames are stacked."""
        return _stacked(self.inside, self.stack_size, self.axis, ACTION_MASK)

    def reset(self, key: PRNGKeyArray) -> tuple[FrameStackState, Timestep]:
        """Begins an episode; all frames but the newest are the padding."""
        return self._begun(self.env.reset(key))

    def restart(self, key: PRNGKeyArray, state: FrameStackState) -> tuple[FrameStackState, Timestep]:
        """Begins the next episode, with a new stack."""
        return self._begun(self.env.restart(key, state.env_state))

    def step(
        self, key: PRNGKeyArray, state: FrameStackState, action: PyTree[Array]
    ) -> tuple[FrameStackState, Timestep]:
        """Takes one action; the oldest frame makes room for what is seen then."""
        env_state, timestep = self.env.step(key, state.env_state, action)
        frames = _stacks(self._pushed, state.frames, timestep.obs)
        return FrameStackState(env_state, frames), with_obs(timestep, frames)

    def inner_state(self, state: FrameStackState) -> Any:
        """Returns the state of the environment inside; also of stacked states."""
        return state.env_state

    def model(self) -> TabularModel:
        """Returns the exact model of the environment inside, whose states are the same."""
        return model_of(self.env)

    def panels(self) -> tuple[Panel, ...]:
        """Returns how the states of the environment inside lie in a picture."""
        return panels_of(self.env)

    def _begun(self, result: tuple[Any, Timestep]) -> tuple[FrameStackState, Timestep]:
        env_state, timestep = result
        before = timestep.obs if self.padding_type == RESET else _zeros(self.inside, timestep.obs)
        frames = _stacks(self._filled, before, timestep.obs)
        return FrameStackState(env_state, frames), with_obs(timestep, frames)

    def _filled(self, before: Array, obs: Array) -> Array:
        return jnp.stack([before] * (self.stack_size - 1) + [obs], axis=self.axis)

    def _pushed(self, frames: Array, obs: Array) -> Array:
        axis = self.axis % frames.ndim
        kept = jax.lax.slice_in_dim(frames, 1, self.stack_size, axis=axis)
        return jnp.concatenate([kept, jnp.expand_dims(obs, axis)], axis=axis)


def _stacks(stack: Callable[[Array, Array], Array], before: PyTree[Array], obs: PyTree[Array]) -> PyTree[Array]:
    """Returns stacks of what was seen before and now, part by part, but for an action mask: the one of now."""
    if not (isinstance(obs, Mapping) and ACTION_MASK in obs):
        return jax.tree.map(stack, before, obs)
    earlier, now = ({name: x for name, x in parts.items() if name != ACTION_MASK} for parts in (before, obs))
    return {**jax.tree.map(stack, earlier, now), ACTION_MASK: obs[ACTION_MASK]}


def _zeros(space: Space, obs: PyTree[Array]) -> PyTree[Array]:
    """Returns an element of a space as near to 0 as it has one, like an observation."""
    if isinstance(space, Dict):
        return {name: _zeros(part, obs[name]) for name, part in space.spaces.items()}
    low, high = (space.low, space.high) if isinstance(space, Box) else (0, 0)
    return jnp.asarray(np.clip(np.zeros(jnp.shape(obs)), low, high).astype(jnp.asarray(obs).dtype))


def _stacked(space: Space, count: int, axis: int, single: str | None = None) -> Space:
    """Returns the space of `count` elements of a space; of a Dict's entry `single`, its own.

    Raises:
        ConfigError: for vectors of whole numbers, of which there is no space of matrices.
    """
    if isinstance(space, Dict):
        parts = space.spaces.items()
        return Dict({name: part if name == single else _stacked(part, count, axis) for name, part in parts})
    if isinstance(space, Discrete):
        return MultiDiscrete((space.n,) * count)
    if isinstance(space, MultiDiscrete):
        fix = "use FlattenObservation around the environment first: several vectors of a MultiDiscrete are no space"
        raise ConfigError("observation_space", space, fix)
    place = axis % (len(space.shape) + 1)
    shape = (*space.shape[:place], count, *space.shape[place:])
    return Box(_stacked_bound(space.low, count, axis), _stacked_bound(space.high, count, axis), shape, space.dtype)


def _stacked_bound(bound: Bound, count: int, axis: int) -> Any:
    return np.stack([np.asarray(bound)] * count, axis=axis) if isinstance(bound, tuple) else bound
