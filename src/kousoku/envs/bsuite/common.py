"""Parts that bsuite's problems share: what is observed, their regret, and exact models from their own steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ...core.model import TabularModel
from ...core.timestep import Timestep
from ..fields import choice, count

ARRAY, INDEX = "array", "index"
LARGEST_SEED = 2**32 - 1


class RegretInfo(eqx.Module):
    """The loss by a step, as bsuite counts it; 0 after a reset.

    Attributes:
        regret: the best return less what this step settles it to be; 0 where it settles nothing.
    """

    regret: Float[Array, ""]


Outcome = tuple[Int[Array, ""], Float[Array, ""], Bool[Array, ""]]
"""The index of the next state, the reward, and whether the episode ends."""


def observation() -> Any:
    """Makes a field for what is observed: bsuite's array, or the number of the state, for tables."""
    return choice("observation", ARRAY, (ARRAY, INDEX))


def seed(default: int) -> Any:
    """Makes a field for the seed of what is the same in every episode, as structure."""
    return count("mapping_seed", default, low=0, high=LARGEST_SEED)


def begun(obs: Array) -> Timestep:
    """Returns the timestep of a reset."""
    zero = jnp.float32(0.0)
    return Timestep(obs, zero, jnp.array(False), jnp.array(False), RegretInfo(zero))


def went_on(obs: Array, reward: Float[Array, ""], ended: Bool[Array, ""], regret: Float[Array, ""]) -> Timestep:
    """Returns the timestep of a step; bsuite's episodes end by terminating alone, also those that a clock ends."""
    return Timestep(obs, reward, ended, jnp.array(False), RegretInfo(regret))


def share(part: Int[Array, ""], whole: int) -> Float[Array, ""]:
    """Returns part / whole, rounded once."""
    return part.astype(jnp.float32) / jnp.float32(whole)


def tabulate(
    outcome: Callable[..., Outcome],
    numbers: tuple[np.ndarray, ...],
    ended: np.ndarray,
    num_actions: int,
    start: np.ndarray,
) -> TabularModel:
    """Returns the exact model of a problem in which nothing is random after the start.

    A state in which the episode is over leads to itself, terminated and without reward.

    Args:
        outcome: what an action and the numbers that make a state lead to; its arithmetic is that of a step.
        numbers: those of all states, [S] each.
        ended: whether the episode is over in a state, [S].
        num_actions: how many.
        start: probability of each state to be the first one, [S].
    """
    along = (None, *[0] * len(numbers))
    each = jax.vmap(jax.vmap(outcome, (0, *[None] * len(numbers))), along)
    actions = jnp.arange(num_actions, dtype=jnp.int32)
    next_state, reward, terminated = (np.asarray(x) for x in jax.device_get(jax.jit(each)(actions, *numbers)))
    over = np.broadcast_to(ended[:, None], next_state.shape)
    itself = np.broadcast_to(np.arange(len(ended), dtype=np.int32)[:, None], next_state.shape)
    return TabularModel(
        probability=np.ones((*next_state.shape, 1)),
        next_state=np.where(over, itself, next_state)[..., None],
        reward=np.where(over, np.float32(0), reward)[..., None],
        terminated=(over | terminated)[..., None],
        start=start,
    )
