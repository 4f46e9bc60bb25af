"""The package `minatar` beside our games: the same draws, actions and starts; and everything that comes of them.

Ours play in one kernel, and what happened is written down. Then the package's instances are given the
same numbers, one after the other, in place of those that they would draw.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from minatar_players import noisy_player

import kousoku as ks
from kousoku.envs.minatar.game import MinAtar, MinAtarState

GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
MODULES = {"SpaceInvaders": "space_invaders"}


class Played(NamedTuple):
    """Steps of ours, [T, N, ...]: what went in, and what came out.

    Attributes:
        sticky: in [0, 1): the last action sticks below the probability.
        draws: of the step.
        action: that was chosen.
        restart: game that follows the step where it terminated.
        state: after the step, before a restart.
        obs, reward, terminated: of the step.
    """

    sticky: Any
    draws: Any
    action: Any
    restart: Any
    state: Any
    obs: Any
    reward: Any
    terminated: Any


def play_ours(
    env: MinAtar, noises: Any, starts: Any, keys: Any, begin: Callable[[Any, Any], Any], steps: int
) -> tuple[Any, Played]:
    """Plays `steps` steps in every slot, in a kernel, by players with these probabilities of a random action.

    `begin(key, state)` is the state that follows an episode's end.
    """

    def one(start: Any, key: Any, noise: Any) -> tuple[Any, Played]:
        policy = noisy_player(noise)

        def step(state: MinAtarState, key: Any) -> tuple[MinAtarState, Played]:
            word_key, action_key, restart_key = jax.random.split(key, 3)
            words = jax.random.bits(word_key, (1 + env.words_to_play,), jnp.uint32)
            action = policy(env, state, action_key)
            after, timestep = env.respond(words, state, action)
            again = begin(restart_key, after)
            sticky = (words[0] >> jnp.uint32(8)).astype(jnp.float32) * jnp.float32(2.0**-24)
            draws = env.draw(words[1:])
            played = Played(
                sticky, draws, action, again.game, after, timestep.obs, timestep.reward, timestep.terminated
            )
            return jax.tree.map(lambda a, b: jnp.where(timestep.terminated, a, b), again, after), played

        return jax.lax.scan(step, start, jax.random.split(key, steps))

    return jax.vmap(ks.kernel(one))(starts, keys, noises)


class Sticky:
    """Stands for the random numbers of the package's `Environment`."""

    value = 0.0

    def rand(self) -> float:
        """Returns the number that was set."""
        return self.value


class Numbers:
    """Stands for the random numbers of one of the package's games: hands out what was set, in order."""

    def __init__(self) -> None:
        self.rands: list[Any] = []
        self.ints: list[Any] = []

    def rand(self, *shape: int) -> Any:
        """Returns the next number."""
        return self.rands.pop(0)

    def randint(self, low: int, high: int | None = None, size: int | None = None) -> Any:
        """Returns the next whole number; a word is taken as that part of the range."""
        value = self.ints.pop(0)
        return int(value) * low >> 32 if high is None and isinstance(value, np.uint32) else value


class Peer:
    """An instance of the package whose chance is told.

    Args:
        name: of the game.
        sticky_action_prob, difficulty_ramping: the package's.
    """

    def __init__(self, name: str, sticky_action_prob: float = 0.1, difficulty_ramping: bool = True) -> None:
        environment = importlib.import_module("minatar.environment")
        module = MODULES.get(name, name.lower())
        self.name = name
        self.outer = environment.Environment(module, sticky_action_prob, difficulty_ramping)
        self.game = self.outer.env
        self.outer.random, self.game.random = Sticky(), Numbers()
        self.actions = self.outer.minimal_action_set()

    def begin(self, game: Any) -> None:
        """Goes to one of our states, by a reset of the package's and what differs from it."""
        numbers = self.game.random
        if self.name == "Breakout":
            numbers.ints = [int(game.dx < 0)]
        elif self.name == "Freeway":
            _cars(numbers, game.speed)
        self.outer.reset()
        SET[self.name](self.game, game)

    def step(self, sticky: Any, draws: Any, code: int) -> tuple[int, bool]:
        """Takes an action, 0 to 5: returns the reward and whether the game is over."""
        self.outer.random.value = float(sticky)
        tell(self.name, self.game, draws)
        return self.outer.act(code)


def tell(name: str, game: Any, draws: Any) -> None:
    """Sets what a game of the package is going to draw in this step."""
    numbers = game.random
    numbers.rands, numbers.ints = [], []
    if name == "Asterix":
        numbers.rands = [_side(draws.right), _third(draws.gold)]
        numbers.ints = [np.uint32(draws.row)]
    elif name == "Freeway":
        _cars(numbers, draws)
    elif name == "Seaquest":
        if game.e_spawn_timer == 0:
            numbers.rands += [_side(draws.right), _third(draws.submarine)]
            numbers.ints += [int(draws.y)]
        if game.d_spawn_timer == 0:
            numbers.rands += [_side(draws.diver_right)]
            numbers.ints += [int(draws.diver_y)]


def _cars(numbers: Numbers, speed: Any) -> None:
    numbers.ints = [np.abs(speed).astype(int)]
    numbers.rands = [np.where(speed > 0, 0.75, 0.25)]


def _side(right: Any) -> float:
    return 0.25 if right else 0.75


def _third(chosen: Any) -> float:
    return 0.2 if chosen else 0.8


def minimal(env: MinAtar, action: Any) -> int:
    """Returns the package's number of one of ours."""
    return env.minimal_actions[int(action)] if env.use_minimal_action_set else int(action)


# ---- the state of both as numbers


def numbers_of(name: str, game: Any) -> list[int]:
    """Returns a game of the package as numbers, such as `numbers_of_ours` are."""
    return [int(number) for number in THEIRS[name](game)]


def numbers_of_ours(name: str, state: Any) -> np.ndarray:
    """Returns states of ours, [..., numbers]."""
    columns = OURS[name](state.game)
    lead = state.last_action.shape
    parts = [np.asarray(column).reshape(*lead, -1) for column in columns]
    return np.concatenate([part.astype(np.int64) for part in parts], axis=-1)


def _asterix(game: Any) -> list[Any]:
    entities = [(0, 0, 0) if e is None else (1 + bool(e[3]), e[0], 1 if e[2] else -1) for e in game.entities]
    slots = [number for entity in entities for number in entity]
    return [
        game.player_x, game.player_y, *slots, game.spawn_speed, game.spawn_timer, game.move_speed,
        game.move_timer, game.ramp_timer, game.ramp_index,
    ]  # fmt: skip


def _asterix_ours(game: Any) -> list[Any]:
    there = game.kind != 0
    slots = np.stack([game.kind, np.where(there, game.x, 0), np.where(there, game.dx, 0)], -1)
    return [
        game.player_x, game.player_y, slots, game.spawn_speed, game.spawn_timer, game.move_speed, game.move_timer,
        game.ramp_timer, game.ramp_index,
    ]  # fmt: skip


def _set_asterix(theirs: Any, game: Any) -> None:
    for name in ("player_x", "player_y", "spawn_speed", "spawn_timer", "move_speed", "move_timer", "ramp_timer"):
        setattr(theirs, name, int(getattr(game, name)))
    theirs.ramp_index = int(game.ramp_index)


def _breakout(game: Any) -> list[Any]:
    bits = sum(1 << i for i, brick in enumerate(game.brick_map[1:4].ravel()) if brick)
    dx, dy = ((-1, -1), (1, -1), (1, 1), (-1, 1))[game.ball_dir]
    return [game.pos, game.ball_x, game.ball_y, dx, dy, game.last_x, game.last_y, bits, game.strike]


def _breakout_ours(game: Any) -> list[Any]:
    return [
        game.pos, game.ball_x, game.ball_y, game.dx, game.dy, game.last_x, game.last_y, game.bricks, game.strike
    ]  # fmt: skip


def _set_breakout(theirs: Any, game: Any) -> None:
    bits = int(game.bricks)
    theirs.brick_map[1:4] = np.array([bits >> i & 1 for i in range(30)]).reshape(3, 10)


def _freeway(game: Any) -> list[Any]:
    cars = np.array(game.cars)
    return [game.pos, *cars[:, 0], *cars[:, 2], *cars[:, 3], game.move_timer, game.terminate_timer]


def _freeway_ours(game: Any) -> list[Any]:
    return [game.pos, game.x, game.wait, game.speed, game.move_timer, game.terminate_timer]


def _set_freeway(theirs: Any, game: Any) -> None:
    theirs.terminate_timer = int(game.terminate_timer)


def _map_bits(cells: Any) -> list[int]:
    return [int(bits) for bits in np.asarray(cells).astype(int) @ (1 << np.arange(10))]


def _space_invaders(game: Any) -> list[Any]:
    return [
        game.pos, game.alien_dir, game.shot_timer, game.enemy_move_interval, game.alien_move_timer,
        game.alien_shot_timer, game.ramp_index, *_map_bits(game.alien_map), *_map_bits(game.f_bullet_map),
        *_map_bits(game.e_bullet_map),
    ]  # fmt: skip


def _space_invaders_ours(game: Any) -> list[Any]:
    lead = game.pos.shape
    aliens, ours, theirs = (np.zeros((*lead, 10), np.int64) for _ in range(3))
    for row in range(4):
        bits = game.aliens.alive >> (6 * row) & 63
        left = game.aliens.left
        shifted = np.where(left >= 0, bits << np.maximum(left, 0), bits >> np.maximum(-left, 0))
        aliens += np.where(np.arange(10) == ((game.aliens.top + row) % 10)[..., None], shifted[..., None], 0)
    for i in range(2):
        ours += np.where(np.arange(10) == game.bullet_y[..., i, None], 1 << game.bullet_x[..., i, None], 0)
    theirs += np.where(np.arange(10) == game.alien_bullet_y[..., None], 1 << game.alien_bullet_x[..., None], 0)
    return [
        game.pos, game.aliens.direction, game.shot_timer, game.move_interval, game.alien_move_timer,
        game.alien_shot_timer, game.ramp_index, aliens, ours, theirs,
    ]  # fmt: skip


def _set_space_invaders(theirs: Any, game: Any) -> None:
    bits = int(game.aliens.alive)
    cells = np.array([bits >> i & 1 for i in range(24)]).reshape(4, 6)
    left, top = int(game.aliens.left), int(game.aliens.top)
    theirs.alien_map[:] = 0
    theirs.alien_map[top : top + 4, left : left + 6] = cells
    theirs.alien_dir = int(game.aliens.direction)
    theirs.enemy_move_interval, theirs.ramp_index = int(game.move_interval), int(game.ramp_index)


KEPT = {"e_fish": 40, "e_subs": 40, "e_bullets": 40, "divers": 2, "f_bullets": 2}


def _codes(items: Any, length: int) -> list[int]:
    """Returns objects as one number each, sorted; -1 where there is none."""
    codes = []
    for item in items:
        code = 0
        for value in item:
            code = code * 16 + int(value)
        codes.append(code)
    assert len(codes) <= length
    return sorted(codes) + [1 << 30] * (length - len(codes))


def _seaquest(game: Any) -> list[Any]:
    # Bullets in one cell that go the same way are one of ours for each submarine that fired, as in the package.
    objects = [code for name, length in KEPT.items() for code in _codes(getattr(game, name), length)]
    return [
        game.sub_x, game.sub_y, game.sub_or, game.oxygen, game.diver_count, game.surface, game.e_spawn_speed,
        game.e_spawn_timer, game.d_spawn_timer, game.move_speed, game.ramp_index, game.shot_timer, *objects,
    ]  # fmt: skip


def _sorted_codes(there: Any, *columns: Any) -> np.ndarray:
    code = np.zeros(there.shape, np.int64)
    for column in columns:
        code = code * 16 + column
    return np.sort(np.where(there, code, 1 << 30), axis=-1)


def _seaquest_ours(game: Any) -> list[Any]:
    groups_of = lambda all_enemies: all_enemies.groups  # noqa: E731
    for _ in range(np.ndim(game.x)):
        groups_of = jax.vmap(groups_of)
    e = jax.tree.map(lambda *groups: np.concatenate(groups, axis=-1), *groups_of(game.enemies))
    b, d = game.bullets, game.divers
    right = e.dx > 0
    return [
        game.x, game.y, game.right, game.oxygen, game.aboard, game.surfaced, game.spawn_speed, game.spawn_timer,
        game.diver_timer, game.move_speed, game.ramp_index, game.shot_timer,
        _sorted_codes(e.kind == 1, e.x, e.y, right, e.wait),
        _sorted_codes(e.kind == 2, e.x, e.y, right, e.wait, e.reload),
        _sorted_codes(e.bullet_x >= 0, e.bullet_x, e.y, right),
        _sorted_codes(d.x >= 0, d.x, d.y, d.dx > 0, d.wait),
        _sorted_codes(b.x >= 0, b.x, b.y, b.dx > 0),
    ]  # fmt: skip


def _set_seaquest(theirs: Any, game: Any) -> None:
    theirs.e_spawn_speed, theirs.e_spawn_timer = int(game.spawn_speed), int(game.spawn_timer)
    theirs.move_speed, theirs.ramp_index = int(game.move_speed), int(game.ramp_index)
    theirs.diver_count, theirs.oxygen = int(game.aboard), int(game.oxygen)


THEIRS = {
    "Asterix": _asterix, "Breakout": _breakout, "Freeway": _freeway, "Seaquest": _seaquest,
    "SpaceInvaders": _space_invaders,
}  # fmt: skip
OURS = {
    "Asterix": _asterix_ours, "Breakout": _breakout_ours, "Freeway": _freeway_ours, "Seaquest": _seaquest_ours,
    "SpaceInvaders": _space_invaders_ours,
}  # fmt: skip
SET = {
    "Asterix": _set_asterix, "Breakout": _set_breakout, "Freeway": _set_freeway, "Seaquest": _set_seaquest,
    "SpaceInvaders": _set_space_invaders,
}  # fmt: skip
