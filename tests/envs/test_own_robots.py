"""Robots of one's own: what may be read at reset and by number, plain numbers, files, an episode's numbers, float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from fresh_process import check_refusals

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.envs.locomotion import Measured, Robot, RobotInfo, Start, StepOutcome, World, file, frames, limit
from kousoku.envs.locomotion.world import Still
from kousoku.physics import State, initial_state, load, sensors

KEY = jax.random.key(0)
SENSORS = """<touch site="foot"/><accelerometer site="foot"/><force site="foot"/><gyro site="foot"/>
<jointpos joint="j"/><framelinacc objtype="body" objname="thigh"/><contact geom1="ball" data="found force"/>"""
LEG = f"""<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body name="thigh" pos="0 0 .33"><joint type="slide"/>
<geom size=".05"/><body name="shin" pos="0 0 -.24"><joint name="j" axis="0 1 0" damping=".1"/>
<geom name="ball" size=".1" pos=".01 0 0"/><site name="foot" size=".2"/></body></body></worldbody>
<actuator><intvelocity joint="j" kp="3" actrange="-1 1"/></actuator><sensor>{SENSORS}<clock/></sensor></mujoco>"""


class Leg(Robot):
    """A leg that stands on the floor, and has one actuator with an activation."""

    xml_file: str = file(LEG)
    frame_skip: int = frames(2)
    time_limit: int | None = limit(100)

    def start(self, key: Any) -> Start:
        return Start(jnp.zeros(2, jnp.float32), jnp.array([0.0, 0.1], jnp.float32))

    def measure(self, world: World) -> Measured:
        return Measured(world.xpos("shin"))

    def observe(self, physics: State, measured: Measured) -> Any:
        return measured.now

    def outcome(self, move: Any) -> StepOutcome:
        return StepOutcome(move.after.qpos[0], jnp.array(False), RobotInfo())


# ---- what may be read


class Feeling(Leg):
    def measure(self, world: World) -> Measured:
        return Measured(jnp.concatenate([world.touch("foot")[None], sensors(world.forward)]))


def test_touch_and_sensors_are_read_at_reset_and_later() -> None:
    """The sensors are C's; what is asked of `World` itself has not touched anything at first."""
    env, theirs = Feeling(), mujoco.MjModel.from_xml_string(LEG)
    data = mujoco.MjData(theirs)
    data.qvel[:] = [0.0, 0.1]
    mujoco.mj_forward(theirs, data)
    state, timestep = env.reset(KEY)
    assert timestep.obs[0] == 0.0
    np.testing.assert_allclose(timestep.obs[1:], data.sensordata, rtol=1e-3, atol=1e-3)
    assert data.sensordata[0] > 1.0
    for _ in range(2):
        mujoco.mj_step(theirs, data, 2)
        state, timestep = env.step(KEY, state, jnp.zeros(1, jnp.float32))
    np.testing.assert_allclose(timestep.obs[1:], data.sensordata, rtol=1e-3, atol=1e-3)
    assert timestep.obs[0] == timestep.obs[1] > 1.0
    np.testing.assert_allclose(state.physics.time, 4 * 0.002, rtol=1e-6)


def test_the_world_before_anything_has_moved_asks_for_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kousoku.envs.locomotion.world.forward", None)
    model = load(LEG)
    world = World(model, Still(model, initial_state(model)), jnp.float32)
    assert world.touch("foot") == 0.0
    assert not world.cfrc_ext.any()
    assert world.site_velocity("foot").shape == (6,)


@pytest.mark.parametrize("number", [-1, 3, 7])
def test_a_number_of_a_body_that_is_none_is_refused(number: int) -> None:
    model = load(LEG)
    world = World(model, Still(model, initial_state(model)), jnp.float32)
    for ask in (world.xpos, world.xmat, world.xipos, world.subtree_linvel):
        with pytest.raises(ConfigError, match=rf"^body: got {number}; give a number from 0 to 2, or a name$"):
            ask(number)
    for kind, ask in (("site", world.site_xpos), ("site", world.touch), ("geom", world.geom_xpos)):
        with pytest.raises(ConfigError, match=rf"^{kind}: got {number}; give a number from 0 to"):
            ask(number)
    np.testing.assert_array_equal(world.xpos(2), world.xpos("shin"))


def test_where_there_is_none_no_number_will_do() -> None:
    model = load("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    with pytest.raises(ConfigError, match=r"^site: got 0; the model has none$"):
        World(model, Still(model, initial_state(model)), jnp.float32).site_xpos(0)


# ---- plain numbers


class PlainInfo(eqx.Module):
    speed: Any
    count: Any
    diverged: Any = False


@pytest.mark.parametrize(("reward", "terminated"), [(1.0, False), (1, True), (True, np.bool_(True))])
def test_an_outcome_takes_plain_numbers(reward: Any, terminated: Any) -> None:
    class Plain(Leg):
        def outcome(self, move: Any) -> StepOutcome:
            return StepOutcome(
                reward, jnp.asarray(terminated) if isinstance(terminated, np.bool_) else terminated, info
            )

    info = PlainInfo(0.5, 3)
    _, timestep = Plain().step(KEY, Plain().reset(KEY)[0], jnp.zeros(1, jnp.float32))
    assert (timestep.reward.dtype, float(timestep.reward)) == (jnp.float32, 1.0)
    assert (timestep.terminated.dtype, bool(timestep.terminated)) == (bool, bool(terminated))
    assert (timestep.info.speed.dtype, float(timestep.info.speed)) == (jnp.float32, 0.5)
    assert (timestep.info.count.dtype, int(timestep.info.count)) == (jnp.int32, 3)
    assert not timestep.info.diverged


# ---- what the task returns


class Silent(eqx.Module):
    speed: Any = 0.0


class Told(eqx.Module):
    diverged: Any = None
    words: Any = 0.0


def outcome_of(info: Any) -> Any:
    return lambda self, move: StepOutcome(move.after.qpos[0], move.after.qpos[0] > 1.0, info)


VECTOR, INFO = (
    "return one vector",
    "give RobotInfo(), or an eqx.Module of your own with a field `diverged: Any = False`",
)
START = Start(jnp.zeros(2, jnp.float32), jnp.zeros(2, jnp.float32))
NOT_RETURNED: list[tuple[str, Any, str]] = [
    ("start", lambda self, key: (START.qpos, START.qvel), "start: got a tuple of 2; return a Start(qpos, qvel)"),
    (
        "start",
        lambda self, key: Start(jnp.zeros(3), START.qvel),
        "start.qpos: got float32[3]; this model takes 2 numbers",
    ),
    (
        "start",
        lambda self, key: Start(START.qpos, jnp.zeros(1)),
        "start.qvel: got float32[1]; this model takes 2 numbers",
    ),
    ("measure", lambda self, world: world.xpos("shin"), "measure: got float32[3]; return a Measured(now, kept)"),
    ("observe", lambda self, physics, measured: {"qpos": physics.qpos}, f"observe: got a dict of 'qpos'; {VECTOR}"),
    ("observe", lambda self, physics, measured: [*physics.qpos], f"observe: got a list of 2; {VECTOR}"),
    ("observe", lambda self, physics, measured: physics.qpos[None], f"observe: got float32[1, 2]; {VECTOR}"),
    ("observe", lambda self, physics, measured: physics.qpos[0], f"observe: got float32[]; {VECTOR}"),
    ("outcome", lambda self, move: (0.0, False), "outcome: got a tuple of 2; return a StepOutcome("),
    ("outcome", outcome_of({"a": 1.0}), f"outcome.info: got a dict of 'a'; it has no flag `diverged`: {INFO}"),
    ("outcome", outcome_of(Silent()), f"outcome.info: got a Silent; it has no flag `diverged`: {INFO}"),
    ("outcome", outcome_of(Told()), f"outcome.info.diverged: got None; it is no field to fill in: {INFO}"),
    ("outcome", outcome_of(Told(False, "fast")), f"outcome.info.words: got a str; give numbers; {INFO}"),
]


@pytest.mark.parametrize(("method", "returns", "told"), NOT_RETURNED)
def test_what_a_task_may_not_return_is_named(method: str, returns: Any, told: str) -> None:
    env = type("Mine", (Leg,), {method: returns})()
    with pytest.raises(ConfigError) as caught:
        jax.eval_shape(lambda key: env.step(key, env.reset(key)[0], jnp.zeros(1, jnp.float32)), KEY)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_plain_numbers_where_arrays_belong_are_named() -> None:
    cases = {
        "Start([0.0] * 9, zeros)": (
            "start.qpos: got a list of 9; give an array of 9 numbers: jnp.array(..., jnp.float32)"
        ),
        "Start(zeros, 0.0)": "start.qvel: got a float; give an array of 9 numbers",
        "Start(zeros, zeros, [1.0])": "start.numbers: got a list of 1; give a dict of arrays, by the names",
        "StepOutcome(jnp.ones(1), False, RobotInfo())": "outcome.reward: got float32[1]; give one number",
        "StepOutcome(None, False, RobotInfo())": "outcome.reward: got None; give one number",
        "StepOutcome(1.0, jnp.ones(()), RobotInfo())": "outcome.terminated: got float32[]; give one flag",
    }
    setup = """
import jax, jax.numpy as jnp
from kousoku.envs.locomotion import RobotInfo, Start, StepOutcome
from kousoku.envs.locomotion.task_checks import check_outcome, check_start
zeros = jnp.zeros(9)
def check(of):
    if isinstance(of, Start):
        return check_start(of.qpos, of.qvel, of.numbers, 9, 9)
    return check_outcome(of.reward, of.terminated, of.info)
"""
    check_refusals({f"check({of})": told for of, told in cases.items()}, setup)


# ---- files


def test_a_path_is_a_file_also_where_gymnasium_has_one_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (Path("ant.xml"), Path("robots") / "ant.xml", Path("cartpole_swing_up.xml")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(LEG)
        for given in (path, Path(".") / path, path.resolve(), f"./{path}"):
            env = Leg(xml_file=given)
            assert dict(env.model.names)["body"] == ("world", "thigh", "shin")
            assert Leg(xml_file=env.xml_file) == env, "its own path makes it again"
    for name in ("hopper.xml", "", "robots"):
        by_name = r"is given by its name alone, such as ant\.xml$"
        with pytest.raises(ConfigError, match=rf"^xml_file: got .*there is no such file; .*{by_name}"):
            Leg(xml_file=Path(name))
    assert Leg(xml_file="ant.xml").model.nu == 8
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Leg(xml_file=Path("~") / "ant.xml").model.nu == 1


@pytest.mark.parametrize("before", ["\ufeff", "\ufeff\n ", "\ufeff<?xml version='1.0' encoding='utf-8'?>\n"])
def test_text_may_begin_with_a_byte_order_mark(before: str) -> None:
    assert Leg(xml_file=before + LEG).model.nq == 2


def test_what_a_robot_cannot_take_is_not_advised(tmp_path: Path) -> None:
    """`load` takes MuJoCo's compiled model, and is named; `xml_file` does not."""
    (tmp_path / "main.xml").write_text("<mujoco><include file='../other.xml'/></mujoco>")
    for given in (tmp_path / "main.xml", mujoco.MjModel.from_xml_string(LEG)):
        with pytest.raises(ConfigError) as caught:
            Leg(xml_file=given)
        assert "give its MjModel" not in str(caught.value)


# ---- an episode's own numbers, and float64


class LongLeg(Leg):
    def start(self, key: Any) -> Start:
        numbers = {"body_pos": jnp.asarray(self.model.body_pos, jnp.float32).at[2, 2].set(-0.5)}
        return Start(jnp.zeros(2, jnp.float32), jnp.zeros(2, jnp.float32), numbers)


def test_a_film_shows_an_episodes_own_numbers() -> None:
    env = LongLeg()
    state, timestep = env.reset(KEY)
    np.testing.assert_allclose(env.poses(state)[0][1], timestep.obs, atol=1e-6)
    np.testing.assert_allclose(timestep.obs[2], 0.33 - 0.5, atol=1e-6)
    many = jax.jit(jax.vmap(env.poses))(jax.tree.map(lambda x: jnp.stack([x, x]), state))
    np.testing.assert_allclose(many[0][:, 1], [timestep.obs] * 2, atol=1e-6)


class In64(Leg):
    def start(self, key: Any) -> Start:
        return Start(jnp.zeros(2), jnp.zeros(2, jnp.float32), {"dof_damping": jnp.ones(2, jnp.float32)})


class MixedIn64(Leg):
    def start(self, key: Any) -> Start:
        return Start(jnp.zeros(2, jnp.float32), jnp.zeros(2), {"dof_damping": jnp.ones(2)})


@pytest.mark.parametrize(("robot", "dtype"), [(In64, jnp.float64), (MixedIn64, jnp.float32)])
def test_the_state_has_the_dtype_of_the_first_positions(robot: type[Robot], dtype: Any) -> None:
    with jax.enable_x64(True):
        env = robot()
        state, first = env.reset(KEY)
        after, timestep = env.step(KEY, state, jnp.zeros(1))
        floats = [*jax.tree.leaves(state), first.obs, *jax.tree.leaves(after), timestep.obs, timestep.reward]
        assert {leaf.dtype for leaf in floats} == {jnp.dtype(dtype)}
    if dtype == jnp.float32:
        with jax.enable_x64(True):
            ks.check_env(env, steps=3)
