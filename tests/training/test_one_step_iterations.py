"""Iterations of a single step: of which each is one update, and of which it is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from rollouts import loop_of

import kousoku as ks
from kousoku.training.io import checkpoints
from kousoku.training.loop.iteration import sums_before
from kousoku.training.metrics.metric_sums import Recording

HOW: dict[str, Any] = {"env": "CartPole-v1", "record_every": 20, "out": "", "progress": False, "eval_episodes": 0}
METRICS = Recording(metrics=True)


class Counting(ks.Agent):
    """Tells a one of every update, and how many there were before it."""

    num_envs: int = eqx.field(static=True, default=1)
    gradient_steps: int = eqx.field(static=True, default=2)

    @property
    def learns_from(self) -> ks.Replay:
        return ks.Replay(self.num_envs, 1, 64, 4, self.gradient_steps, learning_starts=30)

    def init(self, spec, key):
        return jnp.int32(0)

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(0), carry, None

    def update(self, state, data, key, *, axis=None):
        return state + 1, {"one": jnp.float32(1), "before": state, "error": jnp.float32(-2)}


class FromRollouts(Counting):
    @property
    def learns_from(self) -> ks.Rollouts:
        return ks.Rollouts(1, 1)


class AtOnce(Counting):
    learns_from: ks.Online = eqx.field(static=True, default=ks.Online())


class Twice(ks.Online):
    """Makes two updates of each step."""

    def learn(self, agent, state, data, keys, axis):
        once, first, _ = super().learn(agent, state, data, keys, axis)
        twice, second, _ = super().learn(agent, once, data, keys, axis)
        return twice, {name: first[name] + second[name] for name in first}, jnp.int32(2)


class OfEachTwo(Counting):
    learns_from: Twice = eqx.field(static=True, default=Twice())


@pytest.mark.parametrize(("num_envs", "gradient_steps"), [(1, 2), (1, 1), (2, 2)])
def test_metrics_are_means_over_updates_and_unknown_before_the_first(num_envs, gradient_steps):
    curves = ks.train(Counting(num_envs, gradient_steps), steps=100, devices=1, **HOW).curves
    np.testing.assert_array_equal(curves["one"][:, 0], [np.nan, 1, 1, 1, 1])
    np.testing.assert_array_equal(curves["error"][:, 0], [np.nan, 2, 2, 2, 2])
    each = 20 // num_envs * gradient_steps
    first = (40 - 30) // num_envs * gradient_steps + gradient_steps
    means = [np.nan, (first - 1) / 2, *(first + i * each + (each - 1) / 2 for i in range(3))]
    np.testing.assert_allclose(curves["before"][:, 0], means)


def test_a_collector_of_ones_own_may_make_several_of_one_step():
    curves = ks.train(OfEachTwo(), steps=60, **HOW).curves
    np.testing.assert_array_equal(curves["one"][:, 0], [1, 1, 1])
    np.testing.assert_array_equal(curves["before"][:, 0], [19.5, 59.5, 99.5])


@pytest.mark.parametrize(("kind", "counts"), [(AtOnce, False), (FromRollouts, False), (Counting, True)])
def test_updates_are_counted_where_the_steps_do_not_tell(kind, counts):
    sums = sums_before(kind(), ks.make("CartPole-v1"), METRICS)
    for counter in (sums.updates, sums.iterations, sums.finite_iterations):
        assert (counter is not None) == counts


def test_a_run_of_before_updates_were_counted_goes_on(tmp_path):
    """Format 13 was the last one without, whose sums are means again from the next report on."""
    ks.train(Counting(), steps=60, record=["metrics"], **HOW | {"out": str(tmp_path / "run")})
    saved = checkpoints.newest(tmp_path / "run")
    assert saved is not None
    kept = [i for i, path in enumerate(saved.paths) if not path.endswith(("updates", "updates']", "iterations"))]
    assert len(saved.paths) - len(kept) == 5
    parts = {name: [getattr(saved, name)[i] for i in kept] for name in ("leaves", "paths", "kinds")}
    former = dataclasses.replace(saved, **parts, format=13)
    template = loop_of(Counting(), ks.make("CartPole-v1")).start()
    whole = former.state(template, 1)
    assert (whole.agent.tolist(), whole.metrics.updates.tolist()) == ([62], [0])
    with pytest.raises(ks.ConfigError, match="checkpoint"):
        dataclasses.replace(former, format=checkpoints.FORMAT).state(template, 1)


@pytest.mark.parametrize("kind", [Counting, FromRollouts, OfEachTwo])
def test_the_readable_loop_is_for_one_update_of_each_step(kind):
    with pytest.raises(ks.ConfigError, match="loop: got 'python'; the readable loop is for agents that learn from one"):
        ks.train(kind(), steps=60, loop="python", **HOW)
