"""Films of other JAX libraries' environments: robots by their geoms, all else as their own code draws it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from test_jax_envs import BraxWalk, GymnaxWalk, Record

import kousoku as ks
from kousoku.core.wrapper import kind_of
from kousoku.envs.classic.cartpole import CartPoleState
from kousoku.envs.classic.pendulum import PendulumState
from kousoku.interop.jax_envs.pictures.gymnax import picture_of

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


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_one_of_gymnaxs_name_is_drawn_as_ours(name):
    env = SimpleNamespace(name=name)
    picture = picture_of(env)
    ours = ks.make(name)
    if name == "CartPole-v1":
        state = SimpleNamespace(x=jnp.float32(0.3), theta=jnp.float32(0.1))
        params = SimpleNamespace(length=0.5, x_threshold=2.4)
        assert picture(env, params, state) == ours.scene(CartPoleState(*jnp.array([0.3, 0.0, 0.1, 0.0])))
    else:
        state = SimpleNamespace(theta=jnp.float32(0.3), last_u=np.array([1.0]))
        params = SimpleNamespace(max_torque=2.0)
        assert picture(env, params, state) == ours.scene(PendulumState(*jnp.array([0.3, 0.0, 1.0])))
    assert picture_of(SimpleNamespace(name="Unknown-v0")) is None
    assert picture_of(object()) is None


class Cells(GymnaxWalk):
    """A gymnax environment of a game's name, whose observation is an image of two channels."""

    name = "Pong-misc"

    def get_obs(self, state, params=None, key=None):
        return jnp.zeros((3, 4, 2)).at[0, 1, 0].set(1.0).at[2, 3, 1].set(1.0)


def test_a_game_of_gymnaxs_is_drawn_by_what_is_observed():
    assert kind_of(ks.from_gymnax(Cells())) == kind_of(ks.from_gymnax(GymnaxWalk())) == "GymnaxEnv"
    film = ks.animate(ks.from_gymnax(Cells()), max_steps=3).films[0]
    first = film.scenes[0]
    assert (first.width, first.height) == (4.0, 3.0)
    assert [(int(square.x), int(square.y)) for square in first.foreground] == [(1, 0), (3, 2)]


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # of theirs
@pytest.mark.parametrize(
    "id",
    [
        "gymnax:Acrobot-v1",
        "gymnax:MountainCar-v0",
        "gymnax:MountainCarContinuous-v0",
        "gymnax:Asterix-MinAtar",
        "gymnax:Catch-bsuite",
        "gymnax:FourRooms-misc",
        "gymnax:PointRobot-misc",
        "jumanji:Snake-v1",
        "jumanji:RubiksCube-v0",
        "jumanji:Connector-v3",
        "navix:Navix-DoorKey-8x8-v0",
        "xminigrid:MiniGrid-DoorKey-8x8",
        "craftax:Craftax-Classic-Symbolic-v1",
    ],
)
def test_other_libraries_environments_are_drawn(id, tmp_path):
    pytest.importorskip(id.partition(":")[0])
    film = ks.animate(id, max_steps=5)
    (seen,) = film.pictures(120, [0])
    assert seen.std() > 5, "it is all of one colour"
    assert film.save(tmp_path / "x.html").stat().st_size > 10_000


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # of theirs
@pytest.mark.parametrize("id", ["pgx:tic_tac_toe", "pgx:backgammon", "pgx:minatar-breakout"])
def test_boards_of_pgx_are_drawings(id):
    pytest.importorskip("pgx")
    page = ks.animate(id, max_steps=3).html()
    assert "data:image/svg+xml;base64," in page


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # of theirs
@pytest.mark.films
def test_a_game_of_gymnasiums_is_filmed():
    pytest.importorskip("Box2D")
    film = ks.animate("gymnasium:LunarLander-v3", max_steps=20).films[0]
    assert (len(film), film.dt) == (21, 0.02)
    assert len({scene.background[0].data for scene in film.scenes}) > 10
