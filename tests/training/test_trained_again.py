"""A configuration that is trained again in the same process: its programs are there already."""

import re

import jax
import pytest

import kousoku as ks

SMALL = {"num_envs": 2, "num_steps": 8, "minibatches": 2, "epochs": 1, "hidden": (8,)}


@pytest.mark.full("covered")
@pytest.mark.films
def test_nothing_is_compiled_again(caplog):
    def compiled(**numbers):
        caplog.clear()
        with jax.log_compiles(), caplog.at_level("WARNING", logger="jax"):
            run = ks.train("ppo", "CartPole-v1", steps=64, out="", eval_episodes=2, **SMALL, **numbers)
            assert run.record.film is not None
            ks.load_policy(run)
        return re.findall(r"Compiling (\S+)", caplog.text)

    assert len(compiled()) > 3
    assert compiled() == []
    assert compiled(learning_rate=0.1) == []
