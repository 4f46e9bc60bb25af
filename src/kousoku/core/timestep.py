"""Timesteps and transitions: what passes between an environment and an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from .errors import is_number


def _obs(value: PyTree[Any]) -> PyTree[Any]:
    """Returns an observation with each number of Python's in it as an array, of 32 bits."""
    return jax.tree.map(_array, value)


def _array(leaf: Any) -> Any:
    """Returns a part of an observation as it is; one that is a number of Python's as an array."""
    return jnp.int32(leaf) if type(leaf) is int else jnp.float32(leaf) if type(leaf) is float else leaf


def _reward(value: Array | float | int | np.number) -> Array:
    """Returns a reward as it is; one that is a number of Python's or NumPy's as a float32 array."""
    return jnp.float32(value) if is_number(value) else value  # pyright: ignore[reportReturnType] (then it is an array)


def _flag(value: Array | bool | np.bool_) -> Array:
    """Returns a flag as it is; one that is True or False itself as an array."""
    return jnp.array(bool(value)) if isinstance(value, (bool, np.bool_)) else value


class Timestep(eqx.Module):
    """The answer of an environment to a reset or a step.

    `terminated` means that the task ended: nothing follows, the value of what follows is zero. `truncated` means that
    the clock ended the episode: something would have followed. They are never merged into one flag, since a learner
    bootstraps through the second and not through the first.

    Plain numbers in the place of a reward or in an observation, and flags that are True or False, become arrays.

    Attributes:
        obs: the observation, of the environment's observation space.
        reward: the reward of the step just taken; 0 after a reset.
        terminated: the episode reached a terminal state.
        truncated: the episode was cut by the environment itself (time limits are applied by `kousoku.training`).
        info: an environment's own typed struct, or None.
    """

    obs: PyTree[Array] = eqx.field(converter=_obs)
    reward: Float[Array, ""] = eqx.field(converter=_reward)
    terminated: Bool[Array, ""] = eqx.field(converter=_flag)
    truncated: Bool[Array, ""] = eqx.field(converter=_flag)
    info: Any = None


def named_parts(info: Any) -> list[tuple[str, Any]]:
    """Returns (name, leaf) of an environment's info: a field, a dict's key and a place in a list are called alike.

    What is in something else has dots in its name; `core.env_shapes` refuses two of one name.

    Examples:
        >>> named_parts({"tenth": 0.5, "arm": {"left": 1.0}, "eyes": [2.0]})
        [('arm.left', 1.0), ('eyes.0', 2.0), ('tenth', 0.5)]
    """
    leaves = jax.tree_util.tree_leaves_with_path(info)
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in leaves]


def divergence_flag(info: Any) -> Any:
    """Returns the entry `diverged` of an environment's info, a struct or a dict; None without one."""
    return info.get("diverged") if isinstance(info, Mapping) else getattr(info, "diverged", None)


def has_divergence_flag(info: Any, axes: int = 0) -> bool:
    """Returns whether an environment's info, or its shapes, has a flag `diverged`, by which it says that it blew up.

    Args:
        info: of a step, or of steps with some axes before its own.
        axes: how many.
    """
    flag = divergence_flag(info)
    dtype, shape = getattr(flag, "dtype", None), getattr(flag, "shape", ())
    return getattr(dtype, "kind", None) == "b" and len(shape) == axes


class Transition(eqx.Module):
    """One step of one environment, as an agent learns from it.

    `next_obs` is always the true successor of (`obs`, `action`), also when the episode ended here: never the
    observation after a reset.

    Attributes:
        obs, next_obs: before and after the step.
        action: as the agent chose it, before anything was clipped.
        reward, terminated, truncated, info: as in `Timestep`, a time limit included, and arrays whatever they were.
        extras: what `act` gave along.
    """

    obs: PyTree[Array]
    action: PyTree[Array]
    reward: Float[Array, ""] = eqx.field(converter=_reward)
    terminated: Bool[Array, ""] = eqx.field(converter=_flag)
    truncated: Bool[Array, ""] = eqx.field(converter=_flag)
    next_obs: PyTree[Array]
    info: Any = None
    extras: Any = None


class Rollout(eqx.Module):
    """T steps of B environments, time first, as an agent learns from them.

    As in a `Transition`, `next_obs` is always the true successor.

    Attributes:
        obs, next_obs: [T, B, ...].
        action: [T, B, ...] as the agent chose it, before anything was clipped.
        extras: [T, B, ...] what `act` gave along.
        reward, terminated, truncated: [T, B].
        carry: [B, ...] before the first step.
        discounted_return: [T, B] the running sum R <- gamma R + r of each step's episode, where the collector has a
            `return_discount`; else None.
        discounted_steps: [T, B] the same of a reward of 1, where the collector `counts_steps`; else None.
    """

    obs: PyTree[Array]
    action: PyTree[Array]
    extras: Any
    reward: Float[Array, "T B"]
    terminated: Bool[Array, "T B"]
    truncated: Bool[Array, "T B"]
    next_obs: PyTree[Array]
    carry: Any
    discounted_return: Float[Array, "T B"] | None = None
    discounted_steps: Float[Array, "T B"] | None = None


class ReplayBatch(eqx.Module):
    """A minibatch of a replay buffer.

    A transition may be of m steps made into one, where the collector has an `n_step` above 1: `next_obs`, `terminated`
    and `truncated` are those of the last of them, `reward` is the sum of gamma^k r_k over k < m.

    Attributes:
        transitions: [n, ...] drawn with replacement; their `info` is None.
        steps: environment steps taken so far, over all environments: what schedules are read at.
        discount: [n] gamma^m, where transitions are of m steps; None where each is of one. See `discounts`.
        weights: [n] what the loss of each counts, at most 1, where some are likelier than others to be drawn; or None.
    """

    transitions: Transition
    steps: Int[Array, ""]
    discount: Float[Array, " n"] | None = None
    weights: Float[Array, " n"] | None = None

    def discounts(self, discount: float | Float[Array, ""]) -> Float[Array, " n"]:
        """Returns what the value of each `next_obs` is multiplied by: gamma^m, or the discount given for one step.

        A termination is not in it: after one, nothing follows that could be multiplied.
        """
        if self.discount is not None:
            return self.discount
        return jnp.broadcast_to(jnp.asarray(discount, jnp.float32), self.transitions.reward.shape)
