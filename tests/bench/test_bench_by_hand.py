"""The programs by hand do what they are measured for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.envs.classic.cartpole import CartPoleState
from kousoku_bench.by_hand import cartpole_numba, q_learning_c, q_learning_numba

STATES, HEIGHT, WIDTH = 96, 8, 12
MOVES = q_learning_numba.move_table()


def exact():
    """Q*(s, a) = 0.9 ** (steps from the next state to the goal at the top left)."""
    rows, columns = np.divmod(np.arange(STATES), WIDTH)
    return 0.9 ** (rows + columns)[MOVES]


def c_program():
    try:
        return q_learning_c.program()
    except q_learning_c.NoCompiler as reason:
        pytest.skip(str(reason))


def numba_program():
    pytest.importorskip("numba")
    return q_learning_numba.program()


@pytest.fixture(params=[c_program, numba_program], ids=["c", "numba"])
def learn(request):
    return request.param()


def test_the_moves_are_those_of_the_registered_grid():
    model = ks.make("GridWorld-v0").model()
    assert (np.asarray(model.next_state)[1:, :, 0] == MOVES[1:]).all()
    assert np.asarray(model.start).argmax() == q_learning_numba.START
    assert ((np.asarray(model.reward)[1:, :, 0] == 1.0) == (MOVES[1:] == 0)).all()


@pytest.mark.parametrize("agents", [1, 8, 11])
def test_it_learns_the_exact_values(learn, agents):
    q = np.zeros((agents, STATES, 4), np.float32)
    episodes = learn(q, 3_000_000 // agents if agents == 1 else 1_500_000, 1.0, 5)
    assert episodes.shape == (agents,)
    assert (episodes > 1000).all(), "random moves reach the goal"
    assert (q <= exact() + 1e-5).all(), "no value is above the exact one, coming from below"
    np.testing.assert_allclose(q[:, 1:], np.broadcast_to(exact(), q.shape)[:, 1:], atol=1e-3)
    assert (q[:, 0] == 0.0).all(), "nobody acts at the goal"


@pytest.mark.parametrize("agents", [1, 9])
def test_it_walks_a_shortest_way_and_explores_as_often_as_it_should(learn, agents):
    q = np.zeros((agents, STATES, 4), np.float32)
    learn(q, 400_000, 0.1, 3)
    np.testing.assert_allclose(q[:, STATES - 1].max(-1), 0.9**17, atol=2e-3)
    steps = 200_000
    direct = learn(q.copy(), steps, 0.0, 4) / steps
    np.testing.assert_allclose(direct, 1 / 18, rtol=1e-3)
    exploring = steps / learn(q.copy(), steps, 0.1, 4)
    assert ((exploring > 19.3) & (exploring < 20.9)).all(), "one move in twenty leads away from the goal, and costs two"


def test_ties_are_broken_at_random_and_agents_differ(learn):
    """Without values, a greedy agent walks at random: the first goal is found after a time that varies."""
    values = np.zeros((64, STATES, 4), np.float32)
    learn(values, 3000, 0.0, 9)
    assert 32 < (values.max((1, 2)) > 0).sum() <= 64, "most have found it"
    found = {tuple(np.flatnonzero(one.max(-1))) for one in values}
    assert len(found) > 20


def test_other_seeds_are_other_runs(learn):
    runs = [np.zeros((8, STATES, 4), np.float32) for _ in range(3)]
    for q, seed in zip(runs, (1, 1, 2), strict=True):
        learn(q, 20_000, 0.1, seed)
    assert (runs[0] == runs[1]).all()
    assert (runs[0] != runs[2]).any()


def test_without_a_compiler_there_is_a_reason(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(q_learning_c.NoCompiler, match="no C compiler"):
        q_learning_c.compiler()


def cartpole():
    pytest.importorskip("numba")
    return cartpole_numba.program()


def test_cartpole_by_hand_steps_as_ours():
    run, count = cartpole(), 4 * cartpole_numba.BLOCK
    before = np.random.default_rng(0).uniform(-0.15, 0.15, (4, count)).astype(np.float32)
    after = before.copy()
    assert run(after, 1, 7) == 0
    env = ks.make("CartPole-v1")

    def step(state, action):
        return jnp.stack(jax.tree.leaves(env.step(jax.random.key(0), CartPoleState(*state), action)[0]))

    both = np.stack([jax.vmap(step, (1, None), 1)(jnp.asarray(before), jnp.int32(a)) for a in (0, 1)])
    errors = np.abs(both - after).max(1)
    assert errors.min(0).max() < 1e-5, "every state is what one of the actions leads to"
    assert 0.4 < (errors.argmin(0) == 1).mean() < 0.6, "and both are taken"


def test_cartpole_by_hand_starts_again_at_random():
    run, count = cartpole(), 16 * cartpole_numba.BLOCK
    states = np.zeros((4, count), np.float32)
    states[0] = 3.0
    assert run(states, 1, 1) == count, "all have left the track"
    assert np.abs(states).max() <= 0.05
    assert np.abs(states.mean(1)).max() < 0.003
    np.testing.assert_allclose(states.std(1), 0.1 / 12**0.5, rtol=0.05)
    assert len(np.unique(states)) > 0.99 * states.size, "each of them is fresh"
    length = count * 2000 / run(states, 2000, 2)
    assert 21.5 < length < 23.0, "of an episode under random actions"
