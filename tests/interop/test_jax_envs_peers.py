"""Other libraries' environments beside their own steps: the same states, observations and rewards, without their ends.

A random rollout of ours equals the sequence of their own steps without auto-reset, until the task ends; at their limit
nothing terminates.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.collectors.slot import advance, begin
from kousoku.compiler.api import reason_against
from kousoku.core.promotion import their_promotion
from kousoku.interop.jax_envs.gymnax import READ_LIMIT, without_limit
from kousoku.interop.jax_envs.pictures import robots
from kousoku.interop.jax_envs.spaces import conformed

# Their dtypes are looser than ours, and they use what NumPy and JAX are about to give up.
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

STEPS = 40
PACKAGES = {"playground": "mujoco_playground"}


def gymnax_steps(env: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Their reset and step, each giving (state, observation), and of a step reward and `done`."""
    theirs, params = env.theirs.it, env.params

    def reset(key: Any) -> Any:
        return theirs.reset_env(key, params)[::-1]

    def step(key: Any, state: Any, action: Any) -> Any:
        obs, state, reward, done, _ = theirs.step_env(key, state, action, params)
        return state, obs, reward, done

    return reset, step


def brax_steps(env: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def seen(state: Any) -> Any:
        return state, state.obs

    def step(key: Any, state: Any, action: Any) -> Any:
        state = env.theirs.it.step(state, action)
        return *seen(state), state.reward, state.done

    return lambda key: seen(env.theirs.it.reset(key)), step


def jumanji_steps(env: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def reset(key: Any) -> Any:
        state, timestep = env.theirs.it.reset(key)
        return state, timestep.observation

    def step(key: Any, state: Any, action: Any) -> Any:
        state, timestep = env.theirs.it.step(state, action)
        return state, timestep.observation, timestep.reward, timestep.last()

    return reset, step


def pgx_steps(env: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def seen(state: Any) -> Any:
        return {"observation": state.observation, "action_mask": state.legal_action_mask}

    def reset(key: Any) -> Any:
        state = env.theirs.it.init(jax.random.split(key)[0])
        return state, seen(state)

    def step(key: Any, state: Any, action: Any) -> Any:
        state = env.theirs.it.step(state, action, jax.random.split(key)[0])
        return state, seen(state), state.rewards[0], state.terminated

    return reset, step


def navix_steps(env: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def seen(timestep: Any) -> Any:
        return timestep, timestep.observation

    def step(key: Any, timestep: Any, action: Any) -> Any:
        timestep = env.theirs.it._step(timestep, action)
        return *seen(timestep), timestep.reward, timestep.is_done()

    return lambda key: seen(env.theirs.it.reset(key)), step


def xminigrid_steps(env: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def seen(timestep: Any) -> Any:
        return timestep, timestep.observation

    def step(key: Any, timestep: Any, action: Any) -> Any:
        timestep = env.theirs.it.step(env.params, timestep, action)
        return *seen(timestep), timestep.reward, timestep.last()

    return lambda key: seen(env.theirs.it.reset(env.params, key)), step


SAME = {
    "gymnax:CartPole-v1": gymnax_steps,
    "gymnax:Breakout-MinAtar": gymnax_steps,
    "gymnax:DiscountingChain-bsuite": gymnax_steps,
    "craftax:Craftax-Classic-Symbolic-v1": gymnax_steps,
    "brax:fast": brax_steps,
    "brax:reacher": brax_steps,
    "playground:CartpoleBalance": brax_steps,
    "jumanji:Snake-v1": jumanji_steps,
    "jumanji:CVRP-v1": jumanji_steps,
    "jumanji:Maze-v0": jumanji_steps,
    "pgx:2048": pgx_steps,
    "navix:Navix-DoorKey-5x5-v0": navix_steps,
    "xminigrid:MiniGrid-DoorKey-5x5": xminigrid_steps,
}


def made(id: str, **options: Any) -> Any:
    library = id.partition(":")[0]
    try:
        importlib.import_module(PACKAGES.get(library, library))
    except ImportError:
        pytest.skip(f"{library} is not installed")
    return ks.make(id, **options)


@pytest.mark.parametrize("id", SAME)
def test_a_rollout_is_theirs(id):
    env = made(id)
    their_reset, their_step = (_raw(function) for function in SAME[id](env))
    start, *keys = jax.random.split(jax.random.key(3), STEPS + 1)
    state, timestep = jax.jit(lambda key: env.reset(key))(start)
    their_state, their_obs = their_reset(start)
    step = jax.jit(lambda *args: env.step(*args))
    agree(timestep.obs, conformed(env.observation_space, their_obs))
    for key in keys:
        action = env.action_space.sample(key)
        state, timestep = step(key, state, action)
        their_state, their_obs, reward, done = their_step(key, their_state, action)
        agree(timestep.obs, conformed(env.observation_space, their_obs))
        np.testing.assert_allclose(timestep.reward, np.sum(reward), rtol=1e-5, atol=1e-6)
        assert bool(timestep.terminated) == bool(done)
        if bool(done):
            break


def _raw(function: Any) -> Any:
    """Their function, compiled by their rules, of a raw key."""

    def by_their_rules(key: Any, *args: Any) -> Any:
        with their_promotion():
            return function(jax.random.key_data(key), *args)

    return jax.jit(by_their_rules)


def agree(ours: Any, theirs: Any) -> None:
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


LIMITED = {
    "gymnax:Pendulum-v1": {},
    "gymnax:Breakout-MinAtar": {"time_limit": 3},
    "craftax:Craftax-Classic-Symbolic-v1": {"max_timesteps": 3},
    "brax:fast": {"time_limit": 5},
    "jumanji:Maze-v0": {"time_limit": 5},
    "navix:Navix-Empty-5x5-v0": {"max_steps": 5},
    "xminigrid:MiniGrid-Empty-5x5": {"max_steps": 5},
}


@pytest.mark.parametrize("id", LIMITED)
def test_the_limit_truncates(id):
    env = made(id, **LIMITED[id])
    assert env.time_limit is not None
    slot = jax.jit(lambda key: begin(env, key))(jax.random.key(0))
    action = jax.tree.map(jnp.zeros_like, env.action_space.sample(jax.random.key(0)))
    step = jax.jit(lambda slot, key: advance(env, slot, action, key))
    for i in range(env.time_limit):
        slot, transition, _ = step(slot, jax.random.key(i))
        assert not bool(transition.terminated)
        assert bool(transition.truncated) == (i == env.time_limit - 1)


TRAINED = ("gymnax:Catch-bsuite", "brax:fast", "jumanji:Snake-v1", "pgx:tic_tac_toe", "navix:Navix-Empty-5x5-v0")


@pytest.mark.parametrize("id", [*TRAINED, "xminigrid:MiniGrid-Empty-5x5", "craftax:Craftax-Classic-Symbolic-v1"])
def test_trains(id, tmp_path):
    made(id)
    few = {"num_envs": 4, "num_steps": 16, "minibatches": 2, "epochs": 1, "eval_episodes": 1, "eval_max_steps": 20}
    run = ks.train("ppo", id, steps=128, out=str(tmp_path / "run"), **few)
    assert "128 steps, finished" in repr(run)
    longer = ks.resume(str(tmp_path / "run"), steps=192)
    assert "192 steps, finished" in repr(longer), "made again by its id"


@pytest.mark.parametrize(
    ("id", "tolerance"),
    [("brax:ant", 1e-5), ("brax:reacher", 1e-5), ("playground:CartpoleBalance", 0.02), ("playground:CheetahRun", 0.02)],
)
def test_robots_are_filmed_where_c_mujoco_has_their_bodies(id, tolerance):
    """After a step, as Brax begins with quaternions of any length; MJX's are from before its last small step."""
    mujoco = pytest.importorskip("mujoco")
    env = made(id)
    state, _ = jax.jit(env.reset)(jax.random.key(1))
    state, _ = jax.jit(env.step)(jax.random.key(1), state, jnp.zeros(env.action_space.shape))
    model = robots.model_of(env.theirs.it)
    data = mujoco.MjData(model)
    data.qpos[:] = state.data.qpos if id.startswith("playground") else state.pipeline_state.q
    mujoco.mj_kinematics(model, data)
    positions, quaternions = env.poses(state)
    np.testing.assert_allclose(positions, data.xpos[1:], atol=tolerance)
    same = np.abs(np.sum(np.asarray(quaternions) * data.xquat[1:], axis=1))
    np.testing.assert_allclose(same, 1.0, atol=tolerance)
    assert any(geom.frame >= 0 for geom in env.body3d().geoms)


def test_illegal_moves_are_not_made():
    env = made("pgx:tic_tac_toe")
    agent = ks.make_agent("dqn", epsilon=1.0)
    learned = agent.init(env.spec, jax.random.key(0))

    def play(key: Any) -> Any:
        def move(now: Any, key: Any) -> Any:
            state, obs, ended = now
            action = agent.act(learned, obs, (), key)[0]
            state, timestep = env.step(key, state, action)
            illegal = ~ended & (obs["action_mask"][action] == 0)
            return (state, timestep.obs, ended | timestep.terminated), illegal

        state, first = env.reset(key)
        (_, _, ended), illegal = jax.lax.scan(move, (state, first.obs, jnp.array(False)), jax.random.split(key, 5))
        return ended, jnp.any(illegal)

    ended, illegal = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), 32))
    assert ended.all(), "nine squares are full after five moves of one player"
    assert not illegal.any()


def test_agents_of_one_policy_keep_to_their_masks(tmp_path):
    """Cleaner ends when one agent walks into a wall: each of three has a mask of its four directions."""
    env = made("jumanji:Cleaner-v0")
    few = {"num_envs": 4, "num_steps": 16, "minibatches": 2, "epochs": 1, "eval_episodes": 0}
    run = ks.train("ppo", env, steps=128, out=str(tmp_path / "run"), **few)
    for greedy in (False, True):
        data = run.collect(64, greedy=greedy)
        legal = np.take_along_axis(np.asarray(data.obs["action_mask"]), np.asarray(data.action)[..., None], axis=2)
        assert legal.shape == (64, 3, 1)
        assert legal.all()
        assert not np.asarray(data.terminated).any()


@pytest.mark.parametrize("library", ["gymnax", "brax", "jumanji", "pgx", "navix", "xminigrid", "craftax", "playground"])
def test_an_id_that_it_does_not_have(library):
    pytest.importorskip(PACKAGES.get(library, library))
    with pytest.raises(ks.ConfigError, match=rf"^environment id: got '{library}:Nothing-v9'; .*{library}:"):
        ks.make(f"{library}:Nothing-v9")


def test_an_option_that_it_does_not_have():
    with pytest.raises(ks.ConfigError, match="did you mean 'gravity'"):
        made("gymnax:CartPole-v1", gravty=1.0)


@pytest.mark.parametrize(
    ("id", "options", "told"),
    [
        ("gymnax:CartPole-v1", {"gravity": "x"}, "^gravity: got 'x'; use a number"),
        ("gymnax:CartPole-v1", {"max_steps_in_episode": "x"}, "^max_steps_in_episode: got 'x'"),
        ("craftax:Craftax-Classic-Symbolic-v1", {"day_length": "x"}, "^day_length: got 'x'"),
        ("playground:CartpoleBalance", {"foo": 1}, "^option of playground:CartpoleBalance: got 'foo'; known: "),
        ("playground:CartpoleBalance", {"action_repeat": 2}, "use wrap='repeat_action:N'"),
        ("xminigrid:MiniGrid-Empty-8x8", {"view_size": -1}, "^env: got 'Empty'; its reset raises ValueError"),
    ],
)
def test_options_of_no_use_are_told_in_one_line(id, options, told):
    made(id)
    with pytest.raises(ks.ConfigError, match=told) as caught:
        ks.make(id, **options)
    assert "\n" not in str(caught.value)


def test_craftax_takes_its_own_alone():
    pytest.importorskip("craftax")
    gymnax = pytest.importorskip("gymnax")
    with pytest.raises(ks.ConfigError, match=r"^env: got 'MountainCar'; give one of Craftax's; ks.from_gymnax takes"):
        ks.from_craftax(*gymnax.make("MountainCar-v0"))


def test_playgrounds_episode_length_is_the_time_limit():
    assert made("playground:CartpoleBalance", episode_length=5).time_limit == 5
    assert made("playground:CartpoleBalance", episode_length=5, time_limit=7).time_limit == 7


def test_a_wrapper_of_jumanjis_leaves_the_clock_to_us():
    jumanji = pytest.importorskip("jumanji")
    from jumanji.wrappers import AutoResetWrapper, MultiToSingleWrapper

    theirs = jumanji.make("Snake-v1", time_limit=3)

    def ends(env: ks.Env) -> tuple[list[Any], list[Any]]:
        def play(key: Any) -> Any:
            steps = jnp.arange(3, dtype=jnp.int32), jax.random.split(key, 3)
            return jax.lax.scan(lambda s, x: env.step(x[1], s, x[0]), env.reset(key)[0], steps)[1]

        told = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), 8))
        return told.terminated[:, -1].tolist(), told.truncated[:, -1].tolist()

    wrapped = ks.from_jumanji(MultiToSingleWrapper(theirs))
    assert wrapped.time_limit == 3
    assert ends(wrapped) == ends(ks.from_jumanji(theirs))
    assert not all(ends(wrapped)[0]), "some have met no wall"
    with pytest.raises(ks.ConfigError, match="without auto-reset"):
        ks.from_jumanji(MultiToSingleWrapper(AutoResetWrapper(theirs)))


BROKEN = ("SimpleBandit-bsuite", "MNISTBandit-bsuite")
"""Environments of gymnax 0.0.9 whose own step fails, or that download what they show."""


def test_only_those_that_are_known_observe_the_limit():
    gymnax = pytest.importorskip("gymnax")
    for id in sorted(set(gymnax.registered_envs) - {*BROKEN, *READ_LIMIT}):
        env = made(f"gymnax:{id}")
        key, step = jax.random.key_data(jax.random.key(1)), env.theirs.it.step_env

        def both(key: Any, env: Any = env, step: Any = step) -> Any:
            with their_promotion():
                state, action = env.theirs.it.reset_env(key, env.params)[1], env.action_space.sample(jax.random.key(0))
                short, long = (step(key, state, action, p) for p in (env.params, without_limit(env.params)))
            return short[0], short[2], long[0], long[2]

        obs, reward, same_obs, same_reward = jax.jit(both)(key)
        agree((obs, reward), (same_obs, same_reward))


def test_the_shell_knows_its_ids_and_numbers(capsys):
    from kousoku.cli import main

    made("gymnax:CartPole-v1")
    assert main(["list", "gymnax:"]) == 0
    assert "gymnax:Breakout-MinAtar" in capsys.readouterr().out.splitlines()
    assert main(["list", "gymnax:CartPole-v1"]) == 0
    assert "gravity" in capsys.readouterr().out
    assert main(["train", "ppo", "gymnax:CartPole-v1", "--env.gravty", "5"]) == 2
    assert "did you mean '--env.gravity'" in capsys.readouterr().err


def test_a_parameter_can_be_swept():
    made("gymnax:CartPole-v1")
    few = {"num_envs": 4, "num_steps": 8, "minibatches": 2, "epochs": 1, "eval_episodes": 0, "out": ""}
    run = ks.train("ppo", "gymnax:CartPole-v1", steps=32, sweep={"env.gravity": [5.0, 20.0]}, **few)
    assert "2 agents" in repr(run)


def test_a_navix_episode_begins_with_the_pictures_of_the_last_one_which_go_past_the_kernel():
    env = made("navix:Navix-Empty-5x5-v0")
    last, key = env.reset(jax.random.key(0))[0], jax.random.key(1)
    patches = last.state.cache.patches + 1
    last = last.replace(state=last.state.replace(cache=last.state.cache.replace(patches=patches)))
    (state, timestep), (fresh, first) = env.restart(key, last), env.reset(key)
    np.testing.assert_array_equal(state.state.cache.patches, patches)
    same = state.replace(state=state.state.replace(cache=fresh.state.cache))
    jax.tree.map(np.testing.assert_array_equal, (same, timestep), (fresh, first))

    slot = begin(env, key)
    explained = ks.kernel(partial(advance, env)).explain(slot, jnp.int32(0), key)
    assert explained.fallback is None
    assert explained.passed > 0
    assert explained.buffer_bytes < patches.size, "the pictures of one lane alone would take more"


@pytest.mark.parametrize("id", ["craftax:Craftax-Classic-Symbolic-v1", "craftax:Craftax-Symbolic-v1"])
def test_there_is_a_rule_for_all_of_craftax(id):
    """Numbers of float16 in the one, convolutions in groups in the other."""
    env, key = made(id), jax.random.key(0)
    slot = jax.eval_shape(partial(begin, env), key)
    assert reason_against(partial(advance, env), slot, jnp.int32(0), key) is None


def test_a_locked_door_of_navix_is_within_the_bounds_of_what_is_observed():
    env = made("navix:Navix-KeyCorridorS3R1-v0")
    _, first = env.reset(jax.random.key(0))
    assert int(first.obs.max()) == 254
    ks.check_env(env, steps=5)
