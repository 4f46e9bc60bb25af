"""Prioritised replay: what is drawn how often, what it counts, and what becomes of priorities."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE
from recorder import KEY, Life, begun, iteration, logged, on_two_devices, recorder, run
from scipy.stats import chisquare

import kousoku as ks
from kousoku.agents.deep.dqn import DQN
from kousoku.collectors.priorities import SMALLEST, PrioritisedData, draw, with_errors
from kousoku.collectors.replay import Replay
from kousoku.collectors.slot import kernel_slots, plain_slots
from kousoku.core.collector import TrainState
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box
from kousoku.core.timestep import Timestep, Transition
from kousoku.ops.schedules import Linear
from kousoku.ops.sum_tree import empty_trees, with_weights
from kousoku.training.loop.iteration import shapes_of
from kousoku.training.metrics.metric_sums import Recording

ALPHA, BETA = 0.7, 0.5


def prioritised(most: int = 64, **options: Any) -> Any:
    settings = {"prioritised": True, "priority_alpha": ALPHA, "priority_beta": BETA}
    return recorder(most, **{**settings, **options})


def leaves(data: PrioritisedData) -> np.ndarray:
    """p^alpha of what each slot keeps, [B, C]."""
    return np.asarray(data.trees)[:, data.kept.reward.shape[1] :]


drawn_of = jax.jit(draw, static_argnums=(2, 4), compiler_options=FAST_COMPILE)


def data_of(weights: np.ndarray) -> PrioritisedData:
    num_slots, size = weights.shape
    every = np.arange(num_slots * size)
    where = jnp.int32(every // size), jnp.int32(every % size)
    trees = with_weights(empty_trees(num_slots, size), *where, jnp.float32(weights.ravel()))
    nothing = jnp.zeros((num_slots, size))
    kept = jax.vmap(jax.vmap(lambda x: Transition(x, x, x, x > 0, x > 0, x)))(nothing)
    return PrioritisedData(kept, trees, jnp.ones(num_slots))


@pytest.mark.by_default("3-5")
@pytest.mark.parametrize(("num_slots", "size"), [(1, 7), (3, 5), (8, 16)])
def test_draws_are_in_proportion_to_priorities_and_weights_are_the_papers(num_slots, size):
    rng = np.random.default_rng(size)
    weights = rng.random((num_slots, size)) + 0.05
    weights[:, size - 2] = 0.0  # not filled yet
    slot, time, weight = drawn_of(data_of(weights), KEY, (400, 50), jnp.float32(BETA), None)
    counts = np.zeros((num_slots, size))
    np.add.at(counts, (np.asarray(slot), np.asarray(time)), 1)
    expected = weights / weights.sum()
    assert counts[:, size - 2].sum() == 0
    drawn = expected > 0
    assert chisquare(counts[drawn], 20_000 * expected[drawn]).pvalue > 1e-3  # stratified: nearer than by chance
    probability = expected[np.asarray(slot), np.asarray(time)]
    by_paper = ((weights > 0).sum() * probability) ** -BETA
    by_paper /= by_paper.max(axis=1, keepdims=True)
    np.testing.assert_allclose(weight, by_paper, rtol=2e-5)


@pytest.mark.full("covered")
def test_a_minibatch_has_one_of_each_equal_part():
    """Of 12 equal priorities 12 draws are all different; one that is as large as all others has half of them."""
    slot, time, _ = drawn_of(data_of(np.ones((3, 4))), KEY, (100, 12), jnp.float32(1.0), None)
    assert all(len(set(places)) == 12 for places in np.asarray(slot * 4 + time))
    weights = np.full((1, 9), 0.125)
    weights[0, 6] = 1.0
    _, time, weight = drawn_of(data_of(weights), KEY, (100, 16), jnp.float32(1.0), None)
    assert ((np.asarray(time) == 6).sum(axis=1) == 8).all()
    np.testing.assert_allclose(np.asarray(weight), np.where(np.asarray(time) == 6, 0.125, 1.0), rtol=1e-6)


def expected_priorities(state: Any, agent: Any, iterations: int) -> np.ndarray:
    """p^alpha of each slot's places, worked out one after the other from what was drawn, in float64."""
    replay, drawn = agent.learns_from, logged(state)
    tags = np.asarray(state.data.buffer.kept.obs)[:, 0, 2]
    power = np.zeros((replay.num_envs, replay.slot_capacity))
    largest, rounds = 1.0, replay.gradient_steps
    for i in range(iterations):
        at = i * replay.num_steps % replay.slot_capacity
        power[:, at : at + replay.num_steps] = largest
        told: dict[tuple[int, int], float] = {}
        for obs in drawn.obs[i * rounds : (i + 1) * rounds].reshape(-1, 3):
            place = int(np.argmax(tags == obs[2])), int(obs[0]) % replay.slot_capacity
            error = (abs(np.sin(np.float64(obs[0]))) * agent.error_scale + SMALLEST) ** float(replay.priority_alpha)
            assert power[place] > 0
            told[place] = max(told.get(place, 0.0), error)
        for place, error in told.items():
            power[place] = error
            largest = max(largest, error)
    return power


@pytest.mark.full("covered")
@pytest.mark.parametrize("options", [{}, {"gradient_steps": 3, "batch_size": 5, "num_envs": 3, "capacity": 42}])
def test_priorities_are_the_last_errors_after_three_wraps(options):
    for scale in (0.5, 3.0):
        agent = with_scale(prioritised(**options), scale)
        state, _ = run(agent, 20)
        power = expected_priorities(state, agent, 20)
        np.testing.assert_allclose(leaves(state.data.buffer), power, rtol=2e-4)
        np.testing.assert_allclose(state.data.buffer.trees[:, 1], power.sum(axis=1), rtol=1e-4)
        np.testing.assert_allclose(state.data.buffer.largest, max(1.0, power.max()), rtol=2e-4)


@pytest.mark.parametrize(("size", "largest"), [(0.2, 1.0), (3.0, 9.0)])
def test_the_largest_priority_is_the_largest_that_ever_was(size, largest):
    """New transitions get it: it does not fall where errors do. Of one drawn twice the larger error counts."""
    before, places = data_of(np.full((2, 3), 0.5)), jnp.array([[0, 0, 1]], jnp.int32)
    errors = jnp.array([[-size, 0.5 * size, 0.1]])
    after = with_errors(before, places, jnp.array([[2, 2, 0]], jnp.int32), errors, 2.0, jnp.array(True), None)
    np.testing.assert_allclose(after.largest, largest, rtol=1e-4)
    wanted = [[0.5, 0.5, (size + SMALLEST) ** 2], [(0.1 + SMALLEST) ** 2, 0.5, 0.5]]
    np.testing.assert_allclose(leaves(after), wanted, rtol=1e-4)
    kept = with_errors(before, places, jnp.array([[2, 2, 0]], jnp.int32), errors, 2.0, jnp.array(False), None)
    np.testing.assert_array_equal(kept.trees, before.trees)
    np.testing.assert_array_equal(kept.largest, before.largest)


def with_scale(agent: Any, scale: float) -> Any:
    return type(agent)(agent.learns_from, agent.most, scale)


@pytest.mark.full("covered")
def test_weights_of_an_agents_minibatches_are_the_papers():
    """Of the first round, when all priorities are equal; and of the next, when those drawn have others."""
    agent = prioritised(batch_size=6)
    state, _ = run(agent, 1)
    np.testing.assert_allclose(state.agent["weights"][0], 1.0, rtol=1e-6)
    power = leaves(state.data.buffer).copy()
    power[:, 2:4] = 1.0  # new ones; no error is above 1
    state, _ = run(agent, 2)
    tags = np.asarray(state.data.buffer.kept.obs)[:, 0, 2]
    obs = logged(state).obs[1]
    place = np.argmax(obs[:, 2:] == tags, axis=1), obs[:, 0].astype(int)
    probability = power[place] / power.sum()
    by_paper = (power[power > 0].size * probability) ** -BETA
    np.testing.assert_allclose(state.agent["weights"][1], by_paper / by_paper.max(), rtol=1e-5)


@pytest.mark.full("covered")
def test_nothing_is_learned_and_no_priority_written_before_learning_starts():
    agent = prioritised(learning_starts=24, gradient_steps=2)
    state, said = run(agent, 2)
    assert [int(updates) for *_, updates in said] == [0, 0]
    np.testing.assert_array_equal(leaves(state.data.buffer)[:, :4], 1.0)
    np.testing.assert_array_equal(leaves(state.data.buffer)[:, 4:], 0.0)
    np.testing.assert_array_equal(state.data.buffer.largest, 1.0)
    state, said = run(agent, 3)
    assert int(said[-1][-1]) == 2
    assert (leaves(state.data.buffer)[:, :6] != 1.0).any()


@pytest.mark.full("covered")
def test_beta_may_be_a_schedule_of_the_environment_steps():
    agent = prioritised(priority_beta=Linear(0.0, 1.0, 40))  # 8 steps each round
    state, _ = run(agent, 6)
    flat, _ = run(prioritised(priority_beta=1.0), 6)
    np.testing.assert_array_equal(logged(state).obs, logged(flat).obs)
    for i in range(6):
        beta = min(8 * (i + 1) / 40, 1.0)
        np.testing.assert_allclose(state.agent["weights"][i], flat.agent["weights"][i] ** beta, rtol=1e-4)


@pytest.mark.full("covered")
def test_alpha_zero_draws_uniformly():
    agent = prioritised(most=8, priority_alpha=0.0, batch_size=2000)
    state, _ = run(agent, 8)
    np.testing.assert_array_equal(leaves(state.data.buffer), 1.0)
    np.testing.assert_allclose(state.agent["weights"], 1.0)


def test_several_steps_go_with_priorities():
    """Of two updates in an iteration, each with errors of its own."""
    agent = prioritised(n_step=3, discount=0.9, gradient_steps=2)
    state, _ = run(agent, 12)
    np.testing.assert_allclose(leaves(state.data.buffer), expected_priorities(state, agent, 12), rtol=2e-4)
    drawn = logged(state)
    steps = drawn.next_obs[..., 0] - drawn.obs[..., 0]
    np.testing.assert_allclose(state.agent["discount"][:24], 0.9**steps, rtol=1e-5)
    assert set(steps.ravel().tolist()) == {1.0, 2.0, 3.0}


@pytest.mark.full("more cases")
def test_two_devices_have_each_the_priorities_of_their_own_slots():
    agent = prioritised(batch_size=64, gradient_steps=2)
    state, _ = on_two_devices(agent, 8)
    assert state.data.buffer.trees.shape == (4, 20)
    tags = np.asarray(state.data.buffer.kept.obs)[:, 0, 2]
    np.testing.assert_array_equal(state.data.buffer.trees[:, 1] > 0, True)
    largest = np.asarray(state.data.buffer.largest)
    assert (largest == largest[0]).all()
    for device in range(2):
        obs = np.asarray(state.agent["drawn"].obs[device, :16, :32])
        assert set(obs[..., 2].ravel().tolist()) == set(tags[2 * device : 2 * device + 2].tolist())
    weights = np.asarray(state.agent["weights"][:, :16, :32])
    assert (weights.max(axis=(0, 2)) == 1.0).all()  # of a whole minibatch, over both devices
    assert (weights.max(axis=2) < 1.0).any()
    alone, _ = run(agent, 8)
    for a, b in zip(jax.tree.leaves(state.data.buffer.kept), jax.tree.leaves(alone.data.buffer.kept), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.full("more cases")
def test_two_members_of_a_population_learn_as_each_alone():
    agent, slots, keys = prioritised(most=8, gradient_steps=2), kernel_slots(Life()), jax.random.split(KEY, 2)
    both = jax.vmap(lambda key: begun(agent, slots, key))(keys)
    one = lambda state, i, key: iteration(agent, slots, state, i, key)[0]  # noqa: E731
    step = jax.jit(jax.vmap(one, (0, None, 0)), compiler_options=FAST_COMPILE)
    for i in range(4):
        both = step(both, jnp.int32(i), keys)
    for member in range(2):
        alone, _ = run(agent, 4, slots, keys[member])
        for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a[member], b, rtol=1e-5)


def test_an_agent_that_tells_no_errors_is_refused():
    agent = prioritised()
    plain = type("Plain", (type(agent),), {"update_with_errors": super(type(agent), agent).update_with_errors.__func__})
    with pytest.raises(ConfigError, match=r"^prioritised: got True; Plain does not tell the error of each transition"):
        run(plain(agent.learns_from, 8), 1)


@pytest.mark.full("covered")
def test_a_buffer_without_priorities_has_none():
    state, _ = run(recorder(), 1)
    assert isinstance(state.data.buffer, Transition)
    for alpha in (-1, 1.5, 50):
        with pytest.raises(ConfigError, match=rf"^priority_alpha: got {alpha}; use a number in \[0, 1\]"):
            Replay(priority_alpha=alpha)
    assert [Replay(priority_alpha=alpha).priority_alpha for alpha in (0, 1)] == [0, 1]
    with pytest.raises(ConfigError, match=r"^priority_beta.end: got 2"):
        Replay(priority_beta=Linear(0.4, 2.0, 10))


class Bytes(Life):
    """The same, seen in bytes."""

    @property
    def observation_space(self) -> Box:
        return Box(0, 255, (3,), np.uint8)

    def _at(self, state: Any, ends: Any) -> Timestep:
        return Timestep(state.astype(jnp.uint8), state[0], ends, jnp.array(False))


def test_bytes_stay_bytes():
    env = Bytes()
    agent = DQN(num_envs=2, capacity=8, batch_size=4, n_step=2, prioritised=True)
    replay, slots = agent.learns_from, plain_slots(env)

    def once(key: Any) -> Any:
        first = agent.init(env.spec, key)
        state = TrainState(first, *replay.init(agent, first, slots, key), ())
        return iteration(agent, slots, state, jnp.int32(0), key)[0].data.buffer.kept

    kept = jax.eval_shape(once, KEY)
    assert (kept.obs.dtype, kept.next_obs.dtype, kept.obs.shape) == (jnp.uint8, jnp.uint8, (2, 4, 3))


@pytest.mark.full("covered")
def test_with_64_bits_priorities_and_returns_of_several_steps_have_32():
    env = ks.make("CartPole-v1")
    sizes = {"num_envs": 4, "capacity": 64, "batch_size": 8, "hidden": (4,)}
    agent = ks.make_agent("dqn", prioritised=True, n_step=3, **sizes).for_env(env.spec)
    with jax.enable_x64(True):
        shapes = shapes_of(agent, env, Recording())
    assert {leaf.dtype.name for leaf in jax.tree.leaves((shapes.state, shapes.data))} & {"float64", "int64"} == set()
