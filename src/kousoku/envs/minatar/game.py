"""Parts that the five games share: actions that stick, observations of planes, random words that become draws."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt8, UInt32

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ...ops.exploration import uniform_index, unit_interval
from ...ops.trees import arrays_on_device
from ..fields import Number, flag, limit, number
from ..timesteps import first_timestep, never
from .picture import game_scene

SIZE = 10
OFF_GRID = -1
"""The row or column of what is not there."""
STAY, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
ALL_ACTIONS = (STAY, LEFT, UP, RIGHT, DOWN, FIRE)

Whole = Int[Array, ""]
Flag = Bool[Array, ""]
Rows = Int[Array, "10"]


class MinAtarState(eqx.Module):
    """A game, and the action that it was last given, which may stick.

    Attributes:
        game: the game's own state.
        last_action: 0 to 5: stay, left, up, right, down, fire.
    """

    game: Any
    last_action: Whole


class MinAtar(Env):
    """One of the five games. A subclass says its rules, as pure functions of its state, an action and its draws.

    Observation: Box(0, 1, (10, 10, channels), uint8): 1 where a channel's object is. Action: Discrete(6): stay, left,
    up, right, down, fire; or with `use_minimal_action_set` those that do something in the game. The next episode begins
    with the last action of the one before still able to stick, as in the package.

    Attributes:
        sticky_action_prob: probability that the last action is taken again in place of the one that is given.
        difficulty_ramping: whether a game becomes harder as it is played (Asterix, Seaquest, Space Invaders).
        use_minimal_action_set: whether actions are only those that do something.
        time_limit: steps until an episode is truncated.
    """

    sticky_action_prob: Number = number("sticky_action_prob", 0.1, low=0.0, high=1.0)
    difficulty_ramping: bool = flag("difficulty_ramping", True)
    use_minimal_action_set: bool = flag("use_minimal_action_set", False)
    time_limit: int | None = limit(None)

    # Each game says its own.
    channels: ClassVar[tuple[str, ...]]
    minimal_actions: ClassVar[tuple[int, ...]]
    words_to_start: ClassVar[int]
    words_to_play: ClassVar[int]

    @abstractmethod
    def start(self, words: UInt32[Array, " n"]) -> Any:
        """Returns the game's first state; from `words_to_start` random words."""

    @abstractmethod
    def draw(self, words: UInt32[Array, " n"]) -> Any:
        """Returns all that chance decides in a step, from `words_to_play` random words; None where it is nothing."""

    @abstractmethod
    def play(self, game: Any, action: Whole, draws: Any) -> tuple[Any, Whole, Flag]:
        """Returns (game, reward, terminated) after an action 0 to 5."""

    @abstractmethod
    def planes(self, game: Any) -> tuple[Rows, ...]:
        """Returns each channel as bits: bit x of row y is set where the channel's object is."""

    @property
    def observation_space(self) -> Box:
        return Box(0.0, 1.0, (SIZE, SIZE, len(self.channels)), np.dtype(np.uint8))

    @property
    def action_space(self) -> Discrete:
        return Discrete(len(self._actions))

    @property
    def _actions(self) -> tuple[int, ...]:
        return self.minimal_actions if self.use_minimal_action_set else ALL_ACTIONS

    def reset(self, key: PRNGKeyArray) -> tuple[MinAtarState, Timestep]:
        """Begins a game, as if the last action had been to stay."""
        return self.begin(jax.random.bits(key, (self.words_to_start,), jnp.uint32), jnp.int32(STAY))

    def restart(self, key: PRNGKeyArray, state: MinAtarState) -> tuple[MinAtarState, Timestep]:
        """Begins a game; the last action of the one before may stick."""
        return self.begin(jax.random.bits(key, (self.words_to_start,), jnp.uint32), state.last_action)

    def step(self, key: PRNGKeyArray, state: MinAtarState, action: Int[Array, ""]) -> tuple[MinAtarState, Timestep]:
        """Takes an action, or the last one again; an action beyond the space counts as the nearest one."""
        return self.respond(jax.random.bits(key, (1 + self.words_to_play,), jnp.uint32), state, action)

    def begin(self, words: UInt32[Array, " n"], last_action: Whole) -> tuple[MinAtarState, Timestep]:
        """Begins a game, by random words."""
        game = self.start(words)
        return MinAtarState(game, last_action), first_timestep(self.observe(game))

    def respond(
        self, words: UInt32[Array, " n"], state: MinAtarState, action: Int[Array, ""]
    ) -> tuple[MinAtarState, Timestep]:
        """Takes a step, by random words: the first says whether the last action sticks, the others are the game's."""
        chosen = jnp.int32(self._actions[0])
        for i, code in enumerate(self._actions[1:], start=1):
            chosen = jnp.where(action >= i, code, chosen)
        taken = jnp.where(unit_interval(words[0]) < self.sticky_action_prob, state.last_action, chosen)
        game, reward, terminated = self.play(state.game, taken, self.draw(words[1:]))
        timestep = Timestep(self.observe(game), reward.astype(jnp.float32), terminated, never())
        return MinAtarState(game, taken), timestep

    def observe(self, game: Any) -> UInt8[Array, "10 10 channels"]:
        """Returns the observation of a game's state."""
        rows = jnp.stack(self.planes(game), axis=1)
        columns = jnp.arange(SIZE, dtype=jnp.int32)
        return ((rows[:, None, :] >> columns[None, :, None]) & 1).astype(jnp.uint8)

    def scene(self, state: MinAtarState) -> Scene:
        """Draws the channels as the package does: where several have an object, the last one."""
        return game_scene(jax.device_get(_observed(self, arrays_on_device(state.game))))


@eqx.filter_jit
def _observed(env: MinAtar, game: Any) -> UInt8[Array, "10 10 channels"]:
    return env.observe(game)


def digits(word: UInt32[Array, ""], *bases: int) -> tuple[list[Whole], UInt32[Array, ""]]:
    """Splits a random word into independent whole numbers, each below its base, and a word that is left.

    They are the leading digits of word / 2**32 to these bases: each has a bias below (product of the bases) / 2**32.

    Examples:
        >>> numbers, rest = digits(jnp.uint32(3 << 30), 2, 3)      # 0.75 = 1/2 + 1/6 + 1/12
        >>> [int(n) for n in numbers], int(rest) / 2**32
        ([1, 1], 0.5)
    """
    numbers = []
    for base in bases:
        numbers.append(uniform_index(word, base))
        word = word * jnp.uint32(base)
    return numbers, word


def spot(x: Whole, y: Whole) -> Rows:
    """Returns the plane of one object; empty where it is beyond the edge."""
    return jnp.where(jnp.arange(SIZE, dtype=jnp.int32) == y, column_bit(x), 0)


def column_bit(x: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """Returns a word with bit x set; no bit of a column beyond the edge."""
    return jnp.where((x >= 0) & (x < SIZE), jnp.left_shift(1, jnp.clip(x, 0, SIZE - 1)), 0)


def plane(x: Int[Array, " n"], y: Int[Array, " n"], there: Bool[Array, " n"]) -> Rows:
    """Returns the plane of several objects, those that are there."""
    bits = jnp.where(there, column_bit(x), 0)
    rows = jnp.arange(SIZE, dtype=jnp.int32)
    at_row = jnp.where(rows[:, None] == y[None, :], bits[None, :], 0)
    return jax.lax.reduce_or(at_row, axes=(1,))


def move(x: Whole, steps: Whole | int, low: int = 0, high: int = SIZE - 1) -> Whole:
    """Returns a coordinate after steps that the edge stops."""
    return jnp.clip(x + steps, low, high)


def count(flag: Bool[Array, "*n"]) -> Whole:
    """Returns how many are true."""
    return jnp.sum(flag, dtype=jnp.int32)


def side(action: Whole, less: int, more: int) -> Whole:
    """Returns -1 for the action `less`, 1 for `more`, 0 for all others."""
    return (action == more).astype(jnp.int32) - (action == less).astype(jnp.int32)
