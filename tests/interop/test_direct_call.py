"""Steps and resets that the host makes by a kernel, past XLA: the same bits as XLA's programs make."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.compiler.backends.cpu import ffi
from kousoku.interop.out import direct_call
from kousoku.interop.out.stepper import Stepper
from kousoku.interop.out.stepping import ResetRule


class Cart(ks.Env):
    """Tells one array twice, hands another on as it came, and has a Dict of actions, observations and infos."""

    gain: float = 0.5
    shrink: float = 1.0
    time_limit: int | None = None

    @property
    def observation_space(self):
        return ks.Dict({"near": ks.Box(-9, 9, (3,)), "far": ks.Box(-9, 9, ())})

    @property
    def action_space(self):
        return ks.Dict({"push": ks.Box(-1, 1, (2,)), "brake": ks.Discrete(2)})

    def reset(self, key):
        start = jax.random.normal(key, (3,))
        return (start, start, jnp.float32(1.0)), self._told(start, start[0], jnp.array(False))

    def step(self, key, state, action):
        now, _, small = state
        push = jnp.append(action["push"], jnp.float32(0.0)) * self.gain
        after = jnp.where(action["brake"] == 1, now, now + push + 0.1 * jax.random.normal(key, (3,)))
        return (after, now, small * self.shrink), self._told(after, now[0] + small, jnp.abs(after).max() > 2.0)

    def _told(self, near, far, ended):
        obs = {"near": near, "far": far}
        return ks.Timestep(obs, near.sum(), ended, jnp.array(False), {"near": near, "twice": {"far": far}})


ENVS = {
    "CartPole-v1": lambda: ks.make("CartPole-v1"),
    "MinAtar/Breakout-v1": lambda: ks.make("MinAtar/Breakout-v1"),
    "MiniGrid-DoorKey-5x5-v0": lambda: ks.make("MiniGrid-DoorKey-5x5-v0"),
    "InvertedPendulum-v5": lambda: ks.make("InvertedPendulum-v5"),
    "own": lambda: Cart(time_limit=11),
}


def by_xla(stepper: Stepper) -> Stepper:
    stepper._direct = dict.fromkeys(
        (p, n) for p in (stepper._programs.step, stepper._programs.again) for n in range(99)
    )
    return stepper


def direct_step(stepper: Stepper) -> Any:
    """The direct call of its step; None where it is XLA's."""
    return stepper._direct[stepper._programs.step, stepper.num_slots]


def pair(env: ks.Env, slots: int, rule: ResetRule) -> tuple[Stepper, Stepper]:
    """The same slots twice: called by the host, and by XLA."""
    return Stepper(env, slots, rule), by_xla(Stepper(env, slots, rule))


def draw(space: ks.Space, slots: int, steps: int) -> list[Any]:
    every = jax.random.split(jax.random.key(5), (steps, slots))
    drawn = jax.device_get(jax.vmap(jax.vmap(space.sample))(every))
    return [jax.tree.map(lambda leaf, t=t: leaf[t], drawn) for t in range(steps)]


def expect_same(found: Any, expected: Any) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        other = np.asarray(other)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.by_default(
    "CartPole-v1-21-NEXT_STEP", "own-21-*", "own-1-DISABLED", "MinAtar*-21-SAME_STEP", "InvertedPendulum*-1-DISABLED"
)
@pytest.mark.parametrize("rule", list(ResetRule), ids=lambda rule: rule.name)
@pytest.mark.parametrize("slots", [1, 21])
@pytest.mark.parametrize("name", ENVS)
def test_bits_are_those_of_xlas_programs(name, slots, rule):
    env = ENVS[name]()
    direct, program = pair(env, slots, rule)
    seeds = list(range(slots))
    expect_same(direct.reset(seeds), program.reset(seeds))
    told = []
    for t, action in enumerate(draw(env.action_space, slots, 60)):
        told.append((direct.step(action), program.step(action)))
        if t % 7 == 3:
            chosen = np.arange(slots) % 3 == t % 3
            again = [None if i % 2 else 100 * t + i for i in seeds]
            told.append((direct.reset(again, chosen), program.reset(again, chosen)))
        if t % 11 == 5:
            some = np.arange(0, slots, 2)
            part = jax.tree.map(lambda leaf: leaf[some], action)  # noqa: B023 (called here)
            told.append((direct.step_some(part, some), program.step_some(part, some)))
    assert direct_step(direct) is not None
    assert direct._direct[direct._programs.again, direct.num_slots] is not None
    for found, expected in told:  # at the end: what was told is the caller's, and no later step touches it
        expect_same(found, expected)
    expect_same(direct.state(slots - 1), program.state(slots - 1))


@pytest.mark.parametrize("few", [0, direct_call.FEW_BYTES], ids=["many", "few"])
def test_what_it_tells_is_the_callers_however_much_it_is(few, monkeypatch):
    """Few results are copied, and many are written to new arrays: neither is written to again."""
    monkeypatch.setattr(direct_call, "FEW_BYTES", few)
    direct, program = pair(Cart(), 21, ResetRule.SAME_STEP)
    expect_same(direct.reset(range(21)), program.reset(range(21)))
    told = [(direct.step(action), program.step(action)) for action in draw(direct.action_space, 21, 7)]
    assert direct_step(direct) is not None
    for found, expected in told:
        expect_same(found, expected)
        for leaf in jax.tree.leaves(found):
            leaf[...] = 1
    arrays = jax.tree.leaves([found for found, _ in told])
    assert not any(np.shares_memory(one, other) for i, one in enumerate(arrays) for other in arrays[:i])
    expect_same(direct.state(20), program.state(20))


def test_what_is_told_may_be_written_to():
    env = Cart(time_limit=11)
    direct, program = pair(env, 4, ResetRule.SAME_STEP)
    for stepper in (direct, program):
        stepper.reset([1, 2, 3, 4])
    for action in draw(env.action_space, 4, 30):
        found, expected = direct.step(action), program.step(action)
        expect_same(found, expected)
        for leaf in jax.tree.leaves(found):
            leaf.fill(0)


def test_slots_stay_until_the_call_after_the_next():
    """Each call reads where the last one wrote: nothing is copied."""
    env = ENVS["own"]()
    stepper = Stepper(env, 3, ResetRule.NEXT_STEP)
    stepper.reset([7, 8, 9])
    seen = []
    for action in draw(env.action_space, 3, 4):
        stepper.step(action)
        seen.append([(slot, slot.copy()) for slot in stepper._slots])
        for slot, copy in (pair for told in seen[-2:] for pair in told):
            np.testing.assert_array_equal(slot, copy)
    assert all(a is c and a is not b for (a, _), (b, _), (c, _) in zip(*seen[:3], strict=True))


def test_a_copy_goes_on_alike():
    env = ks.make("CartPole-v1")
    actions = draw(env.action_space, 3, 40)
    direct = Stepper(env, 3, ResetRule.NEXT_STEP)
    direct.reset([7, 8, 9])
    for action in actions[:20]:
        direct.step(action)
    copy = pickle.loads(pickle.dumps(direct))
    for action in actions[20:]:
        expect_same(copy.step(action), direct.step(action))


def test_long_calls_are_left_to_xla(monkeypatch):
    env = Cart(time_limit=11)
    direct, program = pair(env, 21, ResetRule.NEXT_STEP)
    for stepper in (direct, program):
        stepper.reset(range(21))
    lengths = [9, 1, 9, 9, 1, 9, 9, 9]  # three long ones in a row, at last
    for action, length in zip(draw(env.action_space, 21, 10), [*lengths, None, None], strict=True):
        ticks = iter([0, length])
        for clock in ("perf_counter_ns", "thread_time_ns"):
            monkeypatch.setattr(direct_call.time, clock, lambda ticks=ticks: next(ticks) * 20_000)
        expect_same(direct.step(action), program.step(action))
        assert (direct_step(direct) is None) == (length is None)


def test_calls_that_wait_for_a_core_are_not_long(monkeypatch):
    stepper = Stepper(Cart(), 21, ResetRule.NEXT_STEP)
    stepper.reset(range(21))
    ticks = iter(range(0, 100 * direct_call.LONG_CALL, 2 * direct_call.LONG_CALL))
    monkeypatch.setattr(direct_call.time, "perf_counter_ns", lambda: next(ticks))
    monkeypatch.setattr(direct_call.time, "thread_time_ns", lambda: 0)
    for action in draw(stepper.action_space, 21, 10):
        stepper.step(action)
    assert direct_step(stepper) is not None


def test_long_calls_of_one_gang_go_on_as_nobody_could_share_them(monkeypatch):
    monkeypatch.setattr(direct_call, "LONG_CALL", -1)
    stepper = Stepper(Cart(), 1, ResetRule.NEXT_STEP)
    stepper.reset([0])
    for action in draw(stepper.action_space, 1, 6):
        stepper.step(action)
    assert direct_step(stepper) is not None


def test_subnormal_numbers_are_zeros_as_in_xla():
    env = Cart(gain=0.0, shrink=1e-5)
    direct, program = pair(env, 2, ResetRule.DISABLED)
    for stepper in (direct, program):
        stepper.reset([0, 1])
    still = {"push": np.zeros((2, 2), np.float32), "brake": np.ones(2, np.int32)}
    small = []
    for _ in range(10):
        expect_same(direct.step(still), program.step(still))
        small.append(float(direct.state(0)[2]))
    assert small[6] > 0.0  # 1e-35
    assert small[7:] == [0.0, 0.0, 0.0]
    assert np.float32(1e-30) * np.float32(1e-10) > 0.0  # the host's own are left as they were


class Keyed(Cart):
    """Keeps a key in its state, which is no array of NumPy's."""

    def reset(self, key):
        state, timestep = super().reset(key)
        return (state, key), timestep

    def step(self, key, state, action):
        after, timestep = super().step(state[1], state[0], action)
        return (after, jax.random.fold_in(state[1], 1)), timestep


class Counting(Cart):
    """Keeps a number beside its state, and tells it."""

    def reset(self, key):
        state, timestep = super().reset(key)
        return (state, self.first()), timestep

    def step(self, key, state, action):
        after, timestep = super().step(key, state[0], action)
        return (after, self.following(state[1])), eqx.tree_at(lambda t: t.info, timestep, {"number": state[1] * 2})


class Half(Counting):
    """Whose number is a half, which is a float of 32 bits in a kernel."""

    def first(self):
        return jnp.float16(1.5)

    def following(self, number):
        return number * jnp.float16(0.75)


class Drifting(Counting):
    """Whose number is a whole one at first, and a float after a step."""

    def first(self):
        return jnp.int32(3)

    def following(self, number):
        return number.astype(jnp.float32) * jnp.float32(0.5)


class Printing(Cart):
    """Has a rule for something that no kernel has."""

    def step(self, key, state, action):
        jax.debug.callback(lambda x: None, state[2])
        return super().step(key, state, action)


@pytest.mark.filterwarnings("ignore::kousoku.compiler.KernelWarning")
@pytest.mark.parametrize("env", [Keyed(), Half(), Printing()], ids=["keys in the state", "halves", "a callback"])
def test_what_the_host_cannot_call_is_xlas(env):
    stepper = Stepper(env, 2, ResetRule.DISABLED)
    stepper.reset([0, 1])
    for action in draw(env.action_space, 2, 3):
        told = stepper.step(action)
        assert np.isfinite(told.reward).all()
    assert direct_step(stepper) is None
    if isinstance(env, Half):
        assert told.info["number"].dtype == np.float16
    action = draw(env.action_space, 2, 1)[0]
    expect_same(pickle.loads(pickle.dumps(stepper)).step(action), stepper.step(action))


def test_dtypes_that_settle_after_a_step_are_met():
    direct, program = pair(Drifting(), 3, ResetRule.DISABLED)
    for seed in (0, 10):
        for stepper in (direct, program):
            stepper.reset(range(seed, seed + 3))
        for action in draw(direct.action_space, 3, 4):
            expect_same(direct.step(action), program.step(action))
    assert direct_step(direct) is not None


def test_a_switch_counts_at_every_step(monkeypatch):
    """Whatever looks into JAX's programs finds one."""
    stepper = Stepper(Cart(), 2, ResetRule.NEXT_STEP)
    action = draw(stepper.action_space, 2, 1)[0]
    stepper.reset([0, 1])
    with ks.use_kernels(False):
        stepper.step(action)
        assert stepper._direct == {}
    stepper.step(action)
    assert direct_step(stepper) is not None
    monkeypatch.setattr(direct_call.DirectCall, "__call__", lambda *_: pytest.fail("past the switch"))
    for switch in (jax.debug_nans(True), jax.debug_infs(True), ks.use_kernels(False)):
        with switch:
            stepper.step(action)


def test_a_processor_that_nobody_wrote_it_for_has_xla(monkeypatch):
    monkeypatch.setattr(ffi, "host_caller", lambda: None)
    stepper = Stepper(Cart(), 2, ResetRule.NEXT_STEP)
    stepper.reset([0, 1])
    assert stepper.step(draw(stepper.action_space, 2, 1)[0]).reward.shape == (2,)
    assert direct_step(stepper) is None


def test_vectors_in_threads_share_a_kernel():
    env = Cart(time_limit=11)
    actions = draw(env.action_space, 9, 100)

    def run(seed: int) -> list[Any]:
        stepper = Stepper(env, 9, ResetRule.SAME_STEP)
        stepper.reset(range(seed, seed + 9))
        return [stepper.step(action) for action in actions]

    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(run, range(4)))
    for seed, told in enumerate(together):
        expect_same(told, run(seed))


def test_numbers_of_the_environment_are_its_own():
    """Two environments of one structure share a kernel, and each reads its numbers."""
    rewards = []
    for g in (9.8, 30.0):
        stepper = Stepper(eqx.tree_at(lambda env: env.g, ks.make("Pendulum-v1"), g), 2, ResetRule.NEXT_STEP)
        stepper.reset([0, 1])
        for _ in range(5):
            told = stepper.step(np.zeros((2, 1), np.float32))
        rewards.append(told.reward)
        assert direct_step(stepper) is not None
    assert (rewards[0] != rewards[1]).all()


def test_the_variable_is_read_once_and_only_where_nothing_else_has_decided(monkeypatch):
    monkeypatch.setenv("KOUSOKU_KERNEL", "junk")
    with ks.use_kernels(True):
        stepper = Stepper(ks.make("CartPole-v1"), 3, ResetRule.NEXT_STEP)
        stepper.reset(range(3))
        stepper.step(np.zeros(3, int))
    with pytest.raises(ks.ConfigError, match="KOUSOKU_KERNEL: got 'junk'"):
        stepper.step(np.zeros(3, int))
    monkeypatch.setenv("KOUSOKU_KERNEL", "on")
    stepper.step(np.zeros(3, int))
    monkeypatch.setenv("KOUSOKU_KERNEL", "junk")
    stepper.step(np.zeros(3, int))
