"""Players that get far in MinAtar, where harder levels, new waves and full submarines are; and starts in the midst."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from kousoku.envs.minatar.game import DOWN, FIRE, LEFT, RIGHT, STAY, UP, MinAtar, MinAtarState

AHEAD = 4
"""Steps that a player looks ahead."""


def noisy_player(noise: Any) -> Any:
    """Returns a policy: what a careful player does, but with this probability any action."""

    def policy(env: MinAtar, state: MinAtarState, key: Any) -> Any:
        coin, any_key, player_key = jax.random.split(key, 3)
        anything = jax.random.randint(any_key, (), 0, env.action_space.n, jnp.int32)
        return jnp.where(jax.random.uniform(coin) < noise, anything, careful(env, state, player_key))

    return policy


def careful(env: MinAtar, state: MinAtarState, key: Any) -> Any:
    """Chooses among the actions after which one lives on, staying, the one that is wished or pays most."""
    actions = env.minimal_actions if env.use_minimal_action_set else tuple(range(6))
    word_key, tie_key = jax.random.split(key)
    words = jax.random.bits(word_key, (AHEAD, env.words_to_play), jnp.uint32)
    wish = wished(env, state.game)

    def worth(code: Any) -> Any:
        def step(carry: Any, given: Any) -> Any:
            game, value, dead = carry
            i, word = given
            action = jnp.where(i == 0, code, STAY)
            game, reward, terminated = env.play(game, action, env.draw(word))
            alive = jnp.where(dead, 0.0, 1.0)
            value = value + alive * (
                reward.astype(jnp.float32) - jnp.where(terminated, 100.0, 0.0) / (i.astype(jnp.float32) + 1.0)
            )
            return (game, value, dead | terminated), None

        start = (state.game, jnp.float32(0.0), jnp.array(False))
        return jax.lax.scan(step, start, (jnp.arange(AHEAD, dtype=jnp.int32), words))[0][1]

    codes = jnp.array(actions, jnp.int32)
    values = (
        jax.vmap(worth)(codes) + jnp.where(codes == wish, 0.5, 0.0) + 0.1 * jax.random.uniform(tie_key, codes.shape)
    )
    return jnp.argmax(values).astype(jnp.int32)


def wished(env: MinAtar, game: Any) -> Any:
    """Returns the action of a simple rule of each game."""
    return jnp.asarray(RULES[type(env).__name__](game), jnp.int32)


def toward(x: Any, target: Any, less: int, more: int) -> Any:
    """Returns the action that brings x nearer to the target; to stay where it is there."""
    return jnp.where(target < x, less, jnp.where(target > x, more, STAY))


def _breakout(game: Any) -> Any:
    """Follows the ball, one step ahead of it."""
    ahead = game.ball_x + game.dx
    return toward(game.pos, jnp.where(game.dy > 0, jnp.clip(ahead, 0, 9), game.ball_x), LEFT, RIGHT)


def _freeway(game: Any) -> Any:
    return UP


def _asterix(game: Any) -> Any:
    """Goes to the nearest gold."""
    rows = jnp.arange(1, 9, dtype=jnp.int32)
    far = jnp.abs(rows - game.player_y) + jnp.abs(game.x - game.player_x) + jnp.where(game.kind == 2, 0, 100)
    row = jnp.argmin(far)
    vertical = toward(game.player_y, rows[row], UP, DOWN)
    horizontal = toward(game.player_x, game.x[row], LEFT, RIGHT)
    return jnp.where(jnp.min(far) >= 100, STAY, jnp.where(vertical == STAY, horizontal, vertical))


def _space_invaders(game: Any) -> Any:
    """Fires when it may, and otherwise goes under the aliens."""
    cols = game.aliens.left + jnp.arange(6, dtype=jnp.int32)
    both = game.aliens.alive | game.aliens.alive >> 12
    there = ((both | both >> 6) >> jnp.arange(6, dtype=jnp.int32)) & 1
    target = jnp.argmin(jnp.abs(cols - game.pos) + 100 * (1 - there))
    return jnp.where(game.shot_timer == 0, FIRE, toward(game.pos, cols[target] + game.aliens.direction, LEFT, RIGHT))


def _seaquest(game: Any) -> Any:
    """Goes up in time, or with six aboard; otherwise to a diver; fires on the way."""
    d = game.divers
    there = d.x >= 0
    far = jnp.abs(d.x - game.x) + jnp.abs(d.y - game.y) + jnp.where(there, 0, 100)
    i = jnp.argmin(far)
    vertical = toward(game.y, d.y[i], UP, DOWN)
    horizontal = toward(game.x, d.x[i], LEFT, RIGHT)
    seeks = jnp.where(vertical == STAY, horizontal, vertical)
    roams = jnp.where(game.y < 3, DOWN, FIRE)
    wish = jnp.where(jnp.any(there), seeks, roams)
    wish = jnp.where((game.shot_timer == 0) & (game.y > 0) & (game.oxygen % 3 == 0), FIRE, wish)
    needs_air = (game.oxygen < 40) | (game.aboard >= 6) | ((game.aboard > 1) & (game.oxygen < 90))
    return jnp.where(needs_air & (game.aboard != 0), UP, wish)


RULES = {
    "Asterix": _asterix,
    "Breakout": _breakout,
    "Freeway": _freeway,
    "Seaquest": _seaquest,
    "SpaceInvaders": _space_invaders,
}


def in_the_midst(env: MinAtar, key: Any, last_action: Any) -> MinAtarState:
    """Begins a game as a reset does, or as hard as it becomes later, with as much of each as the game itself allows."""
    start_key, coin_key, key = jax.random.split(key, 3)
    words = jax.random.bits(start_key, (env.words_to_start,), jnp.uint32)
    plain, _ = env.begin(words, last_action)
    changed = LATER[type(env).__name__](plain.game, key)
    coin = jax.random.uniform(coin_key) < 0.5
    game = jax.tree.map(lambda a, b: jnp.where(coin, a, b), changed, plain.game)
    return MinAtarState(game, last_action)


def _below(key: Any, n: int) -> Any:
    return jax.random.randint(key, (), 0, n, jnp.int32)


def _later_asterix(game: Any, key: Any) -> Any:
    level = _below(key, 12)
    return eqx.tree_at(
        lambda g: (g.spawn_speed, g.move_speed, g.ramp_index, g.ramp_timer),
        game,
        (jnp.maximum(1, 10 - level), jnp.maximum(1, 5 - level // 2), level, _below(key, 100)),
    )


def _later_breakout(game: Any, key: Any) -> Any:
    few = jax.random.bits(key, (3,), jnp.uint32)
    return eqx.tree_at(lambda g: g.bricks, game, ((few[0] & few[1] & few[2]) >> jnp.uint32(2)).astype(jnp.int32))


def _later_freeway(game: Any, key: Any) -> Any:
    return eqx.tree_at(lambda g: g.terminate_timer, game, _below(key, 300))


def _later_space_invaders(game: Any, key: Any) -> Any:
    keys = jax.random.split(key, 4)
    some = jax.random.bits(keys[0], (2,), jnp.uint32)
    alive = ((some[0] & some[1]) >> jnp.uint32(8)).astype(jnp.int32) | (1 << _below(keys[1], 24))
    level = _below(keys[2], 7)
    return eqx.tree_at(
        lambda g: (g.aliens.alive, g.aliens.top, g.move_interval, g.ramp_index),
        game,
        (alive, _below(keys[3], 4), 12 - level, level),
    )


def _later_seaquest(game: Any, key: Any) -> Any:
    keys = jax.random.split(key, 3)
    level = _below(keys[0], 24)
    return eqx.tree_at(
        lambda g: (g.spawn_speed, g.spawn_timer, g.move_speed, g.ramp_index, g.aboard, g.oxygen),
        game,
        (
            jnp.maximum(1, 20 - level),
            _below(keys[1], 20),
            jnp.maximum(2, 5 - level // 2),
            jnp.minimum(level, 19),
            _below(keys[2], 9) - 2,
            10 + _below(keys[1], 190),
        ),
    )


LATER = {
    "Asterix": _later_asterix,
    "Breakout": _later_breakout,
    "Freeway": _later_freeway,
    "Seaquest": _later_seaquest,
    "SpaceInvaders": _later_space_invaders,
}
