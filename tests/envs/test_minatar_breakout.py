"""MinAtar's Breakout by hand: its wall."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.envs.minatar.breakout import first_state
from kousoku.envs.minatar.game import STAY, MinAtarState


@pytest.mark.parametrize("left", [0, 1, 2**29])
def test_a_wall_of_thirty_bricks_is_built_anew_when_none_is_left_and_the_ball_is_down(left):
    env, game = ks.make("MinAtar/Breakout-v0", sticky_action_prob=0.0), first_state(jnp.int32(0))
    whole = int(game.bricks)
    assert whole == 2**30 - 1
    bricks = np.asarray(env.observe(game))[..., env.channels.index("brick")]
    assert bricks[1:4].sum() == bricks.sum() == 30
    changed = [jnp.int32(number) for number in (left, 3, 8, 3)]
    low = eqx.tree_at(lambda g: (g.bricks, g.ball_x, g.ball_y, g.pos), game, tuple(changed))
    words = jnp.zeros(1 + env.words_to_play, jnp.uint32)
    after, timestep = env.respond(words, MinAtarState(low, jnp.int32(STAY)), jnp.int32(STAY))
    assert not timestep.terminated
    assert int(after.game.bricks) == (left or whole)
