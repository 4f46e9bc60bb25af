"""Long runs: sums keep their digits, counters count on, and nothing repeats, however many steps there are."""

import contextlib
import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from probes import chain

import kousoku as ks
from kousoku.collectors.streams import epoch_key, member_key, step_keys
from kousoku.compiler import use_kernels
from kousoku.training.config import TrainConfig
from kousoku.training.loop import base, host, program
from kousoku.training.metrics import wide_sums
from kousoku.training.metrics.curves import CurveWriter
from kousoku.training.metrics.metric_sums import SUMMED, MetricSums, end_block, in_one

PAID = chain(np.array([[1, 1], [0, 0]]), np.full((2, 2), 0.1), time_limit=4)
"""A tenth for each step, in episodes of four."""


def tiny(id):
    if id == "q_learning":
        return ks.make_agent(id)
    if id == "dqn":
        return ks.make_agent(id, num_envs=64, num_steps=16, capacity=4096, batch_size=4, learning_starts=0, hidden=(2,))
    return ks.make_agent(id, num_envs=64, num_steps=128, minibatches=1, epochs=1, hidden=(2,))


# ---- sums


def test_a_sum_of_very_many_is_as_exact_as_float32():
    """Ten million tenths, which one float32 sums up to 1,087,937; and their number."""
    each, nothing = {"paid": jnp.float32(0.1), "count": jnp.int32(1)}, {"paid": jnp.float32(0), "count": jnp.int32(0)}

    @jax.jit
    def many(both):
        return jax.lax.fori_loop(0, 10_000_000, lambda i, both: wide_sums.add(*both, each), both)

    found = wide_sums.total(*jax.tree.map(np.asarray, many((nothing, wide_sums.rests_of(nothing)))))
    assert found["paid"] == pytest.approx(1e7 * float(np.float32(0.1)), rel=1e-8)
    assert (found["count"], found["count"].dtype) == (10_000_000, np.int64)


@given(st.lists(st.floats(-(2.0**60), 2.0**60, width=32), max_size=40))
@example([3.0421489011259616e-40])
def test_a_sum_is_off_by_what_rounding_twice_takes(values):
    """And by the smallest normal number for each of them, as smaller ones may count as zero."""
    both = jnp.float32(0), jnp.float32(0)
    for value in values:
        both = wide_sums.add(*both, jnp.float32(value))
    found = wide_sums.total(*map(np.asarray, both))
    exact = math.fsum(map(float, values))
    flushed = float(np.finfo(np.float32).tiny) * len(values)
    assert abs(found - exact) <= 2.0**-23 * math.fsum(abs(float(value)) for value in values) + flushed


@given(st.lists(st.integers(0, 2**30), max_size=40))
def test_counts_are_exact(counts):
    both = jnp.int32(0), jnp.int32(0)
    for count in counts:
        both = wide_sums.carry_over(*wide_sums.add(*both, jnp.int32(count)))
    assert wide_sums.total(*map(np.asarray, both)) == sum(counts)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_seen_in_the_sum(value):
    both = jnp.float32(0), jnp.float32(0)
    for each in (1, value, 2):
        both = wide_sums.add(*both, jnp.float32(each))
    assert not np.isfinite(both[0])


@pytest.mark.parametrize("shape", [(), (1,), (64,), (65,), (128, 64), (100_000,), (0,)])
def test_a_sum_over_axes_is_of_a_few_numbers_at_a_time(shape):
    values = jnp.full((*shape, 3), 0.1, jnp.float32)
    exact = np.prod(shape, dtype=float) * float(np.float32(0.1))
    np.testing.assert_allclose(
        jax.jit(wide_sums.sum_of, static_argnums=1)(values, len(shape)), np.full(3, exact), rtol=5e-6
    )


@given(st.integers(0, 2**32 - 1), st.integers(0, 1000), st.integers(0, 255))
def test_blocks_are_off_by_no_more_than_is_said(seed, count, begun):
    """Rewards of either sign and any size, from any place in a block on."""
    rng = np.random.default_rng(seed)
    rewards = (rng.normal(size=1000) * 10.0 ** rng.integers(-6, 6, 1000) + rng.integers(2)).astype(np.float32)
    found = in_one(jax.tree.map(np.asarray, paid_in_blocks(rewards, count, begun)))
    exact, magnitudes = (math.fsum(map(float, each[:count])) for each in (rewards, np.abs(rewards)))
    assert abs(found.reward_sum - exact) <= 2.0**-24 * (wide_sums.BLOCK + 1) * magnitudes
    assert (found.episodes, found.episodes.dtype) == (count, np.int64)


@jax.jit
def paid_in_blocks(rewards, count, begun):
    """The sums after so many rewards, each of an episode of one step, the first of them the step `begun`."""
    zeros = dict.fromkeys(SUMMED) | {"episodes": jnp.int32(0), "reward_sum": jnp.float32(0)}
    none = dict.fromkeys(("visits", "iterations", "finite_iterations"))

    def step(i, sums):
        block = sums.block | {
            "episodes": sums.block["episodes"] + 1,
            "reward_sum": sums.block["reward_sum"] + rewards[i],
        }
        return end_block(dataclasses.replace(sums, block=block), (begun + i + 1) % wide_sums.BLOCK == 0)

    return jax.lax.fori_loop(0, count, step, MetricSums(**zeros, **none, block=zeros, rests=zeros))


LARGE = np.array([66_666_666, 2**24 + 1, 2**50 + 1])


def told_of(**sums):
    """Sums (NumPy, [3]) as a report reads them, of which some are recorded."""
    nothing = dict.fromkeys(field.name for field in dataclasses.fields(MetricSums))
    values = {"episodes": np.ones(3, np.int64)} | sums
    return eqx.tree_at(
        lambda sums: [getattr(sums, name) for name in values],
        MetricSums(**nothing | {"episodes": jnp.int32(0)}),
        list(values.values()),
        is_leaf=lambda node: node is None,
    )


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("episodes", {"episodes": LARGE}),
        ("blown_up", {"blown_up": LARGE}),
        ("length", {"length_sum": LARGE, "return_sum": np.zeros(3), "reward_sum": np.zeros(3)}),
    ],
)
def test_a_curve_of_whole_numbers_has_them_to_the_last_digit(name, sums):
    writer = CurveWriter()
    writer.add(1, 0, told_of(**sums), 0.0)
    assert writer.curves()[name].tolist() == [LARGE.tolist()]


def test_a_curve_that_begins_late_is_unknown_before():
    writer = CurveWriter()
    writer.add(1, 0, told_of(), 0.0)
    writer.add(2, 1, told_of(blown_up=LARGE, metric_sums={"loss": np.full(3, 0.1)}), 0.0)
    found = writer.curves()
    assert np.isnan(found["blown_up"][0]).all()
    assert found["blown_up"][1].tolist() == LARGE.tolist()
    assert (found["loss"].dtype, np.isnan(found["loss"][0]).all()) == (np.float32, True)


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("agent", "how"),
    [
        pytest.param("q_learning", {"steps": 2_000_000}, id="online in the kernel"),
        pytest.param("q_learning", {"steps": 300_000, "kernels": False}, id="online without"),
        pytest.param("ppo", {"steps": 2**21}, id="rollouts"),
        pytest.param("dqn", {"steps": 2**18}, id="replay"),
        pytest.param("q_learning", {"steps": 400, "loop": "python"}, id="python"),
    ],
)
def test_a_report_tells_what_was_paid_however_long_it_was(agent, how):
    how = dict(how)
    with contextlib.nullcontext() if how.pop("kernels", True) else use_kernels(False):
        run = ks.train(tiny(agent), PAID, **how, record_every=how["steps"], seeds=2, eval_episodes=0, out="")
    np.testing.assert_allclose(run.curves["reward"], 0.1, rtol=1e-5)
    np.testing.assert_allclose(run.curves["return"], 0.4, rtol=1e-5)
    np.testing.assert_array_equal(run.curves["length"], 4)
    np.testing.assert_array_equal(run.curves["episodes"], how["steps"] // 4)


@pytest.mark.full("covered")
@pytest.mark.parametrize("kernels", [True, False])
def test_sums_are_the_same_however_many_calls_they_took(kernels, monkeypatch):
    """A block of steps may begin in one call and end in another."""

    def told():
        with use_kernels(kernels):
            run = ks.train("q_learning", PAID, steps=2000, record_every=2000, seeds=3, eval_episodes=0, out="")
        return run.curves

    whole = told()
    monkeypatch.setattr(program, "STEPWISE_CALL", 3 * 700)
    monkeypatch.setattr(program, "STEPWISE_BATCH", 3 * 300)
    for name, curve in told().items():
        if name != "seconds":
            np.testing.assert_array_equal(curve, whole[name], err_msg=name)


# ---- counters


@given(st.integers(1, 4096), st.integers(0, 5 * 2**31))
def test_the_place_of_an_iteration(num_envs, done):
    """It follows the one before, fits into int32 as a number of steps, and finds the buffer's head where it was."""
    replay = ks.Replay(num_envs=num_envs, num_steps=3, capacity=150 * num_envs, batch_size=8)
    for collector in (ks.Online(), ks.Rollouts(num_envs=num_envs, num_steps=3), replay):
        place, following = (base.place_of(collector, at) for at in (done, done + 1))
        assert -(2**31) <= place.number * collector.iteration_steps < 2**31
        assert (place.number < 0) == (place.epoch > 0)
        assert place.number % collector.period == done % collector.period
        assert place.epoch or place.number == done
        if place.left > 1:
            assert following == (place.epoch, place.number + 1, place.left - 1)
        else:
            assert following.epoch == place.epoch + 1
            assert following.number * collector.iteration_steps <= -(2**29)
        assert base.place_of(collector, done + place.left).epoch == place.epoch + 1


def test_an_epoch_has_keys_of_its_own():
    key = member_key(jnp.uint32(3))
    keys = [key, *(epoch_key(key, jnp.uint32(epoch)) for epoch in (1, 2))]
    bits = [jax.random.key_data(each) for key in keys for each in jax.tree.leaves(step_keys(key, jnp.int32(7)))]
    assert len({tuple(np.asarray(each).tolist()) for each in bits}) == 9


@pytest.fixture
def short_epochs(monkeypatch):
    """Epochs of a few hundred steps, and visits that are counted out as often."""
    monkeypatch.setattr(base, "LARGEST", 512)
    monkeypatch.setattr(host, "MOST_VISITS", 256)


@pytest.mark.slow_because("runs that are resumed")
@pytest.mark.parametrize("id", ["q_learning", pytest.param("dqn", marks=pytest.mark.full("more cases"))])
def test_a_run_of_many_epochs_goes_on_in_any_of_them(id, short_epochs):
    small = {"num_envs": 2, "capacity": 64, "batch_size": 4, "learning_starts": 8, "hidden": (4,), "epsilon": 0.1}
    agent, env = (
        ks.make_agent(id, **(small if id == "dqn" else {})),
        "GridWorld-v0" if id == "q_learning" else "CartPole-v1",
    )
    asked = {"seeds": 3, "record_every": 100, "eval_episodes": 1}
    whole = ks.train(agent, env, steps=1500, out="whole", **asked)
    ks.train(agent, env, steps=1100, out="parts", **asked)
    parts = ks.resume("parts", steps=1500)
    for name, table in whole.record.tables.items():
        np.testing.assert_array_equal(table, parts.record.tables[name], err_msg=name)
    for name in set(whole.curves) - {"seconds"}:
        np.testing.assert_array_equal(whole.curves[name], parts.curves[name], err_msg=name)
    if id == "q_learning":
        np.testing.assert_array_equal(whole.record.tables["visits"].sum(axis=(1, 2)), 1500)


@pytest.mark.parametrize("id", ["dqn", pytest.param("ppo", marks=pytest.mark.full("more cases"))])
def test_schedules_stand_still_where_counts_end(id, short_epochs):
    """In epochs of 512 and 256 steps: a schedule that has come to its end begins in none of them again."""
    small = {"num_envs": 2, "hidden": (4,), "learning_rate": "linear:0.001:0:500"}
    if id == "dqn":
        small |= {"capacity": 64, "batch_size": 4, "learning_starts": 8, "epsilon": "linear:1:0.25:500"}
    else:
        small |= {"num_steps": 10, "minibatches": 1, "epochs": 1}
    run = ks.train(id, "CartPole-v1", steps=1500, record_every=100, out="", eval_episodes=0, **small)
    rates = run.curves["learning_rate"][0]
    assert (np.diff(rates[:5]) < 0).all()
    np.testing.assert_array_equal(rates[6:], 0)
    if id == "dqn":
        np.testing.assert_array_equal(run.curves["epsilon"][0][6:], 0.25)


@pytest.mark.full("more cases")
def test_the_readable_loop_counts_as_the_compiled_one(short_epochs):
    asked = {"steps": 700, "seeds": 1, "record_every": 100, "eval_episodes": 0, "out": ""}
    one, other = (ks.train("q_learning", "GridWorld-v0", loop=loop, **asked) for loop in ("compiled", "python"))
    np.testing.assert_allclose(one.q_values, other.q_values, rtol=1e-6)


@pytest.mark.full("covered")
def test_counters_stand_still_at_the_largest_number():
    agent, env = ks.make_agent("q_learning", exploration="ucb"), PAID
    state, most = agent.init(env.spec, jax.random.key(0)), 2**31 - 1
    last = eqx.tree_at(lambda s: (s.step, s.visits), state, (jnp.int32(most), jnp.full_like(state.visits, most)))
    no, zero = jnp.array(False), jnp.int32(0)
    made = ks.Transition(zero, zero, jnp.float32(0), no, no, jnp.int32(1))
    learned, _ = agent.update(last, made, jax.random.key(1))
    assert int(learned.step) == int(learned.visits.min()) == most


# ---- reports


@given(st.integers(1, 10**4), st.integers(1, 2000), st.integers(0, 10**4))
def test_reports_are_every_so_many_steps_and_at_the_end(steps, every, since):
    config = TrainConfig(steps=steps, record_every=every)
    wanted = sorted({*range(min(every, steps), steps, every), steps})
    assert config.num_reports == len(wanted)
    assert [step for step in config.report_steps(since) if step > since] == [step for step in wanted if step > since]


@pytest.mark.full("covered")
def test_billions_of_reports_are_not_listed_before_the_first():
    """A trillion steps with a report after each thousand: a list of them all took 22 GB before anything was trained."""
    config = TrainConfig(steps=10**12, record_every=1000)
    assert config.num_reports == 10**9
    assert next(config.report_steps(5 * 10**11)) == 5 * 10**11
    stop = lambda report: report.step >= 3000  # noqa: E731
    run = ks.train("q_learning", PAID, steps=10**12, record_every=1000, eval_episodes=0, out="", on_report=stop)
    assert run.record.facts["steps"] == 3000
