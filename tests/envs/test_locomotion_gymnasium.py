"""The robots against Gymnasium's own steps, from the same state with the same action.

Gymnasium's simulator plays; each of its states goes into ours, which takes the same action. Observations, rewards, the
rewards' terms and flags are compared, in float64 to 1e-9: what is a little older than positions and velocities in
MuJoCo (places of bodies, inertia, contact forces) is as old here. Newton's method is asked for where a file asks for
another solver. What takes long to compile runs in the full tests; a small robot stands for ants and humanoids here.
"""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from locomotion import SMALL as SMALL_ROBOT
from locomotion import errors, ours, play, theirs
from scipy import stats

import kousoku as ks
from kousoku.envs.locomotion.files import located

pytestmark = pytest.mark.reference

SMALL = ("InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5", "Swimmer-v5", "Hopper-v5")
LARGE = ("HalfCheetah-v5", "Walker2d-v5", "Pusher-v5", "Ant-v5", "Humanoid-v5", "HumanoidStandup-v5")
IDS = (*SMALL, *LARGE)
LOOKED_AT = ("InvertedDoublePendulum-v5", "Reacher-v5", "Hopper-v5", "Pusher-v5", "Ant-v5", "Humanoid-v5")
ENDING = {"InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5"}
EXACT, SINGLE = 1e-9, 1e-3
DRAWING = {"default_camera_config", "kwargs"}

OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("InvertedPendulum-v5", {"frame_skip": 3}),
    ("InvertedDoublePendulum-v5", {"healthy_reward": 3.0, "frame_skip": 1}),
    ("Reacher-v5", {"reward_dist_weight": 2.0, "reward_control_weight": 0.3, "frame_skip": 1}),
    (
        "Swimmer-v5",
        {"exclude_current_positions_from_observation": False, "forward_reward_weight": 0.7, "ctrl_cost_weight": 0.2},
    ),
]
LARGE_OTHERS: list[tuple[str, dict[str, Any]]] = [
    (
        "Hopper-v5",
        {
            "exclude_current_positions_from_observation": False,
            "healthy_state_range": (-5.0, 5.0),
            "healthy_z_range": (0.9, 1.4),
            "healthy_angle_range": (-0.1, 0.3),
            "healthy_reward": 0.5,
        },
    ),
    ("Hopper-v5", {"terminate_when_unhealthy": False, "frame_skip": 1, "ctrl_cost_weight": 0.5}),
    ("HalfCheetah-v5", {"exclude_current_positions_from_observation": False, "ctrl_cost_weight": 0.7, "frame_skip": 1}),
    ("Walker2d-v5", {"healthy_z_range": (1.0, 1.3), "healthy_angle_range": (-0.3, 0.2), "healthy_reward": 2.0}),
    ("Walker2d-v5", {"terminate_when_unhealthy": False, "exclude_current_positions_from_observation": False}),
    ("Pusher-v5", {"reward_near_weight": 2.0, "reward_dist_weight": 0.3, "reward_control_weight": 0.7}),
    ("Ant-v5", {"main_body": "aux_1", "contact_force_range": (-20.0, 30.0), "contact_cost_weight": 0.1}),
    (
        "Ant-v5",
        {
            "include_cfrc_ext_in_observation": False,
            "exclude_current_positions_from_observation": False,
            "terminate_when_unhealthy": False,
            "healthy_z_range": (0.5, 0.8),
            "frame_skip": 1,
        },
    ),
    (
        "Humanoid-v5",
        {"include_cinert_in_observation": False, "contact_cost_range": (0.2, 0.5), "contact_cost_weight": 1e-3},
    ),
    ("HumanoidStandup-v5", {"include_qfrc_actuator_in_observation": False, "include_cvel_in_observation": False}),
]


def check(id: str, count: int, seed: int, dtype: Any, tolerance: float, **options: Any) -> None:
    steps = play(id, theirs(id, **options), count, seed)
    timesteps = ours(ks.make(id, **options), steps, dtype)
    assert timesteps.obs.dtype == timesteps.reward.dtype == dtype
    found = errors(timesteps, steps)
    worst = {name: float(error.max()) for name, error in found.items()}
    assert max(worst.values()) <= tolerance, worst
    ended = np.array([step.terminated for step in steps])
    close = np.zeros(len(ended), bool) if dtype == jnp.float64 else found["obs"] > 1e-5
    np.testing.assert_array_equal(np.asarray(timesteps.terminated)[~close], ended[~close])
    assert set(np.unique(ended)) <= ({False, True} if id in ENDING else {False})
    assert not np.asarray(timesteps.info.diverged).any()


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", SMALL)
def test_a_step(id: str) -> None:
    with jax.enable_x64(True):
        check(id, 300, 0, jnp.float64, EXACT)


@pytest.mark.full("larger")
@pytest.mark.parametrize("id", LARGE)
def test_a_step_of_a_large_one(id: str) -> None:
    with jax.enable_x64(True):
        check(id, 300, 0, jnp.float64, EXACT)


@pytest.mark.full("larger")
@pytest.mark.parametrize("id", IDS)
def test_ten_thousand_steps(id: str) -> None:
    with jax.enable_x64(True):
        check(id, 10_000, 1, jnp.float64, 1e-6)


@pytest.mark.by_default("InvertedDoublePendulum-v5-options1", "Reacher-v5-options2", "Swimmer-v5-options3")
@pytest.mark.parametrize(("id", "options"), OTHERS)
def test_a_step_with(id: str, options: dict[str, Any]) -> None:
    with jax.enable_x64(True):
        check(id, 100, 2, jnp.float64, EXACT, **options)


@pytest.mark.full("larger")
@pytest.mark.parametrize(("id", "options"), LARGE_OTHERS)
def test_a_step_of_a_large_one_with(id: str, options: dict[str, Any]) -> None:
    with jax.enable_x64(True):
        check(id, 100, 2, jnp.float64, EXACT, **options)


@pytest.mark.full("more cases")
@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("Ant-v5", {}),
        ("Ant-v5", {"main_body": "left", "contact_force_range": (-20.0, 30.0), "healthy_z_range": (0.3, 0.9)}),
        ("Humanoid-v5", {"contact_cost_weight": 1e-4}),
        ("HumanoidStandup-v5", {"impact_cost_weight": 1e-4, "impact_cost_range": (0.1, 1.0)}),
    ],
)
def test_a_step_of_a_small_robot(id: str, options: dict[str, Any], tmp_path: Any) -> None:
    path = tmp_path / "small.xml"
    path.write_text(SMALL_ROBOT)
    with jax.enable_x64(True):
        check(id, 200, 5, jnp.float64, EXACT, xml_file=str(path), frame_skip=2, **options)


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "id", [pytest.param("Swimmer-v5", marks=pytest.mark.full("more cases")), "InvertedDoublePendulum-v5"]
)
def test_a_step_in_single_precision(id: str) -> None:
    check(id, 300, 3, jnp.float32, SINGLE)


@pytest.mark.full("larger")
@pytest.mark.parametrize("id", ["Hopper-v5", "HalfCheetah-v5", "Walker2d-v5", "Pusher-v5", "Ant-v5"])
def test_a_step_of_a_large_one_in_single_precision(id: str) -> None:
    check(id, 300, 3, jnp.float32, SINGLE)


def test_the_states_end_and_go_on() -> None:
    for id in ("Hopper-v5", "Walker2d-v5"):
        ended = [step.terminated for step in play(id, theirs(id), 300, 0)]
        assert 30 < sum(ended) < 270
    assert any(step.terminated for step in play("Ant-v5", theirs("Ant-v5"), 300, 0))
    touched = [np.abs(step.info["reward_contact"]) for step in play("Ant-v5", theirs("Ant-v5"), 300, 0)]
    assert np.mean(np.array(touched) > 0.0) > 0.3


# ---- what is known beforehand


@pytest.mark.parametrize("id", IDS)
def test_arguments_spaces_and_limits(id: str) -> None:
    reference = theirs(id)
    given = inspect.signature(type(reference)).parameters
    own = inspect.signature(type(ks.make(id))).parameters
    assert {name: p.default for name, p in given.items() if name not in DRAWING} == {
        name: p.default for name, p in own.items() if name != "time_limit"
    }
    env = ks.make(id)
    assert env.time_limit == gymnasium.spec(id).max_episode_steps
    assert env.observation_space.shape == reference.observation_space.shape
    np.testing.assert_array_equal(np.float32(env.action_space.low), reference.action_space.low)
    np.testing.assert_array_equal(np.float32(env.action_space.high), reference.action_space.high)
    assert env.dt == reference.dt


# ---- first states


def starts(id: str, count: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """First positions and velocities of ours."""
    env = ks.make(id, **options)
    keys = jax.random.split(jax.random.key(5), count)
    start = jax.jit(jax.vmap(env.start))(keys)
    return np.asarray(start.qpos), np.asarray(start.qvel)


@pytest.mark.by_default("InvertedPendulum-v5")
@pytest.mark.parametrize("id", IDS)
def test_first_states_are_distributed_as_gymnasiums(id: str) -> None:
    reference, count = theirs(id), 1000
    found = []
    for seed in range(count):
        reference.reset(seed=seed)
        found.append((reference.data.qpos.copy(), reference.data.qvel.copy()))
    for mine, other in zip(starts(id, 4 * count), zip(*found, strict=True), strict=True):
        for ours_, theirs_ in zip(mine.T, np.stack(other).T, strict=True):
            if np.ptp(theirs_) < 1e-12:
                np.testing.assert_allclose(ours_, theirs_[0], atol=1e-6)
            else:
                assert stats.ks_2samp(ours_, theirs_).pvalue > 1e-5


@pytest.mark.full("covered")
def test_first_states_keep_to_the_reach_and_to_the_distance() -> None:
    target = starts("Reacher-v5", 20_000)[0][:, -2:]
    away = np.hypot(*target.T)
    assert away.max() <= 0.2 * (1 + 1e-6)
    assert stats.kstest((away / 0.2) ** 2, "uniform").pvalue > 1e-4
    cylinder = starts("Pusher-v5", 20_000)[0][:, -4:-2]
    assert np.hypot(*cylinder.T).min() >= 0.17 * (1 - 1e-6)
    assert (cylinder.min(axis=0) >= [-0.3, -0.2]).all()
    assert (cylinder.max(axis=0) <= [0.0, 0.2]).all()


@pytest.mark.full("covered")
def test_noise_has_the_size_that_is_asked_for() -> None:
    qpos, qvel = starts("Hopper-v5", 1000, reset_noise_scale=0.3)
    assert 0.29 < np.abs(qpos - [0.0, 1.25, 0.0, 0.0, 0.0, 0.0]).max() <= 0.3 + 1e-6
    assert 0.29 < np.abs(qvel).max() <= 0.3 + 1e-6
    qpos, qvel = starts("Ant-v5", 1000, reset_noise_scale=0.0)
    np.testing.assert_allclose(qpos, np.broadcast_to(theirs("Ant-v5").init_qpos, qpos.shape), atol=1e-6)
    assert not qvel.any()


@pytest.mark.by_default("Hopper-v5")
@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=[pytest.mark.full("more cases")] * (id not in LOOKED_AT)) for id in IDS]
)
def test_the_first_observation_is_gymnasiums(id: str) -> None:
    env, reference = ks.make(id), theirs(id)
    for seed in range(3):
        state, timestep = env.reset(jax.random.key(seed))
        reference.reset(seed=0)
        reference.data.qacc_warmstart[:] = 0.0
        reference.data.cfrc_ext[:] = 0.0
        reference.set_state(np.float64(state.physics.qpos), np.float64(state.physics.qvel))
        expected = reference._get_obs()
        np.testing.assert_allclose(timestep.obs, expected, rtol=1e-5, atol=1e-5)


def test_the_double_pendulum_may_begin_at_the_end_of_the_rail() -> None:
    env, reference = ks.make("InvertedDoublePendulum-v5", reset_noise_scale=1.3), theirs("InvertedDoublePendulum-v5")
    pushed = []
    for seed in range(8):
        state, timestep = env.reset(jax.random.key(seed))
        reference.set_state(np.float64(state.physics.qpos), np.float64(state.physics.qvel))
        np.testing.assert_allclose(timestep.obs, reference._get_obs(), rtol=2e-4, atol=2e-4)
        pushed.append(float(timestep.obs[-1]))
    assert any(pushed)
    assert not all(pushed)


# ---- one's own file


def test_a_file_of_ones_own(tmp_path: Any) -> None:
    text = located("inverted_pendulum.xml").read_text().replace('gear="100"', 'gear="30"')
    own = tmp_path / "weak.xml"
    own.write_text(text)
    with jax.enable_x64(True):
        check("InvertedPendulum-v5", 100, 4, jnp.float64, EXACT, xml_file=str(own))
    usual = ks.make("InvertedPendulum-v5").model
    assert ks.make("InvertedPendulum-v5", xml_file=own).model == ks.make("InvertedPendulum-v5", xml_file=text).model
    assert ks.make("InvertedPendulum-v5", xml_file=own).model != usual
