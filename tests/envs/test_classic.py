"""Classic control without a reference: bad input, numbers as leaves, gradients, actions out of range, pictures."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.collectors.env_kernel import env_kernel, partition_env
from kousoku.collectors.slot import advance_clipped, begin
from kousoku.core.errors import ConfigError
from kousoku.core.scene import Line, Polygon, Polyline
from kousoku.envs.classic.acrobot import AcrobotState
from kousoku.envs.classic.cartpole import CartPole, CartPoleState
from kousoku.envs.classic.common import wrapped
from kousoku.envs.classic.hill import MountainCarState
from kousoku.envs.classic.pendulum import Pendulum, PendulumState
from kousoku.viz import Animation
from kousoku.viz.svg import scene_svg

IDS = ("CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")
KEY = jax.random.key(0)


def f32(*values: float) -> list[jax.Array]:
    return [jnp.float32(value) for value in values]


@pytest.mark.parametrize(
    ("id", "options", "field"),
    [
        ("CartPole-v1", {"gravity": "9.8"}, "gravity"),
        ("CartPole-v1", {"gravity": math.nan}, "gravity"),
        ("CartPole-v1", {"gravity": math.inf}, "gravity"),
        ("CartPole-v1", {"gravity": True}, "gravity"),
        ("CartPole-v1", {"gravity": 1e7}, "gravity"),
        ("CartPole-v1", {"masspole": 0}, "masspole"),
        ("CartPole-v1", {"length": -1.0}, "length"),
        ("CartPole-v1", {"x_threshold": 0.0}, "x_threshold"),
        ("CartPole-v1", {"sutton_barto_reward": 1}, "sutton_barto_reward"),
        ("CartPole-v1", {"kinematics_integrator": "euler2"}, "kinematics_integrator"),
        ("CartPole-v1", {"reset_low": 0.1}, "reset_high"),
        ("CartPole-v1", {"time_limit": 0}, "time_limit"),
        ("CartPole-v0", {"time_limit": 2.5}, "time_limit"),
        ("CartPole-v1", {"mass_cart": 1.0}, "option of CartPole-v1"),
        ("MountainCar-v0", {"goal_velocity": None}, "goal_velocity"),
        ("MountainCar-v0", {"max_speed": 0.0}, "max_speed"),
        ("MountainCar-v0", {"min_position": 1.0}, "max_position"),
        ("MountainCar-v0", {"reset_high": -0.7}, "reset_high"),
        ("MountainCarContinuous-v0", {"max_action": -2.0}, "max_action"),
        ("MountainCarContinuous-v0", {"power": [1.0]}, "power"),
        ("Pendulum-v1", {"g": "moon"}, "g"),
        ("Pendulum-v1", {"dt": 0.0}, "dt"),
        ("Pendulum-v1", {"x_init": -1.0}, "x_init"),
        ("Acrobot-v1", {"torque_noise_max": -0.1}, "torque_noise_max"),
        ("Acrobot-v1", {"book_or_nips": "paper"}, "book_or_nips"),
        ("Acrobot-v1", {"link_moi": 0.0}, "link_moi"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(id, options, field):
    with pytest.raises(ConfigError) as caught:
        ks.make(id, **options)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("id", IDS)
def test_numbers_are_leaves_and_the_rest_is_structure(id):
    env = ks.make(id)
    assert len(jax.tree.leaves(env)) == len(_numbers(env)) == len(vars(env)) - len(_structure(env))
    bounds = {"Pendulum-v1": {"max_torque"}, "MountainCarContinuous-v0": {"min_action", "max_action"}}
    assert {name for name in _structure(env) if isinstance(getattr(env, name), float)} == bounds.get(id, set())
    assert ks.make(id, time_limit=None).time_limit is None


def _structure(env: ks.Env) -> set[str]:
    return {name for name, field in env.__dataclass_fields__.items() if field.metadata.get("static", False)}


def _numbers(env: ks.Env) -> list[str]:
    return [name for name, value in vars(env).items() if isinstance(value, float) and name not in _structure(env)]


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", IDS)
def test_every_number_may_differ_from_lane_to_lane(id):
    """Lanes with numbers of their own do what single environments with these numbers do; the contract holds."""
    plain = ks.make(id)
    names = _numbers(plain)
    factors = np.array([0.7, 1.0, 1.3], np.float32)

    def with_factor(factor):
        return ks.make(id, **{name: jnp.asarray(getattr(plain, name)) * factor for name in names})

    def play(env, key):
        reset_key, act_key, step_key = jax.random.split(key, 3)
        state, first = env.reset(reset_key)
        state, second = env.step(step_key, state, plain.action_space.sample(act_key))
        return first, second

    keys = jax.random.split(KEY, 3)
    lanes = jax.vmap(lambda factor, key: play(with_factor(factor), key))(jnp.asarray(factors), keys)
    for i, factor in enumerate(factors):
        alone = play(ks.make(id, **{name: getattr(plain, name) * float(factor) for name in names}), keys[i])
        for a, b in zip(jax.tree.leaves(lanes), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-5, atol=1e-6)
    ks.check_env(with_factor(jnp.float32(1.0)), steps=5)
    batch = eqx.filter_vmap(with_factor)(jnp.asarray(factors))
    states, _ = eqx.filter_vmap(lambda env, key: env.reset(key))(batch, keys)
    assert jax.tree.leaves(states)[0].shape == (3,)


def test_spaces_follow_known_numbers_and_are_wide_where_lanes_differ():
    assert ks.make("Pendulum-v1", max_speed=5, max_torque=1).observation_space.high == (1.0, 1.0, 5.0)
    assert ks.make("Pendulum-v1", max_torque=1).action_space == ks.Box(-1.0, 1.0, (1,))
    arrays = ks.make("Pendulum-v1", max_speed=jnp.float32(5.0))
    assert arrays.observation_space.high == (1.0, 1.0, math.inf)
    assert ks.make("CartPole-v1", x_threshold=1.0).observation_space.high[0] == 2.0


@pytest.mark.by_default("Pendulum-v1-options1-4.0-<lambda>")
@pytest.mark.parametrize(
    ("id", "options", "action", "acted"),
    [
        ("Pendulum-v1", {"max_torque": 5.0}, 4.0, lambda slot: slot.env_state.torque),
        ("Pendulum-v1", {"max_torque": 0.5}, 4.0, lambda slot: slot.env_state.torque * 8),
        (
            "Balls-v0",
            {"max_push": 5.0, "gravity": 0.0, "n": 1, "start_speed": 0.0},
            4.0,
            lambda slot: slot.env_state.vx[0] * 100,
        ),
    ],
)
def test_in_programs_too_actions_are_within_the_bounds_that_are_told(id, options, action, acted):
    """Where an environment's numbers are arguments, and its spaces are asked of it again."""
    env = ks.make(id, **options)
    arrays, structure = partition_env(env)
    key = jax.random.key(0)
    slot = begin(env, key)
    found, _, _ = env_kernel(advance_clipped, structure)(arrays, slot, jnp.array([action], jnp.float32), key)
    assert float(acted(found)) == pytest.approx(4.0, rel=1e-5)


def test_a_bound_of_actions_is_no_array():
    with pytest.raises(
        ConfigError, match=r"max_torque: got Array.*; use a number that is no array: it bounds the actio"
    ):
        ks.make("Pendulum-v1", max_torque=jnp.float32(1.0))
    with pytest.raises(ConfigError, match=r"max_torque: got 0; use a number in \(0"):
        ks.make("Pendulum-v1", max_torque=0)


@pytest.mark.full("covered")
def test_an_episode_of_the_pendulum_has_a_finite_gradient_that_is_right():
    """d return / d g and d return / d torques, against differences."""

    def episode(g, torques):
        env = Pendulum(g=g)
        start = PendulumState(*f32(2.0, 0.5, 0.0))

        def one(state, torque):
            state, timestep = env.step(KEY, state, torque)
            return state, timestep.reward

        return jnp.sum(jax.lax.scan(one, start, torques)[1])

    torques = jnp.full((20, 1), 0.5, jnp.float32)
    gravity, turns = jax.grad(episode, argnums=(0, 1))(jnp.float32(10.0), torques)
    assert np.isfinite(turns).all()
    assert np.abs(turns[:-1]).min() > 0
    change = (episode(jnp.float32(10.05), torques) - episode(jnp.float32(9.95), torques)) / 0.1
    assert float(gravity) == pytest.approx(float(change), rel=1e-2)


@pytest.mark.by_default("CartPole-v1", "Pendulum-v1")
@pytest.mark.parametrize("id", IDS)
def test_every_step_has_a_finite_gradient(id):
    env = ks.make(id)
    state, _ = env.reset(KEY)
    action = env.action_space.sample(KEY)
    total = jax.grad(lambda s: jnp.sum(env.step(KEY, s, action)[1].obs))(state)
    assert all(np.isfinite(leaf) for leaf in jax.tree.leaves(total))


@pytest.mark.parametrize(("id", "bad", "nearest"), [("MountainCar-v0", 7, 2), ("Acrobot-v1", -3, 0)])
def test_an_action_beyond_the_space_counts_as_the_nearest(id, bad, nearest):
    env = ks.make(id)
    state, _ = env.reset(KEY)
    given, meant = (env.step(KEY, state, jnp.int32(a))[1].obs for a in (bad, nearest))
    assert np.array_equal(given, meant)


def test_a_push_is_never_stronger_than_the_motor():
    env = CartPole()
    state = CartPoleState(*f32(0, 0, 0, 0))
    for action in (-1, 2, 7):
        assert abs(float(env.step(KEY, state, jnp.int32(action))[1].obs[1])) < 0.2


@pytest.mark.parametrize("turns", [-40, -1, 0, 1, 13, 100])
def test_a_wrapped_angle_is_exact_to_the_last_place(turns):
    angle = np.float32(2.0 * np.pi * turns + 0.7)
    exact = (float(angle) + np.pi) % (2 * np.pi) - np.pi
    assert abs(float(wrapped(jnp.float32(angle))) - exact) < 2e-7


def test_the_pendulums_angle_stays_small_however_often_it_turns():
    env = Pendulum(g=0.0)

    def one(state, _):
        state, timestep = env.step(KEY, state, jnp.array([2.0], jnp.float32))
        return state, (state.theta, timestep.obs)

    _, (theta, obs) = jax.lax.scan(one, PendulumState(*f32(0, 8, 0)), None, 1000)
    assert float(jnp.abs(theta).max()) <= math.pi + 0.41
    exact = 0.4 * np.arange(1, 1001)  # eight radians a second for a twentieth of one
    np.testing.assert_allclose(obs[:, 0], np.cos(exact), atol=2e-4)


def test_the_acrobots_angles_stay_within_half_a_turn():
    env = ks.make("Acrobot-v1")

    def one(state, _):
        state, _ = env.step(KEY, state, jnp.int32(2))
        return state, jnp.stack([state.theta1, state.theta2])

    _, angles = jax.lax.scan(one, AcrobotState(*f32(3.0, -3.0, 9.0, -20.0)), None, 200)
    assert (jnp.abs(angles) <= jnp.float32(math.pi)).all()
    assert (np.abs(np.diff(angles, axis=0)).max(axis=0) > 5.0).all()  # each of them went round


def test_the_wall_stops_the_car_and_the_goal_wants_speed():
    env = ks.make("MountainCar-v0")
    _, timestep = env.step(KEY, MountainCarState(*f32(-1.19, -0.05)), jnp.int32(0))
    np.testing.assert_array_equal(timestep.obs, np.array([-1.2, 0.0], np.float32))
    fast = ks.make("MountainCar-v0", goal_velocity=0.06)
    state = MountainCarState(*f32(0.48, 0.05))
    assert bool(env.step(KEY, state, jnp.int32(2))[1].terminated)
    assert not bool(fast.step(KEY, state, jnp.int32(2))[1].terminated)


@pytest.mark.parametrize("id", ["MountainCar-v0", "MountainCarContinuous-v0"])
@pytest.mark.parametrize("speed", [0.0, 0.03125])
def test_the_goal_counts_from_its_first_point_and_its_least_speed_on(id, speed):
    env = ks.make(id, gravity=0.0, goal_position=0.5, goal_velocity=speed)
    action = jnp.int32(1) if id == "MountainCar-v0" else jnp.zeros((1,), jnp.float32)
    for position, velocity, arrived in ((0.5, speed, True), (0.4375, speed, False), (0.5, speed - 2**-8, False)):
        state = MountainCarState(*f32(position - velocity, velocity))
        assert bool(env.step(KEY, state, action)[1].terminated) == arrived


def test_noise_is_drawn_only_where_there_is_some():
    state = AcrobotState(*f32(0.1, 0.2, 0.3, 0.4))

    def speeds(env):
        return {float(env.step(jax.random.key(seed), state, jnp.int32(1))[1].obs[4]) for seed in range(5)}

    assert len(speeds(ks.make("Acrobot-v1"))) == 1
    assert len(speeds(ks.make("Acrobot-v1", torque_noise_max=0.5))) == 5


class Leaning(ks.Agent):
    """Pushes to where the first and second observations lean; learns nothing."""

    learns_from: ks.Online = ks.Online()
    gain: float = 1.0

    def init(self, spec, key):
        return jnp.float32(0.0)

    def act(self, state, obs, carry, key, *, greedy=False):
        return (obs[0] + self.gain * obs[1] > 0).astype(jnp.int32), carry, None

    def update(self, state, data, key, *, axis=None):
        return state, {}


@pytest.mark.reports
@pytest.mark.full("whole way")
@pytest.mark.parametrize("id", ["CartPole-v1", *(id for id in ("MountainCar-v0", "Acrobot-v1"))])
def test_a_run_is_written_read_and_filmed(id, tmp_path):
    run = ks.train(Leaning(), id, steps=500, seeds=2, out=str(tmp_path / "run"))
    again = ks.load(tmp_path / "run")
    assert len(run.record.film.scenes) > 5
    assert again.record.film.scenes == run.record.film.scenes
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    page = again.animate().save(tmp_path / "film.html")
    assert f"on {id}" in page.read_text() or id in page.read_text()


class TestScenes:
    @pytest.mark.by_default("CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1")
    @pytest.mark.parametrize("id", IDS)
    def test_moves_with_the_state_and_stays_inside(self, id):
        env = ks.make(id)
        scenes = []
        for seed in range(5):
            state, _ = env.reset(jax.random.key(seed))
            for i in range(3):
                state, _ = env.step(KEY, state, env.action_space.sample(jax.random.key(i)))
            scenes.append(env.scene(jax.device_get(state)))
        assert len({scene.background for scene in scenes}) == 1
        assert len({scene.foreground for scene in scenes}) == 5
        for scene in scenes:
            for x, y in points(scene_svg(scene)):
                assert -0.01 <= x <= scene.width + 0.01
                assert -0.01 <= y <= scene.height + 0.01

    def test_the_pole_leans_to_the_right_for_a_positive_angle(self):
        scene = ks.make("CartPole-v1").scene(CartPoleState(*f32(1.0, 0, 0.2, 0)))
        pole = next(shape for shape in scene.foreground if isinstance(shape, Line))
        assert pole.x2 - pole.x1 == pytest.approx(math.sin(0.2), abs=1e-6)
        assert pole.y1 - pole.y2 == pytest.approx(math.cos(0.2), abs=1e-6)
        assert pole.x1 - scene.width / 2 == pytest.approx(1.0)

    def test_the_car_stands_on_the_hill_at_its_slope(self):
        for position in (-1.1, -0.5, 0.2):
            scene = ks.make("MountainCar-v0").scene(MountainCarState(*f32(position, 0)))
            hill = next(shape for shape in scene.background if isinstance(shape, Polyline))
            body = [shape for shape in scene.foreground if isinstance(shape, Polygon)][1]
            (x1, y1), (x2, y2) = body.points[0], body.points[3]  # the two ends of its floor
            slope = 3 * 0.45 * math.cos(3 * position)
            assert (y1 - y2) / (x2 - x1) == pytest.approx(slope, abs=1e-4)
            ground = np.interp((x1 + x2) / 2, *np.array(hill.points).T)
            assert 0.02 < ground - (y1 + y2) / 2 < 0.09

    def test_the_rod_leans_to_the_left_for_a_positive_angle_as_in_gymnasium(self):
        rod = ks.make("Pendulum-v1").scene(PendulumState(*f32(0.3, 0, 0))).foreground[0]
        assert isinstance(rod, Line)
        assert rod.x1 - rod.x2 == pytest.approx(math.sin(0.3), abs=1e-6)
        assert rod.y1 - rod.y2 == pytest.approx(math.cos(0.3), abs=1e-6)

    def test_the_torque_is_an_arrow_whose_length_and_sense_are_its(self):
        env = ks.make("Pendulum-v1")
        drawn = {u: env.scene(PendulumState(*f32(0.3, 0, u))).foreground for u in (0.0, 1.0, 2.0, -2.0)}
        arcs = {u: [s for s in shapes if isinstance(s, Polyline)] for u, shapes in drawn.items()}
        assert arcs[0.0] == []
        assert len(arcs[2.0][0].points) > 1.8 * len(arcs[1.0][0].points)
        right, left = arcs[2.0][0].points, arcs[-2.0][0].points
        assert right[3][0] > right[0][0] == pytest.approx(left[0][0])
        assert left[3][0] < left[0][0]

    def test_the_tip_is_above_the_bar_where_the_episode_ends(self):
        env = ks.make("Acrobot-v1")
        low, close = 2.0 * math.pi / 3.0, [math.acos(-h) - 2.0 * math.pi / 3.0 for h in (0.45, 0.55)]
        for theta1, theta2 in ((2.0, 1.0), (0.0, 0.5), (math.pi, 0.0), (2.0, -1.0), *((low, angle) for angle in close)):
            scene = env.scene(AcrobotState(*f32(theta1, theta2, 0, 0)))
            bar = next(shape for shape in scene.background if isinstance(shape, Line))
            links = [shape for shape in scene.foreground if isinstance(shape, Line)]
            above = -math.cos(theta1) - math.cos(theta1 + theta2) > 1
            assert (links[1].y2 < bar.y1) == above

    @pytest.mark.by_default("Acrobot-v1", "CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0")
    @pytest.mark.parametrize("id", IDS)
    def test_becomes_every_kind_of_file(self, id, tmp_path):
        env = ks.make(id)
        state = jax.device_get(env.reset(KEY)[0])
        film = Animation.of_scenes((env.scene(state),) * 2, 0.1)
        for ending in ("svg", "gif", "html"):
            assert film.save(tmp_path / f"x.{ending}", size=120).stat().st_size > 500


def points(svg: str) -> list[tuple[float, float]]:
    """Every point that an SVG draws at: ends of lines, corners, centres."""
    found = []
    for node in ET.fromstring(svg).iter():
        for x, y in (("x1", "y1"), ("x2", "y2"), ("cx", "cy")):
            if node.get(x) is not None:
                found.append((float(node.get(x)), float(node.get(y))))
        found += [tuple(map(float, point.split(","))) for point in (node.get("points") or "").split()]
    return found
