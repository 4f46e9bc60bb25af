"""The replay buffer: what is kept, where, what is drawn of it, and when it is learned from."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import refusals
from recorder import END, KEY, LIMIT, Life, begun, iteration, logged, on_two_devices, recorder, run
from scipy.stats import chisquare

from kousoku.collectors.replay import Replay, ReplayData
from kousoku.collectors.rollouts import Rollouts
from kousoku.collectors.slot import kernel_slots, plain_slots
from kousoku.core.timestep import Transition


def check_transitions(made: Transition) -> None:
    """Each leads to its true successor, and says why its episode ended."""
    np.testing.assert_array_equal(made.next_obs, made.obs + np.array([1.0, 1.0, 0.0], np.float32))
    np.testing.assert_array_equal(made.reward, 10.0 * made.next_obs[..., 0])
    np.testing.assert_array_equal(made.terminated, made.action == END)
    np.testing.assert_array_equal(made.truncated, made.next_obs[..., 1] >= LIMIT)
    np.testing.assert_array_equal(made.extras, made.obs[..., 0] + 0.5)


@pytest.mark.full("covered")
@pytest.mark.parametrize("slots", [kernel_slots, plain_slots])
def test_steps_fill_the_buffer_in_their_order(slots):
    state, said = run(recorder(), 3, slots(Life()))
    kept = state.data.buffer
    assert kept.obs.shape == (4, 10, 3)
    np.testing.assert_array_equal(kept.obs[:, :6, 0], np.tile(np.arange(6.0), (4, 1)))
    np.testing.assert_array_equal(kept.obs[:, :6, 2], np.tile(kept.obs[:, :1, 2], (1, 6)))
    assert len(set(kept.obs[:, 0, 2])) == 4
    assert all((leaf[:, 6:] == 0).all() for leaf in jax.tree.leaves(kept))
    check_transitions(jax.tree.map(lambda x: x[:, :6], kept))
    of_each = [np.concatenate([steps.action[:, lane] for steps, _, _ in said]) for lane in range(4)]
    np.testing.assert_array_equal(kept.action[:, :6], of_each)
    assert kept.info is None


@pytest.mark.full("covered")
def test_the_newest_steps_replace_the_oldest():
    state, _ = run(recorder(), 8)  # 16 steps of each, of which 10 are kept
    life = state.data.buffer.obs[:, :, 0]
    np.testing.assert_array_equal(life, np.tile([10, 11, 12, 13, 14, 15, 6, 7, 8, 9], (4, 1)))
    check_transitions(state.data.buffer)
    assert (state.data.buffer.terminated & ~state.data.buffer.truncated).any()
    assert (state.data.buffer.truncated & ~state.data.buffer.terminated).any()


@pytest.mark.by_default("8-6-10")
@pytest.mark.parametrize(("iterations", "first", "filled"), [(3, 0, 6), (5, 0, 10), (8, 6, 10)])
def test_what_is_kept_is_listed_oldest_first_as_it_was_made(iterations, first, filled):
    state, said = run(recorder(), iterations)
    rows = recorder().learns_from.kept_transitions(state.data, iterations)
    assert rows.obs.shape == (4, filled, 3)
    np.testing.assert_array_equal(rows.obs[:, :, 0], np.tile(np.arange(first, first + filled), (4, 1)))
    check_transitions(rows)
    for part in ("obs", "action", "reward"):  # what recorders of steps are told is what is kept
        told = np.concatenate([np.swapaxes(getattr(steps, part), 0, 1) for steps, _, _ in said], axis=1)
        np.testing.assert_array_equal(getattr(rows, part), told[:, -filled:])
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(state.data.buffer))
    assert recorder().learns_from.buffer_use(state.data, iterations) == (4 * filled, 40, size)


@pytest.mark.parametrize(("iterations", "transitions"), [(0, 0), (1, 12), (8, 96), (9, 108), (2**40, 108)])
def test_a_buffer_is_as_full_as_it_was_written_and_has_room_for_whole_iterations(iterations, transitions):
    shapes = ReplayData({"obs": jax.ShapeDtypeStruct((4, 27, 3), jnp.float32)}, None)
    replay = Replay(num_envs=4, num_steps=3, capacity=100)
    assert replay.buffer_use(shapes, iterations) == (transitions, 108, 4 * 27 * 3 * 4)
    assert Rollouts(4, 3).buffer_use(shapes, iterations) is None


def test_what_is_kept_begins_in_the_midst_of_episodes_where_the_oldest_is_gone_or_clocks_began_apart():
    staggered, alike = (
        Replay(num_envs=4, num_steps=2, capacity=40, staggered=is_staggered) for is_staggered in (True, False)
    )
    for iterations, told in ((3, [False, True, True, True]), (5, [False, True, True, True]), (6, [True] * 4)):
        assert staggered.begun_before(iterations, 100).tolist() == told
    assert alike.begun_before(5, 100).tolist() == [False] * 4
    assert alike.begun_before(6, 100).tolist() == [True] * 4
    for limit in (None, 2):  # without a clock, and with one that is no longer than an iteration, all begin at 0
        assert staggered.begun_before(5, limit).tolist() == [False] * 4


@pytest.mark.full("covered")
def test_the_successor_of_a_cut_episode_is_not_the_next_ones_beginning():
    state, _ = run(recorder(), 5)
    ended = (state.data.buffer.terminated | state.data.buffer.truncated)[:, :-1]
    after = state.data.buffer.obs[:, 1:]
    assert ended.sum() > 8
    np.testing.assert_array_equal(after[ended][:, 1], 0.0)
    assert (state.data.buffer.next_obs[:, :-1][ended][:, 1] > 0).all()
    np.testing.assert_array_equal(after[~ended], state.data.buffer.next_obs[:, :-1][~ended])


@pytest.mark.full("covered")
def test_minibatches_are_transitions_that_are_kept():
    agent = recorder(gradient_steps=3, most=24)
    state, said = run(agent, 8)
    drawn = logged(state)
    assert [int(updates) for _, _, updates in said] == [3] * 8
    assert [float(sums["one"]) for _, sums, _ in said] == [3.0] * 8
    check_transitions(drawn)
    lives, tags = drawn.obs[..., 0].reshape(8, -1), set(state.data.buffer.obs[:, 0, 2].tolist())
    for i, life in enumerate(lives):
        made = 2 * (i + 1)
        assert set(life.tolist()) <= set(range(max(0, made - 10), made)), i
        assert life.max() >= made - 2
    assert set(drawn.obs[..., 2].reshape(-1).tolist()) == tags
    np.testing.assert_array_equal(state.agent["steps"], np.repeat(8 * np.arange(1, 9), 3))
    assert len({batch.tobytes() for batch in np.asarray(drawn.obs)}) == 24


@pytest.mark.full("covered")
@pytest.mark.parametrize("iterations", [3, 7])
def test_draws_are_uniform_over_what_is_kept(iterations):
    agent = recorder(batch_size=2000, gradient_steps=4, most=4)
    state, _ = run(agent, iterations)
    obs, tags = np.asarray(state.agent["drawn"].obs), state.data.buffer.obs[:, 0, 2]
    slot = np.argmax(obs[..., 2].reshape(-1, 1) == tags, axis=1)
    kept = min(2 * iterations, 10)
    time = obs[..., 0].reshape(-1).astype(int) % 10
    counts = np.zeros((4, 10), int)
    np.add.at(counts, (slot, time), 1)
    assert counts[:, kept:].sum() == 0
    assert counts.sum() == 8000
    assert chisquare(counts[:, :kept].reshape(-1)).pvalue > 1e-3


@pytest.mark.full("covered")
def test_a_key_gives_the_same_draws_and_another_key_gives_others():
    agent = recorder()
    first, again, other = (run(agent, 3, key=key)[0] for key in (KEY, KEY, jax.random.key(4)))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (first.agent["drawn"].obs[:3] != other.agent["drawn"].obs[:3]).any(axis=(1, 2)).all()


@pytest.mark.full("covered")
@pytest.mark.parametrize(("starts", "updates"), [(0, [2, 2, 2]), (8, [2, 2, 2]), (9, [0, 2, 2]), (24, [0, 0, 2])])
def test_no_update_is_made_before_learning_starts(starts, updates):
    agent = recorder(learning_starts=starts, gradient_steps=2)
    state, said = run(agent, 3)
    assert [int(number) for _, _, number in said] == updates
    assert [float(sums["one"]) for _, sums, _ in said] == updates
    assert int(state.agent["updates"]) == sum(updates)
    assert agent.learns_from.steps_before_learning == 8 * (1 + updates.count(0))


@pytest.mark.full("covered")
def test_two_members_of_a_population_learn_as_each_alone():
    agent, slots = recorder(learning_starts=9, gradient_steps=2), kernel_slots(Life())
    keys = jax.random.split(KEY, 2)
    both = jax.vmap(lambda key: begun(agent, slots, key))(keys)
    step = jax.jit(jax.vmap(lambda state, i, key: iteration(agent, slots, state, i, key)[0], (0, None, 0)))
    for i in range(3):
        both = step(both, jnp.int32(i), keys)
    for member in range(2):
        alone, _ = run(agent, 3, slots, keys[member])
        for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(a[member], b)


def test_capacity_is_rounded_up_to_whole_iterations():
    replay = Replay(num_envs=4, num_steps=3, capacity=25, batch_size=8, gradient_steps=2)
    assert replay.slot_capacity == 9
    assert Replay(num_envs=4, num_steps=3, capacity=24).slot_capacity == 6
    assert replay.samples_held == 36 + 12 + 2 * 8
    assert (replay.iteration_steps, replay.gradient_samples) == (12, 8)
    assert replay.size == ("capacity", "25 transitions")


def test_devices_share_what_is_worth_it():
    """A divisor of the environments and of the minibatch, with at least 64 samples for each device."""
    assert Replay(num_envs=8, batch_size=127).num_devices(4) == 1
    assert Replay(num_envs=8, batch_size=128).num_devices(4) == 2
    assert Replay(num_envs=8, batch_size=256).num_devices(4) == 4
    assert Replay(num_envs=6, batch_size=256).num_devices(4) == 2
    assert Replay(num_envs=3, batch_size=256).num_devices(4) == 1


def test_two_devices_keep_and_draw_each_of_its_own_slots():
    agent = recorder(batch_size=64, gradient_steps=2, most=8)
    state, said = on_two_devices(agent, 4)
    assert [(float(sums["one"]), int(updates)) for sums, updates in said] == [(2.0, 2)] * 4
    alone, _ = run(agent, 4)
    for a, b in zip(
        jax.tree.leaves((state.slots, state.data)), jax.tree.leaves((alone.slots, alone.data)), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    drawn, tags = state.agent["drawn"], np.asarray(alone.data.buffer.obs[:, 0, 2])
    for device in range(2):
        mine = jax.tree.map(lambda x: np.asarray(x[device, :, :32]), drawn)  # noqa: B023
        check_transitions(mine)
        assert set(mine.obs[..., 2].reshape(-1).tolist()) == set(tags[2 * device : 2 * device + 2].tolist())
        assert (np.asarray(drawn.obs[device, :, 32:]) == 0).all()
    lives = np.asarray(drawn.obs[:, :, :32, 0])
    assert (lives[0] != lives[1]).any(axis=1).all()


def test_bad_settings_are_refused_in_one_line():
    cases = {
        "Replay(num_envs=0)": "use a whole number of at least 1",
        "Replay(num_steps=1.5)": "use a whole number of at least 1",
        "Replay(batch_size=-1)": "use a whole number of at least 1",
        "Replay(gradient_steps=0)": "use a whole number of at least 1",
        "Replay(learning_starts=-1)": "use a whole number of at least 0 and at most 2147483647",
        "Replay(learning_starts=2**31)": "use a whole number of at least 0 and at most 2147483647",
        "Replay(capacity='many')": "use a whole number of at least 1",
        "Replay(capacity=100, num_envs=8, num_steps=16)": "one iteration makes 8 x 16 transitions; keep at least those",
    }
    messages = refusals({call: call for call in cases}, "from kousoku.collectors.replay import Replay")
    for call, fix in cases.items():
        name = call.removeprefix("Replay(").split("=")[0]
        assert messages[call].startswith(f"{name}: got "), messages[call]
        assert messages[call].endswith(fix)
