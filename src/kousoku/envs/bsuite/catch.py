"""Catch: a ball falls, and the paddle has to be below it."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from ...core.env import Env
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.scene import Circle, Rect, Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..drawing import ACCENT, AGENT, GROUND, paper
from ..fields import count, limit
from .common import INDEX, Outcome, begun, observation, tabulate, went_on


class CatchState(eqx.Module):
    """Places of the ball and the paddle, which is in the last row."""

    ball_x: Int[Array, ""]
    ball_y: Int[Array, ""]
    paddle_x: Int[Array, ""]


class Catch(Env):
    """The problem of bsuite's experiment catch: a long way from an action to what comes of it.

    Observation: the board, Box [rows, columns], 1 where the ball or the paddle is; or the number of the state
    (ball_y * columns + ball_x) * columns + paddle_x, Discrete. Action: Discrete(3): left, stay, right. The ball starts
    in a random column of the first row and falls by a row a step, the paddle starts in the middle; in the last row the
    episode terminates with 1 for a ball that is caught, else -1.

    Attributes:
        rows: rows of the board.
        columns: columns of the board.
        observation: form of the observation, "array" or "index".
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A.

    Examples:
        >>> env = Catch(rows=2, columns=3)
        >>> state, timestep = env.begin(jnp.int32(0))
        >>> timestep.obs.tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        >>> state, timestep = env.step(jax.random.key(0), state, jnp.int32(0))
        >>> float(timestep.reward), bool(timestep.terminated)
        (1.0, True)
    """

    rows: int = count("rows", 10, low=2, high=1 << 10)
    columns: int = count("columns", 5, high=1 << 10)
    observation: str = observation()
    time_limit: int | None = limit(None)

    @property
    def observation_space(self) -> Box | Discrete:
        if self.observation == INDEX:
            return Discrete(self.rows * self.columns * self.columns)
        return Box(0.0, 1.0, (self.rows, self.columns))

    @property
    def action_space(self) -> Discrete:
        return Discrete(3)

    def reset(self, key: PRNGKeyArray) -> tuple[CatchState, Timestep]:
        """Draws the column of the ball."""
        return self.begin(jax.random.randint(key, (), 0, self.columns, jnp.int32))

    def begin(self, ball_x: Int[Array, ""]) -> tuple[CatchState, Timestep]:
        """Returns the beginning of an episode with the ball in a given column."""
        state = CatchState(ball_x, jnp.int32(0), jnp.int32(self.columns // 2))
        return state, begun(self._observe(state))

    def step(self, key: PRNGKeyArray, state: CatchState, action: Int[Array, ""]) -> tuple[CatchState, Timestep]:
        """Moves the paddle, then the ball."""
        paddle_x = jnp.clip(state.paddle_x + jnp.clip(action, 0, 2) - 1, 0, self.columns - 1)
        ball_y = jnp.minimum(state.ball_y + 1, self.rows - 1)
        next_state = CatchState(state.ball_x, ball_y, paddle_x)
        landed = ball_y == self.rows - 1
        caught = jnp.where(paddle_x == state.ball_x, jnp.float32(1.0), jnp.float32(-1.0))
        reward = jnp.where(landed, caught, jnp.float32(0.0))
        return next_state, went_on(self._observe(next_state), reward, landed, jnp.where(landed, 1.0 - caught, 0.0))

    def model(self) -> TabularModel:
        """Returns the exact model, indexed by the number of the state."""
        ball_y, ball_x, paddle_x = np.indices((self.rows, self.columns, self.columns), np.int32).reshape(3, -1)
        start = (ball_y == 0) & (paddle_x == self.columns // 2)

        def outcome(action: Int[Array, ""], *places: Int[Array, ""]) -> Outcome:
            next_state, timestep = self.step(jax.random.key(0), CatchState(*places), action)
            return self._index(next_state), timestep.reward, timestep.terminated

        places = ball_x, ball_y, paddle_x
        return tabulate(outcome, places, ball_y == self.rows - 1, 3, start / start.sum())

    def panels(self) -> tuple[Panel, ...]:
        """Draws for each column of the ball its height and where the paddle is."""
        number = np.arange(self.rows * self.columns * self.columns).reshape(self.rows, self.columns, self.columns)
        return tuple(
            Panel(
                title=f"ball in column {x}",
                states=tuple(map(tuple, number[:, x].tolist())),
                row_label="row of the ball",
                column_label="paddle",
                action_names=("left", "stay", "right"),
                action_arrows=((-1.0, 0.0), None, (1.0, 0.0)),
            )
            for x in range(self.columns)
        )

    def scene(self, state: CatchState) -> Scene:
        """Draws the ball, and the paddle on the ground."""
        width, height = float(self.columns), float(self.rows)
        ball = Circle(int(state.ball_x) + 0.5, int(state.ball_y) + 0.5, 0.34, AGENT)
        paddle = Rect(float(state.paddle_x) + 0.06, height - 0.26, 0.88, 0.2, ACCENT, radius=0.08)
        return Scene(
            width, height, (paper(width, height), Rect(0.0, height - 0.06, width, 0.06, GROUND)), (ball, paddle)
        )

    def _index(self, state: CatchState) -> Int[Array, ""]:
        return (state.ball_y * self.columns + state.ball_x) * self.columns + state.paddle_x

    def _observe(self, state: CatchState) -> Array:
        if self.observation == INDEX:
            return self._index(state)
        row = jnp.arange(self.rows, dtype=jnp.int32)[:, None]
        column = jnp.arange(self.columns, dtype=jnp.int32)[None, :]
        ball = (row == state.ball_y) & (column == state.ball_x)
        return (ball | ((row == self.rows - 1) & (column == state.paddle_x))).astype(jnp.float32)
