"""Wrappers beside Gymnasium's around the same steps, in kernels, under each other, and refused with bad numbers."""

import math
import pickle
from typing import Any

import equinox as eqx
import gymnasium.wrappers as theirs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium_twin import Twin
from hypothesis import given, settings
from hypothesis import strategies as st

import kousoku as ks
from kousoku.agents.planning.value_iteration import value_iteration
from kousoku.collectors.env_kernel import partition_env
from kousoku.collectors.slot import advance, begin
from kousoku.compiler import reason_against
from kousoku.core.env import Drawable
from kousoku.core.env_shapes import shape_problems
from kousoku.core.errors import ConfigError
from kousoku.core.timestep import Timestep
from kousoku.core.wrapper import kind_of, steps_per_action, unwrapped, unwrapped_state
from kousoku.training.evaluation.film import film, is_drawable, play

ours = ks.wrappers
CARTPOLE, MOUNTAIN, PENDULUM = ks.make("CartPole-v1", time_limit=30), ks.make("MountainCar-v0"), ks.make("Pendulum-v1")
CLIFF = ks.make("CliffWalking-v1", time_limit=10)


class Pictures(ks.Env):
    """Random images, and what else is seen; ends by itself with probability 0.1."""

    space: Any = eqx.field(static=True)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self):
        return self.space

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), Timestep(self.space.sample(key), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        obs_key, end_key = jax.random.split(key)
        ended = jax.random.uniform(end_key, (), jnp.float32) < 0.1
        return state + 1, Timestep(self.space.sample(obs_key), jnp.float32(1), ended, jnp.array(False))


class Seen(ks.Env):
    """A Dict of all kinds of spaces."""

    time_limit: int | None = eqx.field(static=True, default=5)

    @property
    def observation_space(self):
        parts = {"box": ks.Box(-1.0, 2.0, (2, 2)), "multi": ks.MultiDiscrete((2, 3)), "one": ks.Discrete(4)}
        return ks.Dict(parts)

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        return key, Timestep(self.observation_space.sample(key), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        return key, Timestep(self.observation_space.sample(key), jnp.float32(3), jnp.array(False), jnp.array(False))


RGB = Pictures(ks.Box(0, 255, (12, 8, 3), np.uint8))
GREY = Pictures(ks.Box(0, 255, (12, 8), np.uint8))
POSITIVE = Pictures(ks.Box((1.0, -2.0), (3.0, -1.0), (2,)))
VECTOR = Pictures(ks.Box((-1.0, -3.0, -math.inf), (1.0, 5.0, math.inf), (3,)))
LOW, HIGH = np.array([0.0, -1.0, -np.inf], np.float32), np.array([1.0, 1.0, np.inf], np.float32)

PAIRS = {
    "stack": (ours.FrameStackObservation(CARTPOLE, 4), lambda e: theirs.FrameStackObservation(e, 4)),
    "stack of one": (ours.FrameStackObservation(CARTPOLE, 1), lambda e: theirs.FrameStackObservation(e, 1)),
    "stack padded with zeros": (
        ours.FrameStackObservation(MOUNTAIN, 3, "zero"),
        lambda e: theirs.FrameStackObservation(e, 3, padding_type="zero"),
    ),
    "stack padded with what is nearest to zero": (
        ours.FrameStackObservation(POSITIVE, 3, "zero"),
        lambda e: theirs.FrameStackObservation(e, 3, padding_type="zero"),
    ),
    "stack of numbers": (ours.FrameStackObservation(CLIFF, 3), lambda e: theirs.FrameStackObservation(e, 3)),
    "stack of images": (ours.FrameStackObservation(GREY, 2), lambda e: theirs.FrameStackObservation(e, 2)),
    "clipped reward": (ours.ClipReward(CLIFF, -10.0, -0.5), lambda e: theirs.ClipReward(e, -10.0, -0.5)),
    "clipped action": (ours.ClipAction(PENDULUM), theirs.ClipAction),
    "rescaled action": (
        ours.RescaleAction(PENDULUM, -0.5, 3.0),
        lambda e: theirs.RescaleAction(e, np.float32(-0.5), np.float32(3.0)),
    ),
    "rescaled observation": (
        ours.RescaleObservation(MOUNTAIN, 0.0, 1.0),
        lambda e: theirs.RescaleObservation(e, np.float32(0.0), np.float32(1.0)),
    ),
    "rescaled, partly unbounded": (
        ours.RescaleObservation(VECTOR, LOW, HIGH),
        lambda e: theirs.RescaleObservation(e, LOW, HIGH),
    ),
    "time limit": (ours.TimeLimit(CARTPOLE, 7), lambda e: theirs.TimeLimit(e, 7)),
    "flat number": (ours.FlattenObservation(CLIFF), theirs.FlattenObservation),
    "flat numbers": (
        ours.FlattenObservation(ks.make("Blackjack-v1", observation="tuple")),
        theirs.FlattenObservation,
    ),
    "flat image": (ours.FlattenObservation(RGB), theirs.FlattenObservation),
    "flat dict": (ours.FlattenObservation(Seen()), theirs.FlattenObservation),
    "reshaped": (ours.ReshapeObservation(RGB, (6, 48)), lambda e: theirs.ReshapeObservation(e, (6, 48))),
    "repeated": (ours.RepeatAction(CARTPOLE, 4), lambda e: theirs.RepeatAction(e, 4)),
    "repeated once": (ours.RepeatAction(CARTPOLE, 1), lambda e: theirs.RepeatAction(e, 1)),
    "repeated over the limit": (ours.RepeatAction(CLIFF, 4), lambda e: theirs.RepeatAction(e, 4)),
}


def inner_keys(env: ks.Env, key: Any) -> list[Any]:
    """The keys of the steps that one step of a wrapper takes."""
    return list(jax.random.split(key, env.num_repeats)) if isinstance(env, ours.RepeatAction) else [key]


MORE = {"stack of one", "stack of images", "stack padded with zeros", "flat image", "flat numbers", "repeated once"}


def _pair(name: str) -> Any:
    return pytest.param(*PAIRS[name], id=name, marks=[pytest.mark.full("more cases")] * (name in MORE))


@pytest.mark.by_default("clipped action", "flat dict", "rescaled action")
@pytest.mark.reference
@pytest.mark.parametrize(("wrapped", "wrap"), list(map(_pair, PAIRS)))
def test_gymnasiums_wrapper_gives_the_same(wrapped, wrap):
    """Step for step, also at the ends of episodes and at the beginnings of the next."""
    twin = Twin(wrapped.env)
    gym = wrap(twin)
    ours_step, ours_reset = jax.jit(lambda *args: wrapped.step(*args)), jax.jit(lambda key: wrapped.reset(key))
    space, their_space = wrapped.observation_space, gym.observation_space
    assert their_space.shape is None or space.shape == their_space.shape
    actions = wrapped.action_space
    for episode in range(3):
        key = jax.random.key(episode)
        twin.keys = [key]
        state, timestep = ours_reset(key)
        np.testing.assert_allclose(timestep.obs, gym.reset()[0], rtol=2e-6, atol=2e-6)
        for i in range(25):
            step_key, action_key = jax.random.split(jax.random.fold_in(key, i))
            action = actions.sample(action_key)
            state, timestep = ours_step(step_key, state, action)
            twin.keys = inner_keys(wrapped, step_key)
            obs, reward, terminated, truncated, _ = gym.step(np.asarray(action))
            np.testing.assert_allclose(timestep.obs, obs, rtol=2e-6, atol=2e-6)
            assert float(timestep.reward) == pytest.approx(float(reward), rel=1e-6)
            limit = wrapped.time_limit is not None and i + 1 >= wrapped.time_limit
            assert (bool(timestep.terminated), bool(timestep.truncated) or limit) == (terminated, truncated)
            if terminated or truncated:
                break


@pytest.mark.full("covered")
@pytest.mark.reference
@pytest.mark.parametrize("keep_dim", [False, True])
def test_grey_images_are_gymnasiums_up_to_its_rounding(keep_dim):
    wrapped = ours.GrayscaleObservation(RGB, keep_dim)
    twin = Twin(RGB)
    gym = theirs.GrayscaleObservation(twin, keep_dim)
    twin.keys = [jax.random.key(0)]
    seen, reference = wrapped.reset(jax.random.key(0))[1].obs, gym.reset()[0]
    assert seen.dtype == reference.dtype == np.uint8
    difference = np.asarray(seen).astype(int) - reference
    assert difference.shape == gym.observation_space.shape == wrapped.observation_space.shape
    assert set(np.unique(difference)) <= {0, 1}
    assert np.mean(difference) < 0.01
    assert wrapped.observe(jnp.full((12, 8, 3), 255, jnp.uint8)).min() == 255


@pytest.mark.parametrize(("channel", "share"), [(0, 2125), (1, 7154), (2, 721)])
def test_each_colour_has_its_share_of_grey_rounded_down(channel, share):
    wrapped = ours.GrayscaleObservation(Pictures(ks.Box(0, 255, (256, 1, 3), np.uint8)))
    image = jnp.zeros((256, 1, 3), jnp.uint8).at[:, 0, channel].set(jnp.arange(256, dtype=jnp.uint8))
    assert wrapped.observe(image)[:, 0].tolist() == [share * x // 10_000 for x in range(256)]


def test_grey_images_of_fractions():
    wrapped = ours.GrayscaleObservation(Pictures(ks.Box(0.0, 1.0, (2, 2, 3))))
    grey = wrapped.observe(jnp.full((2, 2, 3), jnp.array([1.0, 0.0, 0.5], jnp.float32)))
    np.testing.assert_allclose(grey, 0.2125 + 0.5 * 0.0721, rtol=1e-6)


@pytest.mark.full("covered")
def test_a_smaller_image_is_the_mean_of_areas():
    image = jax.random.randint(jax.random.key(0), (12, 8), 0, 256, jnp.uint8)
    half = ours.ResizeObservation(GREY, (6, 4)).observe(image)
    mean = np.asarray(image, float).reshape(6, 2, 4, 2).mean(axis=(1, 3))
    assert half.dtype == np.uint8
    np.testing.assert_array_equal(half, np.round(mean))
    np.testing.assert_array_equal(ours.ResizeObservation(GREY, (12, 8)).observe(image), image)
    # 12 rows on 5: each stands for 2.4 of them
    fractions = Pictures(ks.Box(0.0, 255.0, (12, 8)))
    rows = ours.ResizeObservation(fractions, (5, 8)).observe(image.astype(jnp.float32))
    old = np.asarray(image, float)
    np.testing.assert_allclose(rows[0], (old[0] + old[1] + 0.4 * old[2]) / 2.4, rtol=1e-5)
    np.testing.assert_allclose(rows[1], (0.6 * old[2] + old[3] + 0.8 * old[4]) / 2.4, rtol=1e-5)
    np.testing.assert_allclose(np.mean(rows, axis=0), old.mean(axis=0), rtol=1e-5)


def test_a_smaller_image_keeps_its_colours():
    image = jax.random.randint(jax.random.key(0), (12, 8, 3), 0, 256, jnp.uint8)
    small = ours.ResizeObservation(RGB, (3, 2)).observe(image)
    mean = np.asarray(image, float).reshape(3, 4, 2, 4, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(small, mean, atol=0.51)


def test_standardised_observations():
    wrapped = ours.StandardiseObservation(MOUNTAIN, mean=np.array([-0.5, 0.01]), std=0.5)
    _, plain = MOUNTAIN.reset(jax.random.key(0))
    _, timestep = wrapped.reset(jax.random.key(0))
    np.testing.assert_allclose(timestep.obs, (plain.obs - np.array([-0.5, 0.01], np.float32)) / 0.5, rtol=1e-6)


def test_a_stack_for_networks_of_images():
    """A grey image has its frames where networks expect channels; one with channels is reshaped."""
    grey = ours.FrameStackObservation(GREY, 4, axis=-1)
    assert grey.observation_space.shape == (12, 8, 4)
    state, first = grey.reset(jax.random.key(0))
    state, then = grey.step(jax.random.key(1), state, jnp.int32(0))
    np.testing.assert_array_equal(then.obs[..., 2], first.obs[..., 3])
    colours = ours.ReshapeObservation(ours.FrameStackObservation(RGB, 2, axis=-1), (12, 8, 6))
    _, timestep = colours.reset(jax.random.key(0))
    np.testing.assert_array_equal(timestep.obs[..., 0], timestep.obs[..., 1])


def sticky_by_hand(chosen: list[int], draws: list[float], probability: float, durations: list[int]) -> list[int]:
    """What Gymnasium's wrapper takes, with the draws given."""

    class Draws:
        def __init__(self) -> None:
            self.place = 0

        def uniform(self) -> float:
            return draws[self.place]

        def integers(self, low: int, high: int) -> int:
            return durations[self.place]

    twin = Twin(CLIFF)
    gym = theirs.StickyAction(twin, probability, (1, 5))
    rng = Draws()
    gym.env.unwrapped._np_random = rng
    taken = []
    for i, action in enumerate(chosen):
        rng.place = i
        taken.append(int(gym.action(action)))
    return taken


@pytest.mark.full("covered")
@pytest.mark.reference
@pytest.mark.parametrize("duration", [1, 3, (1, 4)])
def test_actions_stick_as_gymnasiums_do(duration):
    """With our own draws in the place of its generator's."""
    wrapped = ours.StickyAction(CLIFF, 0.3, duration)
    low, high = wrapped.repeat_action_duration
    key = jax.random.key(3)
    state, _ = wrapped.reset(key)
    step = jax.jit(lambda *args: wrapped.step(*args))
    taken, draws, durations = [], [], []
    chosen = np.random.default_rng(0).integers(0, 4, 60).tolist()
    for i, action in enumerate(chosen):
        step_key = jax.random.fold_in(key, i)
        stick_key, duration_key, _ = jax.random.split(step_key, 3)
        draws.append(float(jax.random.uniform(stick_key, (), jnp.float32)))
        durations.append(int(jax.random.randint(duration_key, (), low, high + 1, jnp.int32)))
        state, _ = step(step_key, state, jnp.int32(action))
        taken.append(int(state.action))
    assert taken == sticky_by_hand(chosen, draws, 0.3, durations)
    assert taken != chosen


def test_the_first_action_of_the_next_episode_does_not_stick():
    wrapped = ours.StickyAction(CLIFF, 0.999)
    state, _ = wrapped.reset(jax.random.key(0))
    for i, action in enumerate((1, 2, 3)):
        state, _ = wrapped.step(jax.random.key(i), state, jnp.int32(action))
        assert int(state.action) == 1
    state, _ = wrapped.restart(jax.random.key(9), state)
    state, _ = wrapped.step(jax.random.key(10), state, jnp.int32(2))
    assert int(state.action) == 2


def test_stack_and_clock_begin_anew_with_the_next_episode():
    """Ten steps of an episode are four actions, the last of two steps, in the second episode as in the first."""
    wrapped = ours.RepeatAction(ours.FrameStackObservation(CLIFF, 2), 4)
    slot, move = begin(wrapped, jax.random.key(0)), jax.jit(lambda *args: advance(wrapped, *args))
    steps = []
    for i in range(9):
        slot, taken, end = move(slot, jnp.int32(0), jax.random.key(i))
        steps.append((float(taken.reward), bool(end.ended), slot.obs.tolist()))
    assert [reward for reward, _, _ in steps] == [-4.0, -4.0, -2.0] * 3
    assert [ended for _, ended, _ in steps] == [False, False, True] * 3
    assert [obs for _, ended, obs in steps if ended] == [[36, 36]] * 3
    assert steps[0][2] == steps[3][2] == [0, 0]


@pytest.mark.full("more cases")
def test_rewards_of_an_episode_that_ends_within_a_repeat():
    """The pole falls in the middle: the steps after it give nothing, and what is seen is the state it fell in."""
    state, timestep = CARTPOLE.reset(jax.random.key(0))
    rewards = []
    while not timestep.terminated:
        state, timestep = CARTPOLE.step(jax.random.key(1), state, jnp.int32(1))
        rewards.append(1.0)
    count = len(rewards)
    assert count % 4 != 0
    wrapped = ours.RepeatAction(ks.make("CartPole-v1"), 4)
    now, seen = wrapped.reset(jax.random.key(0))
    total = 0.0
    while not seen.terminated:
        now, seen = wrapped.step(jax.random.key(1), now, jnp.int32(1))
        total += float(seen.reward)
    assert total == count
    np.testing.assert_allclose(seen.obs, timestep.obs, rtol=1e-5, atol=1e-6)


BUILDERS = {
    "stack": lambda env: ours.FrameStackObservation(env, 3),
    "repeat": lambda env: ours.RepeatAction(env, 3),
    "sticky": lambda env: ours.StickyAction(env, 0.5, (1, 3)),
    "clip": lambda env: ours.ClipReward(env, -0.5, 0.5),
    "limit": lambda env: ours.TimeLimit(env, 11),
    "standardise": lambda env: ours.StandardiseObservation(env, 0.5, 2.0),
    "flatten": ours.FlattenObservation,
}


NAMES = st.lists(st.sampled_from(sorted(BUILDERS)), min_size=2, max_size=4)


def around_each_other(names: list[str]) -> ks.Env:
    env = CARTPOLE
    for name in names:
        env = BUILDERS[name](env)
    return env


@pytest.mark.property
@settings(max_examples=5)
@given(NAMES)
def test_any_wrappers_around_each_other_have_the_shapes_that_they_tell(names):
    env = around_each_other(names)
    assert list(shape_problems(env)) == []
    assert unwrapped(env) is CARTPOLE
    assert kind_of(env).count("(") == len(names)
    state, _ = jax.eval_shape(env.reset, jax.random.key(0))
    assert unwrapped_state(env, state).x.shape == ()
    assert steps_per_action(env) == 3 ** names.count("repeat")
    assert eqx.tree_equal(pickle.loads(pickle.dumps(env)), env)


@pytest.mark.property
@pytest.mark.full("larger")
@settings(max_examples=25)
@given(NAMES)
def test_any_wrappers_around_each_other_keep_the_contract(names):
    ks.check_env(around_each_other(names), steps=12)


EXAMPLES = {
    "robot": lambda: ours.RepeatAction(ours.RescaleAction(ks.make("InvertedPendulum-v5"), -1.0, 1.0), 2),
    "grid": lambda: ours.FrameStackObservation(ours.FlattenObservation(ks.make("FrozenLake-v1")), 2),
    "images": lambda: ours.FrameStackObservation(ours.ResizeObservation(ours.GrayscaleObservation(RGB), (6, 4)), 2),
    "all": lambda: ours.TimeLimit(ours.StickyAction(ours.RepeatAction(CLIFF, 3), 0.25), 3),
}


@pytest.mark.by_default("images")
@pytest.mark.contract
@pytest.mark.parametrize("make", EXAMPLES.values(), ids=EXAMPLES)
def test_wrapped_environments_stay_in_the_kernel(make):
    env, key = make(), jax.random.key(0)
    slot = jax.eval_shape(begin, env, key)
    action = jnp.zeros(env.action_space.shape, env.action_space.dtype)
    assert reason_against(begin, env, key) is None
    assert reason_against(advance, env, slot, action, key) is None


@pytest.mark.full("covered")
def test_the_kernel_takes_the_steps_that_jax_takes():
    env = ours.StickyAction(ours.RepeatAction(ours.FrameStackObservation(CLIFF, 2), 3), 0.25)
    keys = jax.random.split(jax.random.key(0), 8)

    def walk(key):
        slot, step = begin(env, key), lambda slot, key: _step(env, slot, key)
        return jax.lax.scan(step, slot, jax.random.split(key, 40))[1]

    plain, kernel = jax.vmap(walk)(keys), jax.vmap(ks.kernel(walk))(keys)
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(kernel), strict=True):
        np.testing.assert_array_equal(one, other)
    assert int(plain[1].sum()) > 0


BOUNDED = [
    MOUNTAIN, PENDULUM, CARTPOLE, ks.make("Acrobot-v1"), ks.make("MountainCarContinuous-v0"), ks.make("Balls-v0"),
    ks.make("MountainCar-v0", max_position=-0.1, goal_position=-0.2),
]  # fmt: skip
BOUNDED_BY_PARTS = CARTPOLE, [-1.0, -math.inf, 0.0, -math.inf], [1.0, math.inf, 2.0, math.inf]
KNOWN = {
    "rescaled": lambda env: ours.RescaleObservation(env, -1.0, 2.0),
    "zeros": lambda env: ours.FrameStackObservation(env, 3, "zero"),
    "stacked": lambda env: ours.FrameStackObservation(env, 2),
    "flat": ours.FlattenObservation,
    "standardised": lambda env: ours.StandardiseObservation(env, 0.1, 2.0),
    "both": lambda env: ours.RescaleObservation(ours.FrameStackObservation(env, 2, "zero"), 0.0, 1.0),
}


@pytest.mark.by_default("CartPole", "MountainCar1")
@pytest.mark.parametrize("env", BOUNDED, ids=lambda env: type(env).__name__)
def test_a_program_that_does_not_know_the_numbers_sees_the_same(env):
    """Bounds are made of an environment's numbers, which programs take as arguments and do not know."""
    seen = 0
    for name, wrap in KNOWN.items():
        try:
            wrapped = wrap(env)
        except ConfigError:  # a range is infinite
            assert name in ("rescaled", "both")
            continue
        expect_same_in_program(wrapped)
        seen += 1
    assert seen >= 3


def test_a_range_that_is_infinite_in_parts_is_the_same_in_a_program():
    expect_same_in_program(ours.RescaleObservation(*BOUNDED_BY_PARTS))


def expect_same_in_program(env: ks.Env) -> None:
    """Plays some steps with the numbers known, and in a program that is given them."""
    arrays, structure = partition_env(env)
    program = jax.jit(lambda arrays, key: walked(structure.with_arrays(arrays), key))
    for found, expected in zip(program(arrays, jax.random.key(1)), walked(env, jax.random.key(1)), strict=True):
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def walked(env: ks.Env, key: Any) -> list[Any]:
    """What is seen in a few steps."""
    state, timestep = env.reset(key)
    seen = [timestep.obs]
    for i in range(4):
        action = env.action_space.sample(jax.random.fold_in(jax.random.key(5), i))
        state, timestep = env.step(jax.random.fold_in(key, i), state, action)
        seen.append(timestep.obs)
    return jax.tree.leaves(seen)


def test_training_on_rescaled_observations_stays_finite():
    env = ours.RescaleObservation(MOUNTAIN, 0.0, 1.0)
    run = ks.train("dqn", env, steps=600, learning_starts=500, out="", progress=False, eval_episodes=0)
    assert run.record.facts["status"] == "finished"


def test_numbers_that_move_the_bounds_are_no_points_of_one_sweep():
    env = ours.RescaleObservation(MOUNTAIN, 0.0, 1.0)
    with pytest.raises(ConfigError, match=r"env\.max_speed'; 0\.07 and 0\.1 change structure"):
        ks.train("dqn", env, steps=600, out="", progress=False, sweep={"env.max_speed": [0.07, 0.1]})


def _step(env, slot, key):
    action_key, step_key = jax.random.split(key)
    slot, taken, end = advance(env, slot, env.action_space.sample(action_key), step_key)
    return slot, (taken.next_obs, end.ended, taken.reward)


def test_the_exact_model_stays_where_the_states_do():
    lake = ks.make("FrozenLake-v1")
    plan = value_iteration(lake.model(), discount=0.9)
    for wrapped in (ours.FlattenObservation(lake), ours.TimeLimit(lake, 3), ours.FrameStackObservation(lake, 2)):
        assert isinstance(wrapped, ks.Finite)
        np.testing.assert_array_equal(value_iteration(wrapped.model(), discount=0.9).q, plan.q)
        assert wrapped.panels() == lake.panels()
    clipped = ours.ClipReward(CLIFF, -10.0, 0.0).model()
    assert np.min(clipped.reward) == -10.0
    assert not isinstance(ours.StickyAction(lake, 0.25), ks.Finite)
    assert not isinstance(ours.RepeatAction(lake, 2), ks.Finite)
    with pytest.raises(ConfigError, match="it tells no exact model"):
        ours.FlattenObservation(CARTPOLE).model()
    assert ours.FlattenObservation(CARTPOLE).panels() == ()


def test_the_model_of_clipped_rewards_has_them_clipped_at_either_end():
    clipped, cliff = ours.ClipReward(CLIFF, -50.0, -2.0).model(), CLIFF.model()
    np.testing.assert_array_equal(clipped.reward, np.clip(cliff.reward, -50.0, -2.0))
    assert np.unique(clipped.reward).tolist() == [-50.0, -2.0]
    assert isinstance(ours.ClipReward(CLIFF, -50.0, -2.0), ks.Finite)


def test_numbers_may_differ_from_environment_to_environment():
    def first(low, key):
        env = ours.ClipReward(CLIFF, low, 0.0)
        return env.step(key, env.reset(key)[0], jnp.int32(1))[1].reward

    keys = jax.random.split(jax.random.key(0), 2)
    assert jax.vmap(first)(jnp.array([-10.0, -200.0]), keys).tolist() == [-10.0, -100.0]


def test_films_show_the_environment_inside():
    wrapped = ours.RepeatAction(ours.FrameStackObservation(ks.make("CartPole-v1"), 2), 2)
    assert is_drawable(wrapped)
    assert not isinstance(wrapped, Drawable)
    played = play(wrapped, lambda env, obs, carry, key: (jnp.int32(1), carry), jax.random.key(0), max_steps=3)
    moving = film(wrapped, played)
    assert moving.dt == pytest.approx(0.04)
    state = jax.tree.map(lambda leaf: leaf[2], played.states.env_state.env_state)
    assert len(moving.scenes) == 4
    assert moving.scenes[2] == unwrapped(wrapped).scene(state)
    assert not is_drawable(ours.FlattenObservation(Seen()))


BAD = {
    "env: got 'CartPole-v1'; make it first": lambda: ours.TimeLimit("CartPole-v1", 3),
    "env: got 3; wrap a kousoku.Env": lambda: ours.TimeLimit(3, 3),
    "max_episode_steps: got 0; use a whole number of at least 1": lambda: ours.TimeLimit(CARTPOLE, 0),
    "stack_size: got 0": lambda: ours.FrameStackObservation(CARTPOLE, 0),
    "padding_type: got 'zeros'; did you mean 'zero'": lambda: ours.FrameStackObservation(CARTPOLE, 2, "zeros"),
    "axis: got 1; use 0": lambda: ours.FrameStackObservation(CARTPOLE, 2, axis=1),
    "use FlattenObservation around the environment first": lambda: ours.FrameStackObservation(
        ks.make("Blackjack-v1", observation="tuple"), 2
    ),
    "num_repeats: got 1.5": lambda: ours.RepeatAction(CARTPOLE, 1.5),
    r"repeat_action_probability: got 1\.0; use a number in \[0, 1\)": lambda: ours.StickyAction(CARTPOLE, 1.0),
    "repeat_action_probability: got nan": lambda: ours.StickyAction(CARTPOLE, math.nan),
    r"repeat_action_duration: got 1; use a whole number of at least 3": lambda: ours.StickyAction(CARTPOLE, 0, (3, 1)),
    r"max_reward: got -1\.0; use more than min_reward, which is 1": lambda: ours.ClipReward(CARTPOLE, 1, -1),
    "min_reward: got nan": lambda: ours.ClipReward(CARTPOLE, math.nan, 1),
    "action_space: got Discrete.*ClipAction needs a Box$": lambda: ours.ClipAction(CARTPOLE),
    "action_space: got Discrete.*RescaleAction needs a Box": lambda: ours.RescaleAction(CARTPOLE, -1, 1),
    r"max_action: got -1\.0; use more than min_action": lambda: ours.RescaleAction(PENDULUM, 1, -1),
    r"min_action: got \(1\.0, 2\.0\); use one number, or as many": lambda: ours.RescaleAction(PENDULUM, [1, 2], 3),
    "min_action: got 'a'": lambda: ours.RescaleAction(PENDULUM, "a", 3),
    "min_obs: got 0.0; make it infinite where the old bound is": lambda: ours.RescaleObservation(CARTPOLE, 0, 1),
    "needs a Box; FlattenObservation makes one": lambda: ours.RescaleObservation(CLIFF, 0, 1),
    "std: got 0.0; use numbers above 0": lambda: ours.StandardiseObservation(CARTPOLE, 0, 0),
    r"mean: got \(2,\); use one number, or an array of shape \(4,\)": lambda: ours.StandardiseObservation(
        CARTPOLE, [0, 0], 1
    ),
    "mean: got nan": lambda: ours.StandardiseObservation(CARTPOLE, math.nan, 1),
    "shape: got.*use one of 4 numbers": lambda: ours.ReshapeObservation(CARTPOLE, (3,)),
    r"needs images \[height, width, 3\]": lambda: ours.GrayscaleObservation(CARTPOLE),
    r"needs images \[height, width, \.\.\.\]": lambda: ours.ResizeObservation(CARTPOLE, (2, 2)),
    "it makes images smaller": lambda: ours.ResizeObservation(GREY, (20, 2)),
    r"shape: got 3; use \(height, width\)": lambda: ours.ResizeObservation(GREY, 3),
}


@pytest.mark.parametrize(("line", "make"), BAD.items(), ids=range(len(BAD)))
def test_a_bad_number_is_answered_by_one_line(line, make):
    with pytest.raises(ConfigError, match=line) as raised:
        make()
    assert "\n" not in str(raised.value)


def test_a_broken_environment_is_refused_inside_a_wrapper_too():
    class Broken(Pictures):
        def step(self, key, state, action):
            return state, Timestep(jnp.zeros(3, jnp.float32), jnp.float32(1), jnp.array(False), jnp.array(False))

    with pytest.raises(ConfigError, match=r"env: got 'TimeLimit\(Broken\)'; step: observation float32\[3\] is outside"):
        ks.train("ppo", ours.TimeLimit(Broken(ks.Box(0, 1, (2,))), 3), steps=10_000, out="")
