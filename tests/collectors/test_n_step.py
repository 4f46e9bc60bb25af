"""Transitions of several steps against sums over the steps as they were made, in float64."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE
from fresh_process import refusals
from recorder import END, KEY, Life, begun, iteration, logged, on_two_devices, recorder, run

from kousoku.collectors.n_step import n_step_transition
from kousoku.collectors.slot import kernel_slots
from kousoku.core.errors import ConfigError
from kousoku.core.timestep import Transition
from kousoku.ops.returns import n_step_return

DISCOUNT, LIMIT = 0.9, 6
KEPT = 10  # steps of each environment
WRAPS = 17  # iterations of two steps: the ring begins anew three times


def several(n: int, **options: Any) -> Any:
    return recorder(**{"most": 64, "n_step": n, "discount": DISCOUNT, **options})


def lives(said: list[Any]) -> dict[float, dict[str, np.ndarray]]:
    """Every step that each environment made, by its number, as it was told when it was made."""
    obs, action, reward = (
        np.concatenate([getattr(steps, name) for steps, *_ in said]) for name in ("obs", "action", "reward")
    )
    return {
        float(obs[0, b, 2]): {"obs": obs[:, b], "action": action[:, b], "reward": reward[:, b].astype(np.float64)}
        for b in range(obs.shape[1])
    }


def check_against_sums(drawn: Transition, discounts: Any, life: dict[str, np.ndarray], made: int, n: int) -> set[int]:
    """Compares the transitions of one environment, drawn when it had made so many steps; returns their lengths."""
    lengths = set()
    for i, start in enumerate(drawn.obs[:, 0].astype(int)):
        assert made - KEPT <= start < made
        total, m, ended = 0.0, 0, False
        while m < n and start + m < made and not ended:
            t = start + m
            total += DISCOUNT**m * life["reward"][t]
            m += 1
            terminated, truncated = life["action"][t] == END, life["obs"][t, 1] + 1 >= LIMIT
            ended = terminated or truncated
        np.testing.assert_array_equal(drawn.obs[i], life["obs"][start])
        assert drawn.action[i] == life["action"][start]
        assert drawn.extras[i] == start + 0.5
        np.testing.assert_array_equal(drawn.next_obs[i], life["obs"][start + m - 1] + np.float32([1.0, 1.0, 0.0]))
        assert (bool(drawn.terminated[i]), bool(drawn.truncated[i])) == (terminated, truncated)
        assert drawn.next_obs[i, 1] == drawn.obs[i, 1] + m  # of one episode, and consecutive
        np.testing.assert_allclose(drawn.reward[i], total, rtol=1e-6)
        np.testing.assert_allclose(discounts[i], DISCOUNT**m, rtol=1e-6)
        lengths.add(m)
    return lengths


def check_draws(drawn: Transition, discounts: Any, said: list[Any], n: int) -> set[int]:
    """Compares every minibatch; there is one an iteration."""
    lengths = set()
    for i in range(len(said)):
        for tag, life in lives(said).items():
            mine = drawn.obs[i, :, 2] == np.float32(tag)
            one = jax.tree.map(lambda x: x[i][mine], drawn)  # noqa: B023
            lengths |= check_against_sums(one, discounts[i][mine], life, 2 * (i + 1), n)
    return lengths


@pytest.mark.full("covered")
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_rewards_are_added_up_within_an_episode_and_within_the_ring(n):
    state, said = run(several(n, batch_size=64), WRAPS, kernel_slots(Life(LIMIT)))
    drawn = logged(state)
    lengths = check_draws(drawn, state.agent["discount"], said, n)
    assert lengths == set(range(1, min(n, LIMIT) + 1))
    ends = {(bool(a), bool(b)) for a, b in zip(drawn.terminated.ravel(), drawn.truncated.ravel(), strict=True)}
    assert ends == {(False, False), (True, False), (False, True), (True, True)} or n < LIMIT
    assert {(False, False), (True, False), (False, True)} <= ends


@pytest.mark.full("larger")
def test_every_shape_of_ring_is_right():
    for num_envs, num_steps, n in ((1, 1, 4), (3, 1, 2), (2, 5, 7), (5, 10, 10)):
        sizes = {"num_envs": num_envs, "num_steps": num_steps, "capacity": 10 * num_envs, "batch_size": 60}
        state, said = run(several(n, **sizes), 33, kernel_slots(Life(LIMIT)))
        for i in range(33):
            for tag, life in lives(said).items():
                mine = logged(state).obs[i, :, 2] == np.float32(tag)
                one = jax.tree.map(lambda x: x[i][mine], logged(state))  # noqa: B023
                check_against_sums(one, state.agent["discount"][i][mine], life, num_steps * (i + 1), n)


def test_windows_end_with_the_episode_and_with_the_newest_step_of_the_ring():
    """Every start in rings of seven steps, whose newest lies anywhere; observations are numbers of the steps made."""
    size, n, made = 7, 4, np.arange(20, 27)
    rng = np.random.default_rng(0)
    reward = rng.normal(size=(2, size)).astype(np.float32)
    over, cut = rng.random((2, 2, size)) < 0.2

    def of_one(kept, slot, time, newest):
        return n_step_transition(kept, slot, time, newest, n, 0.9)

    window = jax.jit(jax.vmap(of_one, (None, 0, 0, None)))
    slots, times = (x.ravel() for x in np.meshgrid(np.int32([0, 1]), np.arange(size, dtype=np.int32)))
    for newest in (0, 3, 6):
        lies = (newest + 1 + np.arange(size)) % size  # where the oldest lies, and so on
        step = np.empty((2, size), np.float32)
        step[:, lies] = made + np.float32([[0.0], [100.0]])
        columns = map(jnp.asarray, (step, step, reward, over, cut, step + 0.5, -step))
        kept = jax.vmap(jax.vmap(lambda *x: Transition(*x[:6], None, x[6])))(*columns)
        found, discounts = window(kept, slots, times, jnp.int32(newest))
        for i, (slot, time) in enumerate(zip(slots, times, strict=True)):
            at, total, m, ended = time, 0.0, 0, False
            while m < n and not ended:
                total, m, last = total + 0.9**m * float(reward[slot, at]), m + 1, at
                ended = over[slot, at] or cut[slot, at] or at == newest
                at = (at + 1) % size
            np.testing.assert_allclose([found.reward[i], discounts[i]], [total, 0.9**m], rtol=1e-5)
            begins, ends = step[slot, time], step[slot, last]
            assert [found.obs[i], found.action[i], found.extras[i]] == [begins, begins, -begins]
            assert [found.terminated[i], found.truncated[i]] == [over[slot, last], cut[slot, last]]
            assert found.next_obs[i] == ends + 0.5
            assert ends == begins + m - 1


@pytest.mark.full("covered")
def test_the_same_steps_are_drawn_as_those_of_one_step():
    one, three = (run(agent, 7)[0] for agent in (recorder(), several(3, most=8)))
    np.testing.assert_array_equal(logged(one).obs, logged(three).obs)
    for a, b in zip(jax.tree.leaves(one.data), jax.tree.leaves(three.data), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (one.agent["discount"][:7] == 0.75).all()


def test_one_step_is_what_it_was_with_a_discount_or_without():
    without, given = (run(agent, 3)[0] for agent in (recorder(), several(1, most=8)))
    for a, b in zip(jax.tree.leaves(without), jax.tree.leaves(given), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.full("more cases")
def test_two_devices_add_up_each_its_own_slots():
    agent = several(4, batch_size=64)
    state, _ = on_two_devices(agent, WRAPS, Life(LIMIT))
    _, said = run(agent, WRAPS, kernel_slots(Life(LIMIT)))
    for device in range(2):
        drawn = jax.tree.map(lambda x: x[device, :, :32], state.agent["drawn"])  # noqa: B023
        assert check_draws(drawn, state.agent["discount"][device, :, :32], said, 4) == {1, 2, 3, 4}
        assert len(set(drawn.obs[:WRAPS, :, 2].ravel().tolist())) == 2


@pytest.mark.full("covered")
def test_members_may_have_discounts_of_their_own():
    slots, keys = kernel_slots(Life(LIMIT)), jax.random.split(KEY, 2)

    def with_discount(discount: Any) -> Any:
        return eqx.tree_at(lambda agent: agent.learns_from.discount, several(3), discount)

    both = jax.vmap(lambda key: begun(several(3), slots, key))(keys)
    one = lambda d, state, i, key: iteration(with_discount(d), slots, state, i, key)[0]  # noqa: E731
    step = jax.jit(jax.vmap(one, (0, 0, None, 0)), compiler_options=FAST_COMPILE)
    for i in range(4):
        both = step(jnp.array([0.5, 0.9]), both, jnp.int32(i), keys)
    for member, discount in enumerate((0.5, 0.9)):
        alone, _ = run(with_discount(discount), 4, slots, keys[member])
        for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a[member], b, rtol=1e-6)
    assert (np.asarray(both.agent["discount"][0]) < np.asarray(both.agent["discount"][1])).any()


@pytest.mark.by_default("7")
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_sum_of_rewards_against_float64(n):
    rng = np.random.default_rng(n)
    reward, ended = rng.normal(size=(500, n)), rng.random((500, n)) < 0.3
    kept = rng.integers(1, n + 1, 500)
    found = jax.vmap(n_step_return, (0, 0, 0, None))(jnp.float32(reward), jnp.array(ended), jnp.int32(kept), 0.97)
    for i in range(500):
        m = min([*(np.flatnonzero(ended[i]) + 1), kept[i], n])
        total = sum(0.97**k * reward[i, k] for k in range(m))
        assert int(found[2][i]) == m
        np.testing.assert_allclose([found[0][i], found[1][i]], [total, 0.97**m], rtol=1e-5, atol=1e-6)


def test_what_lies_behind_the_end_may_be_anything():
    reward, ended = jnp.array([1.0, jnp.nan]), jnp.array([True, False])
    assert [float(x) for x in n_step_return(reward, ended, jnp.int32(2), 0.5)] == [1.0, 0.5, 1.0]


def test_bad_settings_are_refused_in_one_line():
    cases = {
        "Replay(n_step=0)": "n_step: got 0; use a whole number of at least 1",
        "Replay(n_step=1.5)": "n_step: got 1.5; use a whole number of at least 1",
        "Replay(discount=1.5)": "discount: got 1.5; use a number in [0, 1]",
        "Replay(num_envs=4, capacity=40, n_step=11)": "n_step: got 11; each of the 4 environments keeps 10 steps; use "
        "at most those",
    }
    messages = refusals({call: call for call in cases}, "from kousoku.collectors.replay import Replay")
    assert messages == cases


def test_several_steps_need_the_agents_discount():
    with pytest.raises(ConfigError, match=r"^discount: got None; give the agent's to Replay, by which 3 rewards are"):
        run(recorder(n_step=3), 1)


def test_what_an_iteration_holds_beside_the_buffer_grows_with_the_steps():
    for n, of_steps in ((3, {(5, 16, 3)}), (1, set())):
        replay = several(n, gradient_steps=5).learns_from
        kept = jax.eval_shape(lambda: begun(several(n, gradient_steps=5), kernel_slots(Life())).data)  # noqa: B023
        drawn, steps = replay.temporaries(None, kept)
        assert {shape.shape for shape in steps} == of_steps
        assert drawn.reward.shape == (5, 16)
        assert [x.dtype for x in jax.tree.leaves(drawn)] == [x.dtype for x in jax.tree.leaves(kept.buffer)]
