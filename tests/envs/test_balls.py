"""Falling balls against closed forms: free fall, energy, bounces, drag, gradients; the box; bad input; the picture."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from diverging import check_only_these_blew_up

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.core.scene import Circle, Line, Rect
from kousoku.envs.balls.env import Balls, BallsState
from kousoku.viz import Animation

KEY = jax.random.key(0)
BARE = {"walls": False, "floor": False}


def started(x=(0.0,), z=(0.0,), vx=(0.0,), vz=(0.0,)) -> BallsState:
    return BallsState(*(jnp.asarray(numbers, jnp.float32) for numbers in (x, z, vx, vz)))


def path(env: Balls, state: BallsState, steps: int, push=0.0) -> BallsState:
    """The states after each step, [steps, n]."""

    def one(state, _):
        state, _ = env.step(KEY, state, jnp.full((1,), push, jnp.float32))
        return state, state

    return jax.lax.scan(one, state, length=steps)[1]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"n": 0}, "n"),
        ({"n": 2.5}, "n"),
        ({"n": "many"}, "n"),
        ({"gravity": math.nan}, "gravity"),
        ({"width": 0.0}, "width"),
        ({"height": -1.0}, "height"),
        ({"restitution": 1.01}, "restitution"),
        ({"restitution": -0.1}, "restitution"),
        ({"drag": -1.0}, "drag"),
        ({"max_push": -1.0}, "max_push"),
        ({"start_speed": "slow"}, "start_speed"),
        ({"dt": 0.0}, "dt"),
        ({"walls": 1}, "walls"),
        ({"floor": "no"}, "floor"),
        ({"time_limit": 0}, "time_limit"),
        ({"balls": 3}, "option of Balls-v0"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(options, field):
    with pytest.raises(ConfigError) as caught:
        ks.make("Balls-v0", **options)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_free_fall_is_the_closed_form_of_semi_implicit_euler():
    """In binary fractions, so that nothing is rounded: every step is exact."""
    env = Balls(n=2, gravity=8.0, dt=1 / 64, **BARE)
    fallen = path(env, started((0, 0), (100, 50), (2, 0), (3, -1)), 64)
    k = np.arange(1, 65)[:, None]
    z = np.array([100.0, 50.0]) + k * np.array([3.0, -1.0]) / 64 - 8.0 / 64**2 * k * (k + 1) / 2
    np.testing.assert_array_equal(fallen.z, z.astype(np.float32))
    np.testing.assert_array_equal(fallen.x[:, 0], (2.0 * k[:, 0] / 64).astype(np.float32))
    np.testing.assert_array_equal(fallen.vz, (np.array([3.0, -1.0]) - 8.0 * k / 64).astype(np.float32))
    assert fallen.z.min() < 60


def test_free_fall_for_a_long_time_with_the_default_numbers():
    env = Balls(n=1, **BARE)
    fallen = path(env, started(z=(1000.0,)), 1000).z[:, 0]
    k = np.arange(1, 1001)
    np.testing.assert_allclose(fallen, 1000.0 - 9.81 * 1e-4 * k * (k + 1) / 2, rtol=1e-4)


@pytest.mark.by_default("10.0-0.03")
@pytest.mark.parametrize("dt", [1e-3, 1e-2, 3e-2])
@pytest.mark.parametrize("height", [10.0, 2.5])
def test_energy_is_kept_also_by_bounces(dt, height):
    """From the ground, and from the lid of the lower box."""
    env = Balls(n=64, restitution=1.0, dt=dt, height=height)
    state = started(np.full(64, 2.0), np.linspace(0.5, 2.0, 64), np.zeros(64), np.full(64, 5.0))
    states = path(env, state, round(5 / dt))
    speed = np.asarray(states.vz, np.float64) - 9.81 * dt / 2
    energy = speed**2 / 2 + 9.81 * np.asarray(states.z, np.float64)
    assert (np.diff(np.sign(speed), axis=0) > 0).sum(axis=0).min() >= 3
    np.testing.assert_allclose(energy, np.broadcast_to(energy[0], energy.shape), rtol=3e-4 if dt < 2e-3 else 3e-5)


def test_without_gravity_energy_is_exact():
    env = Balls(n=3, gravity=0.0, restitution=1.0)
    states = path(env, started((1, 2, 3), (1, 1, 2), (3, -2, 1), (1, 5, -4)), 1000)
    for speed in (states.vx, states.vz):
        np.testing.assert_allclose(np.abs(speed), np.broadcast_to(np.abs(speed[0]), speed.shape), rtol=1e-4)
        assert (speed < 0).any()
        assert (speed > 0).any()


def bouncing(height: float, e: float, times: np.ndarray) -> np.ndarray:
    """Heights of a ball that is dropped at rest, by the textbook."""
    heights = height - 9.81 * times**2 / 2
    begin, speed = math.sqrt(2 * height / 9.81), e * math.sqrt(2 * 9.81 * height)
    while speed > 1e-3 and begin < times[-1]:
        since = times - begin
        heights = np.where(since > 0, speed * since - 9.81 * since**2 / 2, heights)
        begin, speed = begin + 2 * speed / 9.81, e * speed
    return np.where(times > begin, 0.0, heights) if begin < times[-1] else heights


@pytest.mark.by_default("1.0-0.03125")
@pytest.mark.parametrize("dt", [1 / 128, 1 / 32])
@pytest.mark.parametrize("restitution", [0.5, 0.8, 1.0])
def test_a_ball_bounces_as_in_the_textbook(restitution, dt):
    """At every step where the real one is, over many bounces; dropped at rest: half a kick ahead of v = 0."""
    env = Balls(n=1, restitution=restitution, dt=dt, width=4.0)
    states = path(env, started((2.0,), (2.0,), vz=(9.81 * dt / 2,)), round(4 / dt))
    exact = bouncing(2.0, restitution, dt * np.arange(1, round(4 / dt) + 1))
    np.testing.assert_allclose(states.z[:, 0], exact, atol=2e-3 if restitution == 0.5 else 2e-4)
    tops = np.asarray(states.z[1:-1, 0])[np.diff(np.sign(np.diff(states.z[:, 0]))) < 0]
    np.testing.assert_allclose(tops[0], 2.0 * restitution**2, atol=2 * dt)


def test_without_restitution_a_ball_stays_where_it_lands():
    env = Balls(n=2, restitution=0.0)
    states = path(env, started((1, 2), (1, 3), (0.5, 0), (0, 0)), 200)
    assert (states.z[-50:] == 0.0).all()
    assert (states.vz[-50:] == 0.0).all()
    assert float(states.x[-1, 0]) > float(states.x[-2, 0])  # it slides: the ground has no friction


def test_a_ball_comes_to_rest():
    z = path(Balls(n=1, restitution=0.5), started((1.0,), (2.0,)), 1000).z
    assert float(jnp.abs(z[-200:]).max()) == 0.0


@pytest.mark.parametrize("drag", [0.5, 3.0, 1000.0])
def test_drag_takes_its_share_of_every_step(drag):
    env = Balls(n=1, gravity=0.0, drag=drag, **BARE)
    vx = path(env, started(vx=(4.0,)), 30).vx[:, 0]
    np.testing.assert_allclose(vx, 4.0 / (1 + drag * 0.01) ** np.arange(1.0, 31.0), rtol=1e-5)


def test_a_ball_with_drag_ends_at_its_terminal_speed():
    env = Balls(n=1, gravity=9.0, drag=3.0, **BARE)
    assert float(path(env, started(), 2000).vz[-1, 0]) == pytest.approx(-3.0, rel=1e-5)


@pytest.mark.by_default("1000.0-0.0", "1000.0-0.9", "1000.0-1.0")
@pytest.mark.parametrize("restitution", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("speed", [5.0, 1000.0])
def test_balls_stay_inside(restitution, speed):
    """At any speed, also where a step is longer than the box."""
    env = Balls(n=50, restitution=restitution, start_speed=speed, width=3.0, height=2.0)
    state, first = env.reset(KEY)
    states = path(env, state, 300, push=1.0)
    assert env.observation_space.contains(first.obs)
    for place, end in ((states.x, 3.0), (states.z, 2.0)):
        assert (place >= 0).all()
        assert (place <= end).all()
    assert np.isfinite(states.vz).all()


def test_the_box_may_be_open():
    falling = started((0.5,), (0.5,), (-3.0,), (0.0,))
    for walls in (True, False):
        for floor in (True, False):
            env = Balls(n=1, walls=walls, floor=floor, time_limit=None)
            states = path(env, falling, 200)
            assert (states.x.min() >= 0) == walls
            assert (states.z.min() >= 0) == floor
            low, high = np.array(env.observation_space.low), np.array(env.observation_space.high)
            assert np.isfinite(low[0]).tolist() == [walls, floor, False, False]
            assert np.isfinite(high[0]).tolist() == [walls, walls, False, False]


def test_a_push_moves_all_and_is_never_stronger_than_its_limit():
    env = Balls(n=3, max_push=2.0, dt=0.25, gravity=0.0, **BARE)
    state = started(*np.zeros((4, 3)))
    for push, speed in ((1.0, 0.25), (-2.0, -0.5), (7.0, 0.5)):
        state_after, _ = env.step(KEY, state, jnp.full((1,), push, jnp.float32))
        np.testing.assert_array_equal(state_after.vx, np.full(3, speed, np.float32))
        np.testing.assert_array_equal(state_after.vz, np.zeros(3, np.float32))


def test_the_reward_is_the_mean_distance_to_the_middle():
    env = Balls(n=3, gravity=0.0)
    _, timestep = env.step(KEY, started((1.0, 2.0, 3.5), (1, 1, 1), (0, 0, 0), (0, 0, 0)), jnp.zeros((1,), jnp.float32))
    assert float(timestep.reward) == pytest.approx(-(1.0 + 0.0 + 1.5) / 3)
    np.testing.assert_allclose(timestep.obs, [[1, 1, 0, 0], [2, 1, 0, 0], [3.5, 1, 0, 0]], atol=1e-6)


@pytest.mark.full("covered")
def test_first_states_fill_the_upper_half():
    env = Balls(n=20_000, start_speed=2.0)
    state, timestep = env.reset(KEY)
    for numbers, low, high in ((state.x, 0, 4), (state.z, 1.5, 3), (state.vx, -2, 2), (state.vz, -2, 2)):
        assert low <= float(numbers.min()) < low + 0.01 * (high - low)
        assert high >= float(numbers.max()) > high - 0.01 * (high - low)
        assert float(numbers.mean()) == pytest.approx((low + high) / 2, abs=0.02 * (high - low))
    assert np.abs(np.corrcoef(timestep.obs.T) - np.eye(4)).max() < 0.03
    assert float(timestep.reward) == 0.0


def test_the_final_height_of_a_free_fall_has_the_gradient_of_its_closed_form():
    def end(gravity, height, speed):
        env = Balls(n=1, gravity=gravity, dt=1 / 64, **BARE)
        return path(env, BallsState(jnp.zeros(1), height[None], jnp.zeros(1), speed[None]), 50).z[-1, 0]

    found = jax.grad(end, argnums=(0, 1, 2))(jnp.float32(9.81), jnp.float32(10.0), jnp.float32(1.0))
    np.testing.assert_allclose(found, [-(50 * 51) / 2 / 64**2, 1.0, 50 / 64], rtol=1e-5)


@pytest.mark.full("covered")
@pytest.mark.parametrize("restitution", [0.6, 1.0])
@pytest.mark.parametrize("dt", [1 / 500, 1 / 50])
def test_the_gradient_through_a_bounce_is_that_of_the_true_motion(restitution, dt):
    """At any step size; the closed form of one bounce: z = e g t s - g s^2 / 2 with s = T - t, t = sqrt(2 h / g)."""
    env = Balls(n=1, restitution=restitution, dt=dt, walls=False)

    def end(height):
        start = BallsState(jnp.ones(1), height[None], jnp.zeros(1), jnp.full((1,), 9.81 * dt / 2))
        return path(env, start, round(0.9 / dt)).z[-1, 0]

    t, e = math.sqrt(2 / 9.81), restitution
    s = 0.9 - t
    value, slope = jax.value_and_grad(end)(jnp.float32(1.0))
    assert float(value) == pytest.approx(e * 9.81 * t * s - 9.81 * s * s / 2, abs=1e-4)
    assert float(slope) == pytest.approx((e * (s - t) + s) / t, abs=2e-3)


@pytest.mark.full("covered")
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_gradients_are_finite_also_at_rest_and_at_walls(restitution):
    env = Balls(n=3, restitution=restitution)
    state = started((0.0, 4.0, 2.0), (0.0, 0.0, 3.0), (-1.0, 1.0, 0.0), (0.0, -1.0, 1.0))

    def total(state):
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(path(env, state, 50)))

    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.grad(total)(state)))


@pytest.mark.full("covered")
def test_numbers_are_leaves_and_every_lane_may_have_its_own():
    env = Balls(n=2)
    assert len(jax.tree.leaves(env)) == 7
    gravities = jnp.array([1.6, 9.81, 24.8], jnp.float32)
    state = started((1, 2), (2, 2), (0, 0), (0, 0))
    speeds = jax.vmap(lambda gravity: path(Balls(n=2, gravity=gravity), state, 10).vz[-1])(gravities)
    np.testing.assert_allclose(speeds, np.repeat(-0.1 * np.asarray(gravities)[:, None], 2, axis=1), rtol=1e-5)
    arrays = Balls(n=2, width=jnp.float32(2.0), max_push=3.0)
    assert arrays.observation_space.high[0] == (math.inf, 3.0, math.inf, math.inf)
    assert arrays.step(KEY, state, jnp.full((1,), 9.0))[0].vx[0] == jnp.float32(0.03)


@pytest.mark.full("covered")
def test_the_kernel_drops_balls_as_xla():
    env = Balls(n=40, drag=0.1)
    keys = jax.random.split(KEY, 20)

    def play(key):
        return path(env, env.reset(key)[0], 100, push=0.5)

    ours, theirs = (jax.jit(jax.vmap(ks.kernel(play, on=on)))(keys) for on in (True, False))
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (
            np.mean(~np.isclose(a, b, rtol=1e-4, atol=1e-4)) < 1e-3
        )  # a last bit may decide on which side one bounces


@pytest.mark.full("covered")
def test_a_lane_that_blows_up_is_terminated_and_the_others_keep_their_bits():
    env = Balls(n=3)
    states, _ = jax.vmap(env.reset)(jax.random.split(KEY, 6))
    pushes = jnp.array([[0.3], [math.nan], [0.3], [-0.2], [math.inf], [0.1]], jnp.float32)
    fine = jnp.array([[0.3], [0.3], [0.3], [-0.2], [1.0], [0.1]], jnp.float32)
    broken = eqx.tree_at(lambda s: (s.z, s.vx), states, (states.z.at[2, 1].set(jnp.nan), states.vx.at[3, 0].set(3e10)))
    step = jax.vmap(ks.kernel(env.step), (None, 0, 0))
    bad = np.array([False, True, True, True, False, False])
    check_only_these_blew_up(bad, broken, step(KEY, broken, pushes), step(KEY, states, fine))


class Broken(ks.Agent):
    """Pushes by NaN at every step."""

    learns_from: ks.Online = ks.Online()

    def init(self, spec, key):
        return jnp.float32(0.0)

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.full((1,), jnp.nan, jnp.float32), carry, None

    def update(self, state, data, key, *, axis=None):
        return state, {}


@pytest.mark.full("covered")
def test_lanes_that_blow_up_are_counted():
    run = ks.train(Broken(), "Balls-v0", env_options={"n": 2}, steps=40, eval_episodes=0, out="", progress=False)
    assert run.record.facts["blown_up"] == run.record.facts["episodes"] == 40


class Bowl(ks.Agent):
    """Pushes the balls to where they are not; learns nothing."""

    learns_from: ks.Online = ks.Online()
    gain: float = 1.0

    def init(self, spec, key):
        return jnp.float32(0.0)

    def act(self, state, obs, carry, key, *, greedy=False):
        push = -self.gain * jnp.mean(obs[:, 0] - 2.0 + obs[:, 2])
        return jnp.clip(push, -1.0, 1.0)[None], carry, None

    def update(self, state, data, key, *, axis=None):
        return state, {}


@pytest.mark.reports
@pytest.mark.full("whole way")
def test_a_run_is_trained_and_filmed(tmp_path):
    run = ks.train(
        Bowl(), "Balls-v0", env_options={"n": 10, "time_limit": 20}, steps=60, seeds=2, out=str(tmp_path / "run")
    )
    assert len(run.record.film.scenes) > 5
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    assert "Balls-v0" in run.animate().save(tmp_path / "film.html").read_text()


class TestScene:
    def test_balls_are_where_they_are(self):
        scene = Balls(n=3).scene(started((0, 2, 4), (0, 1, 3), (0, 0, 0), (0, 0, 0)))
        balls = [shape for shape in scene.foreground if isinstance(shape, Circle)]
        assert [ball.x - balls[0].x for ball in balls] == pytest.approx([0, 2, 4])
        assert [balls[0].y - ball.y for ball in balls] == pytest.approx([0, 1, 3])
        ground = next(shape for shape in scene.background if isinstance(shape, Rect) and shape.y > 0)
        assert balls[0].y + balls[0].radius == pytest.approx(ground.y, abs=0.03)

    def test_what_has_left_is_not_drawn_and_an_open_box_has_no_sides(self):
        env = Balls(n=3, **BARE)
        scene = env.scene(started((-3, 2, 2), (1, -5, 1), (0, 0, 0), (0, 0, 0)))
        assert len(scene.foreground) == 1
        assert not any(isinstance(shape, Line) for shape in scene.background)

    @pytest.mark.parametrize(("walls", "floor"), [(True, True), (True, False), (False, True)])
    def test_a_box_is_drawn_where_balls_bounce(self, walls, floor):
        """A line's edge is where that of a ball is whose centre is at the end of its way."""
        env = Balls(n=1, walls=walls, floor=floor)
        width, height = env.width, env.height
        corners = [env.scene(started((x,), (z,), (0,), (0,))).foreground for x, z in ((0, 0), (width, height))]
        (low,), (high,) = corners
        lines = {shape for shape in env.scene(started((0,), (0,), (0,), (0,))).background if isinstance(shape, Line)}
        away = low.radius + next(iter(lines)).width / 2
        left, right, top, ground = low.x - away, high.x + away, high.y - away, low.y + away
        wanted = [(left, top, left, ground), (right, top, right, ground), (left, top, right, top)] if walls else []
        wanted += [(left, ground, right, ground)] if floor else []
        found = sorted((line.x1, line.y1, line.x2, line.y2) for line in lines)
        np.testing.assert_allclose(found, sorted(wanted), atol=1e-6)

    @pytest.mark.full("covered")
    def test_many_balls_are_smaller(self):
        few, many = (Balls(n=n).scene(Balls(n=n).reset(KEY)[0]).foreground for n in (20, 4000))
        assert many[0].radius < 0.5 * few[0].radius

    @pytest.mark.full("covered")
    def test_becomes_every_kind_of_file(self, tmp_path):
        env = Balls(n=20)
        state = env.reset(KEY)[0]
        scenes = [env.scene(state)]
        for _ in range(3):
            state, _ = eqx.filter_jit(env.step)(KEY, state, jnp.zeros((1,), jnp.float32))
            scenes.append(env.scene(state))
        assert len({scene.background for scene in scenes}) == 1
        for ending in ("svg", "gif", "html"):
            assert Animation.of_scenes(tuple(scenes), 0.1).save(tmp_path / f"x.{ending}", size=120).stat().st_size > 500
