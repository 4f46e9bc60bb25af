"""Agents of one's own on several devices: what they learn has to be the same on each, and metrics are of all."""

from __future__ import annotations

from forked import in_a_forked_process

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
