"""dm_control's suite without the package: its rewards by hand, and small files of ours in the place of the package's.

The package itself is beside ours in test_dm_control_peers.py.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from typing import Any

import dm_control_small
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from kernel_oracle import no_fallback
from locomotion import SMALL

import kousoku as ks
from kousoku.cli import main
from kousoku.core.errors import ConfigError
from kousoku.envs import ENVS
from kousoku.envs.dm_control import SuiteState, tolerance
from kousoku.envs.dm_control.cartpole import SuiteCartpole
from kousoku.envs.dm_control.hopper import SuiteHopper
from kousoku.envs.dm_control.models import install_command
from kousoku.envs.dm_control.pendulum import SuitePendulum
from kousoku.envs.dm_control.reacher import SuiteReacher
from kousoku.envs.dm_control.swimmer import SuiteSwimmer
from kousoku.envs.dm_control.walker import SuiteWalker
from kousoku.envs.locomotion.world import Still, World
from kousoku.physics import State, any_contact, forward, load

KEY = jax.random.key(0)


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "dm_control" else there(name))


@pytest.fixture(autouse=True)
def small_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dm_control_small.install(tmp_path, monkeypatch)


# ---- rewards


@pytest.mark.parametrize(
    ("sigmoid", "value", "halfway"),
    [  # by the package's `tolerance(2.0, (0.0, 1.0), 2.0, sigmoid, value)`
        ("gaussian", 0.1, 0.5623413251903491),
        ("hyperbolic", 0.1, 0.42640143271122083),
        ("long_tail", 0.1, 0.3076923076923077),
        ("reciprocal", 0.1, 0.18181818181818182),
        ("cosine", 0.1, 0.6581138830084189),
        ("linear", 0.1, 0.55),
        ("quadratic", 0.1, 0.775),
        ("tanh_squared", 0.1, 0.4805061467040844),
        ("linear", 0.0, 0.5),
        ("quadratic", 0.0, 0.75),
        ("cosine", 0.0, 0.5),
    ],
)
def test_tolerance(sigmoid: str, value: float, halfway: float) -> None:
    x = jnp.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1e6], jnp.float32)
    with no_fallback():
        found = np.asarray(ks.kernel(lambda x: tolerance(x, (0.0, 1.0), 2.0, sigmoid, value))(x))
    np.testing.assert_allclose(found[:6], [halfway, 1.0, 1.0, 1.0, halfway, value], atol=2e-6)
    assert 0.0 <= found[6] < 1e-5
    sharp = tolerance(x, (0.0, 1.0), sigmoid=sigmoid, value_at_margin=value)
    assert sharp.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert tolerance(x, (0.5, math.inf), 1.0, sigmoid, value)[3:].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bounds": (1.0, 0.0)}, "bounds"),
        ({"bounds": (math.nan, 0.0)}, "bounds"),
        ({"margin": -1.0}, "margin"),
        ({"sigmoid": "triangular"}, "sigmoid"),
        ({"value_at_margin": 0.0}, "value_at_margin"),
        ({"value_at_margin": 1.0}, "value_at_margin"),
        ({"value_at_margin": -0.1, "sigmoid": "linear"}, "value_at_margin"),
    ],
)
def test_tolerance_refuses(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tolerance(jnp.zeros(()), **wrong)


# ---- steps, beside C MuJoCo on the same files


def pendulum(data: Any, ctrl: np.ndarray, goal: np.ndarray) -> tuple[list[Any], float]:
    _, _, sine, _, _, _, _, _, cosine = data.body("pole").xmat
    return [cosine, sine, data.qvel], float(cosine >= math.cos(math.radians(8)))


def reacher(data: Any, ctrl: np.ndarray, goal: np.ndarray) -> tuple[list[Any], float]:
    way = goal[:2] - data.geom("finger").xpos[:2]
    return [data.qpos, way, data.qvel], float(np.hypot(*way) <= 0.06)


def hopper(data: Any, ctrl: np.ndarray, goal: np.ndarray) -> tuple[list[Any], float]:
    height = data.body("torso").xipos[2] - data.body("foot").xipos[2]
    small = np.mean(np.maximum(1.0 - ctrl**2, 0.0))
    seen = [data.qpos[1:], data.qvel, np.log1p(data.sensordata[3:])]
    return seen, float(0.6 <= height <= 2.0) * (4.0 + small) / 5.0


def hop(data: Any, ctrl: np.ndarray, goal: np.ndarray) -> tuple[list[Any], float]:
    seen, _ = hopper(data, ctrl, goal)
    speed, height = data.sensordata[0], data.body("torso").xipos[2] - data.body("foot").xipos[2]
    return seen, float(0.6 <= height <= 2.0) * float(np.clip(1.0 - 0.5 * (2.0 - speed), 0.0, 1.0) if speed < 2 else 1)


CASES: list[tuple[str, type[Any], dict[str, Any], Callable[..., Any]]] = [
    ("pendulum", SuitePendulum, {}, pendulum),
    ("reacher", SuiteReacher, {}, reacher),
    ("hopper", SuiteHopper, {"hopping": False}, hopper),
    ("hopper", SuiteHopper, {}, hop),
]


@pytest.mark.by_default("hop", "hopper", "pendulum")
@pytest.mark.slow_because("three small robots are compiled")
@pytest.mark.parametrize("case", CASES, ids=[task.__name__ for *_, task in CASES])
def test_steps(case: tuple[str, type[Any], dict[str, Any], Callable[..., Any]]) -> None:
    domain, made, options, task = case
    env, rng = made(**options), np.random.default_rng(0)
    reference = dm_control_small.Reference(domain, env.n_sub_steps)
    before, after = [], []
    for seed in range(3):
        state, timestep = env.reset(jax.random.key(seed))
        goal, data = np.asarray(state.goal, float), reference.data
        reference.put(np.asarray(state.physics.qpos), np.asarray(state.physics.qvel))
        first, _ = task(data, np.zeros(env.model.nu), goal)
        np.testing.assert_allclose(timestep.obs, np.hstack(first), rtol=1e-4, atol=1e-4)
        for ctrl in rng.uniform(-1.2, 1.2, (60, env.model.nu)):
            before.append((data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy(), goal, ctrl))
            reference.step(ctrl)
            seen, reward = task(data, ctrl, goal)
            after.append((np.hstack(seen), reward))
    with jax.enable_x64(True), no_fallback():
        given = [jnp.asarray(np.stack(part)) for part in zip(*before, strict=True)]

        def one(qpos: Any, qvel: Any, warmstart: Any, goal: Any, ctrl: Any) -> Any:
            return env.step(KEY, SuiteState(State(qpos, qvel, jnp.zeros(0), warmstart), goal, {}), ctrl)[1]

        found = jax.jit(jax.vmap(one))(*given)
    np.testing.assert_allclose(found.obs, np.stack([obs for obs, _ in after]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.reward, [reward for _, reward in after], atol=1e-9)
    if domain == "hopper":
        assert (np.asarray(found.obs)[:, -2:] > 0.0).any(axis=0).all(), "toe and heel are to touch the ground"


def test_what_blows_up_is_terminated_and_stays_where_it_was() -> None:
    env = SuitePendulum()
    state, _ = env.reset(KEY)
    after, timestep = env.step(KEY, state, jnp.array([jnp.nan], jnp.float32))
    assert bool(timestep.terminated)
    assert bool(timestep.info.diverged)
    assert not timestep.truncated
    assert timestep.obs.tolist() == [0.0, 0.0, 0.0]
    assert after.physics.qpos.tolist() == state.physics.qpos.tolist()


def test_the_contract_holds() -> None:
    ks.check_env(SuiteReacher(), steps=20)


def test_the_parts_of_an_observation_keep_their_order() -> None:
    assert [*SuiteHopper().observation_sizes.items()] == [("position", 2), ("velocity", 3), ("touch", 2)]
    assert [*SuiteReacher().observation_sizes] == ["position", "to_target", "velocity"]
    assert SuiteReacher().dt == 0.02


def test_a_target_is_drawn_where_it_is() -> None:
    env = SuiteReacher(target_size=0.015)
    state, _ = env.reset(KEY)
    target = next(geom for geom in env.body3d().geoms if geom.name == "target")
    positions, quaternions = env.poses(state)
    assert target.size[0] == 0.015
    np.testing.assert_array_equal(positions[target.frame], state.goal)
    assert positions.shape[0] == quaternions.shape[0] == env.model.nbody


def test_an_episodes_own_numbers_are_drawn() -> None:
    env = SuiteReacher()
    state, _ = env.reset(KEY)
    far = SuiteState(state.physics, state.goal, {**state.numbers, "body_pos": 2.0 * jnp.float32(env.model.body_pos)})
    near, far = (np.asarray(env.poses(s)[0][:-1]) for s in (state, far))
    np.testing.assert_allclose(far, 2.0 * near, atol=1e-6)
    assert np.ptp(near) > 0.01


# ---- what is read of the world


def test_quantities_are_mujocos() -> None:
    site = '<site name="knee" pos=".05 0 -.3" euler="10 20 30" size=".5"/>'
    sensors = "<velocimeter site='knee'/><gyro site='knee'/><subtreelinvel body='torso'/><subtreelinvel body='left'/>"
    text = SMALL.replace('<joint name="left_hip"', f'{site}<joint name="left_hip"')
    text = text.replace("</mujoco>", f"<sensor>{sensors}</sensor></mujoco>")
    compiled = mujoco.MjModel.from_xml_string(text)
    model, data, rng = load(compiled), mujoco.MjData(compiled), np.random.default_rng(1)
    data.qpos[:] = model.qpos0 + rng.normal(0.0, 0.3, model.nq)
    data.qpos[2], data.qpos[3:7] = 0.55, data.qpos[3:7] / np.linalg.norm(data.qpos[3:7])
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(compiled, data)
    with jax.enable_x64(True):
        state = State(jnp.asarray(data.qpos), jnp.asarray(data.qvel), jnp.zeros(0), jnp.zeros(model.nv))
        world = World(model, Still(model, state), jnp.float64)
        for body in ("torso", "left"):
            np.testing.assert_allclose(world.xmat(body).ravel(), data.body(body).xmat, atol=1e-12)
            np.testing.assert_allclose(world.xipos(body), data.body(body).xipos, atol=1e-12)
        for geom in range(compiled.ngeom):
            np.testing.assert_allclose(world.geom_xpos(geom), data.geom_xpos[geom], atol=1e-12)
            np.testing.assert_allclose(world.geom_xmat(geom).ravel(), data.geom_xmat[geom], atol=1e-12)
        np.testing.assert_allclose(world.site_velocity("knee"), data.sensordata[:6], atol=1e-12)
        moved = [world.subtree_linvel("torso"), world.subtree_linvel("left")]
        np.testing.assert_allclose(np.concatenate(moved), data.sensordata[6:], atol=1e-12)


@pytest.mark.full("covered")
def test_any_contact_is_whether_mujoco_has_one() -> None:
    box = '<geom type="box" size=".2 .2 .2" pos=".5 0 .3" margin=".05"/>'
    text = SMALL.replace('<geom type="plane"', f'{box}<geom type="plane"')
    compiled = mujoco.MjModel.from_xml_string(text)
    model, data, rng = load(compiled), mujoco.MjData(compiled), np.random.default_rng(0)
    qpos = np.asarray(model.qpos0) + rng.normal(0.0, 0.4, (200, model.nq))
    touches = []
    for each in qpos:
        data.qpos[:] = each
        mujoco.mj_forward(compiled, data)
        touches.append(data.ncon > 0)
    with jax.enable_x64(True), no_fallback():
        found = jax.jit(jax.vmap(ks.kernel(lambda q: any_contact(model, q))))(jnp.asarray(qpos))
    np.testing.assert_array_equal(found, touches)
    assert 0.1 < np.mean(touches) < 0.9


def test_nothing_touches_without_pairs() -> None:
    model = load("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    assert not any_contact(model, jnp.asarray(model.qpos0, jnp.float32))
    with pytest.raises(ConfigError, match="qpos"):
        any_contact(model, jnp.zeros(3))


# ---- files that are not there, and options that are wrong


@pytest.mark.usefixtures("no_package")
def test_a_package_that_is_missing_is_named() -> None:
    assert not ENVS.is_installed("dm_control/walker-walk-v0")
    assert ENVS.is_installed("Hopper-v5")
    with pytest.raises(ConfigError) as caught:
        ks.make("dm_control/walker-walk-v0")
    told = f"it needs dm_control, which has its file: {install_command(sys.version_info[:2])}"
    assert str(caught.value) == f"domain of dm_control: got 'walker'; {told}"


def test_where_what_the_package_asks_for_cannot_be_installed_it_is_installed_alone() -> None:
    assert install_command((3, 12)) == "pip install -U 'kousoku[dm-control]'"
    assert install_command((3, 13)) == install_command((3, 14)) == "pip install -U --no-deps dm-control"


@pytest.mark.usefixtures("no_package")
def test_environments_whose_package_is_missing_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "dm_control"]) == 0
    told = capsys.readouterr().out
    assert "environments that need another package" in told
    assert "dm_control/walker-walk-v0" in told


def test_files_that_are_missing_or_broken_are_named(tmp_path: Any) -> None:
    folder = tmp_path / "dm_control" / "suite"
    with pytest.raises(ConfigError, match=r"there is no .*walker\.xml"):
        SuiteWalker()
    for text, message in (
        ("<mujoco>", "no element found"),
        ("<mujoco><worldbody><geom/></worldbody></mujoco>", "MuJoCo cannot compile its file"),
        ("<mujoco><include file='./common/gone.xml'/></mujoco>", "gone.xml"),
        ("<mujoco><option noslip_iterations='3'/></mujoco>", "noslip iterations"),
    ):
        (folder / "walker.xml").write_text(text)
        with pytest.raises(ConfigError, match=message) as caught:
            SuiteWalker()
        assert "\n" not in str(caught.value)
    (folder / "swimmer.xml").write_text("<mujoco/>")
    with pytest.raises(ConfigError, match="body of dm_control: got 'head'"):
        SuiteSwimmer()


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (SuiteReacher, {"target_size": 0.0}),
        (SuiteReacher, {"target_size": jnp.ones(())}),
        (SuiteWalker, {"move_speed": -1.0}),
        (SuiteWalker, {"move_speed": math.nan}),
        (SuiteSwimmer, {"num_links": 2}),
        (SuiteCartpole, {"num_poles": 0}),
        (SuiteHopper, {"hopping": 1}),
        (SuitePendulum, {"time_limit": 0}),
    ],
)
def test_wrong_options_are_refused(made: type[Any], options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=name):
        made(**options)


@pytest.mark.full("covered")
def test_touch_is_read_where_the_solver_was() -> None:
    env = SuiteHopper()
    qpos = jnp.asarray(env.model.qpos0, jnp.float32).at[1].set(-0.27)
    physics = State(qpos, jnp.zeros(3), jnp.zeros(0), jnp.zeros(3))
    world = World(env.model, forward(env.model, physics, jnp.zeros(2)), jnp.float32)
    assert (env.feel(world) > 0.0).all()
