"""Robots' environments: bad input, lanes that blow up, lanes that differ, keys, pictures."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from diverging import check_only_these_blew_up
from locomotion import SMALL, errors, ours, play, theirs

import kousoku as ks
from kousoku.collectors.slot import advance, begin
from kousoku.core.errors import ConfigError
from kousoku.core.scene3d import Drawable3d
from kousoku.envs.locomotion import RobotState, files
from kousoku.envs.locomotion.ant import Ant
from kousoku.envs.locomotion.cartpole_swing_up import CartPoleSwingUp
from kousoku.envs.locomotion.random_ant import random_ant
from kousoku.physics import State

IDS = [
    "Ant-v5", "CartPoleSwingUp-v0", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "HumanoidStandup-v5",
    "InvertedDoublePendulum-v5", "InvertedPendulum-v5", "Pusher-v5", "RandomAnt-v0", "Reacher-v5", "Swimmer-v5",
    "Walker2d-v5",
]  # fmt: skip
PENDULUM = "InvertedPendulum-v5"
KEY = jax.random.key(0)


# ---- what is observed


@pytest.mark.parametrize(
    ("without", "size"),
    [
        ((), 348),
        (("cinert", "cfrc_ext"), 348 - 13 * (10 + 6)),
        (("cvel", "qfrc_actuator"), 348 - 13 * 6 - 17),
        (("cinert", "cvel", "qfrc_actuator", "cfrc_ext"), 22 + 23),
    ],
)
def test_a_humanoids_observation_has_the_parts_that_are_wanted(without: tuple[str, ...], size: int) -> None:
    """Of 13 bodies, 17 joints, 24 positions, of which the first two are left out, and 23 velocities."""
    env = ks.make("Humanoid-v5", **{f"include_{part}_in_observation": False for part in without})
    assert env.observation_space.shape == (size,)


# ---- bad input


@pytest.mark.parametrize(
    ("id", "options", "field"),
    [
        ("Ant-v5", {"xml_file": "spider.xml"}, "xml_file"),
        ("Ant-v5", {"xml_file": "./ant.xml"}, "xml_file"),
        ("Ant-v5", {"xml_file": "robots/ant.xml"}, "xml_file"),
        ("Ant-v5", {"xml_file": 3}, "xml_file"),
        ("Ant-v5", {"xml_file": ""}, "xml_file"),
        ("Ant-v5", {"main_body": "torsoo"}, "main_body"),
        ("Ant-v5", {"main_body": 14}, "main_body"),
        ("Ant-v5", {"healthy_z_range": (1.0, 0.2)}, r"healthy_z_range\[1\]"),
        ("Ant-v5", {"healthy_z_range": (math.nan, 0.2)}, r"healthy_z_range\[0\]"),
        ("Ant-v5", {"healthy_z_range": 0.2}, "healthy_z_range"),
        ("Ant-v5", {"healthy_z_range": (0.2, 0.3, 0.4)}, "healthy_z_range"),
        ("Ant-v5", {"terminate_when_unhealthy": "no"}, "terminate_when_unhealthy"),
        ("Ant-v5", {"weight": 1.0}, "option of Ant-v5"),
        ("Hopper-v5", {"frame_skip": 0}, "frame_skip"),
        ("Hopper-v5", {"frame_skip": 1.5}, "frame_skip"),
        ("Hopper-v5", {"ctrl_cost_weight": "much"}, "ctrl_cost_weight"),
        ("Hopper-v5", {"reset_noise_scale": -0.1}, "reset_noise_scale"),
        ("Hopper-v5", {"time_limit": 0}, "time_limit"),
        ("InvertedDoublePendulum-v5", {"xml_file": "hopper.xml"}, "nsite"),
        ("HumanoidStandup-v5", {"xml_file": "inverted_pendulum.xml"}, "nq"),
        ("CartPoleSwingUp-v0", {"xml_file": "hopper.xml"}, "nq"),
        ("RandomAnt-v0", {"mass_range": (-1.0, 1.0)}, r"mass_range\[0\]"),
    ],
)
def test_bad_options_are_refused(id: str, options: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: got "):
        ks.make(id, **options)


def test_without_gymnasium_its_files_are_missed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install gymnasium"):
        ks.make("Ant-v5")
    assert ks.make("CartPoleSwingUp-v0").model.nv == 2


@pytest.mark.by_default("a2c")
@pytest.mark.parametrize("agent", ["ppo", "a2c"])
def test_a_robot_without_actuators_is_nothing_to_learn(agent: str) -> None:
    text = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    with pytest.raises(ConfigError, match=r"action space: got Box\(.*\); it has no numbers"):
        ks.train(agent, ks.make("HalfCheetah-v5", xml_file=text), steps=10**6, out="")


def test_an_action_of_another_size_is_refused() -> None:
    env = ks.make(PENDULUM)
    state, _ = env.reset(KEY)
    with pytest.raises(TypeError, match="reshape"):
        env.step(KEY, state, jnp.zeros((2,), jnp.float32))


# ---- lanes that blow up


def states_of(qpos: np.ndarray, qvel: np.ndarray) -> RobotState:
    def one(qpos: Any, qvel: Any) -> RobotState:
        return RobotState(State(qpos, qvel, jnp.zeros((0,), jnp.float32), jnp.zeros((2,), jnp.float32)), None, {})

    return jax.vmap(one)(jnp.asarray(qpos, jnp.float32), jnp.asarray(qvel, jnp.float32))


@pytest.mark.full("covered")
def test_lanes_that_blow_up_are_terminated_and_the_others_keep_their_bits() -> None:
    env, rng = ks.make(PENDULUM), np.random.default_rng(0)
    qpos, qvel, actions = (rng.uniform(-0.05, 0.05, (40, n)) for n in (2, 2, 1))
    step = jax.jit(jax.vmap(lambda s, a: env.step(KEY, s, a)))
    good = step(states_of(qpos, qvel), jnp.asarray(actions, jnp.float32))
    qpos[3, 1], qvel[17, 0], qvel[18, 1] = math.nan, math.inf, -3e10
    actions[21], actions[33] = math.nan, math.inf
    bad = np.isin(np.arange(40), [3, 17, 18, 21, 33])
    before = states_of(qpos, qvel)
    taken = step(before, jnp.asarray(actions, jnp.float32))
    check_only_these_blew_up(bad, before, taken, good)
    assert not np.asarray(taken[1].info.reward_survive[bad]).any()


def test_a_lane_that_blows_up_begins_again() -> None:
    text = SMALL.replace('joint="left_hip" gear="40"', 'joint="left_hip" gear="1e14"')
    env = Ant(xml_file=text, frame_skip=1, healthy_z_range=(0.0, 3.0))
    lanes = jax.vmap(lambda key: begin(env, key))(jax.random.split(KEY, 4))
    actions = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.1], [-0.7, 0.0]], jnp.float32)
    step = jax.jit(jax.vmap(ks.kernel(lambda lane, action, key: advance(env, lane, action, key))))
    after, transition, end = step(lanes, actions, jax.random.split(jax.random.key(1), 4))
    np.testing.assert_array_equal(transition.info.diverged, [False, True, False, True])
    np.testing.assert_array_equal(end.ended, [False, True, False, True])
    np.testing.assert_array_equal(after.episode_step, [1, 0, 1, 0])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((after.obs, after.env_state, transition)))
    assert np.asarray(after.obs[1]).any()


# ---- lanes that differ


@pytest.mark.full("covered")
def test_numbers_of_the_task_may_differ_from_lane_to_lane() -> None:
    def reward(bonus: Any) -> Any:
        env = ks.make("InvertedDoublePendulum-v5", healthy_reward=bonus)
        state, _ = env.reset(KEY)
        return env.step(KEY, state, jnp.zeros((1,), jnp.float32))[1].info.reward_survive

    np.testing.assert_allclose(jax.vmap(reward)(jnp.array([1.0, 10.0, 25.0])), [1.0, 10.0, 25.0])


@pytest.mark.full("covered")
def test_random_ants_differ_from_lane_to_lane_and_from_episode_to_episode() -> None:
    env = random_ant((0.5, 2.0), (0.1, 0.9), (0.7, 1.3), Ant(xml_file=SMALL))
    states, _ = jax.vmap(env.reset)(jax.random.split(KEY, 500))
    model = env.model
    for name, (low, high) in {
        "body_mass": (0.5, 2.0),
        "geom_friction": (0.1, 0.9),
        "actuator_gear": (0.7, 1.3),
    }.items():
        usual, drawn = getattr(model, name), np.asarray(states.numbers[name])
        share = (drawn / np.where(usual == 0.0, 1.0, usual))[:, usual != 0.0]
        assert (low <= share + 1e-6).all()
        assert (share - 1e-6 <= high).all()
        assert np.ptp(share, axis=0).min() > 0.9 * (high - low)
        assert len(np.unique(share[:, 0])) > 450
    gears = states.numbers["actuator_gear"][:, :, 0]
    assert abs(np.corrcoef(gears[:, 0], gears[:, 1])[0, 1]) < 0.2
    mass, inertia = states.numbers["body_mass"][:, 1], states.numbers["body_inertia"][:, 1, 0]
    np.testing.assert_allclose(inertia / mass, model.body_inertia[1, 0] / model.body_mass[1], rtol=1e-5)


@pytest.mark.full("larger")
def test_a_random_ant_moves_as_the_model_with_its_numbers(tmp_path: Any) -> None:
    path = tmp_path / "small.xml"
    path.write_text(SMALL)
    with jax.enable_x64(True):
        ant = Ant(xml_file=SMALL, frame_skip=2)
        env = random_ant((0.5, 2.0), (0.3, 0.9), (0.7, 1.3), ant)
        drawn = env.reset(jax.random.key(3))[0].numbers
        reference = theirs("Ant-v5", xml_file=str(path), frame_skip=2)
        for name, values in drawn.items():
            getattr(reference.model, name)[:] = np.asarray(values, np.float64)
        reference.model.body_subtreemass[:] *= float(drawn["body_mass"][1]) / env.model.body_mass[1]
        steps = play("Ant-v5", reference, 60, 0)
        numbers = {name: values.astype(jnp.float64) for name, values in drawn.items()}
        found = errors(ours(env, steps, jnp.float64, numbers), steps)
        assert max(float(error.max()) for error in found.values()) < 1e-7
        plain = errors(ours(ant, steps, jnp.float64), steps)
        assert float(plain["obs"].max()) > 1e-2


# ---- cart-pole


def test_the_pole_hangs_at_first_and_is_worth_most_upright_in_the_middle() -> None:
    env = CartPoleSwingUp()
    state, timestep = env.reset(KEY)
    assert timestep.obs.shape == (5,)
    assert float(timestep.obs[1]) < -0.999
    still, force = jnp.zeros((2,), jnp.float32), jnp.zeros((1,), jnp.float32)
    for x, angle, reward in ((0.0, 0.0, 1.0), (1.0, 0.0, math.exp(-1.0)), (0.0, math.pi, 0.0), (0.0, 1.0, 0.77)):
        physics = State(jnp.array([x, angle], jnp.float32), still, state.physics.act, still)
        _, timestep = env.step(KEY, RobotState(physics, None, {}), force)
        assert abs(float(timestep.reward) - reward) < 0.02
        assert not timestep.terminated


@pytest.mark.full("covered")
def test_the_reward_has_a_derivative() -> None:
    env = CartPoleSwingUp()
    with jax.enable_x64(True):
        state = RobotState(
            State(jnp.array([0.3, 0.4]), jnp.array([0.1, -1.0]), jnp.zeros((0,)), jnp.zeros((2,))), None, {}
        )

        def reward(push: Any) -> Any:
            return env.step(KEY, state, push[None])[1].reward

        slope = (reward(jnp.float64(0.5001)) - reward(jnp.float64(0.4999))) / 2e-4
        np.testing.assert_allclose(jax.grad(reward)(jnp.float64(0.5)), slope, rtol=1e-6)


# ---- keys


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", IDS)
def test_a_start_uses_each_key_once(id: str) -> None:
    env = ks.make(id)
    with jax.debug_key_reuse(True), jax.disable_jit():
        start = env.start(jax.random.key(7))
    assert start.qpos.dtype == start.qvel.dtype == jnp.float32
    assert (start.qpos.shape, start.qvel.shape) == ((env.model.nq,), (env.model.nv,))


# ---- pictures


@pytest.mark.by_default("Reacher-v5")
@pytest.mark.parametrize("id", IDS)
def test_a_robot_has_pictures(id: str) -> None:
    env = ks.make(id)
    assert isinstance(env, Drawable3d)
    start = env.start(KEY)
    qvel = start.qvel
    state = RobotState(State(start.qpos, qvel, jnp.zeros((0,), jnp.float32), jnp.zeros_like(qvel)), None, {})
    positions, quaternions = env.poses(state)
    assert positions.shape == (env.model.nbody - 1, 3)
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, atol=1e-5)
    assert any(geom.kind != "plane" for geom in env.body3d().geoms)
    assert set(env.readings(state))


def test_a_robot_is_a_value() -> None:
    one, other = ks.make("Hopper-v5"), ks.make("Hopper-v5")
    assert eqx.tree_equal(one, other)
    assert ks.make("Hopper-v5", frame_skip=2).dt == 0.004
