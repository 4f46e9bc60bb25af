"""`kousoku bench minatar`: its loop means what it says, and every row comes out."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku_bench import minatar
from kousoku_bench.budget import Budget

SMALL = Budget(repeats=1, least_seconds=0.0, environments=(16,), steps=16)


def played(on, call=0):
    env = ks.make("MinAtar/Breakout-v1")
    keys = jax.random.split(jax.random.key(1), 16)
    states = jax.vmap(partial(minatar.begin_random_play, env))(keys)
    function = ks.kernel(partial(minatar.random_play, env, 64), on=on)
    return jax.jit(jax.vmap(function, (0, None, 0)))(keys, jnp.int32(call), states)


@pytest.mark.full("covered")
def test_a_random_walk_in_the_kernel_is_that_of_xla_and_goes_on_after_an_end():
    ours, theirs = played(True), played(False)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(a, b)
    assert int(ours.episodes.sum()) > 16
    assert float(ours.reward.sum()) > 0
    assert (played(True, 1).state.game.ball_x != ours.state.game.ball_x).any()


@pytest.mark.full("whole way")
def test_every_row_comes_out(tmp_path, monkeypatch):
    monkeypatch.setattr(minatar, "GAMES", ("Breakout",))
    (section,) = minatar.bench(tmp_path, SMALL, say=lambda text: None)
    rows = {row.name: row for row in section.rows}
    assert {name for name in rows if name.startswith("kousoku")} == {
        "kousoku, kernel",
        "kousoku, kernel, observing",
        "kousoku, XLA, observing",
    }
    assert {"gymnax", "minatar"} <= set(rows)
    assert all(row.figures["steps_per_second"] > 0 for name, row in rows.items() if name.startswith("kousoku"))
    assert "MinAtar" in (tmp_path / "minatar.md").read_text(encoding="utf-8")
