"""Deep sea: a treasure that only one way of many leads to, against a current that seems to pay."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...core.env import Env
from ...core.errors import ConfigError
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.scene import Circle, Line, Rect, Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..drawing import AGENT, GOAL, INK
from ..fields import Number, count, flag, limit, number
from .common import INDEX, Outcome, begun, observation, seed, tabulate, went_on

SURFACE, DEPTH = (207, 227, 245), (74, 111, 150)
"""Colours of the water, above and below."""


class DeepSeaState(eqx.Module):
    """The place of the diver, and whether the one way to the treasure was left.

    Attributes:
        row: steps taken; as many as there are rows where the episode is over.
        column: 0 on the left.
        bad: whether the diver went left on the diagonal in this episode.
    """

    row: Int[Array, ""]
    column: Int[Array, ""]
    bad: Bool[Array, ""]


class DeepSea(Env):
    """The problem of bsuite's experiments deep_sea and deep_sea_stochastic: exploration that has to be deep.

    Observation: the diver's place, one-hot, Box [size, size], and all zeros at the end; or row * size + column, and
    size^2 at the end, Discrete. Action: Discrete(2); which of the two means right differs from cell to cell. A step
    leads one row down and one column to the left or to the right; to the right costs unscaled_move_cost / size, and
    from the last column it gives 1. The episode terminates below the last row.

    Not deterministic, a move to the right leads nowhere with probability 1 / size, and in both corners of the last row
    N(0, 1) is added to the reward.

    The regret is 1 at the end of an episode in which the diver went left on the diagonal: bsuite's bad episodes.

    Attributes:
        size: rows and columns.
        deterministic: whether nothing is random.
        unscaled_move_cost: what `size` moves to the right cost.
        randomize_actions: whether actions mean different things in different cells; without it 1 is right.
        mapping_seed: seed of what actions mean: that of NumPy's RandomState, as in bsuite.
        observation: form of the observation, "array" or "index".
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A. Osband et
        al., Deep exploration via randomized value functions, JMLR 20 (2019), arXiv:1703.07608.

    Examples:
        >>> env = DeepSea(size=2, randomize_actions=False)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> for _ in range(2):
        ...     state, timestep = env.step(jax.random.key(1), state, jnp.int32(1))
        >>> round(float(timestep.reward), 4), bool(timestep.terminated)
        (0.995, True)
    """

    size: int = count("size", 10, high=1 << 10)
    deterministic: bool = flag("deterministic", True)
    unscaled_move_cost: Number = number("unscaled_move_cost", 0.01)
    randomize_actions: bool = flag("randomize_actions", True)
    mapping_seed: int = seed(42)
    observation: str = observation()
    time_limit: int | None = limit(None)

    @property
    def action_mapping(self) -> Int[np.ndarray, "size size"]:
        """The action that means right, in each cell."""
        shape = (self.size, self.size)
        if not self.randomize_actions:
            return np.ones(shape, np.int32)
        return np.random.RandomState(self.mapping_seed).binomial(1, 0.5, shape).astype(np.int32)

    @property
    def observation_space(self) -> Box | Discrete:
        if self.observation == INDEX:
            return Discrete(self.size * self.size + 1)
        return Box(0.0, 1.0, (self.size, self.size))

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: PRNGKeyArray) -> tuple[DeepSeaState, Timestep]:
        """Puts the diver into the upper left corner."""
        state = DeepSeaState(jnp.int32(0), jnp.int32(0), jnp.array(False))
        return state, begun(self._observe(state))

    def step(self, key: PRNGKeyArray, state: DeepSeaState, action: Int[Array, ""]) -> tuple[DeepSeaState, Timestep]:
        """Draws what the sea does, and moves."""
        if self.deterministic:
            return self.move(state, action, jnp.float32(1.0), jnp.float32(0.0))
        current_key, noise_key = jax.random.split(key)
        current = jax.random.uniform(current_key, (), jnp.float32)
        return self.move(state, action, current, jax.random.normal(noise_key, (), jnp.float32))

    def move(
        self, state: DeepSeaState, action: Int[Array, ""], current: Float[Array, ""], noise: Float[Array, ""]
    ) -> tuple[DeepSeaState, Timestep]:
        """Moves.

        Args:
            state: before.
            action: 0 or 1.
            current: in [0, 1]; a move to the right leads nowhere where it is at most 1 / size. Read if not
                deterministic.
            noise: of the reward in both corners, likewise.
        """
        last = self.size - 1
        place = jnp.minimum(state.row * self.size + state.column, self.size * self.size - 1)
        right = action == lax.dynamic_index_in_dim(jnp.asarray(self.action_mapping.ravel()), place, keepdims=False)
        cost = jnp.asarray(self.unscaled_move_cost, jnp.float32) / self.size
        reward = jnp.where(right & (state.column == last), jnp.float32(1.0), jnp.float32(0.0))
        succeeds = right
        if not self.deterministic:
            corner = (state.row == last) & ((state.column == 0) | (state.column == last))
            reward = reward + jnp.where(corner, noise, 0.0)
            succeeds = right & (current > 1.0 / self.size)
        reward = reward - jnp.where(right, cost, 0.0)
        to = jnp.where(right, state.column + succeeds.astype(jnp.int32), state.column - 1)
        bad = state.bad | (~right & (state.row == state.column))
        row = jnp.minimum(state.row + 1, self.size)
        next_state = DeepSeaState(row, jnp.clip(to, 0, last), bad)
        ended = row == self.size
        return next_state, went_on(self._observe(next_state), reward, ended, (ended & bad).astype(jnp.float32))

    def model(self) -> TabularModel:
        """Returns the exact model, indexed by the index observation.

        Raises:
            ConfigError: if it is not deterministic: no table holds rewards with normal noise.
        """
        if not self.deterministic:
            fix = "use deterministic=True: no table holds rewards with normal noise"
            raise ConfigError("deterministic", self.deterministic, fix)
        row, column = np.divmod(np.arange(self.size * self.size + 1, dtype=np.int32), np.int32(self.size))

        def outcome(action: Int[Array, ""], row: Int[Array, ""], column: Int[Array, ""]) -> Outcome:
            state = DeepSeaState(row, column, jnp.array(False))
            next_state, timestep = self.move(state, action, jnp.float32(1.0), jnp.float32(0.0))
            return self._index(next_state), timestep.reward, timestep.terminated

        start = np.eye(1, len(row))[0]
        return tabulate(outcome, (row, column), row == self.size, 2, start)

    def panels(self) -> tuple[Panel, ...]:
        """Draws the sea; cells to the right of the diagonal are out of reach."""
        cells = np.arange(self.size * self.size).reshape(self.size, self.size)
        reach = np.where(np.tri(self.size, dtype=bool), cells, -1)
        return (Panel("", tuple(map(tuple, reach.tolist())), action_names=("0", "1"), action_arrows=(None, None)),)

    def scene(self, state: DeepSeaState) -> Scene:
        """Draws the diver, the treasure, and how deep it is; at the end the diver is below the last row."""
        size, water = float(self.size), range(self.size + 1)
        rows = tuple(Rect(0.0, float(r), size, 1.0, _water(r / self.size)) for r in water)
        way = Line(0.5, 0.5, size - 0.5, size - 0.5, 0.04, "#f4f1ea")
        chest = Rect(size - 0.75, size - 0.62, 0.5, 0.36, GOAL, radius=0.06)
        lid = Rect(size - 0.75, size - 0.68, 0.5, 0.12, INK, radius=0.05)
        diver = Circle(int(state.column) + 0.5, int(state.row) + 0.5, 0.3, AGENT)
        return Scene(size, size + 1.0, (*rows, way, chest, lid), (diver,))

    def _index(self, state: DeepSeaState) -> Int[Array, ""]:
        return jnp.minimum(state.row * self.size + state.column, self.size * self.size)

    def _observe(self, state: DeepSeaState) -> Array:
        if self.observation == INDEX:
            return self._index(state)
        line = jnp.arange(self.size, dtype=jnp.int32)
        return ((line[:, None] == state.row) & (line[None, :] == state.column)).astype(jnp.float32)


def _water(depth: float) -> str:
    """Returns the colour of the water, 0 at the surface, 1 at the ground."""
    mixed = (round(top + depth * (ground - top)) for top, ground in zip(SURFACE, DEPTH, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
