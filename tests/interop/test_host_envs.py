"""Environments on the host: what learns in them, evaluations, errors, processes, resumed runs."""

import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest
from host_diary import Diary
from host_worlds import Counter, Loaded, LoadedDm, Push, Rooms

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
from kousoku.core import own_line
from kousoku.core.errors import RunWarning
from kousoku.interop.host import workers as workers_module
from kousoku.training.io import checkpoints
from kousoku.training.io.env_config import check_same, env_json

SMALL = {"num_envs": 2, "num_steps": 8, "minibatches": 2, "epochs": 1, "hidden": (8,)}
REPLAY = {"num_envs": 2, "capacity": 64, "learning_starts": 16, "batch_size": 8, "hidden": (8,)}
QUIET = {"out": "", "eval_episodes": 0}
AGENT = Diary(ks.Rollouts(num_envs=2, num_steps=8))


def children():
    """How many processes this one has."""
    return len(subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "pid="], capture_output=True).stdout.split()) - 1


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("agent", "world", "options"),
    [
        ("ppo", Counter, SMALL),
        pytest.param("sac", Push, REPLAY, marks=pytest.mark.full("more cases")),
        pytest.param("q_learning", Rooms, {}, marks=pytest.mark.full("more cases")),
        pytest.param("dqn", Counter, REPLAY, marks=pytest.mark.full("more cases")),
        pytest.param("a2c", Counter, {"num_envs": 2, "num_steps": 4}, marks=pytest.mark.full("more cases")),
        pytest.param("ppo", Push, SMALL | {"recurrent": "gru"}, marks=pytest.mark.full("more cases")),
        pytest.param("pqn", Counter, SMALL, marks=pytest.mark.full("more cases")),
        pytest.param("td3", Push, REPLAY, marks=pytest.mark.full("more cases")),
        pytest.param("ddpg", Push, REPLAY, marks=pytest.mark.full("more cases")),
        pytest.param("sarsa", Rooms, {}, marks=pytest.mark.full("more cases")),
        pytest.param("dyna_q", Rooms, {}, marks=pytest.mark.full("more cases")),
    ],
)
def test_agents_with_rollouts_or_replay_or_tables_learn_on_the_host(agent, world, options):
    run = ks.train(agent, ks.from_gymnasium(world), steps=64, seeds=2, out="", eval_episodes=2, **options)
    assert run.record.facts["status"] == "finished"
    assert run.record.evaluation["return"].shape == (2, 4)
    assert np.isfinite(jax.tree.leaves(run._trained.final_state)[0]).all()


@pytest.mark.full("covered")
def test_a_table_is_learned_of_states_and_actions_that_do_not_begin_at_0():
    run = ks.train("q_learning", ks.from_gymnasium(Rooms), steps=3000, seeds=2, out="", eval_episodes=4)
    assert run.q_values.shape == (2, 4, 2)
    assert (run.q_values[:, :3].argmax(-1) == 1).all()
    assert (run.record.evaluation["return"] == 1).all()
    assert (run.record.evaluation["length"] == 3).all()


@pytest.mark.full("covered")
def test_an_evaluation_counts_whole_greedy_episodes_and_cuts_what_does_not_end():
    env = ks.from_gymnasium(lambda: Counter(ends=3))
    run = ks.train(AGENT, env, steps=16, out="", eval_episodes=5)
    lengths = run.record.evaluation["length"][0]
    assert lengths.tolist() == [3, 3, 3, 3, 3], "each slot's first episode has the number 0"
    assert np.allclose(run.record.evaluation["return"], 3.6)
    assert not run.record.evaluation["truncated"].any()
    cut = ks.evaluate(run, 20, max_steps=2)
    assert (cut.lengths == 2).all()
    assert cut.truncated.all()
    twice = [ks.evaluate(run, 20, seed=3) for _ in range(2)]
    assert np.array_equal(twice[0].lengths, twice[1].lengths)
    assert set(twice[0].lengths.ravel()) == {3, 4}


@pytest.mark.full("learning")
@pytest.mark.filterwarnings("ignore:there is no film")  # without pygame
def test_gymnasiums_cartpole_is_learned_about_as_ours():
    options = {"steps": 16_384, "seeds": 2, "num_envs": 8, "num_steps": 128, "out": "", "eval_episodes": 8}
    ours, theirs = (ks.train("ppo", id, **options) for id in ("CartPole-v1", "gymnasium:CartPole-v1"))
    for run in (ours, theirs):
        assert run.record.evaluation["return"].mean() > 100


@pytest.mark.full("covered")
def test_an_exception_ends_the_run_with_one_line_and_what_was_learned_is_there():
    env = ks.from_gymnasium(lambda: Counter(fails_at=20), name="Cart", workers=1)
    before = children()
    with pytest.raises(ks.EnvError) as caught:
        ks.train(AGENT, env, steps=64, out="failed", eval_episodes=2)
    assert str(caught.value) == "environment Cart raised ZeroDivisionError: the wheels came off"
    again = "kousoku.resume('failed', agent=agent, env=env)"
    assert caught.value.__notes__ == [f"the run ended at step 32; {again} goes on with it"]
    assert children() == before
    run = ks.load("failed", env=env, agent=AGENT)
    assert run.record.facts["status"] == "interrupted"
    assert run.record.facts["steps"] == 32
    assert not run.record.evaluation
    assert len(run.curves["step"]) > 0


@pytest.mark.parametrize("workers", [0, 1])
def test_an_exception_at_the_first_reset_is_told_alike(workers):
    class Broken(Counter):
        def reset(self, *, seed=None, options=None):
            raise KeyError("no such map")

    with pytest.raises(ks.EnvError) as caught:
        ks.train(AGENT, ks.from_gymnasium(Broken, workers=workers), steps=64, **QUIET)
    assert str(caught.value) == "environment Broken raised KeyError: 'no such map'"


def test_an_evaluation_on_the_way_that_fails_ends_the_run():
    env = ks.from_gymnasium(lambda: Counter(ends=30, fails_at=20))
    with pytest.raises(ks.EnvError, match="the wheels came off"):
        ks.train(AGENT, env, steps=64, out="eval", eval_episodes=1, eval_every=16, record_every=16)
    assert ks.load("eval", env=env, agent=AGENT).record.facts["steps"] == 16


def test_a_worker_that_dies_ends_the_run(monkeypatch):
    started = []
    begin = workers_module._started
    monkeypatch.setattr(workers_module, "_started", lambda: started.append(begin()) or started[-1])
    env = ks.from_gymnasium(Counter, workers=2)

    def kill(report):
        started[1].kill()

    with pytest.raises(ks.EnvError, match=r"environment Counter: its worker process ended with the status -9"):
        ks.train(AGENT, env, steps=64, record_every=16, on_report=kill, **QUIET)
    assert all(process.poll() is not None for process in started)


@pytest.mark.full("covered")
def test_no_process_is_left_after_a_run():
    before = children()
    ks.train(AGENT, ks.from_gymnasium(Counter, workers=2), steps=16, out="", eval_episodes=2)
    assert children() == before


def test_a_resumed_run_begins_new_episodes_and_says_so_and_has_what_was_learned():
    env = ks.from_gymnasium(lambda: Counter(ends=100))
    settings = {"steps": 48, "record_every": 16, "eval_episodes": 0}
    stopped = ks.train(AGENT, env, out="run", on_report=lambda report: True, **settings)
    assert stopped.interrupted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ks.load("run", env=env, agent=AGENT).record.facts["steps"] == 16
    told = "Counter runs on the host, whose state no checkpoint holds: all slots begin new episodes"
    with pytest.warns(RunWarning, match=told):
        run = ks.resume("run", env=env, agent=AGENT)
    assert (run.record.facts["steps"], run.record.facts["status"]) == (48, "finished")
    (before, _), (count, kept) = (each._trained.final_state.agent_state for each in (stopped, run))
    assert (before.tolist(), count.tolist()) == ([1], [3])
    obs, carried = np.asarray(kept[0])[0], np.asarray(kept[-1])[0]
    first = jax.tree.map(lambda x: np.asarray(x)[0, 0], stopped._trained.final_state.agent_state[1])
    assert np.array_equal(first[0], obs[0]), "what was learned before is there"
    assert (obs[0, :, :, 2] == obs[1, :, :, 2]).all()
    assert (obs[2, 0, :, 2] == 8).all()
    assert (obs[0, 0, :, 0] != obs[1, 0, :, 0]).all(), "the new episodes have seeds of their own"
    assert np.array_equal(carried[1], carried[0]), "agents carry what they do at an episode's beginning"


def test_each_run_that_begins_new_episodes_says_so_at_the_users_line(monkeypatch):
    monkeypatch.setattr(own_line, "is_own", lambda file: file == __file__)  # nor what checks types in tests
    env = ks.from_gymnasium(lambda: Counter(ends=100))
    ks.train(AGENT, env, steps=16, out="run0", eval_episodes=0)
    shutil.copytree("run0", "run1")
    with warnings.catch_warnings(record=True, action="default") as caught:
        for i in range(2):
            ks.resume(f"run{i}", env=env, agent=AGENT, steps=32)
    why = "Counter runs on the host, whose state no checkpoint holds: all slots begin new episodes"
    assert [str(each.message) for each in caught] == [f"run{i}: {why}" for i in range(2)]
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if '(f"run{i}", env' in text)
    assert {(each.filename, each.lineno) for each in caught} == {(__file__, line)}


@pytest.mark.full("covered")
def test_a_buffers_last_episode_is_not_gone_on_with_in_the_next():
    env = ks.from_gymnasium(lambda: Counter(ends=100))
    options = REPLAY | {"n_step": 4}
    ks.train("dqn", env, steps=16, out="run", eval_episodes=0, **options)
    with pytest.warns(RunWarning, match="new episodes"):
        run = ks.resume("run", env=env, steps=32)
    saved = checkpoints.newest(run.path)
    kept = dict(zip(saved.paths, saved.leaves, strict=True))
    assert kept["data.buffer.obs"][0, 0, :16, 2].tolist() == [*range(8), *range(8)]
    assert np.flatnonzero(kept["data.buffer.truncated"][0, 0, :16]).tolist() == [7]


class Corridor(gymnasium.Env):
    """Five steps to the right, of which the last gives 1."""

    observation_space, action_space = gymnasium.spaces.Discrete(6), gymnasium.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self.at, {}

    def step(self, action):
        self.at += 1
        ends = self.at == 5
        return self.at, float(ends), ends, False, {}


@pytest.mark.by_default("monte_carlo-options0", "n_step_sarsa-options4")
@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("monte_carlo", {}),
        ("monte_carlo", {"visit": "every"}),
        ("sarsa_lambda", {"lambda_": 1.0, "learning_rate": 0.5}),
        ("watkins_q_lambda", {"lambda_": 1.0, "learning_rate": 0.5}),
        ("n_step_sarsa", {"n": 8, "learning_rate": 0.5}),
        ("tree_backup", {"n": 8, "learning_rate": 0.5}),
        ("sarsa", {"learning_rate": 0.5}),
    ],
)
def test_tables_learn_nothing_of_an_episode_that_ended_with_the_process(agent, options):
    env = ks.from_gymnasium(Corridor, workers=0)
    chosen = ks.make_agent(agent, discount=0.5, **options)
    whole = ks.train(chosen, env, steps=5, **QUIET)
    ks.train(chosen, env, steps=3, out="run", eval_episodes=0)
    with pytest.warns(RunWarning, match="new episodes"):
        resumed = ks.resume("run", env=env, agent=chosen, steps=8)
    np.testing.assert_array_equal(resumed.q_values, whole.q_values)


@pytest.mark.by_default("3-3-0", "None-3-2")
@pytest.mark.parametrize(("cut", "max_steps", "told"), [(3, 3, 0), (3, 9, 0), (None, 3, 2)])
def test_what_the_environment_cuts_is_not_cut_by_the_evaluation(cut, max_steps, told):
    env = ks.from_gymnasium(lambda: Counter(ends=50, cut=cut))
    run = ks.train("ppo", env, steps=16, out="", eval_episodes=2, eval_max_steps=max_steps, **SMALL)
    assert run.record.evaluation["length"].tolist() == [[3, 3]]
    assert run.record.evaluation["truncated"].all()
    assert run.record.facts["cut_evaluations"] == told


@pytest.mark.parametrize(
    "make",
    [
        lambda workers: ks.from_gymnasium(Loaded, workers=workers),
        lambda workers: ks.from_gymnasium(Loaded(), workers=workers),
        lambda workers: ks.from_dm_env(LoadedDm, workers=workers),
        lambda workers: ks.from_dm_env(LoadedDm(), workers=workers),
    ],
    ids=["gymnasium", "gymnasium copied", "dm_env", "dm_env copied"],
)
def test_processes_that_only_step_environments_load_no_jax(make):
    for workers, loaded in ((0, 1), (1, 0)):
        slots = HostSlots(make(workers), [0])
        seen = slots.step([np.zeros(1, np.int32)]).next_obs
        slots.close()
        assert [leaf.tolist() for leaf in jax.tree.leaves(seen)] == [[loaded]]


def test_runs_of_before_and_with_other_workers_are_gone_on_with():
    """What says how an environment is stepped or drawn is no part of what it is."""
    env = ks.from_gymnasium(Push, workers=0)
    begun = env_json(env, {})
    assert set(begun["fields"]) == {"name", "observations", "actions", "make_vector", "count", "time_limit"}
    check_same(ks.from_gymnasium(Push, workers=2), begun)
    check_same(env, begun | {"fields": begun["fields"] | {"make_vector": "VectorMaker"}})
    other = ks.from_gymnasium(Rooms, name="Push")
    with pytest.raises(ks.ConfigError, match="the run was started with") as caught:
        check_same(other, begun)
    assert len(str(caught.value)) < 300


class Odd(Counter):
    """Another one with the same spaces."""


def make_counter():
    return Counter()


def make_odd():
    return Odd()


def within():
    """Functions that are written within another one."""

    def make():
        return Counter()

    return {"function": make, "lambda": lambda: Counter(), "longer": lambda: Counter(ends=9), "odd": lambda: Odd()}


LAMBDA = lambda: Counter()  # noqa: E731


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (within()["function"], True),
        (within()["lambda"], True),
        (within()["longer"], False),
        (make_counter, True),
        (Counter, False),
    ],
)
def test_a_function_without_a_name_is_told_by_its_code_alone(other, same):
    """A run goes on with another one, and there is a warning where that does something else."""
    for before, after in ((LAMBDA, other), (other, LAMBDA)):
        begun = json.loads(json.dumps(env_json(ks.from_gymnasium(before), {})))
        env = ks.from_gymnasium(after)
        with warnings.catch_warnings(record=True, action="always") as caught:
            check_same(env, begun)
        said = "the code of Counter is not what the run was started with: bits may differ from here on"
        assert [str(each.message) for each in caught] == ([] if same else [said])


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (make_counter, lambda: Counter(actions=2), "env's actions: got 'Discrete .*'; the run was started with"),
        (LAMBDA, within()["odd"], "env: got 'Odd'; the run was started with Counter"),
        (make_counter, make_odd, "env: got 'Odd'; the run was started with Counter"),
        (make_counter, Counter, "what makes env: got 'Counter'; the run was started with 'make_counter'"),
    ],
)
def test_another_environment_is_refused_without_names_of_ours(before, after, said):
    with pytest.raises(ks.ConfigError, match=f"^{said}") as caught:
        check_same(ks.from_gymnasium(after), env_json(ks.from_gymnasium(before), {}))
    assert "Maker" not in str(caught.value)


def test_other_options_of_an_id_are_refused_without_names_of_ours():
    one, other = (ks.make("gymnasium:CartPole-v1", sutton_barto_reward=value) for value in (False, True))
    with pytest.raises(ks.ConfigError, match=r"^what makes env: got {'id': 'CartPole-v1', .*with {'id': 'CartPole-v1'"):
        check_same(other, env_json(one, {}))
