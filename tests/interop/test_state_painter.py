"""Pictures of single states of robots: all that moves is in them, at the start and later."""

import operator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.scene3d import Body3d, Geom, Trajectory3d
from kousoku.core.spaces import Box, Discrete
from kousoku.core.wrapper import unwrapped
from kousoku.envs.timesteps import first_timestep
from kousoku.interop.out.state_painter import StatePainter, _starts
from kousoku.viz.camera import Camera
from kousoku.viz.render3d import Renderer
from kousoku.viz.view3d import corners_of, followed_frames, moving_frames

ROOMY = 1.0001


class Shot:
    """The last picture that was asked for, without its pixels: the camera, the floor and what is seen."""

    camera: Camera
    floor: float
    size: float
    trajectory: Trajectory3d


@pytest.fixture
def shot(monkeypatch):
    def draw(renderer: Renderer, time: int) -> np.ndarray:
        Shot.camera = renderer.stage.camera(time, renderer.width / renderer.height)
        Shot.floor, Shot.size, (Shot.trajectory,) = renderer.stage.floor, renderer.stage.size, renderer.trajectories
        return np.zeros((renderer.height, renderer.width, 3), np.uint8)

    monkeypatch.setattr(Renderer, "draw", draw)
    return Shot


def share(shot: type[Shot], frames: list[int]) -> float:
    """How far from the middle, in halves of the picture, what frames carry reaches; 1 is the edge."""
    assert frames
    away = corners_of(shot.trajectory, frames, 0) - shot.camera.place
    depth = away @ shot.camera.forward
    assert (depth > 0).all()
    sides = shot.camera.right, shot.camera.up
    return max(float((np.abs(away @ side) / (depth * (side @ side))).max()) for side in sides)


def carried(env) -> list[int]:
    """The frames that joints move, and those that differ from start to start."""
    states = jax.vmap(lambda key: env.reset(key)[0])(jax.random.split(jax.random.key(5), 3))
    positions, quaternions = jax.device_get(jax.jit(jax.vmap(env.poses))(states))
    return moving_frames(Trajectory3d(env.body3d(), positions, quaternions, 1.0))


def first_state(env):
    """The first of the states that the painter itself looks at, so that nothing else is compiled."""
    return jax.tree.map(lambda leaf: leaf[0], _starts(env))


def placed(state, qpos):
    return eqx.tree_at(lambda s: s.physics.qpos, state, jnp.asarray(qpos, state.physics.qpos.dtype))


def test_an_arm_that_always_starts_alike_is_in_the_picture(shot):
    env = ks.make("Pusher-v5")
    painter, frames, state = StatePainter(env), list(env.body3d().jointed), first_state(env)
    assert {geom.frame for geom in env.body3d().geoms} - {-1} <= set(frames)
    painter.draw(placed(state, state.physics.qpos.at[:7].set(jnp.array([2.0, 1.0, 0.5, -2.0, 0.0, 0.5, 0.0]))))
    assert share(shot, frames) <= ROOMY
    painter.draw(state)
    assert 0.4 < share(shot, frames) <= ROOMY


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("x", [-50.0, 0.0, 0.3, 6.0])
def test_who_walks_away_stays_in_the_picture(shot, noise, x):
    env = ks.make("HalfCheetah-v5", reset_noise_scale=noise)
    state = first_state(env)
    StatePainter(env).draw(placed(state, state.physics.qpos.at[0].set(x)))
    assert 0.3 < share(shot, list(env.body3d().jointed)) <= ROOMY


class Roamers(ks.Env):
    """Two balls side by side that start anywhere in a large field; nothing tells that joints move them."""

    target: bool = eqx.field(static=True, default=False)
    ground: float | None = eqx.field(static=True, default=None)
    time_limit: int | None = None

    @property
    def dt(self) -> float:
        return 0.1

    @property
    def observation_space(self) -> Box:
        return Box(-1.0, 1.0, ())

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key):
        state = jax.random.uniform(key, (3,), minval=-3.0, maxval=3.0) * jnp.array([1.0, 1.0, 0.0])
        return state, first_timestep(jnp.float32(0.0))

    def step(self, key, state, action):
        return state, first_timestep(jnp.float32(0.0))

    def body3d(self) -> Body3d:
        balls = (Geom("sphere", (0.1, 0.0, 0.0), 0), Geom("sphere", (0.1, 0.0, 0.0), 1))
        target = (Geom("sphere", (0.1, 0.0, 0.0), name="target"),) if self.target else ()
        ground = () if self.ground is None else (Geom("plane", (4.0, 4.0, 0.1), position=(0.0, 0.0, self.ground)),)
        return Body3d((*balls, *target, *ground))

    def poses(self, state):
        return jnp.stack([state, state + jnp.array([0.2, 0.0, 0.0])]), jnp.tile(jnp.array([1.0, 0, 0, 0]), (2, 1))


@pytest.mark.parametrize("target", [False, True])
def test_who_starts_anywhere_is_in_the_picture_as_is_a_goal(shot, target):
    env = Roamers(target=target)
    painter = StatePainter(env)
    for seed in range(8):
        painter.draw(env.reset(jax.random.key(seed))[0])
        assert share(shot, [0, 1]) <= ROOMY
    assert not target or shot.size > 3.0
    assert target or share(shot, [0, 1]) > 0.3


def test_a_floor_that_is_the_pictures_own_lies_below_what_sinks(shot):
    env = Roamers()
    painter = StatePainter(env)
    floors = []
    for depth in (0.0, 0.02, 1.0, 5.0):
        painter.draw(jnp.array([0.0, 0.0, -depth]))
        floors.append(shot.floor)
        assert shot.floor <= 1e-6 - depth - 0.1
        assert share(shot, [0, 1]) <= ROOMY
    assert floors[0] == floors[1] > floors[2] > floors[3]


def test_a_narrow_ground_is_not_hidden_by_the_floor(shot):
    """Nor is who lands on it, though all start above."""
    env = Roamers(ground=-20.0)
    painter = StatePainter(env)
    for height in (0.0, -19.9):
        painter.draw(jnp.array([0.0, 0.0, height]))
        assert -21.0 < shot.floor < -20.01
    assert StatePainter(Roamers(ground=5.0)).draw(jnp.zeros(3)).shape
    assert -1.0 < shot.floor < -0.1


def test_a_floor_of_the_robots_own_stays(shot):
    env = ks.make("HalfCheetah-v5")
    state = first_state(env)
    StatePainter(env).draw(placed(state, state.physics.qpos.at[1].set(-2.0)))
    assert shot.floor == 0.0


SHEET = [id for id in ks.list_envs() if id.endswith("-v5") or id in ("RandomAnt-v0", "CartPoleSwingUp-v0")]
SUITE = [id for id in ks.list_envs() if id.startswith("dm_control/")]


@pytest.mark.parametrize(
    "id",
    [
        *(pytest.param(id, marks=pytest.mark.full("larger")) for id in SHEET),
        *(pytest.param(id, marks=pytest.mark.peers) for id in SUITE),
    ],
)
def test_every_robot_is_in_the_picture_at_the_start_and_after_random_steps(shot, id):
    if id in SUITE:
        pytest.importorskip("dm_control")
    env = unwrapped(ks.make(id))
    painter, frames = StatePainter(env), carried(env)
    state, _ = jax.jit(env.reset)(jax.random.key(3))
    step = jax.jit(lambda key, state: env.step(key, state, env.action_space.sample(key))[0])
    for t in range(61):
        if t % 20 == 0:
            painter.draw(state)
            assert share(shot, followed_frames(shot.trajectory, frames)) <= ROOMY
        state = step(jax.random.key(t), state)


@pytest.mark.parametrize(
    ("env", "name"),
    [
        (ks.make("Pendulum-v1"), "theta"),
        (ks.make("MountainCarContinuous-v0"), "position"),
        (ks.wrappers.StickyAction(ks.make("CartPole-v1"), 0.5), "env_state.x"),
        (ks.make("InvertedPendulum-v5"), "physics.qpos"),
    ],
)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_told_in_one_line(env, name, wrong):
    state = jax.device_get(env.reset(jax.random.key(0))[0])
    where = operator.attrgetter(name)
    broken = eqx.tree_at(where, state, np.full_like(where(state), wrong))
    told = f"{name.removeprefix('env_state.')} of the state: got {wrong}; a state that is not finite cannot be drawn; "
    with pytest.raises(ks.ConfigError) as caught:
        StatePainter(env).draw(broken)
    assert str(caught.value) == told + "reset the environment"
