"""The training loops: one meaning, same bits, nothing lost."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from fast_compile import fast_compile_flags

import kousoku as ks
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.collectors.streams import member_key, step_keys
from kousoku.core.collector import TrainState
from kousoku.core.errors import RunWarning
from kousoku.training.guards.finite_check import FiniteCheck
from kousoku.training.io.run_progress import RunProgress
from kousoku.training.loop import host, program, python_loop
from kousoku.training.loop.base import TrainLoop

QUIET = {"out": "", "eval_episodes": 0}


def q(agent="q_learning", env="GridWorld-v0", **settings):
    return ks.train(agent, env, **{**QUIET, "steps": 2000, **settings}).q_values


def test_same_seed_same_bits_whatever_the_chunk_size():
    whole = q(seeds=3, steps=600)
    assert whole.any()
    for every in (300, 111, 17):
        np.testing.assert_array_equal(q(seeds=3, steps=600, record_every=every), whole)


def test_agent_i_of_thirty_is_agent_i_alone():
    many = q(seeds=30)
    for seed in (0, 7, 29):
        np.testing.assert_array_equal(q(seeds=[seed])[0], many[seed])


@pytest.mark.full("more cases")
@pytest.mark.parametrize(
    "agent",
    ["watkins_q_lambda", "dyna_q", *(id for id in ("sarsa", "monte_carlo"))],
)
def test_other_agents_too_are_the_same_alone_and_among_others(agent):
    np.testing.assert_array_equal(q(agent, seeds=[5], steps=1000)[0], q(agent, seeds=6, steps=1000)[5])


@pytest.mark.slow_because("two programs, for one device and for two")
def test_the_sharded_result_is_the_unsharded_one():
    assert jax.device_count() == 2
    for seeds in (2, 5):
        np.testing.assert_array_equal(q(seeds=seeds, devices=2), q(seeds=seeds, devices=1))


@pytest.mark.slow_because("Python takes each step")
def test_the_python_loop_means_the_same():
    how = {"env": "WindyGridWorld-v0", "env_options": {"time_limit": 30}, "seeds": 2, "steps": 100}
    fast = q(**how)
    assert fast.any()
    np.testing.assert_allclose(q(loop="python", **how), fast, atol=1e-6)


@pytest.mark.full("covered")
def test_a_sweep_point_is_the_run_with_that_value():
    swept = ks.train(
        QLearning(), "GridWorld-v0", steps=1000, seeds=2, sweep={"learning_rate": [0.1, 0.5], "epsilon": [0.1, 0.3]},
        **QUIET,
    )  # fmt: skip
    assert swept.record.points[3] == {"learning_rate": 0.5, "epsilon": 0.3}
    alone = q(ks.make_agent("q_learning", learning_rate=0.5, epsilon=0.3), steps=1000, seeds=2)
    np.testing.assert_array_equal(swept.q_values[6:], alone)


def test_keys_of_a_thousand_seeds_and_of_their_steps_are_distinct():
    keys = jax.vmap(member_key)(jnp.arange(1000, dtype=jnp.uint32))
    assert len(np.unique(jax.random.key_data(keys), axis=0)) == 1000
    steps = jax.vmap(lambda key: step_keys(key, jnp.int32(1)))(keys)
    words = np.concatenate([jax.random.key_data(k) for k in (keys, steps.act, steps.env, steps.update)])
    assert len(np.unique(words, axis=0)) == 4000


@pytest.mark.full("covered")
def test_ten_reports_compile_one_program(monkeypatch):
    asked = []
    monkeypatch.setattr(
        program, "_compiled", lambda made, find=program._compiled: asked.append(find(made)) or asked[-1]
    )
    q(seeds=3, steps=1000, record_every=100, env="FourRooms-v0")
    (one,) = set(asked)
    assert one._cache_size() == 1
    q(ks.make_agent("q_learning", learning_rate=0.3), seeds=3, steps=1000, record_every=100, env="FourRooms-v0")
    assert set(asked) == {one}, "another learning rate must not compile again"
    assert one._cache_size() == 1


@pytest.mark.full("covered")
def test_optax_schedules_may_stand_where_numbers_do():
    schedule = optax.linear_schedule(1.0, 0.1, 500)
    ours = ks.make_agent("q_learning", learning_rate="linear:1.0:0.1:500")
    np.testing.assert_allclose(q(QLearning(learning_rate=schedule)), q(ours), rtol=1e-6)


@pytest.mark.full("covered")
def test_what_is_recorded_is_chosen():
    run = ks.train("q_learning", "GridWorld-v0", steps=1000, seeds=2, record=["q_values"], record_every=250, **QUIET)
    assert run.record.tables["q_history"].shape == (4, 2, 96, 4)
    np.testing.assert_array_equal(run.record.tables["q_history"][-1], run.q_values)
    assert set(run.curves) == {"step", "seconds", "episodes"}
    assert "visits" not in run.record.tables
    run = ks.train("q_learning", "GridWorld-v0", steps=1000, seeds=2, **QUIET)
    assert run.record.tables["visits"].sum() == 2000
    assert set(run.curves) == {"step", "seconds", "episodes", "return", "length", "reward", "td_error"}


@pytest.mark.full("covered")
def test_info_of_a_bandit_is_recorded():
    run = ks.train("bandit_ucb", "Bandit-v0", steps=200, seeds=4, record=["info"], record_every=1, **QUIET)
    optimal = run.curves["info.optimal"]
    assert optimal.shape == (200, 4)
    assert set(np.unique(optimal)) <= {0.0, 1.0}


@pytest.mark.full("covered")
def test_curves_are_the_means_of_the_episodes_that_ended():
    run = ks.train("q_learning", "CliffGridWorld-v0", steps=3000, seeds=1, record_every=3000, **QUIET)
    curves = run.curves
    assert curves["length"][0, 0] <= 3000 / curves["episodes"][0, 0]
    assert curves["return"][0, 0] <= -curves["length"][0, 0]


@pytest.mark.full("covered")
def test_learned_values_approach_the_exact_ones():
    run = ks.train(ks.make_agent("q_learning", discount=0.9, epsilon=0.3), "GridWorld-v0", steps=100_000, seeds=4)
    error = np.abs(run.q_values.max(-1) - run.record.tables["exact_v"])[:, run.record.tables["reachable"]]
    path = [run.record.tables["exact_v"][cell] for cell in (1, 12)]
    assert path == [1.0, 1.0]
    assert error.min(axis=1).max() < 1e-3
    assert np.median(error) < 0.05
    greedy = run.evaluate(episodes=5)
    assert greedy.lengths.max() == 18, "the shortest way from (7, 11) to (0, 0)"


@pytest.mark.full("covered")
def test_a_sweep_of_discounts_has_no_one_truth_but_the_same_states():
    """Pictures show no actions in states in which none is taken."""
    swept = ks.train("q_learning", "CliffWalking-v1", steps=40, sweep={"discount": [0.5, 0.9]}, out="").record.tables
    alone = ks.train("q_learning", "CliffWalking-v1", steps=40, out="").record.tables
    assert not {"exact_q", "exact_v"} & swept.keys()
    np.testing.assert_array_equal(swept["reachable"], alone["reachable"])
    assert not swept["reachable"].all()


@pytest.mark.full("covered")
def test_evaluation_changes_nothing_and_counts_each_episode_once():
    run = ks.train("q_learning", "FrozenLake-v1", steps=2000, seeds=3, out="", eval_episodes=0)
    before = run.q_values.copy()
    first, again, other = (run.evaluate(episodes=50, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(run.q_values, before)
    np.testing.assert_array_equal(first.returns, again.returns)
    assert first.returns.shape == (3, 50)
    assert (first.lengths != other.lengths).any()


@pytest.mark.full("more cases")
def test_a_changed_maze_is_evaluated_as_it_is_now():
    """Where the wall has moved, the agents walk the new map; reset would put the wall back."""
    agent = ks.make_agent("dyna_q", discount=0.95, learning_rate=0.5, planning_steps=20)
    run = ks.train(agent, "BlockingMaze-v0", env_options={"change_at": [200]}, steps=4000, seeds=8, out="run")
    assert (run.evaluate(episodes=3, max_steps=100).lengths == 16).mean() > 0.4, "16 steps lead round the new wall"
    np.testing.assert_array_equal(ks.load("run").evaluate(episodes=3).lengths, run.evaluate(episodes=3).lengths)


@pytest.mark.full("covered")
def test_a_bandit_is_evaluated_on_its_own_arms():
    run = ks.train("bandit_ucb", "Bandit-v0", steps=2000, seeds=50, out="", eval_episodes=0)
    result = run.evaluate(episodes=1, max_steps=100)
    assert 1.3 < result.returns.mean() / 100 < 1.8, "the best of ten standard normal arms has mean 1.54"


@pytest.mark.full("covered")
def test_evaluation_is_not_biased_to_short_episodes():
    """Two kinds of episode: 1 step with return 0, 50 steps with return 1. Their mean is 1/2, not 1/51."""
    length = 51
    model = ks.TabularModel(
        probability=np.ones((length + 1, 1, 1)),
        next_state=np.minimum(np.arange(length + 1) + 1, length)[:, None, None],
        reward=(np.arange(length + 1) == length - 1).astype(float)[:, None, None],
        terminated=((np.arange(length + 1) >= length - 1) | (np.arange(length + 1) == 0))[:, None, None],
        start=0.5 * (np.eye(length + 1)[0] + np.eye(length + 1)[1]),
    )
    run = ks.train("q_learning", ks.finite(model), steps=1, out="", eval_episodes=0)
    result = run.evaluate(episodes=4000)
    assert abs(result.returns.mean() - 0.5) < 3 * 0.5 / np.sqrt(4000)


def test_the_python_loop_refuses_an_action_outside_its_space():
    env = ks.make("GridWorld-v0")
    with pytest.raises(ks.ConfigError, match=r"action: got .*7.*; the action space is Discrete"):
        python_loop.check_in_space("action", env.action_space, jnp.int32(7))
    with pytest.raises(ks.ConfigError, match="reward"):
        python_loop.check_finite("reward", jnp.float32(np.nan))


def test_a_reward_that_is_no_number_stops_the_run_and_says_where():
    """An environment whose second member pays NaN from its twelfth step on."""

    class Broken(ks.Env):
        time_limit: int | None = eqx.field(static=True, default=None)

        @property
        def observation_space(self):
            return ks.Discrete(100)

        @property
        def action_space(self):
            return ks.Discrete(2)

        def reset(self, key):
            start = jax.random.randint(key, (), 0, 50, jnp.int32)
            return start, ks.Timestep(start, jnp.float32(0), jnp.array(False), jnp.array(False))

        def step(self, key, state, action):
            state = jnp.minimum(state + 1, 99)
            reward = jnp.where(state == 99, jnp.nan, 1.0).astype(jnp.float32)
            return state, ks.Timestep(state, reward, jnp.array(False), jnp.array(False))

    run = ks.train("q_learning", Broken(), steps=1000, seeds=2, record_every=10, eval_episodes=0, out="run")
    assert run.record.facts["status"] == "diverged"
    assert run.record.facts["failure"].startswith("the reward became nan between steps ")
    assert 50 <= run.record.facts["steps"] <= 100
    assert ks.load("run").record.facts["failure"] == run.record.facts["failure"]


INTERRUPTED = """
    import os, signal, sys, threading, time
    import kousoku as ks
    from kousoku.training.loop import host
    number = signal.Signals(int(sys.argv[1]))
    advance, calls = host._advance, []
    def counted(loop, run, until):
        advance(loop, run, until)
        if run.progress.step >= until:
            calls.append(1)
            if len(calls) == 5:
                os.kill(os.getpid(), number)
    host._advance = counted
    from kousoku.cli import main
    sys.exit(main(["train", "q_learning", "GridWorld-v0", "--steps", "1e6", "--record-every", "100", "--out", "run"]))
"""


@pytest.mark.full("processes")
@pytest.mark.parametrize(
    ("number", "status"),
    [pytest.param(signal.SIGINT, 130, marks=pytest.mark.full("more cases")), (signal.SIGTERM, 143)],
)
def test_a_signal_stops_cleanly_with_everything_saved(tmp_path, number, status):
    script = textwrap.dedent(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, "-c", script, str(int(number))], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        check=False, env={**os.environ, "XLA_FLAGS": fast_compile_flags()},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    run = ks.load(tmp_path / "run")
    assert run.interrupted
    assert run.record.facts["steps"] == 500
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [100, 200, 300, 400, 500]
    assert run.report.is_file()
    np.testing.assert_array_equal(run.q_values, q(seeds=1, steps=500))


class Slow(TrainLoop):
    """A loop whose iterations have 100 steps, and whose steps take as long as one says; the first block compiles."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.compiling = clock, seconds, 9.0

    iteration_steps = 100
    placement = None

    def start(self):
        raise AssertionError("it is started already")

    def run(self, state, at, until):
        self.clock[0] += (until - at) * self.seconds + self.compiling
        self.compiling = 0.0
        return state, until


@pytest.mark.parametrize(("seconds", "iterations"), [(1e-5, 1000), (1e-3, 10), (1.0, 1)])
def test_a_block_takes_about_a_second_so_that_signals_are_heard(monkeypatch, seconds, iterations):
    clock = [0.0]
    monkeypatch.setattr(host.time, "perf_counter", lambda: clock[0])
    state = TrainState(jnp.zeros(1), (), (), (), ())
    run = host.OngoingRun(state, RunProgress(), FiniteCheck(state, 1), lambda state: state)
    loop, steps = Slow(clock, seconds), [0]
    for _ in range(host.SHORT_BLOCKS + 3):
        host._advance(loop, run, 1_000_000)
        steps.append(run.progress.step)
    blocks = np.diff(steps)
    assert blocks[: host.SHORT_BLOCKS].tolist() == [100] * host.SHORT_BLOCKS
    assert np.abs(blocks[host.SHORT_BLOCKS :] - 100 * iterations).max() <= 100
    assert run.progress.first_block_seconds == 9.0 + 100 * seconds
    host._advance(loop, run, run.progress.step + 100)
    assert run.progress.step == steps[-1] + 100


TWICE = """
    import os, signal, sys
    from kousoku.training.loop import host
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal; what runs in the background ignores it
    number, checkpoint = signal.Signals(int(sys.argv[1])), host._checkpoint
    def again(*args):
        checkpoint(*args)
        os.kill(os.getpid(), number)
    advance = host._advance
    def asked(loop, run, until):
        advance(loop, run, until)
        if run.progress.step == 500:
            host._checkpoint = again
            os.kill(os.getpid(), number)
    host._advance = asked
    from kousoku.cli import main
    sys.exit(main(["train", "q_learning", "GridWorld-v0", "--steps", "1e6", "--record-every", "100", "--out", "run"]))
"""


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, -signal.SIGTERM, marks=pytest.mark.full("more cases"))],
)
def test_a_second_signal_stops_at_once(tmp_path, number, status):
    """Before the agents are evaluated and the report is written; what was saved is whole, and can be resumed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(TWICE), str(int(number))], cwd=tmp_path, capture_output=True, text=True,
        timeout=300, check=False, env={**os.environ, "XLA_FLAGS": fast_compile_flags()},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run" / "report.html").exists()
    with pytest.warns(RunWarning, match="has not come to its end"):
        assert ks.load(tmp_path / "run").record.facts["steps"] == 500
