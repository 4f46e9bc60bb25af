"""The model that Dyna's agents learn: what followed each state and action, and which states were visited."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from ...core.env import EnvSpec
from ...core.errors import ConfigError
from ...core.timestep import Transition
from ...ops import tables
from ...ops.exploration import index_below, pick
from .common import MAX_ENTRIES, table_shape


class Outcome(eqx.Module):
    """The step that the model predicts after a state and an action."""

    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    next_state: Int[Array, ""]


class ModelMemory(eqx.Module):
    """The model: at most K outcomes for each pair (s, a), with row s * A + a, and the states in order of first visit.

    Attributes:
        packed: 2 * next_state + terminated. Before anything was observed: back to the same state, alive.
        reward: of each outcome; 0 before anything was observed.
        count: how often each outcome was observed; 0 for an empty place.
        visited: the first `num_visited` entries are the states in which an action was taken.
    """

    packed: Int[Array, "SA K"]
    reward: Float[Array, "SA K"]
    count: Int[Array, "SA K"]
    visited: Int[Array, " S"]
    num_visited: Int[Array, ""]
    num_actions: int = eqx.field(static=True)


def empty_memory(name: str, spec: EnvSpec, outcomes: int = 1) -> ModelMemory:
    """Returns a model that has observed nothing yet.

    Raises:
        ConfigError: if a space is not Discrete, or the table would be absurdly large.
    """
    states, actions = table_shape(name, spec)
    pairs = states * actions
    if pairs * outcomes > MAX_ENTRIES:
        fix = f"use at most {MAX_ENTRIES // pairs} with {states} states x {actions} actions"
        raise ConfigError("outcomes", outcomes, fix)
    own = jnp.repeat(2 * jnp.arange(states, dtype=jnp.int32), actions)
    return ModelMemory(
        packed=jnp.repeat(own[:, None], outcomes, axis=1),
        reward=jnp.zeros((pairs, outcomes), jnp.float32),
        count=jnp.zeros((pairs, outcomes), jnp.int32),
        visited=jnp.zeros(states, jnp.int32),
        num_visited=jnp.int32(0),
        num_actions=actions,
    )


def remember(memory: ModelMemory, transition: Transition, word: UInt32[Array, ""]) -> ModelMemory:
    """Returns the model after one more observation.

    An outcome observed before is counted; a new one takes the place of the rarest (an empty one, if there is any; ties
    by `word`). With K = 1 that is the textbook's Model(S, A) <- R, S': the last outcome.
    """
    s, pair = transition.obs, transition.obs * memory.num_actions + transition.action
    packed = 2 * transition.next_obs + transition.terminated.astype(jnp.int32)
    count = tables.row(memory.count, pair)
    known = (count > 0) & (tables.row(memory.packed, pair) == packed)
    known &= tables.row(memory.reward, pair) == transition.reward
    seen = jnp.any(known)
    k = jnp.where(seen, jnp.argmax(known).astype(jnp.int32), pick(count == jnp.min(count), word))
    first_visit = ~jnp.any(taken(memory, s))
    place = jnp.where(first_visit, memory.num_visited, memory.num_visited - 1)
    visited = jnp.where(first_visit, s, memory.visited[place])
    return ModelMemory(
        packed=tables.put(memory.packed, pair, k, packed),
        reward=tables.put(memory.reward, pair, k, transition.reward),
        count=tables.put(memory.count, pair, k, jnp.where(seen, count[k] + 1, 1)),
        visited=lax.dynamic_update_index_in_dim(memory.visited, visited, place, axis=0),
        num_visited=memory.num_visited + first_visit.astype(jnp.int32),
        num_actions=memory.num_actions,
    )


def taken(memory: ModelMemory, s: Int[Array, ""]) -> Bool[Array, " A"]:
    """Returns which actions were ever taken in a state."""
    shape = (memory.num_actions, memory.count.shape[1])
    counts = lax.dynamic_slice(memory.count, (s * memory.num_actions, jnp.zeros_like(s)), shape)
    return jnp.any(counts > 0, axis=1)


def visited_state(memory: ModelMemory, word: UInt32[Array, ""]) -> Int[Array, ""]:
    """Draws a state observed before, each with the same probability."""
    return lax.dynamic_index_in_dim(memory.visited, index_below(word, memory.num_visited), keepdims=False)


def recall(memory: ModelMemory, s: Int[Array, ""], a: Int[Array, ""], word: UInt32[Array, ""]) -> Outcome:
    """Draws an outcome of (s, a) in proportion to its count; what the memory began with if the pair was never tried."""
    pair = s * memory.num_actions + a
    count = tables.row(memory.count, pair)
    draw = index_below(word, jnp.sum(count))
    k = jnp.argmax(jnp.cumsum(count) > draw).astype(jnp.int32)
    packed = tables.entry(memory.packed, pair, k)
    return Outcome(tables.entry(memory.reward, pair, k), (packed & 1).astype(bool), packed >> 1)


def td_error(
    q: Float[Array, "S A"], s: Int[Array, ""], a: Int[Array, ""], outcome: Outcome, discount: float | Float[Array, ""]
) -> Float[Array, ""]:
    """Returns R + gamma max_b Q(S', b) - Q(S, A); the value of S' counts as zero where the episode terminated.

    References:
        Sutton and Barto (2nd ed.), equation 6.8.
    """
    next_value = jnp.where(outcome.terminated, 0.0, jnp.max(tables.row(q, outcome.next_state)))
    return outcome.reward + discount * next_value - tables.entry(q, s, a)


def planning_words(key: PRNGKeyArray, steps: int) -> tuple[UInt32[Array, ""], UInt32[Array, "n 3"]]:
    """Draws the random words of one update: one to remember with, and three for each planning step."""
    memory_key, plan_key = jax.random.split(key)
    return jax.random.bits(memory_key, (), jnp.uint32), jax.random.bits(plan_key, (steps, 3), jnp.uint32)
