"""The engine of every finite environment: a table of outcomes, and one draw a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core.env import Env
from ..core.model import TabularModel, check_model
from ..core.panel import Panel, check_panels
from ..core.scene import Scene
from ..core.spaces import Discrete
from ..core.timestep import Timestep
from .fields import check_limit
from .timesteps import first_timestep


class OutcomeTable(eqx.Module):
    """A `TabularModel` in the form that a step reads: cumulative probabilities, next state and flag in one word.

    Attributes:
        cumulative: P(outcome <= k | s, a) without the last one, which is 1.
        packed: 2 * next_state + terminated.
        reward: the reward of each outcome.
        starts, start_cumulative: the states that an episode may begin in, and their cumulative probabilities.
    """

    cumulative: Float[Array | np.ndarray, "SA bounds"]
    packed: Int[Array | np.ndarray, "SA K"]
    reward: Float[Array | np.ndarray, "SA K"]
    starts: Int[Array | np.ndarray, " M"]
    start_cumulative: Float[Array | np.ndarray, " start_bounds"]
    num_actions: int = eqx.field(static=True)

    @staticmethod
    def of(model: TabularModel) -> OutcomeTable:
        """Compiles a model; raises ConfigError for one that is no Markov decision process."""
        check_model(model)
        shape = (model.num_states * model.num_actions, model.num_outcomes)
        cumulative = np.cumsum(np.asarray(model.probability, np.float64), axis=-1).reshape(shape)
        cumulative /= cumulative[:, -1:]  # exactly 1 from the last possible outcome on, so that no other is ever drawn
        packed = 2 * np.asarray(model.next_state, np.int32) + np.asarray(model.terminated, np.int32)
        start = np.asarray(model.start, np.float64)
        starts = np.flatnonzero(start)
        return OutcomeTable(
            cumulative=cumulative[:, :-1].astype(np.float32),
            packed=packed.reshape(shape),
            reward=np.asarray(model.reward, np.float32).reshape(shape),
            starts=starts.astype(np.int32),
            start_cumulative=np.cumsum(start[starts])[:-1].astype(np.float32),
            num_actions=model.num_actions,
        )

    def draw_start(self, key: PRNGKeyArray) -> Int[Array, ""]:
        """Draws a first state."""
        if self.starts.shape[0] == 1:
            return jnp.asarray(self.starts)[0]
        u = jax.random.uniform(key, (), jnp.float32)
        position = jnp.searchsorted(jnp.asarray(self.start_cumulative), u, side="right", method="compare_all")
        return jnp.asarray(self.starts)[position]

    def draw_outcome(
        self, key: PRNGKeyArray, s: Int[Array, ""], action: Int[Array, ""]
    ) -> tuple[Int[Array, ""], Float[Array, ""], Array]:
        """Draws (next_state, reward, terminated) of one step."""
        pair = (s * self.num_actions + action).astype(jnp.int32)  # with 64 bits an action may have them
        k = jnp.int32(0)
        if self.packed.shape[1] > 1:
            bounds = lax.dynamic_index_in_dim(jnp.asarray(self.cumulative), pair, keepdims=False)
            k = jnp.sum(jax.random.uniform(key, (), jnp.float32) >= bounds, dtype=jnp.int32)
        packed = lax.dynamic_slice(jnp.asarray(self.packed), (pair, k), (1, 1))[0, 0]
        reward = lax.dynamic_slice(jnp.asarray(self.reward), (pair, k), (1, 1))[0, 0]
        return packed >> 1, reward, (packed & 1).astype(bool)


class FiniteEnv(Env):
    """Any finite Markov decision process, from its tables.

    Observation: the state, Discrete(S). Action: Discrete(A). The toy-text environments are made of this, and a user's
    own tables can be.

    Attributes:
        tables: the outcomes.
        exact: the same as a model.
        picture: how the states lie in a picture; may be empty.
        scene: what to draw for a concrete state; a hashable value, equal for equal environments, as all structure is.
            None where nobody said: then this is not `Drawable`, as a protocol's method that is None counts as missing.

    Examples:
        >>> model = TabularModel(*(np.full((2, 1, 1), v) for v in (1.0, 1, 5.0, True)), np.array([1.0, 0.0]))
        >>> env = finite(model)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(0))
        >>> float(timestep.reward), bool(timestep.terminated)
        (5.0, True)
    """

    tables: OutcomeTable
    exact: TabularModel
    picture: tuple[Panel, ...] = eqx.field(static=True, default=())
    time_limit: int | None = eqx.field(static=True, default=None)
    scene: Callable[[Any], Scene] | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.exact.num_states)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.exact.num_actions)

    def reset(self, key: PRNGKeyArray) -> tuple[Int[Array, ""], Timestep]:
        """Draws a first state from the model's start distribution."""
        state = self.tables.draw_start(key)
        return state, first_timestep(state)

    def step(self, key: PRNGKeyArray, state: Int[Array, ""], action: Int[Array, ""]) -> tuple[Int[Array, ""], Timestep]:
        """Draws an outcome from p(. | state, action)."""
        next_state, reward, terminated = self.tables.draw_outcome(key, state, action)
        return next_state, Timestep(next_state, reward, terminated, jnp.array(False))

    def model(self) -> TabularModel:
        """Returns the exact tables that this environment steps from."""
        return self.exact

    def panels(self) -> tuple[Panel, ...]:
        """Returns how the states lie in a picture."""
        return self.picture


def finite(
    model: TabularModel,
    panels: tuple[Panel, ...] = (),
    time_limit: int | None = None,
    scene: Callable[[Any], Scene] | None = None,
) -> FiniteEnv:
    """Makes an environment from a model.

    Args:
        model: the tables.
        panels: how the states lie in a picture.
        time_limit: steps until an episode is truncated.
        scene: what to draw for a state; a frozen dataclass with `__call__` keeps two equal environments equal.

    Raises:
        ConfigError: if the tables are no Markov decision process, the panels show no states of it, or the time limit is
            no whole number above 0.
    """
    limit, tables = check_limit(time_limit), OutcomeTable.of(model)
    picture = check_panels(panels, model.num_states)
    return FiniteEnv(tables=tables, exact=model, picture=picture, time_limit=limit, scene=scene)
