"""Environments of libraries that are not ours to need: Box2D's, MiniGrid's, EnvPool's, and dm_env's."""

import numpy as np
import pytest
from gymnasium import spaces

import kousoku as ks
from kousoku.interop.host.texts import text_of

pytestmark = pytest.mark.peers
SMALL = {"num_envs": 4, "num_steps": 32, "minibatches": 2, "epochs": 1, "hidden": (16,), "out": "", "eval_episodes": 2}


@pytest.mark.parametrize("workers", [0, 2])
def test_lunar_lander_is_trained_in_and_evaluated(workers):
    pytest.importorskip("Box2D")
    runs = [
        ks.train("ppo", "gymnasium:LunarLander-v3", steps=512, env_options={"workers": workers}, **SMALL)
        for _ in range(2)
    ]
    returns = [run.record.evaluation["return"] for run in runs]
    assert np.isfinite(returns[0]).all()
    assert np.array_equal(*returns), "the same seed is the same run"
    assert runs[0].record.facts["episodes"] > 0


def test_a_continuous_lander_learns_by_replay():
    pytest.importorskip("Box2D")
    options = {"num_envs": 4, "learning_starts": 64, "batch_size": 16, "hidden": (16,), "out": "", "eval_episodes": 0}
    run = ks.train("sac", "gymnasium:LunarLander-v3", steps=256, env_options={"continuous": True}, **options)
    assert run.record.facts["status"] == "finished"


def test_a_copy_of_a_made_lander_is_made_by_its_id():
    gymnasium = pytest.importorskip("gymnasium")
    pytest.importorskip("Box2D")
    env = ks.from_gymnasium(gymnasium.make("LunarLander-v3", gravity=-5.0))
    assert env.make_vector([0])._envs[0].unwrapped.gravity == -5.0


MISSIONS = ["Empty-5x5-v0", "GoToDoor-5x5-v0", "Fetch-5x5-N2-v0", "PutNear-6x6-N2-v0", "LockedRoom-v0", "Playground-v0"]


@pytest.mark.parametrize("id", MISSIONS)
def test_minigrids_missions_are_within_the_text_that_stands_for_their_space(id):
    """Each of the indices is a character's, and each mission can be read from them again."""
    pytest.importorskip("minigrid")
    env = ks.make(f"gymnasium:MiniGrid-{id}")
    vector = env.make_vector(range(4))
    text = text_of(vector._envs[0].observation_space["mission"])
    for _ in range(5):
        coded = vector.reset()[2]
        said = [spaces.unflatten(text, row) for row in coded]
        assert said == [made.unwrapped.mission for made in vector._envs]
    vector.close()


def test_minigrid_is_trained_in_by_its_ids():
    pytest.importorskip("minigrid")
    options = {"env_options": {"workers": 2}, "eval_episodes": 2, "out": ""}
    run = ks.train("ppo", "gymnasium:MiniGrid-Empty-5x5-v0", steps=20_000, num_envs=16, **options)
    assert (run.record.evaluation["return"] > 0.9).all()


@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1"])
def test_envpools_steps_are_followed_by_their_true_successors(id):
    pytest.importorskip("envpool")
    env = ks.make(f"envpool:{id}", max_episode_steps=7)
    pool = env.make_vector([3, 4, 5])
    (obs,) = pool.reset()
    action = np.zeros((3, *env.action_space.shape), env.action_space.dtype)
    for step in range(1, 16):
        (after,), _, terminated, truncated = pool.step([action])
        assert np.abs(after - obs).max() < 1.0, "a step is small, a reset would not be"
        assert truncated.tolist() == [step % 7 == 0] * 3 or terminated.any()
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            (begun,) = pool.reset(ended.tolist())
            after = after.copy()
            after[ended] = begun
        obs = after
    pool.close()


def test_envpool_is_trained_in():
    envpool = pytest.importorskip("envpool")
    runs = [ks.train("ppo", "envpool:CartPole-v1", steps=512, seeds=2, **SMALL) for _ in range(2)]
    first, again = (run.record.evaluation["return"] for run in runs)
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1]) or len(set(first[0])) > 1
    with pytest.raises(ks.ConfigError, match="EnvPool has no such id"):
        ks.make("envpool:NoSuch-v9")
    with pytest.raises(ks.ConfigError, match="training says how many environments"):
        ks.make("envpool:CartPole-v1", num_envs=3)
    if "Pong-v5" in envpool.list_all_envs():
        assert ks.make("envpool:Pong-v5").observation_space.dtype == np.uint8


def test_a_pool_that_exists_is_trained_in_and_stays_open():
    envpool = pytest.importorskip("envpool")
    pool = envpool.make_gymnasium("CartPole-v1", num_envs=4, seed=3)
    for seed in range(2):  # what it steps in belongs to whoever made it
        run = ks.train("ppo", ks.from_envpool(pool), steps=512, seeds=[seed], **SMALL)
        assert run.record.config["env"]["id"] == "CartPoleGymnasiumEnvPool"
        assert run.record.facts["episodes"] > 4
        assert (run.record.evaluation["length"] >= 8).all()
    assert pool.reset()[0].shape == (4, 4)
    for other in ("dm", "gymnasium"):
        few = envpool.make("CartPole-v1", env_type=other, num_envs=4, batch_size=2)
        with pytest.raises(ks.ConfigError, match=r"envpool\.make_gymnasium" if other == "dm" else "batch_size=4"):
            ks.from_envpool(few)
    with pytest.raises(ks.ConfigError, match=r"give it to kousoku\.from_envpool"):
        ks.from_gymnasium(pool)


def test_dm_env_tells_termination_by_the_discount():
    dm_env = pytest.importorskip("dm_env")

    class Walk(dm_env.Environment):
        """Ends at 3: by the clock where it began even, else by arriving."""

        def __init__(self, seed=0):
            self.ends_by_clock, self.at = seed % 2 == 0, 0

        def observation_spec(self):
            return {"at": dm_env.specs.Array((), np.float64), "flag": dm_env.specs.BoundedArray((2,), bool, 0, 1)}

        def action_spec(self):
            return dm_env.specs.DiscreteArray(2)

        def reset(self):
            self.at = 0
            return dm_env.restart(self._seen())

        def step(self, action):
            self.at += 1
            if self.at < 3:
                return dm_env.transition(1.0, self._seen())
            return (dm_env.truncation if self.ends_by_clock else dm_env.termination)(1.0, self._seen())

        def _seen(self):
            return {"at": float(self.at), "flag": np.array([True, False])}

    env = ks.from_dm_env(Walk)
    assert sorted(env.observation_space.spaces) == ["at", "flag"]
    vector = env.make_vector([2, 3])
    at, flag = vector.reset()
    assert (at.tolist(), flag.tolist()) == ([0, 0], [[1, 0], [1, 0]])
    for _ in range(3):
        (at, _), reward, terminated, truncated = vector.step([np.zeros(2, np.int32)])
    assert (at.tolist(), reward.tolist()) == ([3, 3], [1, 1])
    assert (terminated.tolist(), truncated.tolist()) == ([False, True], [True, False])
    run = ks.train("ppo", env, steps=256, **SMALL)
    assert (run.record.evaluation["length"] == 3).all()


def test_a_task_of_dm_control_is_trained_in():
    suite = pytest.importorskip("dm_control.suite")

    def task(seed):
        return suite.load("cartpole", "swingup", task_kwargs={"random": seed, "time_limit": 0.2})

    try:
        task(0)
    except AttributeError as error:
        pytest.skip(f"dm_control does not fit the MuJoCo that is installed: {error}")
    run = ks.train("ppo", ks.from_dm_env(task), steps=256, **SMALL)
    assert run.record.evaluation["truncated"].all()
    assert (run.record.evaluation["length"] == 20).all()
