"""How many devices a run tells of: those that took part, and those that could."""

import jax
import pytest

import kousoku as ks


@pytest.mark.parametrize(("seeds", "asked", "count", "available"), [(1, None, 1, 2), (2, 1, 1, 1), (2, None, 2, 2)])
def test_a_run_tells_how_many_devices_took_part(seeds, asked, count, available):
    assert jax.device_count() == 2
    run = ks.train("q_learning", "GridWorld-v0", steps=20, seeds=seeds, devices=asked, eval_episodes=0, out="run")
    for told in (run, ks.load("run")):
        device = told.record.facts["device"]
        assert (device["count"], device["available"]) == (count, available)
