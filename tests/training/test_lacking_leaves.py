"""Checkpoints of another state than is needed, such as of an earlier version: one line says what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.training.io import checkpoints
from kousoku.training.io.checkpoints import Checkpoint
from kousoku.training.io.tree_io import difference

A, B, C = (("a", "int32", (1,)), ("b", "int32", (1,)), ("c", "float32", (1, 2)))
LARGER = ("b", "int32", (2,))
OTHER = ("x", "bool", ())


@pytest.mark.parametrize(
    ("found", "needed", "told"),
    [
        ([A, C], [A, B, C], ("no b", "b: int32[1]")),
        ([B, C], [A, B, C], ("no a", "a: int32[1]")),
        ([A, B, C], [A, C], ("b: int32[1]", "no b")),
        ([A, B], [A, B, C], ("2 leaves", "c: float32[1, 2]")),
        ([A, B, C], [A, B], ("c: float32[1, 2]", "2 leaves")),
        ([A, B, C], [A, LARGER, C], ("b: int32[1]", "b: int32[2]")),
        ([A, OTHER], [A, B], ("x: bool[]", "b: int32[1]")),
    ],
    ids=range(7),
)
def test_the_first_difference_is_told(found, needed, told):
    assert difference(found, needed) == told


class Masked(ks.Env):
    """Two of three actions are legal, in episodes of twenty steps."""

    time_limit: Any = eqx.field(static=True, default=20)

    @property
    def observation_space(self):
        return ks.Dict({"action_mask": ks.MultiDiscrete((2, 2, 2)), "at": ks.Box(0.0, 20.0, (1,))})

    @property
    def action_space(self):
        return ks.Discrete(3)

    def reset(self, key):
        return jnp.int32(0), self._said(jnp.int32(0))

    def step(self, key, state, action):
        return state + 1, self._said(state + 1)

    def _said(self, state):
        obs = {"action_mask": jnp.array([1, 1, 0], jnp.int32), "at": state.astype(jnp.float32)[None]}
        return ks.Timestep(obs, jnp.float32(0), jnp.array(False), jnp.array(False))


@pytest.mark.full("covered")
def test_a_run_that_keeps_less_than_a_wrapper_needs_now_goes_on_in_no_way(monkeypatch):
    env = ks.wrappers.StickyAction(Masked(), 0.25)
    agent = ks.make_agent("ppo", hidden=(4,), num_envs=2, num_steps=8, num_minibatches=2)
    given = {"agent": agent, "env": env}
    ks.train(agent, env, steps=32, out="run", checkpoint_every=16, eval_episodes=0)
    newest = checkpoints.newest(Path("run"))
    legal = newest.paths.index("slots.env_state.legal")

    def without(one: Checkpoint) -> Checkpoint:
        for parts in (one.leaves, one.paths, one.kinds):
            del parts[legal]
        return one

    read = checkpoints.read
    monkeypatch.setattr(checkpoints, "read", lambda folder: without(read(folder)))
    for use in (lambda: ks.resume("run", steps=64, **given), lambda: ks.load("run", checkpoint=16, **given)):
        with pytest.raises(ConfigError) as caught:
            use()
        assert str(caught.value) == (
            "checkpoint: got 'no slots.env_state.legal'; "
            "this agent on this environment needs slots.env_state.legal: bool[1, 2, 3]"
        )
