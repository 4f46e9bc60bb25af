"""Agents of one's own on several devices: what they learn has to be the same on each, and metrics are of all."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from forked import in_a_forked_process

import kousoku as ks

SHARED: dict[str, Any] = {"env": "CartPole-v1", "out": "", "devices": 2, "progress": False, "eval_episodes": 0}

SCRIPT = """
import json, os
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import kousoku as ks

class Mean(ks.Agent):
    averages: bool = eqx.field(static=True, default=True)
    learns_from: ks.Rollouts = eqx.field(static=True, default=ks.Rollouts(num_envs=4, num_steps=8))

    def init(self, spec, key):
        return {"mean": jnp.float32(0), "key": jax.random.key(1), "nan": jnp.full(2, jnp.nan, jnp.bfloat16)}

    def act(self, state, obs, carry, key, *, greedy=False):
        return jax.random.uniform(key, (1,), minval=-2.0, maxval=2.0), carry, None

    def update(self, state, data, key, *, axis=None):
        mean = jnp.mean(data.reward)
        learned = jax.lax.pmean(mean, axis) if axis is not None and self.averages else mean
        return state | {"mean": learned}, {"told": mean}

def trained(devices, **own):
    how = dict(steps=320, out="", devices=devices, progress=False, eval_episodes=0, stop_on_nan=False)
    run = ks.train(Mean(**own), "Pendulum-v1", **how)
    return np.asarray(run.curves["told"])[:, 0].tolist(), np.asarray(run.curves["reward"])[:, 0].tolist()

alone, shared = trained(1), trained(2)
try:
    trained(2, averages=False)
    refused = ""
except ks.ConfigError as error:
    refused = str(error)
print(json.dumps([alone, shared, refused, trained(1, averages=False)]))
"""


def test_devices_that_learn_different_things_are_told_and_metrics_are_means():
    alone, shared, refused, without = in_a_forked_process(SCRIPT)
    for one, other in zip(alone, shared, strict=True):
        assert all(abs(x - y) < 1e-5 for x, y in zip(one, other, strict=True))
    assert all(abs(x - y) < 1e-4 for x, y in zip(*shared, strict=True))
    assert without == alone
    assert refused.startswith("Mean.update: got \"a state whose ['mean'] differs\"; devices learn different things")


class Sums(ks.Agent):
    """Learns a mean of its device alone, after so many updates."""

    starts: int = eqx.field(static=True, default=0)
    waits: int = eqx.field(static=True, default=0)

    @property
    def learns_from(self) -> ks.Replay:
        return ks.Replay(2, 1, 1000, 4, 1, learning_starts=self.starts)

    def init(self, spec, key):
        return {"mean": jnp.float32(0), "updates": jnp.int32(0)}

    def act(self, state, obs, carry, key, *, greedy=False):
        return jax.random.randint(key, (), 0, 2), carry, None

    def update(self, state, data, key, *, axis=None):
        mean = jnp.where(state["updates"] < self.waits, 0.0, jnp.mean(data.transitions.obs))
        return {"mean": mean, "updates": state["updates"] + 1}, {}


@pytest.mark.parametrize("late", [{}, {"starts": 30}, {"waits": 20}, {"waits": 55}], ids=str)
def test_what_devices_learn_later_than_in_the_first_steps_is_looked_at(late):
    told = r"Sums.update: got \"a state whose \['mean'\] differs\"; devices learn different things"
    with pytest.raises(ks.ConfigError, match=told):
        ks.train(Sums(**late), steps=120, record_every=6, **SHARED)


class Clocked(ks.Rollouts):
    """Keeps a number of all slots, and none of each."""

    def init(self, agent, agent_state, slots, key):
        slot, carry, _ = super().init(agent, agent_state, slots, key)
        return slot, carry, {"clock": jnp.float32(0)}

    def collect(self, agent, slots, state, keys, axis):
        after, data, steps = super().collect(agent, slots, state, keys, axis)
        return dataclasses.replace(after, data={"clock": state.data["clock"] + 1}), data, steps


class FromClocked(Sums):
    learns_from: Clocked = eqx.field(static=True, default=Clocked(num_envs=4, num_steps=8))

    def update(self, state, data, key, *, axis=None):
        return state, {}


def test_what_devices_cannot_divide_is_refused_where_they_have_to():
    ks.train(FromClocked(), steps=64, **SHARED | {"devices": 1})
    told = r"Clocked.init: got \"data\['clock'\] \[\]\"; devices share the environments: give each of the 4 a row"
    with pytest.raises(ks.ConfigError, match=told):
        ks.train(FromClocked(), steps=64, **SHARED)
