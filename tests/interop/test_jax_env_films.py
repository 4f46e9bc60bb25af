"""Films of robots of Brax and of MuJoCo Playground: their geoms, where C MuJoCo has them. No library is imported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from test_jax_envs import BraxWalk, Record

import kousoku as ks

SEEN = """
<mujoco>
  <asset><material name="wood" rgba="0.6 0.4 0.2 1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="cart" pos="0 0 1">
      <joint name="slide" type="slide" axis="1 0 0"/>
      <geom name="box" type="box" size=".2 .1 .1" pos=".1 0 0" material="wood"/>
      <geom name="touched" type="sphere" size=".3" group="3"/>
      <geom name="glass" type="sphere" size=".3" rgba="1 1 1 0"/>
      <body name="pole">
        <joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom name="capsule" type="capsule" fromto="0 0 0 0 0 1" size=".05" rgba="1 .5 0 1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
MESHES = SEEN.replace('pos=".1 0 0"', 'group="3"').replace('size=".05"', 'size=".05" group="4"')
"""As a robot whose visible geoms are all meshes, of which there is no picture."""


class RobotState(Record):
    obs: Any
    reward: Any
    done: Any
    metrics: dict[str, Any]
    data: Any
    pipeline_state: Any


class Bodies(Record):
    xpos: Any
    xquat: Any


class Links(Record):
    pos: Any
    rot: Any


class Simulation(Record):
    x: Any


class Cart:
    """A cart that is pushed by a metre a step, and tells its bodies as Playground does, or as Brax does."""

    action_size, dt = 1, 0.1

    def __init__(self, xml: str = SEEN, told: str = "playground") -> None:
        self.told, self.model = told, mujoco.MjModel.from_xml_string(xml)
        if told == "playground":
            self.mj_model = self.model
        else:
            self.sys = SimpleNamespace(mj_model=self.model)

    def reset(self, rng: Any) -> Any:
        return self.at(jnp.zeros(()))

    def step(self, state: Any, action: Any) -> Any:
        return self.at(state.metrics["x"] + 1.0)

    def at(self, x: Any) -> Any:
        positions = jnp.stack([jnp.zeros(3), *[jnp.array([0.0, 0.0, 1.0]) + x * jnp.eye(3)[0]] * 2])
        turned = jnp.tile(jnp.array([1.0, 0.0, 0.0, 0.0]), (3, 1))
        metrics = {"x": x, "several": jnp.zeros(2)}
        bodies = {"data": None, "pipeline_state": None}
        if self.told == "playground":
            bodies["data"] = Bodies(positions, turned)
        elif self.told == "brax":
            bodies["pipeline_state"] = Simulation(Links(positions[1:], turned[1:]))
        elif self.told == "others":
            bodies["pipeline_state"] = Simulation(Links(positions, turned))
        return RobotState(positions[1], jnp.zeros(()), (x > 3.5).astype(jnp.float32), metrics, **bodies)


@pytest.mark.parametrize("told", ["playground", "brax"])
def test_bodies_are_where_c_mujoco_has_them(told):
    env = ks.from_brax(Cart(told=told))
    (film,) = ks.animate(env).films
    assert (len(film), film.dt) == (5, 0.1)
    assert [geom.name for geom in film.body.geoms] == ["floor", "box", "capsule"]
    model = env.theirs.it.model
    data = mujoco.MjData(model)
    for t in range(5):
        data.qpos[0] = t
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(film.positions[t], data.xpos[1:])
        np.testing.assert_allclose(film.quaternions[t], data.xquat[1:])
    np.testing.assert_array_equal(film.values["x"], np.arange(5.0))
    assert "several" not in film.values


def test_geoms_are_those_of_the_model():
    floor, box, capsule = ks.from_brax(Cart()).body3d().geoms
    assert (floor.kind, floor.frame, floor.size) == ("plane", -1, (2.0, 2.0, 0.1))
    assert (box.kind, box.frame, box.position) == ("box", 0, (0.1, 0.0, 0.0))
    np.testing.assert_allclose(box.color, (0.6, 0.4, 0.2, 1.0), rtol=1e-6)
    assert (capsule.kind, capsule.frame, capsule.color) == ("capsule", 1, (1.0, 0.5, 0.0, 1.0))


def test_what_is_touched_stands_for_meshes():
    assert [geom.name for geom in ks.from_brax(Cart(MESHES)).body3d().geoms] == ["floor", "box", "touched", "capsule"]


@pytest.mark.parametrize("env", [BraxWalk(), Cart(told="nothing"), Cart(told="others")])
def test_without_a_model_or_its_bodies_there_is_no_film(env):
    with pytest.raises(ks.ConfigError, match="it has to have a `scene` or a `poses` method to be drawn"):
        ks.animate(ks.from_brax(env))
