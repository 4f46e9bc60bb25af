"""The check for NaN: what became no number, in which member, iteration and steps; and what blew up and was stopped."""

import dataclasses
import json
import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from still import Still

import kousoku as ks
from kousoku.cli import notices
from kousoku.training.guards import finite_check
from kousoku.training.guards.finite_check import FiniteCheck, NonFinite, is_finite
from kousoku.training.io import checkpoints
from kousoku.training.io.run_progress import RunProgress
from kousoku.training.loop.host import when
from kousoku.training.metrics.metric_sums import MetricSums
from kousoku.viz.headline import headline_numbers


def tree(**changes):
    leaves = {
        "params": {"w": jnp.zeros((4, 2, 3)), "b": [jnp.ones((4,))]}, "mask": jnp.full((4, 2), -jnp.inf),
        "key": jax.random.split(jax.random.key(0), 4), "count": jnp.arange(4),
    }  # fmt: skip
    return {**leaves, **changes}


def test_all_is_well_with_keys_integers_and_what_begins_infinite():
    assert FiniteCheck(tree(), 4).look(tree()) is None
    assert FiniteCheck(tree(), 4).look(tree(mask=jnp.full((4, 2), jnp.nan))) is None


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf, -jnp.inf])
def test_leaf_member_and_value_are_named(value):
    found = FiniteCheck(tree(), 4).look(
        tree(params={"w": jnp.zeros((4, 2, 3)).at[2, 1, 0].set(value), "b": [jnp.ones(4)]})
    )
    assert (found.leaf, found.member, found.others) == ("['params']['w']", 2, 0)
    np.testing.assert_equal(found.value, float(value))


def test_members_that_only_fill_up_devices_do_not_count():
    bad = tree(params={"w": jnp.zeros((4, 2, 3)).at[3].set(jnp.nan), "b": [jnp.ones(4)]})
    assert FiniteCheck(tree(), 3).look(bad) is None
    assert FiniteCheck(tree(), 4).look(bad) is not None


@pytest.mark.by_default("-inf-16385", "-inf-3", "inf-16385", "inf-3", "nan-16385")
@pytest.mark.parametrize("size", [3, finite_check.SMALL + 1])
@pytest.mark.parametrize("value", [jnp.nan, jnp.inf, -jnp.inf])
def test_what_a_report_looks_at_first_finds_the_member(size, value):
    """Small leaves and large ones, of any float."""
    half, full = jnp.ones((4,), jnp.bfloat16), jnp.ones((4, 1, size))
    assert is_finite([half, full], 4).all()
    np.testing.assert_array_equal(is_finite([half, full.at[2, 0, 1].set(value)], 4), [True, True, False, True])
    np.testing.assert_array_equal(is_finite([half.at[0].set(value), full], 4), [False, True, True, True])


class Counter(ks.Env):
    """Counts up from a random start; a member that reaches `limit` has NaN in its reward or in its state."""

    broken: str = eqx.field(static=True)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self):
        return ks.Discrete(100)

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        start = jax.random.randint(key, (), 0, 50, jnp.int32)
        return (start, jnp.float32(0)), ks.Timestep(start, jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        count = jnp.minimum(state[0] + 1, 99)
        nan = jnp.where(count == 99, jnp.nan, 0.0).astype(jnp.float32)
        reward = nan if self.broken == "reward" else jnp.float32(0)
        height = nan if self.broken == "state" else jnp.float32(0)
        return (count, height), ks.Timestep(count, reward, jnp.array(False), jnp.array(False))


@pytest.mark.full("covered")
@pytest.mark.parametrize(("broken", "leaf"), [("reward", "the reward"), ("state", r"slots\.env_state\[1\]")])
def test_a_run_stops_and_its_checkpoints_stay_finite(broken, leaf):
    run = ks.train(
        "q_learning", Counter(broken), steps=200, seeds=[4, 9], record_every=10, checkpoint_every=10,
        eval_episodes=0, out="run",
    )  # fmt: skip
    facts = run.record.facts
    assert facts["status"] == "diverged"
    assert 50 <= facts["steps"] <= 110
    steps = facts["steps"]
    seeds = {seed for seed in (4, 9) if f"(seed {seed})" in facts["failure"]}
    assert len(seeds) == 1
    assert re.match(rf"{leaf} became nan between steps {steps - 9} and {steps} ", facts["failure"]), facts["failure"]
    kept = checkpoints.newest(run.path)
    assert kept.progress.step == steps - 10, "the last report before"
    assert all(np.isfinite(leaf).all() for leaf in kept.leaves)


@pytest.mark.full("covered")
def test_a_run_may_be_told_to_go_on_and_still_saves_nothing_that_is_not_finite():
    run = ks.train(
        "q_learning", Counter("reward"), steps=200, record_every=10, checkpoint_every=10, eval_episodes=0, out="run",
        stop_on_nan=False,
    )  # fmt: skip
    assert run.record.facts["status"] == "finished"
    assert run.record.facts["steps"] == 200
    assert all(np.isfinite(leaf).all() for leaf in checkpoints.newest(run.path).leaves)
    assert json.loads((run.path / "metrics.jsonl").read_text().splitlines()[-1])["step"] == 200


@pytest.mark.full("covered")
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0", "Reacher-v5"])
def test_a_network_of_nan_ends_the_run_with_all_that_there_is(env, tmp_path, monkeypatch):
    """Its actions are none, and so are the states: evaluation, film and report are made of what is left."""
    monkeypatch.undo()
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=2, learning_rate=1e38, hidden=(8,))
    run = ks.train(agent, env, steps=320, record_every=160, out=str(tmp_path / "run"), eval_episodes=2)
    assert run.record.facts["status"] == "diverged"
    assert "became nan" in run.record.facts["failure"]
    assert run.report.is_file()
    assert ks.load(tmp_path / "run").record.facts["failure"] == run.record.facts["failure"]


class Told(eqx.Module):
    diverged: Any


class Clock(Still):
    """Counts its steps; the reward of step `broken` is NaN, and every `fragile`-th step blows up and ends there."""

    broken: int = eqx.field(static=True, default=10**9)
    fragile: int = eqx.field(static=True, default=10**9)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self):
        return ks.Discrete(2)

    def step(self, key, state, action):
        state = state + 1
        reward = jnp.where(state == self.broken, jnp.nan, 0.0).astype(jnp.float32)
        blown_up = state % self.fragile == 0
        return state, ks.Timestep(state % 2, reward, blown_up, jnp.array(False), Told(blown_up))


SMALL_ROLLOUTS = {"num_envs": 2, "num_steps": 8, "hidden": (4,)}


@pytest.mark.by_default("seeds1-2-*a2c*")
@pytest.mark.parametrize("agent", [("ppo", {"minibatches": 2}), ("a2c", {})], ids=str)
@pytest.mark.parametrize(("seeds", "devices"), [([3], 1), ([3], 2), ([3, 5], 1)])
def test_an_agent_that_learns_from_rollouts_names_the_iteration(agent, seeds, devices):
    """Step 37 of both environments is in the fifth rollout, of eight each; reports are made after four and eight."""
    made = ks.make_agent(agent[0], **SMALL_ROLLOUTS, **agent[1])
    run = ks.train(
        made, Clock(broken=37), steps=320, seeds=seeds, devices=devices, record_every=64, eval_episodes=0, out="run"
    )
    assert run.record.facts["steps"] == 128
    pattern = r"the reward became nan in iteration 5, of steps 65 to 80 \(seed 3\), and so did \d+ more"
    assert re.fullmatch(pattern, run.record.facts["failure"]), run.record.facts["failure"]


@pytest.mark.full("more cases")
def test_what_neither_rewards_nor_losses_show_is_told_by_steps():
    agent = ks.make_agent("ppo", minibatches=2, **SMALL_ROLLOUTS)
    run = ks.train(agent, Counter("state"), steps=3200, record_every=64, eval_episodes=0, out="run")
    assert re.match(r"slots\.env_state\[1\] became nan between steps \d+ and \d+ ", run.record.facts["failure"])


@pytest.mark.full("covered")
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("agent", ["ppo", "q_learning"])
def test_what_blows_up_is_counted(agent, devices):
    """Every tenth step, of each member: in the run's facts, its metrics and its curves, without being asked for."""
    many, seeds = (2, [0]) if agent == "ppo" else (1, [0, 1])
    made = ks.make_agent("ppo", minibatches=2, **SMALL_ROLLOUTS) if agent == "ppo" else agent
    run = ks.train(made, Clock(fragile=10), steps=320, seeds=seeds, devices=devices, record_every=160, out="run")
    each = 320 // many // 10 * many
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    assert run.record.facts["blown_up"] == each * len(seeds) == sum(line["blown_up"] for line in lines)
    assert run.curves["blown_up"].tolist() == [[each // 2] * len(seeds)] * 2
    record = ks.load(run.path).record
    assert record.facts["blown_up"] == each * len(seeds)
    assert any(f" in all, {each * len(seeds)} blown up" in number.note for number in headline_numbers(record))


class InDict(Clock):
    """Tells the same in a dict."""

    def reset(self, key):
        state, timestep = super().reset(key)
        return state, dataclasses.replace(timestep, info={"diverged": jnp.array(False), "cost": 0.5})

    def step(self, key, state, action):
        state, timestep = super().step(key, state, action)
        return state, dataclasses.replace(timestep, info={"diverged": timestep.info.diverged, "cost": 0.5})


def test_what_blows_up_is_counted_by_a_flag_in_a_dict_too():
    """Beside a number of Python's, which is recorded as any other is."""
    run = ks.train(
        "q_learning", InDict(fragile=10), steps=100, record=("returns", "info"), eval_episodes=0, out="", progress=False
    )
    assert run.record.facts["blown_up"] == 10
    assert np.allclose(run.curves["info.cost"], 0.5)


@pytest.mark.parametrize(("hidden", "told"), [(False, "in iteration 9, of steps 129 to 144"),
                                              (True, "between steps 65 and 144, the end of iteration 9")])  # fmt: skip
def test_the_iteration_is_that_of_the_member_and_a_hidden_cause_may_be_older(hidden, told):
    """Reports are made after four iterations of 16 steps and after twelve; member 0 is finite for longer."""
    zero, made = jnp.int32(0), jnp.int32(8)
    recorded = {field.name: None for field in dataclasses.fields(MetricSums)} | {"episodes": zero}
    counted = {"updates": made, "iterations": made}
    members = [MetricSums(**recorded | counted | {"finite_iterations": jnp.int32(finite)}) for finite in (6, 4)]
    sums = jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    progress, agent = RunProgress(since=64, step=192), ks.make_agent("ppo", **SMALL_ROLLOUTS)
    assert when(progress, agent, sums, NonFinite("x", hidden, 1, np.nan, 0)) == told


class Aging(Clock):
    """A clock that no restart sets back, and whose first timestep has the flag too."""

    def reset(self, key):
        return self.restart(key, jnp.int32(0))

    def restart(self, key, state):
        no = jnp.array(False)
        return state, ks.Timestep(jnp.int32(0), jnp.float32(0), no, no, Told(no))


class Flagged(Clock):
    """A flag that is always up: one bool of Python's, or several in an array; and an end, always or never."""

    several: bool = eqx.field(static=True, default=False)
    ends: bool = eqx.field(static=True, default=False)

    def step(self, key, state, action):
        told = Told(jnp.ones(3, bool) if self.several else True)
        return state, ks.Timestep(state, jnp.float32(0), jnp.array(self.ends), jnp.array(False), told)


@pytest.mark.full("covered")
@pytest.mark.parametrize(("several", "ends", "count"), [(False, True, 10), (False, False, 0), (True, True, None)])
def test_only_episodes_that_a_flag_ends_are_counted(several, ends, count):
    env = Flagged(several=several, ends=ends)
    run = ks.train("q_learning", env, steps=10, eval_episodes=0, out="run")
    assert run.record.facts.get("blown_up") == count


@pytest.mark.full("covered")
@pytest.mark.parametrize("num_envs", [2, 4])
@pytest.mark.parametrize(("several", "count"), [(False, 12), (True, None)])
def test_whole_episodes_are_counted_likewise(several, count, num_envs):
    """Three generations of four candidates, which play alone or one after the other."""
    env = Flagged(several=several, ends=True, time_limit=1)
    agent = ks.make_agent("ars", num_directions=2, num_envs=num_envs)
    run = ks.train(agent, env, steps=12, eval_episodes=0, out="run")
    assert run.record.facts.get("blown_up") == count


@pytest.mark.by_default("2-20-2")
@pytest.mark.parametrize(("num_envs", "fragile", "each"), [(2, 20, 2), (4, 20, 0), (4, 10, 4)])
def test_a_candidate_that_blows_up_is_counted(num_envs, fragile, each):
    """A slot's clock goes on: with 10 steps an episode, every second one of a slot that plays two ends at 20."""
    agent = ks.make_agent("ars", num_directions=2, num_envs=num_envs, max_episode_steps=10)
    run = ks.train(agent, Aging(fragile=fragile), steps=40, eval_episodes=0, out="run")
    assert run.record.facts["episodes"] == 4
    assert run.record.facts["blown_up"] == each


@pytest.mark.full("covered")
@pytest.mark.parametrize("env", ["CartPole-v1", "FrozenLake-v1"])
def test_of_whole_episodes_that_cannot_blow_up_nothing_is_told(env):
    agent = ks.make_agent("ars", num_directions=2, max_episode_steps=5)
    run = ks.train(agent, env, steps=40, eval_episodes=0, out="run")
    assert "blown_up" not in run.record.facts
    assert "blown_up" not in run.curves


@pytest.mark.full("covered")
def test_what_cannot_blow_up_counts_nothing():
    run = ks.train("q_learning", "GridWorld-v0", steps=100, eval_episodes=0, out="run")
    assert "blown_up" not in run.record.facts
    assert "blown_up" not in json.loads((run.path / "metrics.jsonl").read_text().splitlines()[-1])


@pytest.mark.full("covered")
def test_a_count_goes_on_where_a_run_is_resumed():
    ks.train("q_learning", Clock(fragile=10), steps=200, record_every=100, eval_episodes=0, out="run")
    again = ks.resume("run", agent=ks.make_agent("q_learning"), env=Clock(fragile=10), steps=400)
    assert again.record.facts["blown_up"] == 40


def test_the_shell_tells_what_blew_up(capsys):
    notices.tell(ks.train("q_learning", Clock(fragile=10), steps=200, seeds=2, out="run"))
    assert "\nblown up: the physics of 40 episodes, terminated there\n" in capsys.readouterr().out


class Forgetful(ks.Agent):
    """Keeps what it sees in a replay buffer, and learns nothing from it."""

    learns_from: ks.Replay = ks.Replay(  # type: ignore[assignment]
        num_envs=2, capacity=finite_check.LARGE, batch_size=2, learning_starts=150
    )

    def init(self, spec, key):
        return jnp.zeros(())

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(0), carry, None

    def update(self, state, data, key, *, axis=None):
        return state, {}


class Flicker(Counter):
    """Its observation is NaN for a single step."""

    @property
    def observation_space(self):
        return ks.Box(-np.inf, np.inf, (1,))

    def reset(self, key):
        state, first = super().reset(key)
        return state, eqx.tree_at(lambda t: t.obs, first, jnp.zeros(1))

    def step(self, key, state, action):
        state, made = super().step(key, state, action)
        return state, eqx.tree_at(lambda t: t.obs, made, jnp.where(state[0] == 60, jnp.nan, 0.0)[None])


@pytest.mark.by_default("False")
@pytest.mark.slow_because("two small programs are compiled")
@pytest.mark.parametrize("stop", [True, False])
def test_a_large_buffer_is_looked_at_before_it_is_saved(stop):
    run = ks.train(
        Forgetful(), Flicker("nothing"), steps=200, record_every=20, checkpoint_every=100, eval_episodes=0, out="run",
        stop_on_nan=stop,
    )  # fmt: skip
    facts = run.record.facts
    if stop:
        assert (facts["status"], facts["steps"]) == ("diverged", 100)
        assert re.match(r"data\.buffer\.(next_)?obs became nan by step 100 \(seed 0\)", facts["failure"])
    else:
        assert (facts["status"], facts["steps"]) == ("finished", 200)
    assert checkpoints.newest(run.path) is None


@pytest.mark.by_default("kept0")
@pytest.mark.slow_because("two small programs are compiled")
@pytest.mark.parametrize("kept", [{"out": ""}, {"out": "run", "keep_checkpoints": 0}])
def test_so_it_is_at_the_end_of_a_run_that_saves_nothing(kept):
    run = ks.train(Forgetful(), Flicker("nothing"), steps=200, record_every=20, eval_episodes=0, **kept)
    assert (run.record.facts["status"], run.record.facts["steps"]) == ("diverged", 200)
    assert "obs became nan by step 200" in run.record.facts["failure"]


def test_it_is_told_of_a_run_that_somebody_stops():
    """What the last look found is not forgotten by the report that follows."""
    told = []

    def stop_soon(report):
        told.append(report.step)
        return len(told) == 5

    run = ks.train(
        Forgetful(), Flicker("nothing"), steps=200, record_every=20, eval_episodes=0, out="run", on_report=stop_soon
    )
    assert (run.record.facts["status"], run.record.facts["steps"]) == ("diverged", 100)
