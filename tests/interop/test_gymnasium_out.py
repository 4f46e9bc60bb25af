"""Our environments as Gymnasium's: its rules for one and for many, what follows an episode's end, seeds, threads."""

import copy
import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import Counting, Drawing, counted_from
from fresh_process import check_refusals
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.collectors.slot import advance_clipped, begin
from kousoku.core.scene import Circle, Scene
from kousoku.interop.out.registration import gymnasium_id

pytestmark = pytest.mark.contract

NEEDS = {"CustomGrid-v0": {"map": "SS.#\n.P..\n..G."}}
NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


@pytest.mark.by_default("CartPole-v1")
@pytest.mark.parametrize("id", OWN_ENVS)
@pytest.mark.filterwarnings("ignore:.*(space m|we recommend using a symmetric|v0 is out of date)")
def test_every_environment_passes_gymnasiums_checks(id):
    made = gymnasium.make(gymnasium_id(id), **NEEDS.get(id, {})).unwrapped
    if made.metadata["render_modes"]:
        made = gymnasium.make(gymnasium_id(id), render_mode="rgb_array", **NEEDS.get(id, {})).unwrapped
    check_env(made)


def test_every_environment_is_registered_for_one_and_for_many():
    for id in ks.list_envs():
        spec = gymnasium.spec(gymnasium_id(id))
        assert spec.kwargs == {"env": id}
        assert spec.vector_entry_point.endswith(":GymnasiumVectorEnv")


def vector(mode: AutoresetMode, count: int = 3, **options) -> gymnasium.vector.VectorEnv:
    return ks.to_gymnasium_vec(Counting(**options), count, autoreset_mode=mode)


NO = np.zeros(3, int)


def test_with_the_next_step_an_ended_episode_is_followed_by_a_reset_with_reward_0():
    envs = vector(NEXT, length=2)
    obs, infos = envs.reset(seed=[5, 7, 9])
    starts = obs[:, 0]
    assert np.array_equal(infos["count"], [0, 0, 0])
    seen = [envs.step(NO) for _ in range(4)]
    counts = [obs[:, 1].tolist() for obs, *_ in seen]
    assert counts == [[1, 1, 1], [2, 2, 2], [0, 0, 0], [1, 1, 1]]
    assert [reward.tolist() for _, reward, *_ in seen] == [[1, 1, 1], [2, 2, 2], [0, 0, 0], [1, 1, 1]]
    assert [terminated.all() for _, _, terminated, _, _ in seen] == [False, True, False, False]
    assert not (seen[0][2] | seen[2][2] | seen[3][2]).any()
    assert not any(truncated.any() for *_, truncated, _ in seen)
    assert (seen[1][0][:, 0] == starts).all()
    assert (seen[2][0][:, 0] != starts).all()  # a fresh start
    assert (seen[3][0][:, 0] == seen[2][0][:, 0]).all()
    assert np.array_equal(seen[2][4]["count"], [0, 0, 0])  # what the reset told
    assert "final_obs" not in seen[1][4]


def test_with_the_same_step_an_ended_episode_tells_its_true_last_observation():
    envs = vector(SAME, length=2)
    obs, _ = envs.reset(seed=[5, 7, 9])
    starts = obs[:, 0]
    envs.step(NO)
    obs, reward, terminated, truncated, infos = envs.step(np.array([0, 1, 0]))  # 1 stays: this one has not ended
    assert terminated.tolist() == [True, False, True]
    assert not truncated.any()
    assert reward.tolist() == [2, 1, 2]
    assert obs[:, 1].tolist() == [0, 1, 0]
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [True, False, True]
    assert infos["final_obs"].dtype == object
    assert infos["final_obs"][1] is None
    for i in (0, 2):
        assert infos["final_obs"][i].tolist() == [starts[i], 2]
        assert infos["final_obs"][i] in envs.single_observation_space
    assert infos["final_info"]["count"].tolist()[::2] == [2, 2]
    assert infos["final_info"]["_count"].tolist() == [True, False, True]
    assert infos["count"].tolist() == [0, 1, 0]
    after = envs.step(NO)
    assert after[0][:, 1].tolist() == [1, 0, 1]
    assert after[4]["_final_obs"].tolist() == [False, True, False]


@pytest.mark.by_default("AutoresetMode.DISABLED")
@pytest.mark.parametrize("mode", [NEXT, SAME, DISABLED])
def test_the_clock_truncates_and_does_not_terminate(mode):
    envs = ks.to_gymnasium_vec(Counting(length=9), 3, autoreset_mode=mode, max_episode_steps=2)
    envs.reset(seed=0)
    _, _, terminated, truncated, _ = envs.step(NO)
    assert not (terminated | truncated).any()
    obs, _, terminated, truncated, infos = envs.step(NO)
    assert truncated.all()
    assert not terminated.any()
    last = obs if mode != SAME else np.stack(infos["final_obs"])
    assert last[:, 1].tolist() == [2, 2, 2]


def test_an_end_on_the_limit_is_both():
    envs = ks.to_gymnasium_vec(Counting(length=2), 1, max_episode_steps=2)
    envs.reset(seed=0)
    envs.step(np.array([0]))
    _, _, terminated, truncated, _ = envs.step(np.array([0]))
    assert terminated.all()
    assert truncated.all()


def test_without_autoreset_only_the_masked_ones_are_reset():
    envs = vector(DISABLED, length=2)
    envs.reset(seed=0)
    envs.step(NO)
    before, _, terminated, _, _ = envs.step(np.array([0, 1, 0]))
    with pytest.raises(ks.ConfigError, match="environment 0 has ended"):
        envs.step(NO)
    obs, infos = envs.reset(options={"reset_mask": terminated})
    assert obs[:, 1].tolist() == [0, 1, 0]
    assert obs[1].tolist() == before[1].tolist()
    assert infos["_count"].tolist() == [True, False, True]
    assert envs.step(NO)[0][:, 1].tolist() == [1, 2, 1]
    with pytest.raises(ks.ConfigError, match="environment 1 has ended"):
        envs.step(NO)


def test_an_ended_episode_that_the_mask_leaves_out_stays_ended():
    envs = vector(DISABLED, length=1)
    envs.reset(seed=0)
    envs.step(NO)
    envs.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(ks.ConfigError, match="environment 1 has ended"):
        envs.step(NO)
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    envs.step(NO)


@pytest.mark.by_default("AutoresetMode.NEXT_STEP")
@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_no_key_is_used_twice(mode):
    envs = ks.to_gymnasium_vec(Drawing(), 2, autoreset_mode=mode)
    drawn = [envs.reset(seed=0)[0]]
    for _ in range(10):
        obs, _, _, _, infos = envs.step(np.zeros(2, int))
        drawn.append(obs)
        if mode is SAME:
            drawn.append(infos["final_obs"].astype(np.float32))
    drawn.append(envs.reset()[0])
    values = np.concatenate(drawn)
    assert len(np.unique(values)) == len(values)


def test_a_masked_reset_with_a_seed_begins_as_that_seed_does():
    envs, other = vector(DISABLED), vector(DISABLED)
    first, _ = envs.reset(seed=[5, 6, 7])
    other.reset(seed=0)
    some, _ = other.reset(seed=[5, None, None], options={"reset_mask": np.array([True, True, False])})
    assert some[0].tolist() == first[0].tolist()
    assert some[1].tolist() != first[1].tolist()
    assert counted_from(other.step(NO)[0]) == counted_from(envs.step(NO)[0])


@pytest.mark.parametrize("mask", [[1, 0, 0], np.zeros(3, bool), np.ones(2, bool)])
def test_what_is_no_mask_is_refused(mask):
    envs = vector(DISABLED)
    envs.reset(seed=0)
    with pytest.raises(ks.ConfigError, match="3 booleans"):
        envs.reset(options={"reset_mask": mask})


@pytest.mark.by_default("Taxi-v4-NextStep", "FrozenLake-v1-SameStep", "CartPole-v1-SameStep", "CartPole-v1-Disabled")
@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1", "Taxi-v4"])
def test_a_slot_is_bit_for_bit_the_environment_alone_that_is_reset_where_episodes_end(id, mode):
    options = {"time_limit": 12} if id == "Taxi-v4" else {}
    envs = gymnasium.make_vec(f"kousoku/{id}", num_envs=3, autoreset_mode=mode, **options)
    alone = [gymnasium.make(f"kousoku/{id}", **options).unwrapped for _ in range(3)]
    wanted = [env.reset(seed=40 + i)[0] for i, env in enumerate(alone)]
    assert np.array_equal(envs.reset(seed=40)[0], wanted)
    envs.action_space.seed(1)
    over, episodes = np.zeros(3, bool), np.zeros(3, int)
    while (episodes < 3).any():
        action = envs.action_space.sample()
        obs, reward, terminated, truncated, infos = envs.step(action)
        for i, env in enumerate(alone):
            if over[i] and mode == "NextStep":
                assert np.array_equal(obs[i], env.reset()[0])
                assert reward[i] == 0
                over[i] = False
                continue
            *told, _ = env.step(action[i])
            over[i] = told[2] or told[3]
            episodes[i] += over[i]
            assert (reward[i], terminated[i], truncated[i]) == tuple(told[1:])
            seen = infos["final_obs"][i] if over[i] and mode == "SameStep" else obs[i]
            assert np.array_equal(seen, told[0])
            if over[i] and mode == "SameStep":
                assert np.array_equal(obs[i], env.reset()[0])
        if over.any() and mode == "Disabled":
            obs, _ = envs.reset(options={"reset_mask": over.copy()})
            for i in np.flatnonzero(over):
                assert np.array_equal(obs[i], alone[i].reset()[0])


def test_same_seeds_are_same_bits_and_what_follows_goes_on_with_them():
    envs = gymnasium.make_vec("kousoku/CartPole-v1", num_envs=4)
    first, after = envs.reset(seed=3)[0], envs.reset()[0]
    assert not np.array_equal(first, after)
    assert np.array_equal(envs.reset(seed=3)[0], first)
    assert np.array_equal(envs.reset()[0], after)
    assert np.array_equal(envs.reset(seed=[3, 4, 5, 6])[0], first)
    assert not np.array_equal(envs.reset(seed=4)[0], first)
    assert len(np.unique(first[:, 0])) == 4


@pytest.mark.parametrize("seed", [-1, 2.5, [1, 2], [1, 2.5, 3, 4], [1, 2, 3, -4], 2**64, True, np.array(3), print])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ks.ConfigError, match="seed"):
        gymnasium.make_vec("kousoku/CartPole-v1", num_envs=4).reset(seed=seed)


def test_without_a_seed_two_vectors_differ():
    one, other = (gymnasium.make_vec("kousoku/CartPole-v1", num_envs=2).reset()[0] for _ in range(2))
    assert not np.array_equal(one, other)


@pytest.mark.full("covered")
def test_steps_are_the_collectors_transitions():
    env = Counting(length=3)
    envs = ks.to_gymnasium_vec(env, 1, autoreset_mode=SAME)
    obs, _ = envs.reset(seed=11)
    slot = begin(env, jax.random.key(11))
    slot = slot.__class__(jnp.asarray(obs[0]), jnp.asarray(obs[0]), slot.episode_step, slot.episode_return)
    for action in (0, 1, 0, 0, 0):
        got = envs.step(np.array([action]))
        slot, made, end = advance_clipped(env, slot, jnp.int32(action), jax.random.key(0))
        assert got[1][0] == made.reward
        assert got[2][0] == made.terminated
        last = got[4]["final_obs"][0] if end.ended else got[0][0]
        assert last.tolist() == made.next_obs.tolist()
        slot = slot.__class__(jnp.asarray(got[0][0]), jnp.asarray(got[0][0]), slot.episode_step, slot.episode_return)


def test_what_is_returned_is_the_callers():
    envs = gymnasium.make_vec("kousoku/CartPole-v1", num_envs=4)
    obs, _ = envs.reset(seed=0)
    kept = obs.copy()
    obs2, reward, terminated, truncated, _ = envs.step(np.zeros(4, int))
    for array in (obs, obs2, reward, terminated, truncated):
        array[:] = 0
    assert not np.array_equal(envs.step(np.zeros(4, int))[0], obs2)
    assert np.array_equal(envs.reset(seed=0)[0], kept)


@pytest.mark.parametrize("action", [[0, 2], [0, -1], [0.0, 1.0], [0], [[0, 1]], "left"])
def test_what_are_no_actions_is_refused(action):
    envs = gymnasium.make_vec("kousoku/CartPole-v1", num_envs=2)
    envs.reset(seed=0)
    with pytest.raises(ks.ConfigError, match="action"):
        envs.step(action)


@pytest.mark.full("covered")
def test_numbers_beyond_a_box_are_clipped_to_it():
    envs = gymnasium.make_vec("kousoku/Pendulum-v1", num_envs=2)
    envs.reset(seed=[1, 1])
    obs, *_ = envs.step(np.array([[2.0], [9.0]]))
    assert np.array_equal(obs[0], obs[1])


def test_a_step_needs_a_reset_and_an_open_environment():
    alone, envs = gymnasium.make("kousoku/CartPole-v1").unwrapped, gymnasium.make_vec("kousoku/CartPole-v1", 2)
    for env, action in ((alone, 0), (envs, [0, 0])):
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(action)
    envs.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        envs.reset()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"autoreset_mode": "Sometimes"}, "autoreset_mode"),
        ({"render_mode": "ansi"}, "render_mode"),
        ({"render_mode": "human"}, r"use 'rgb_array', and put gymnasium\.wrappers\.vector\.HumanRendering around"),
        ({"gravity_": 1.0}, "gravity_"),
        ({"max_episode_steps": 0}, "max_episode_steps"),
        ({"max_episode_steps": 2**31}, "max_episode_steps"),
        ({"num_envs": 2**40}, r"num_envs: got 1099511627776; they need about .* GiB; use at most \d+$"),
        ({"wrap": "frame_stack:2", "max_episode_steps": 9}, "give it to the environment that is wrapped"),
    ],
)
def test_bad_options_are_told_in_one_line(options, named):
    with pytest.raises(ks.ConfigError, match=named):
        ks.to_gymnasium_vec("CartPole-v1", **{"num_envs": 2, **options})


@pytest.mark.parametrize("mode", AutoresetMode)
def test_masks_in_infos_are_what_sample_takes(mode):
    alone = ks.to_gymnasium("Taxi-v4")
    _, info = alone.reset(seed=1)
    assert info["action_mask"][alone.action_space.sample(info["action_mask"])] == 1
    assert alone.step(0)[4]["action_mask"].dtype == np.int8
    envs = ks.to_gymnasium_vec("Taxi-v4", 2, autoreset_mode=mode, max_episode_steps=1)
    _, infos = envs.reset(seed=1)
    assert infos["action_mask"].dtype == np.int8
    infos = envs.step([0, 0])[4]
    told = infos["final_info"] if mode is SAME else infos
    assert (infos["action_mask"].dtype, told["action_mask"].dtype) == (np.int8, np.int8)


def in_a_fork(work) -> int:
    """The status of a forked process: 3 where it refused, in one line that says what would do; 0 where it worked."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(5)  # it would wait for ever
        try:
            work()
        except ks.ConfigError as error:
            line = str(type(error)(pickle.loads(pickle.dumps(error))))
            os._exit(3 if 'vector_kwargs={"context": "spawn"}' in line and "\n" not in line else 4)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_process_that_was_forked_after_jax_began_is_refused_and_does_not_hang():
    """Gymnasium raises the class of what a worker raised again, with the error as its only argument."""
    jax.devices()
    made = ks.to_gymnasium(Drawing())
    assert in_a_fork(lambda: made.reset(seed=0)) == 3
    assert in_a_fork(lambda: ks.to_gymnasium_vec(Drawing(), 2).reset(seed=0)) == 3
    assert in_a_fork(lambda: None) == 0
    made.reset(seed=0)


def test_what_are_no_options_of_a_reset_is_refused():
    wanted = {"[1]": "use a dict, or None", "3": "use a dict, or None", "{'low': 0}": "option of reset: got 'low'"}
    made = ("ks.to_gymnasium('CartPole-v1')", "ks.to_gymnasium_vec('CartPole-v1', 2)")
    check_refusals(
        {f"{e}.reset(options={o})": told for e in made for o, told in wanted.items()}, "import kousoku as ks"
    )


DOORS = [ks.to_gymnasium, ks.to_gymnasium_vec, ks.to_envpool, ks.to_gymnax]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("env", ["gymnasium:CartPole-v1", ks.from_gymnasium(lambda: gymnasium.make("CartPole-v1"))])
def test_what_runs_on_the_host_goes_out_by_its_own_library(door, env):
    with pytest.raises(ks.ConfigError, match="CartPole-v1'; it runs on the host already: use the library's own"):
        door(env)


def test_gymnasiums_wrapper_shortens_episodes_and_the_environments_option_makes_them_longer():
    for options, length in (
        ({"max_episode_steps": 5}, 5),
        ({"max_episode_steps": 300}, 200),
        ({"time_limit": 300}, 300),
    ):
        env, steps, over = gymnasium.make("kousoku/Pendulum-v1", **options), 0, False
        env.reset(seed=0)
        while not over:
            steps, over = steps + 1, env.step(np.zeros(1, np.float32))[3]
        assert steps == length


@pytest.mark.full("covered")
def test_two_threads_step_two_vectors_and_one():
    def returns(envs):
        envs.reset(seed=0)
        return [envs.step(np.ones(8, int))[0] for _ in range(50)]

    made = [gymnasium.make_vec("kousoku/CartPole-v1", num_envs=8) for _ in range(3)]
    wanted = returns(made[2])
    with ThreadPoolExecutor(2) as pool:
        for got in pool.map(returns, made[:2]):
            assert np.array_equal(got, wanted)
        envs = made[0]
        envs.reset(seed=0)
        steps = list(pool.map(lambda _: envs.step(np.ones(8, int))[0], range(50)))
    assert {one.tobytes() for one in steps} == {one.tobytes() for one in wanted}


def test_copies_go_on_as_the_original_does():
    alone, envs = ks.to_gymnasium("FrozenLake-v1"), ks.to_gymnasium_vec("FrozenLake-v1", 3)
    for env, action in ((alone, 2), (envs, np.array([2, 2, 2]))):
        env.reset(seed=0)
        env.step(action)
        copies = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
        wanted = [env.step(action)[0] for _ in range(5)]
        for one in copies:
            assert np.array_equal([one.step(action)[0] for _ in range(5)], wanted)


def test_pictures_follow_the_state():
    envs = gymnasium.make_vec("kousoku/CartPole-v1", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    first = envs.render()
    envs.step(np.array([0, 1]))
    after = envs.render()
    assert len(first) == 2
    assert first[0].dtype == np.uint8
    assert not np.array_equal(first[0], after[0])
    assert not np.array_equal(after[0], after[1])
    with pytest.raises(ks.ConfigError, match="render_mode"):
        gymnasium.make("kousoku/Bandit-v0", render_mode="rgb_array")


class Sketch(Counting):
    """Is drawn as SVG."""

    draws_svg = True

    def scene(self, state):
        return Scene.of_svg('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"></svg>')


class Still(Counting):
    """Is drawn as shapes."""

    def scene(self, state):
        return Scene(20.0, 10.0, (), (Circle(float(state[1]), 5.0, 2.0, "red"),))


@pytest.mark.parametrize("env", [Sketch(), ks.wrappers.TimeLimit(Sketch(), 5)], ids=["bare", "wrapped"])
def test_drawings_as_svg_are_no_pixels(env):
    for make in (ks.to_gymnasium, ks.to_gymnasium_vec):
        assert make(env).metadata["render_modes"] == []
        with pytest.raises(ks.ConfigError, match="render_mode: got 'rgb_array'; Sketch is drawn as SVG, of which"):
            make(env, render_mode="rgb_array")
        assert make(Still()).metadata["render_modes"] == ["rgb_array"]
    assert ks.animate(env, max_steps=2) is not None


@pytest.mark.parametrize("wrapped", [ks.wrappers.FrameStackObservation, ks.wrappers.RepeatAction])
def test_what_wrappers_are_around_is_drawn(wrapped):
    alone = ks.to_gymnasium("CartPole-v1", render_mode="rgb_array")
    inside = ks.to_gymnasium(wrapped(ks.make("CartPole-v1"), 2), render_mode="rgb_array")
    for env in (alone, inside):
        env.reset(seed=3)
    assert np.array_equal(inside.render(), alone.render())
    each = 2 if wrapped is ks.wrappers.RepeatAction else 1
    assert inside.metadata["render_fps"] == alone.metadata["render_fps"] / each


@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_gymnasiums_wrappers_of_vectors_count_whole_episodes(mode):
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector(mode, length=2))
    wrapped.reset(seed=0)
    told = [wrapped.step(NO)[4].get("episode") for _ in range(7)]
    ends = [i for i, episode in enumerate(told) if episode is not None]
    assert ends == ([1, 4] if mode is NEXT else [1, 3, 5])
    for i in ends:
        assert told[i]["r"].tolist() == [3, 3, 3]
        assert told[i]["l"].tolist() == [2, 2, 2]


@pytest.mark.full("processes")
def test_gymnasiums_own_processes_step_them():
    envs = gymnasium.make_vec("kousoku/CartPole-v1", 2, vectorization_mode="async", vector_kwargs={"context": "spawn"})
    try:
        obs, _ = envs.reset(seed=0)
        mine = gymnasium.make_vec("kousoku/CartPole-v1", num_envs=2)
        assert np.array_equal(obs, mine.reset(seed=0)[0])
        actions = np.array([0, 1])
        assert np.array_equal(envs.step(actions)[0], mine.step(actions)[0])
    finally:
        envs.close()
