"""How full a replay buffer is, as a run tells it among its facts."""

from typing import Any

import pytest

import kousoku as ks

SMALL = {"num_envs": 4, "capacity": 40, "batch_size": 8, "learning_starts": 8, "update_ratio": 0.25}
RUNS = {
    "dqn": (ks.make_agent("dqn", hidden=(8,), **SMALL), ks.make("CartPole-v1")),
    "prioritised": (ks.make_agent("dqn", hidden=(8,), prioritised=True, **SMALL), ks.make("CartPole-v1")),
    "n_step": (ks.make_agent("dqn", hidden=(8,), n_step=3, **SMALL), ks.make("CartPole-v1")),
    "sac": (ks.make_agent("sac", hidden=(8,), **SMALL), ks.make("Pendulum-v1")),
    "td3": (ks.make_agent("td3", hidden=(8,), **SMALL), ks.make("Pendulum-v1")),
    "dagger": (ks.make_agent("dagger", **SMALL), ks.make("FrozenLake-v1")),
}


@pytest.mark.slow_because("an agent with a buffer is compiled")
@pytest.mark.by_default("dqn")
@pytest.mark.parametrize("of", RUNS)
def test_a_run_tells_how_full_each_agents_buffer_is_when_stopped_and_at_the_end(of, tmp_path):
    agent, env = RUNS[of]
    how: dict[str, Any] = {"steps": 72, "record_every": 24, "seeds": 2, "eval_episodes": 0, "progress": False}
    run = ks.train(agent, env, out=str(tmp_path / "run"), on_report=lambda report: True, **how)
    assert run.interrupted
    told = run.record.facts["replay_buffer"]
    assert (told["transitions"], told["capacity"]) == (24, 40)
    assert 0 < 2 * told["mib"] < run.record.facts["memory"]["state_mib"]
    assert ks.load(tmp_path / "run", agent=agent, env=env).record.facts["replay_buffer"] == told
    longer = ks.resume(tmp_path / "run", agent=agent, env=env, progress=False)
    assert longer.record.facts["replay_buffer"] == told | {"transitions": 40}
    assert len(longer.replay(1)) == 40
