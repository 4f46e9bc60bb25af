"""dm_control's fish, humanoid and swimmer on small files of ours: what test_dm_control_movers.py says of the others."""

from __future__ import annotations

import math
from typing import Any

import dm_control_small
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dm_control_movers import FILES, KEYS, LIMBS, MANY, QUARTER, assert_uniform, begun, gaussian
from dm_control_small import about, seen

from kousoku.envs.dm_control.fish import JOINTS, SuiteFish
from kousoku.envs.dm_control.humanoid import SuiteHumanoid
from kousoku.envs.dm_control.randomizers import randomize_joints
from kousoku.envs.dm_control.suite import SuiteState
from kousoku.envs.dm_control.swimmer import SuiteSwimmer
from kousoku.envs.locomotion.robot import at_rest


@pytest.fixture(autouse=True)
def small_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dm_control_small.install(tmp_path, monkeypatch, FILES)


# ---- fish


def fish_at(env: Any, turn: list[float], goal: tuple[float, ...] = ()) -> Any:
    """A fish at (1, 2, 0.5) that is turned, its joints bent by 0.1, 0.2, ... in the order of its file."""
    return seen(env, [1.0, 2.0, 0.5, *turn, *(0.1 * np.arange(1, 8))], np.arange(13.0), goal)


def test_a_fish_sees_the_target_from_its_mouth() -> None:
    """Turned by a quarter to the left it has the world's -x before it, as the mouth's own x."""
    env = SuiteFish()
    found = env.observe(fish_at(env, about(QUARTER, 2), (0.5, 2.4, 0.6)))
    np.testing.assert_allclose(found["target"], [0.3, -0.4, 0.1], atol=1e-6)
    np.testing.assert_allclose(found["upright"], 1.0, atol=1e-6)
    order = ["tail2", "tail1", "tail_twist", "finleft_pitch", "finleft_roll", "finright_pitch", "finright_roll"]
    np.testing.assert_allclose(found["joint_angles"], [0.1 * (1 + order.index(joint)) for joint in JOINTS], rtol=1e-6)
    assert found["velocity"].tolist() == [*range(13)]


@pytest.mark.parametrize(
    ("angle", "away", "worth"),
    [
        (0.0, 0.05, 1.0),
        (0.0, 0.12, (7 * gaussian(0.5) + 1) / 8),
        (QUARTER, 0.12, (7 * gaussian(0.5) + 0.5) / 8),
        (math.pi, 0.18, 0.7 / 8),
        (0.0, 5.0, 1 / 8),
    ],
)
def test_a_fish_should_swim_to_the_target_or_keep_upright(angle: float, away: float, worth: float) -> None:
    """The mouth's radius and the target's come to 0.06."""
    swims, upright, turn = SuiteFish(), SuiteFish(swimming=False), about(angle, 1)
    goal = (1.0 + 0.6 * away, 2.2 - 0.8 * away, 0.5)
    np.testing.assert_allclose(swims.reward(fish_at(swims, turn, goal)), worth, atol=1e-5)
    wanted = gaussian(1.0 - math.cos(angle))
    np.testing.assert_allclose(upright.reward(fish_at(upright, turn, goal)), wanted, atol=1e-5)


def test_a_fish_begins_turned_any_way_and_the_target_anywhere() -> None:
    begin = begun(SuiteFish())
    np.testing.assert_allclose(begin.qpos[:, :3], [[0.0, 0.0, 0.1]] * MANY, rtol=1e-6)
    w, x, y, _ = begin.qpos[:, 3:7].T
    np.testing.assert_allclose(np.linalg.norm(begin.qpos[:, 3:7], axis=1), 1.0, rtol=1e-5)
    assert_uniform(1.0 - 2.0 * (x**2 + y**2)[:, None], -1.0, 1.0)  # a turn's cosine to the vertical
    assert 0.4 < (w > 0).mean() < 0.6
    assert_uniform(begin.qpos[:, 7:], -0.2, 0.2)
    assert_uniform(begin.goal, [-0.4, -0.4, 0.1], [0.4, 0.4, 0.3])
    assert begin.qvel is None


def test_a_target_is_drawn_only_to_swim_to() -> None:
    shown = {swimming: [g.name for g in SuiteFish(swimming=swimming).body3d().geoms] for swimming in (True, False)}
    assert ["target" in names for names in shown.values()] == [True, False]
    assert "mouth" in shown[False]
    env = SuiteFish()
    goal = jnp.array([0.3, 0.2, 0.1], jnp.float32)
    state = SuiteState(at_rest(env.model, jnp.asarray(env.model.qpos0, jnp.float32), jnp.zeros(13)), goal, {})
    assert env.poses(state)[0][-1].tolist() == goal.tolist()


# ---- humanoid


def test_a_person_sees_its_limbs_from_its_torso() -> None:
    env, pure = SuiteHumanoid(), SuiteHumanoid(pure_state=True)
    qpos = [1.0, 2.0, 1.3, *about(QUARTER, 0), 0.3]
    speeds = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]
    found = env.observe(seen(env, qpos, speeds))
    np.testing.assert_allclose(found["joint_angles"], [0.3], rtol=1e-6)
    np.testing.assert_allclose(found["head_height"], 1.3, atol=1e-6)  # it lies on its back
    np.testing.assert_allclose(found["extremities"], np.ravel([*LIMBS.values()]), atol=1e-6)
    np.testing.assert_allclose(found["torso_vertical"], [0.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(found["com_velocity"], [1.0, 2.0, 3.0], atol=1e-6)
    assert found["velocity"].tolist() == speeds
    whole = pure.observe(seen(pure, qpos, speeds))
    np.testing.assert_allclose(whole["position"], qpos, rtol=1e-6)
    assert whole["velocity"].tolist() == speeds


@pytest.mark.parametrize(
    ("wanted", "height", "angle", "speed", "push", "worth"),
    [
        (0.0, 1.4, 0.0, (0.0, 0.0, 9.0), 0.0, 1.0),
        (0.0, 1.4, 0.0, (2.0, 0.0, 0.0), 0.0, 0.55),
        (0.0, 1.4, 0.0, (0.0, 0.0, 0.0), 1.0, 0.8),
        (0.0, 1.225, 0.0, (0.0, 0.0, 0.0), 0.0, gaussian(0.5)),
        (0.0, 1.05, 0.0, (0.0, 0.0, 0.0), 0.0, gaussian(1.0)),
        (1.0, 1.4, 0.0, (0.6, -0.8, 0.0), 0.0, 1.0),
        (1.0, 1.4, 0.0, (0.0, -0.5, 9.0), 0.0, 3.5 / 6.0),
        (10.0, 1.4, 0.0, (3.0, 4.0, 0.0), 0.0, 3.5 / 6.0),
        (0.5, 1.4, 0.0, (0.0, 0.0, 0.0), 0.0, 1.0 / 6.0),
        (0.0, 1.8, QUARTER, (0.0, 0.0, 0.0), 0.0, 1.0 - 0.9 / 1.9),
        (0.0, 2.5, math.pi, (0.0, 0.0, 0.0), 0.0, 0.0),
    ],
)
def test_a_person_should_stand_and_move(
    wanted: float, height: float, angle: float, speed: tuple[float, ...], push: float, worth: float
) -> None:
    """Its head is 0.4 m above its torso where it stands."""
    env = SuiteHumanoid(move_speed=wanted)
    torso = height - 0.4 * math.cos(angle)
    look = seen(env, [0.0, 0.0, torso, *about(angle, 1), 0.0], [*speed, 0.0, 0.0, 0.0, 0.0], control=(push,))
    np.testing.assert_allclose(env.reward(look), worth, atol=1e-5)


def test_a_free_body_is_turned_by_four_positive_numbers() -> None:
    """Uniform in [0, 1), divided by their length."""
    model = SuiteHumanoid().model
    qpos = np.asarray(jax.jit(jax.vmap(lambda key: randomize_joints(model, key)))(KEYS))
    np.testing.assert_allclose(qpos[:, :3], [[0.0, 0.0, 1.5]] * MANY, rtol=1e-6)
    turn = qpos[:, 3:7]
    np.testing.assert_allclose(np.linalg.norm(turn, axis=1), 1.0, rtol=1e-5)
    assert (turn >= 0.0).all()
    np.testing.assert_allclose(turn.mean(axis=0), 0.442, atol=0.05)  # as 100,000 such draws of NumPy's have it
    np.testing.assert_allclose(turn.std(axis=0), 0.234, atol=0.03)
    assert_uniform(qpos[:, 7:], -math.pi, math.pi)


# ---- swimmer


def test_a_swimmer_feels_how_its_links_move() -> None:
    """Turned by a quarter to the left, its head has the world's y at its right, and the world's x behind it."""
    env = SuiteSwimmer(num_links=3)
    look = seen(env, [0.5, 0.25, QUARTER, 0.0, 0.0], [1.0, 2.0, 3.0, 1.0, -2.0], (0.66, 0.65, 0.05))
    found = env.observe(look)
    np.testing.assert_allclose(found["joints"], [0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(found["to_target"], [0.4, -0.1], atol=1e-6)
    wanted = [[2.0, -1.0, 3.0], [1.65, -1.0, 4.0], [1.35, -1.0, 2.0]]
    np.testing.assert_allclose(found["body_velocities"], np.ravel(wanted), atol=1e-5)
    bent = env.observe(seen(env, [0.0, 0.0, 0.0, 0.2, -0.3], None, (0.0, 0.0, 0.05)))
    np.testing.assert_allclose(bent["joints"], [0.2, -0.3], rtol=1e-6)


@pytest.mark.parametrize(("away", "worth"), [(0.05, 1.0), (0.35, 4.0 / 13.0), (0.6, 0.1), (1.1, 1.0 / 37.0)])
def test_a_nose_should_be_in_the_target(away: float, worth: float) -> None:
    env = SuiteSwimmer(num_links=3)
    goal = (0.06 + 0.6 * away, 0.8 * away, 0.3)  # how high a target is does not count
    np.testing.assert_allclose(env.reward(seen(env, [0.0, 0.0, QUARTER, 0.1, 0.2], None, goal)), worth, atol=1e-5)


def test_a_swimmer_is_bent_anyhow_and_its_target_near_or_far() -> None:
    for links, reach in ((3, 120.0), (6, 60.0)):
        env = SuiteSwimmer(num_links=links)
        begin = begun(env)
        assert not begin.qpos[:, :2].any()
        assert_uniform(begin.qpos[:, 2:3], -math.pi, math.pi)
        assert_uniform(begin.qpos[:, 3:], -math.radians(reach), math.radians(reach))
        assert (env.model.nu, env.model.nbody) == (links - 1, links + 1)
        assert (begin.goal[:, 2] == np.float32(0.05)).all()
        near = (np.abs(begin.goal[:, :2]) < 0.3).all(axis=1)
        assert 0.14 < near.mean() < 0.3  # a fifth, and of the others one in 44
        assert (np.abs(begin.goal[:, :2]) <= 2.0).all()
        np.testing.assert_allclose(
            np.quantile(begin.goal[~near, :2], [0.1, 0.5, 0.9], axis=0)[:, 0], [-1.6, 0.0, 1.6], atol=0.3
        )
        np.testing.assert_allclose(np.abs(begin.goal[near, :2]).mean(axis=0), 0.15, atol=0.04)
