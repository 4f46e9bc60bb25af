"""Bsuite's core: recorded episodes of the package, exact models, pictures, and what is refused.

`data/bsuite.json` was made by `tests/support/bsuite_recording.py` with bsuite 0.3.6; `test_bsuite_peers.py` compares
with the package itself.
"""

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite_recording import GOLDEN
from bsuite_replay import check

import kousoku as ks
from kousoku.agents.planning.value_iteration import value_iteration
from kousoku.core.errors import ConfigError
from kousoku.core.scene import Line
from kousoku.envs.bsuite.catch import CatchState
from kousoku.envs.bsuite.deep_sea import DeepSeaState
from kousoku.envs.classic.cartpole import CartPoleState

RECORDED = json.loads(GOLDEN.read_text())
IDS = [id for id in ks.list_envs() if id.startswith("bsuite/")]


@pytest.mark.reference
@pytest.mark.parametrize("recorded", RECORDED, ids=[f"{case['experiment']} {case['options']}" for case in RECORDED])
def test_episodes_are_those_of_the_package(recorded):
    check(recorded)


def test_every_problem_is_among_the_recordings():
    assert sorted({f"bsuite/{case['experiment']}-v0" for case in RECORDED}) == IDS


OPTIMA = {
    "bsuite/bandit-v0": ({}, 1.0),
    "bsuite/catch-v0": ({"rows": 5}, 1.0),
    "bsuite/deep_sea-v0": ({"size": 6}, 0.99),
    "bsuite/discounting_chain-v0": ({"mapping_seed": 4}, 1.1),
}


@pytest.mark.by_default("bsuite/catch-v0", "bsuite/discounting_chain-v0")
@pytest.mark.parametrize(("id", "case"), OPTIMA.items(), ids=OPTIMA)
def test_planners_find_the_optimum(id, case):
    options, optimum = case
    model = ks.make(id, observation="index", **options).model()
    plan = value_iteration(model, discount=1.0)
    assert float(np.asarray(model.start) @ np.asarray(plan.v)) == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(model.start.sum(), 1.0)


@pytest.mark.contract
@pytest.mark.by_default("bsuite/deep_sea-v0")
@pytest.mark.parametrize("id", OPTIMA)
def test_the_contract_holds_for_numbers_of_states(id):
    """With the model's outcomes among its rules."""
    ks.check_env(ks.make(id, observation="index", **OPTIMA[id][0]), steps=120)


def episode(env: ks.Env, act, seed: int = 0) -> tuple[float, float, int]:
    """Return, regret and length of an episode under a function of the state."""
    reset, step = jax.jit(lambda key: env.reset(key)), jax.jit(lambda *args: env.step(*args))
    key = jax.random.key(seed)
    state, timestep = reset(key)
    total = regret = 0.0
    for i in range(10_000):
        state, timestep = step(jax.random.fold_in(key, i), state, jnp.int32(act(state)))
        total, regret = total + float(timestep.reward), regret + float(timestep.info.regret)
        if timestep.terminated:
            return total, regret, i + 1
    raise AssertionError("the episode does not end")


def test_the_best_and_another_chain():
    """Bsuite counts no regret of chains: the recordings have none."""
    chain = ks.make("bsuite/discounting_chain-v0", mapping_seed=2)
    assert episode(chain, lambda state: 2) == (pytest.approx(1.1), 0.0, 100)
    assert episode(chain, lambda state: 3) == (1.0, pytest.approx(0.1), 100)


@pytest.mark.full("more cases")
def test_the_way_to_the_treasure():
    sea = ks.make("bsuite/deep_sea-v0", size=5)
    total, regret, length = episode(sea, lambda state: sea.action_mapping[state.row, state.column])
    assert (round(total, 6), regret, length) == (0.99, 0.0, 5)
    assert episode(sea, lambda state: 1 - sea.action_mapping[state.row, state.column]) == (0.0, 1.0, 5)


@pytest.mark.full("covered")
def test_the_current_and_the_noise_of_the_stochastic_sea():
    """As often as they say: N(0, 1) in the corner, and 1 of 4 moves to the right fails."""
    sea = ks.make("bsuite/deep_sea_stochastic-v0", size=4, randomize_actions=False)
    start, _ = sea.reset(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 4000)
    moved = jax.jit(jax.vmap(lambda key: sea.step(key, start, jnp.int32(1))[0].column))(keys)
    assert abs(float(moved.mean()) - 0.75) < 0.03
    corner = type(start)(jnp.int32(3), jnp.int32(0), jnp.array(False))
    noise = jax.jit(jax.vmap(lambda key: sea.step(key, corner, jnp.int32(0))[1].reward))(keys)
    assert abs(float(noise.mean())) < 0.06
    assert abs(float(noise.std()) - 1.0) < 0.04


def test_draws_are_fair():
    umbrella = ks.make("bsuite/umbrella_distract-v0", n_distractor=3)
    keys = jax.random.split(jax.random.key(0), 4000)
    state, timestep = jax.jit(jax.vmap(lambda key: umbrella.reset(key)))(keys)
    for drawn in (state.need, state.has, *timestep.obs[:, 0, 3:].T):
        assert abs(float(drawn.mean()) - 0.5) < 0.03
    memory = ks.make("bsuite/memory_size-v0", num_bits=3)
    state, _ = jax.jit(jax.vmap(lambda key: memory.reset(key)))(keys)
    assert abs(float(state.context.mean()) - 0.5) < 0.03
    np.testing.assert_allclose(np.bincount(state.query) / 4000, 1 / 3, atol=0.03)


@pytest.mark.full("learning")
def test_tables_learn_to_catch_in_the_kernel():
    env = ks.make("bsuite/catch-v0", rows=4, columns=3, observation="index")
    run = ks.train("q_learning", env, steps=4000, out="", eval_episodes=20)
    assert run.evaluate(20).returns.mean() == 1.0
    assert run.record.tables["optimal_return"] == pytest.approx(1.0)


def test_pictures():
    sea = ks.make("bsuite/deep_sea-v0", size=3, randomize_actions=False)
    ground = sea.scene(DeepSeaState(jnp.int32(3), jnp.int32(2), jnp.array(False)))
    assert (ground.width, ground.height) == (3.0, 4.0)
    (diver,) = ground.foreground
    assert (diver.x, diver.y) == (2.5, 3.5)  # on the ground, below the treasure
    catch = ks.make("bsuite/catch-v0")
    ball, paddle = catch.scene(CatchState(jnp.int32(4), jnp.int32(0), jnp.int32(2))).foreground
    assert (ball.x, ball.y) == (4.5, 0.5)
    assert 2.0 < paddle.x < 2.1
    assert len(catch.panels()) == 5
    assert catch.panels()[1].states[2][3] == (2 * 5 + 1) * 5 + 3


@pytest.mark.parametrize("x", [-3.0, 0.0, 3.0])
@pytest.mark.parametrize("angle", [0.0, 0.5, 1.5, 3.0, math.pi, -2.0])
@pytest.mark.parametrize(
    "options",
    [
        {"id": "bsuite/cartpole_swingup-v0"},
        {"id": "bsuite/cartpole-v0", "height_threshold": -0.5},
        {"id": "CartPole-v1", "theta_threshold_radians": 2.0, "length": 1.5, "x_threshold": 3.0},
    ],
    ids=lambda options: options["id"],
)
def test_a_pole_that_may_hang_is_all_in_the_picture(options, angle, x):
    env = ks.make(**options)
    body = CartPoleState(*jnp.array([x, 0.0, angle, 0.0], jnp.float32))
    scene = env.scene(body if options["id"] == "CartPole-v1" else env.begin(body)[0])
    (pole,) = (shape for shape in scene.foreground if isinstance(shape, Line))
    for at, end in ((pole.x1, scene.width), (pole.y1, scene.height), (pole.x2, scene.width), (pole.y2, scene.height)):
        assert 0.5 * pole.width <= at <= end - 0.5 * pole.width


@pytest.mark.parametrize("id", ["bsuite/cartpole-v0", "CartPole-v1"])
def test_poles_that_fall_have_no_room_below(id):
    env = ks.make(id)
    state, _ = env.reset(jax.random.key(0))
    scene = env.scene(state)
    assert scene.height == pytest.approx(2.23)
    assert scene.width == pytest.approx(2 * (env.x_threshold + 0.7))


def test_the_clock_of_the_cart_is_bsuites_sum_of_seconds():
    """Sums of 0.01 are not multiples of it: a thousand of them are below 10."""
    for max_time, timescale in ((10.0, 0.01), (0.08, 0.01), (1.0, 0.1), (2.0, 0.3), (0.001, 0.5)):
        seconds, steps = 0.0, 0
        while not seconds > max_time:
            seconds, steps = seconds + timescale, steps + 1
        assert ks.make("bsuite/cartpole-v0", max_time=max_time, timescale=timescale).steps == steps


BAD = {
    "rows: got 1; use a whole number of at least 2": ("catch", {"rows": 1}),
    "columns: got 0": ("catch", {"columns": 0}),
    "observation: got 'pixels'; use one of 'array', 'index'": ("catch", {"observation": "pixels"}),
    "size: got 0": ("deep_sea", {"size": 0}),
    "mapping_seed: got -1": ("deep_sea", {"mapping_seed": -1}),
    "unscaled_move_cost: got nan": ("deep_sea", {"unscaled_move_cost": float("nan")}),
    "mapping_seed: got 4294967296": ("discounting_chain", {"mapping_seed": 2**32}),
    "memory_length: got 0": ("memory_len", {"memory_length": 0}),
    "num_bits: got 1.5": ("memory_size", {"num_bits": 1.5}),
    "n_distractor: got -1": ("umbrella_distract", {"n_distractor": -1}),
    "chain_length: got True": ("umbrella_length", {"chain_length": True}),
    "num_actions: got 0": ("bandit", {"num_actions": 0}),
    "max_steps: got 0": ("mountain_car", {"max_steps": 0}),
    "timescale: got 1e-06; use at least max_time / 16777216": ("cartpole", {"timescale": 1e-6, "max_time": 100.0}),
    "max_time: got 0": ("cartpole_swingup", {"max_time": 0}),
    "did you mean 'size'": ("deep_sea", {"sise": 3}),
}


@pytest.mark.parametrize(("line", "case"), BAD.items(), ids=range(len(BAD)))
def test_a_bad_option_is_answered_by_one_line(line, case):
    with pytest.raises(ConfigError, match=line) as raised:
        ks.make(f"bsuite/{case[0]}-v0", **case[1])
    assert "\n" not in str(raised.value)


def test_noise_has_no_table():
    with pytest.raises(ConfigError, match="no table holds rewards with normal noise"):
        ks.make("bsuite/deep_sea_stochastic-v0").model()
