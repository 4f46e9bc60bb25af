"""Runs that learn from data sets: whole runs, what their folders hold, and what they know in the end."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pendulum_data import pendulum
from probes import chain, exact_q
from same_runs import same

import kousoku as ks
from kousoku.agents.deep.dagger import DAgger
from kousoku.agents.planning import value_iteration
from kousoku.cli import main
from kousoku.core.env import EnvSpec
from kousoku.core.errors import RunWarning
from kousoku.nn import ActorQConfig
from kousoku.ops.schedules import Linear
from kousoku.training.evaluation.recorded import acted, replayed
from kousoku.training.io import checkpoints
from kousoku.training.io.run_progress import RunProgress

SMALL: dict[str, Any] = {"hidden": (8,), "init": "lecun_normal", "batch_size": 16}
PENDULUM = ks.make("Pendulum-v1")


@pytest.mark.slow_because("three runs")
@pytest.mark.by_default("bc")
@pytest.mark.parametrize("id", ["iql", "td3_bc", "bc"])
def test_a_run_that_is_stopped_and_gone_on_with_has_the_same_bits_and_no_copy_of_the_data(id, tmp_path):
    data = ks.save_dataset(pendulum(), tmp_path / "data.npz")
    asked = {"dataset": data.path, "seeds": 3, "steps": 60, "record_every": 20, "eval_episodes": 1, **SMALL}
    ks.train(id, "Pendulum-v1", out=str(tmp_path / "whole"), **asked)
    stopped = ks.train(id, "Pendulum-v1", out=str(tmp_path / "parts"), on_report=lambda told: told.step == 20, **asked)
    assert stopped.interrupted
    ks.resume(tmp_path / "parts")
    same(tmp_path / "whole", tmp_path / "parts")
    kept = checkpoints.newest(tmp_path / "whole")
    assert not any(path.startswith("data") for path in kept.paths)
    assert not any(len(data) in leaf.shape for leaf in kept.leaves)
    told = json.loads((tmp_path / "whole" / "config.json").read_text())["agent"]["dataset"]
    assert told == {
        "type": "Dataset", "path": data.path, "hash": data.hash, "transitions": 200, "env": "Pendulum-v1",
    }  # fmt: skip


@pytest.mark.full("more cases")
@pytest.mark.parametrize("id", ["iql", "td3_bc", "bc"])
def test_members_are_the_same_on_any_number_of_devices(id):
    asked = {"dataset": pendulum(), "seeds": 3, "steps": 40, "out": "", "eval_episodes": 0, **SMALL}
    shared, alone = ks.train(id, "Pendulum-v1", **asked), ks.train(id, "Pendulum-v1", devices=1, **asked)
    np.testing.assert_array_equal(shared.curves["reward"], alone.curves["reward"])
    for one, two in zip(*(jax.tree.leaves(run.trained_member("m", 2).state) for run in (shared, alone)), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.full("whole way")
def test_other_data_are_not_gone_on_with_and_a_policy_needs_none(tmp_path):
    data = ks.save_dataset(pendulum(), tmp_path / "data.npz")
    asked = {"steps": 40, "record_every": 20, "eval_episodes": 1, "out": str(tmp_path / "run"), **SMALL}
    ks.train("td3_bc", "Pendulum-v1", dataset=data, on_report=lambda told: True, **asked)
    ks.save_dataset(pendulum(100), tmp_path / "data.npz")
    with pytest.raises(ks.ConfigError, match="the run learned from other numbers"):
        ks.resume(tmp_path / "run")
    with pytest.raises(ks.ConfigError, match="agent's dataset"):
        ks.resume(tmp_path / "run", agent=ks.make_agent("td3_bc", dataset=pendulum(100), **SMALL))
    (tmp_path / "data.npz").unlink()
    with pytest.raises(ks.ConfigError, match="the file is not there"):
        ks.resume(tmp_path / "run")
    policy = ks.load_policy(tmp_path / "run")
    file = policy.save(tmp_path / "policy.py")
    assert policy([0.1, 0.2, 0.3]).shape == (1,)
    assert file.is_file()
    run = ks.resume(tmp_path / "run", agent=ks.make_agent("td3_bc", dataset=pendulum(), **SMALL))
    assert run.record.facts["status"] == "finished"
    again = ks.make_agent("td3_bc", dataset=pendulum(), **SMALL)
    before = ks.load(tmp_path / "run", checkpoint=20, agent=again).policy()
    np.testing.assert_array_equal(policy([0.1, 0.2, 0.3]), before([0.1, 0.2, 0.3]))


def test_what_cannot_be_learned_from_is_refused():
    for id in ("bc", "iql", "td3_bc"):
        with pytest.raises(ks.ConfigError, match="dataset: got nothing; it learns from recorded transitions"):
            ks.train(id, "Pendulum-v1", steps=10, out="")
    with pytest.raises(ks.ConfigError, match=r"dataset's observation space: .* the environment has Box"):
        ks.train("bc", "CartPole-v1", dataset=pendulum(), steps=10, out="")
    narrow = dataclasses.replace(PENDULUM.action_space, high=1.9)
    other = dataclasses.replace(pendulum(), action_space=narrow)
    with pytest.raises(ks.ConfigError, match="dataset's action space"):
        ks.train("bc", "Pendulum-v1", dataset=other, steps=10, out="")
    with pytest.raises(ks.ConfigError, match="policy: got 'stochastic'; use 'normal', or for a Box 'deterministic'"):
        ks.train("bc", "Pendulum-v1", dataset=pendulum(), policy="stochastic", steps=10, out="")
    with pytest.raises(ks.ConfigError, match="record: got 'info'"):
        ks.train("bc", "Pendulum-v1", dataset=pendulum(), record=["info"], steps=10, out="")
    with pytest.raises(ks.ConfigError, match="expert: got None; give one"):
        ks.train("dagger", "CartPole-v1", steps=100, out="")


@pytest.mark.full("whole way")
def test_the_shell_takes_a_file(tmp_path):
    data = ks.save_dataset(pendulum(), tmp_path / "data.npz")
    words = ["train", "bc", "Pendulum-v1", "--dataset", str(data.path), "--steps", "20", "--hidden", "8"]
    assert main([*words, "--eval-episodes", "1", "--out", str(tmp_path / "run")]) == 0
    assert ks.load(tmp_path / "run").record.config["agent"]["dataset"]["hash"] == data.hash


def test_the_shell_refuses_a_file_that_is_not_there(tmp_path, capsys):
    assert main(["train", "bc", "Pendulum-v1", "--dataset", str(tmp_path / "none.npz"), "--steps", "20"]) == 2
    assert "there is no such file" in capsys.readouterr().err


@pytest.mark.slow_because("a run and its resumption")
def test_the_shell_goes_on_with_a_run_whose_file_has_moved(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = ks.save_dataset(pendulum(), "data.npz")
    asked = {"steps": 40, "record_every": 20, "eval_episodes": 0, "out": "run", **SMALL}
    ks.train("bc", "Pendulum-v1", dataset=data, on_report=lambda told: True, **asked)
    Path("data.npz").rename("moved.npz")
    assert main(["resume", "run"]) == 2
    assert "`kousoku resume RUN --dataset FILE`, or in Python agent=ks.make_agent(" in capsys.readouterr().err
    ks.save_dataset(pendulum(100), "other.npz")
    assert main(["resume", "run", "--dataset", "other.npz"]) == 2
    assert "agent's dataset: got" in capsys.readouterr().err
    assert main(["resume", "run", "--dataset", "moved.npz"]) == 0
    run = ks.load("run")
    assert run.record.facts["status"] == "finished"
    assert run.record.config["agent"]["dataset"]["path"] == str(tmp_path / "moved.npz")


def test_the_shell_gives_data_to_no_run_that_learned_from_none(tmp_path, capsys):
    folder = str(tmp_path / "run")
    ks.train("q_learning", "GridWorld-v0", steps=100, out=folder, eval_episodes=0)
    assert main(["resume", folder, "--steps", "200", "--dataset", "moved.npz"]) == 2
    assert "--dataset: got 'moved.npz'; leave it out: 'q_learning' learns from no data set" in capsys.readouterr().err


def test_the_shell_sweeps_no_data_sets(capsys):
    assert main(["sweep", "bc", "Pendulum-v1", "--dataset", "a.npz,b.npz", "--steps", "20"]) == 2
    assert "--dataset: got 'a.npz'; a data set cannot be swept, only numbers" in capsys.readouterr().err


@pytest.mark.parametrize("id", ["bc", "iql", "td3_bc"])
def test_where_actions_cannot_be_learned_from_data_no_agent_that_acts_is_advised(id):
    rows, observations = np.zeros((3, 1)), ks.Box(-1.0, 1.0, (1,))
    for space in (ks.Box(-np.inf, np.inf, (2,)), ks.MultiDiscrete((2, 2)), ks.Box(0, 5, (2,), "int32")):
        actions, ends = np.zeros((3, 2), np.int32), np.ones(3, bool)
        data = ks.Dataset(rows, actions, np.zeros(3), ends, ~ends, rows, observations, space)
        with pytest.raises(ks.ConfigError, match=r"^action space: got .*(from data|and the data)") as caught:
            ks.make_agent(id, dataset=data).init(EnvSpec(observations, space), jax.random.key(0))
        assert "ppo" not in str(caught.value)


def test_a_policy_of_another_kind_is_named_as_it_was_given():
    for id, kind in (("td3_bc", "stochastic"), ("sac", "deterministic")):
        with pytest.raises(ks.ConfigError, match=f"^policy: got '{kind}'; this agent learns a policy of the kind"):
            ks.make_agent(id, policy=kind, hidden=(4,)).init(PENDULUM.spec, jax.random.key(0))


@pytest.mark.parametrize(
    ("id", "fits"),
    [("bc", ["normal"]), ("iql", ["stochastic", "normal"]), ("sac", ["stochastic", "normal"]), ("dagger", ["normal"])],
)
def test_one_action_without_a_probability_is_refused_as_a_policy_where_actions_are_discrete(id, fits):
    spec = ks.make("GridWorld-v0").spec

    def begun(policy):
        return ks.make_agent(id, policy=policy, hidden=(4,)).init(spec, jax.random.key(0))

    instead = "'normal'" if id == "bc" else "'stochastic' or 'normal'"
    said = f"^policy: got 'deterministic'; use {instead}; one action without a probability is for a Box$"
    with pytest.raises(ks.ConfigError, match=said):
        begun("deterministic")
    for policy in fits:
        begun(policy)


@pytest.mark.parametrize("id", ["td3", "td3_bc"])
def test_agents_that_only_learn_in_a_box_name_the_action_space(id):
    with pytest.raises(ks.ConfigError, match=r"^action space: got 'Discrete"):
        ks.make_agent(id, policy="deterministic", hidden=(4,)).init(ks.make("GridWorld-v0").spec, jax.random.key(0))


def test_an_environment_made_in_python_is_given_with_the_run_to_begin_with(tmp_path):
    world = ks.gridworld("S.G")
    ks.train("q_learning", world, steps=100, out=str(tmp_path / "run"), eval_episodes=0)
    asked = {"steps": 100, "out": "", "eval_episodes": 0}
    with pytest.raises(ks.ConfigError, match=r"^init_from: got .*in Python.*init_from=ks.load\(.*run', env=env\)$"):
        ks.train("q_learning", world, init_from=str(tmp_path / "run"), **asked)
    ks.train("q_learning", world, init_from=ks.load(tmp_path / "run", env=world), **asked)


@pytest.mark.learning
@pytest.mark.slow_because("a policy has to learn")
def test_behaviour_cloning_finds_the_policy_that_acted():
    data = pendulum(1000)
    run = ks.train(
        "bc", "Pendulum-v1", dataset=data, policy="deterministic", hidden=(32,), batch_size=64, steps=2000,
        learning_rate=Linear(1e-2, 0.0, 2000), eval_episodes=0, out="",
    )  # fmt: skip
    obs = np.random.default_rng(1).uniform(-0.9, 0.9, (50, 3)).astype(np.float32)
    wanted = np.tanh(obs[:, :1]) + 0.5 * obs[:, 1:2]
    np.testing.assert_allclose(run.policy()(obs), wanted, atol=0.06)


TARGET, REWARD = np.array([[1, 2, 2], [0, 2, 2]]), np.array([[0.0, 1.0, 9.0], [0.5, 2.0, 9.0]])
COUNTS = np.array([[3, 1], [1, 1]])


def recorded() -> tuple[Any, ks.Dataset]:
    """A problem of two states and three actions, of which the best one was never tried; how often the others were."""
    env = chain(TARGET, REWARD)
    rows = [(s, a) for s in range(2) for a in range(2) for _ in range(COUNTS[s, a])]
    s, a = np.array(rows).T
    after = TARGET[s, a]
    data = ks.Dataset(s, a, REWARD[s, a], after == 2, after != 2, after, env.observation_space, env.action_space)
    return env, data


@pytest.mark.full("learning")
@pytest.mark.learning
def test_implicit_q_learning_finds_the_values_of_the_data_and_towards_1_the_best_within_them():
    env, data = recorded()
    steps, levels = 3000, [0.5, 0.98]
    agent = ks.make_agent(
        "iql", dataset=data, hidden=(16,), init="lecun_normal", batch_size=64, tau=0.05, discount=0.9,
        learning_rate=Linear(1e-2, 0.0, steps),
    )  # fmt: skip
    run = ks.train(agent, env, steps=steps, sweep={"expectile": levels}, eval_episodes=0, out="")
    share = COUNTS / COUNTS.sum(1, keepdims=True)
    for number, level in enumerate(levels):
        state = run.trained_member("m", number).state
        found = np.stack([[critic(s) for s in np.arange(2, dtype=np.int32)] for critic in state.critics]).mean(0)[:, :2]
        if level == 0.5:
            q = np.zeros((2, 2))
            for _ in range(200):
                v = np.append((share * q).sum(1), 0.0)
                q = REWARD[:, :2] + 0.9 * v[TARGET[:, :2]]
        else:
            q = exact_q(chain(TARGET[:, :2], REWARD[:, :2]).model(), 0.9)[:2]
        np.testing.assert_allclose(found, q, atol=0.12)


@pytest.mark.full("learning")
@pytest.mark.learning
def test_dagger_comes_to_the_optimum_where_cloning_a_few_steps_of_the_expert_does_not():
    env = ks.gridworld("S...\n.##.\n....\n.#.G", slip=0.3, step_reward=-0.1, observation="index")
    best = value_iteration(env.model(), 0.99)
    small = {"network": ActorQConfig(hidden=(32,), init="lecun_normal"), "batch_size": 32}
    agent = DAgger(**small, num_envs=8, learning_rate=1e-2)
    taught = ks.train(agent, env, steps=3000, eval_episodes=0, out="", seeds=2)
    expert = dataclasses.replace(agent.taught_in(env), expert_share=1.0)
    assert set(expert.expert) <= set(range(4))
    shown = acted(expert, expert.init(env.spec, jax.random.key(0)), env, "grid", 24, 0, greedy=False)
    chosen = best.policy[shown.obs, shown.action]
    assert np.all(chosen > 0)
    cloned = ks.train("bc", env, dataset=shown, hidden=(32,), init="lecun_normal", learning_rate=1e-2, steps=500,
                      batch_size=32, eval_episodes=0, out="", seeds=2)  # fmt: skip
    optimum = float(taught.record.tables["optimal_return"])
    of_taught, of_cloned = (run.evaluate(200, max_steps=200).returns.mean() for run in (taught, cloned))
    assert abs(of_taught - optimum) < 0.05 * abs(optimum) + 0.05
    assert of_cloned < of_taught - 0.2


@pytest.mark.full("whole way")
@pytest.mark.parametrize("prioritised", [False, True])
def test_a_replay_buffer_is_a_data_set_oldest_first(prioritised, tmp_path, monkeypatch):
    """Of 5 x 3 steps in each of two slots the last 5; they follow each other."""
    run = ks.train(
        "dqn", "CartPole-v1", steps=70, num_envs=2, capacity=40, batch_size=8, learning_starts=8, hidden=(8,), seeds=2,
        init="lecun_normal", prioritised=prioritised, eval_episodes=1, out=str(tmp_path / "run"), update_ratio=0.5,
    )  # fmt: skip
    data = run.replay(1)
    assert len(data) == 40
    assert data.env == "CartPole-v1"
    assert data.ends[19]
    assert data.ends[39]
    assert len(np.unique(data.obs, axis=0)) == 40
    saved = checkpoints.newest(Path(run.path))
    held = dict(zip(saved.paths, saved.leaves, strict=True))[
        "data.buffer.kept.obs" if prioritised else "data.buffer.obs"
    ][1]
    assert {tuple(row) for row in held.reshape(40, 4)} == {tuple(row) for row in data.obs}
    alone = [path.replace("data.buffer.", "data.") for path in saved.paths]
    former = dataclasses.replace(saved, paths=alone, format=7)  # which held the buffer alone
    monkeypatch.setattr(checkpoints, "newest", lambda folder: former)
    assert run.replay(1) == data
    with pytest.raises(ks.ConfigError, match="it has no replay buffer"):
        ks.train("q_learning", "GridWorld-v0", steps=100, out="", eval_episodes=0).replay()


class Fifty(ks.Env):
    """Pays 1 in each of the 50 steps of an episode, which a clock ends."""

    discrete: bool = eqx.field(static=True, default=True)

    @property
    def observation_space(self):
        return ks.Box(0.0, 50.0, (1,))

    @property
    def action_space(self):
        return ks.Discrete(2) if self.discrete else ks.Box(-1.0, 1.0, (1,))

    @property
    def time_limit(self):
        return 50

    def reset(self, key):
        return jnp.zeros(1), ks.Timestep(jnp.zeros(1), jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        return state + 1.0, ks.Timestep(state + 1.0, jnp.float32(1.0), jnp.array(False), jnp.array(False))


@pytest.mark.slow_because("an agent with a buffer is compiled")
@pytest.mark.by_default("wrapped-dqn")
@pytest.mark.parametrize(
    ("id", "options"),
    [("dqn", {}), ("dqn", {"n_step": 3}), ("dqn", {"prioritised": True}), ("sac", {})],
    ids=["dqn", "n_step", "prioritised", "sac"],
)
@pytest.mark.parametrize(("capacity", "steps"), [(10_000, 900), (280, 1013)], ids=["filling", "wrapped"])
def test_returns_of_a_replay_buffer_are_those_of_whole_episodes(id, options, capacity, steps, tmp_path):
    """Its pieces begin and end in the midst of episodes; of four slots three begin at a later age."""
    run = ks.train(
        id, Fifty(id == "dqn"), steps=steps, capacity=capacity, num_envs=4, learning_starts=800, hidden=(4,),
        init="lecun_normal", eval_episodes=0, out=str(tmp_path / "run"), **options,
    )  # fmt: skip
    data = run.replay()
    assert set(data.episode_returns) == {50.0}
    assert len(data.episode_returns) == (15 if capacity > steps else 2)
    assert np.flatnonzero(data.begun_before).tolist() == [i * len(data) // 4 for i in range(capacity > steps, 4)]
    assert data.truncated[data.broken_off].all()


@pytest.mark.parametrize("filled", [60, 70])
def test_a_buffer_that_has_lost_nothing_begins_with_the_episodes_of_its_slots(filled, monkeypatch):
    """Of four slots, whose first episodes begin at the ages 0, 12, 25 and 37 of 50."""
    agent, env = ks.make_agent("dqn", num_envs=4, capacity=4 * 70, hidden=(4,), learning_starts=8), Fifty()
    age = (np.array([0, 12, 25, 37])[:, None] + np.arange(70)) % 50
    obs, none = np.asarray(age[..., None], np.float32), np.zeros((4, 70), bool)
    kept = {"obs": obs, "action": none.astype(np.int32), "reward": np.ones((4, 70), np.float32), "next_obs": obs + 1}
    kept |= {"terminated": none, "truncated": age == 49}
    paths, leaves = [f"data.buffer.{name}" for name in kept], [part[None] for part in kept.values()]
    saved = checkpoints.Checkpoint(leaves, paths, [], RunProgress(step=4 * filled), b"", {})
    monkeypatch.setattr(checkpoints, "newest", lambda folder: saved)
    data = replayed(Path("run"), agent, env, "Fifty-v0", 0)
    assert np.flatnonzero(data.begun_before).tolist() == [filled, 2 * filled, 3 * filled]
    assert set(data.episode_returns) == {50.0}


@pytest.mark.full("covered")
def test_a_policy_is_recorded():
    run = ks.train("q_learning", "GridWorld-v0", steps=2000, out="", eval_episodes=0)
    data, again = run.collect(203, seed=1), run.collect(203, seed=1)
    assert data == again
    assert data != run.collect(203, seed=2)
    assert len(data) == 203
    assert data.ends[-1]
    greedy = run.collect(100, greedy=True)
    q = run.q_values[0]
    assert np.all(q[greedy.obs, greedy.action] == q[greedy.obs].max(1))


def test_seeds_and_steps_that_no_program_takes_are_refused():
    run = ks.train("q_learning", "GridWorld-v0", steps=100, out="", eval_episodes=0)
    for ask in (run.collect, run.evaluate, lambda seed: ks.animate("GridWorld-v0", seed=seed)):
        with pytest.raises(ks.ConfigError, match="seed: got 4294967296; use a whole number of at least 0 and at most"):
            ask(seed=2**32)
    with pytest.raises(ks.ConfigError, match=r"steps: got 1000000000000000; they need about .* GiB; use at most"):
        run.collect(10**15)


def test_episodes_that_a_resumed_run_on_the_host_gave_up_have_no_return():
    agent = ks.make_agent("dqn", num_envs=2, capacity=400, learning_starts=50, hidden=(8,))
    ks.train(agent, "gymnasium:CartPole-v1", steps=100, eval_episodes=0, out="run")
    with pytest.warns(RunWarning, match="all slots begin new episodes"):
        data = ks.resume("run", steps=200).replay()
    assert (len(data), int(data.truncated.sum())) == (200, 4)
    own = data.truncated & ~data.terminated
    assert np.array_equal(data.broken_off, own), "no clock ends CartPole within so few steps"
    assert len(data.episode_returns) == data.terminated.sum()
