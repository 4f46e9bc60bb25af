"""Our environments with EnvPool's methods in the hands of Gymnasium's wrappers, with actions in EnvPool's forms."""

import warnings

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from counting import Asked, Counting
from gymnasium.vector import AutoresetMode

import kousoku as ks


class EpisodeStatistics(gymnasium.Wrapper):
    """Returns and lengths of episodes, as CleanRL's scripts for EnvPool count them."""

    def __init__(self, env):
        super().__init__(env)
        self.num_envs = getattr(env, "num_envs", 1)

    def reset(self, **kwargs):
        obs, info = super().reset(**kwargs)
        self.returns = np.zeros(self.num_envs, np.float32)
        return obs, info

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        self.returns += reward
        info["r"], info["l"] = self.returns.copy(), info["elapsed_step"]
        self.returns *= ~(terminated | truncated)
        return obs, reward, terminated, truncated, info


def test_a_script_in_the_manner_of_cleanrls_steps_it():
    envs = ks.to_envpool(Counting(length=2), 3)
    envs.num_envs = 3
    envs.single_action_space, envs.single_observation_space = envs.action_space, envs.observation_space
    assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete)
    assert envs.single_observation_space.shape == (2,)
    envs = EpisodeStatistics(envs)
    obs, _ = envs.reset()
    assert obs.shape == (3, 2)
    told = [envs.step(np.zeros(3, int)) for _ in range(5)]
    assert [step[4]["r"].tolist()[0] for step in told] == [1, 3, 0, 1, 3]
    assert [step[4]["l"].tolist()[0] for step in told] == [1, 2, 0, 1, 2]
    assert [bool(step[2][0]) for step in told] == [False, True, False, False, True]
    envs.close()
    assert envs.unwrapped.closed


def test_it_is_an_environment_and_a_vector_of_gymnasiums():
    envs = ks.to_envpool("CartPole-v1", 3)
    assert isinstance(envs, gymnasium.Env)
    assert envs.unwrapped is envs
    assert envs.is_vector_env
    assert (envs.spec, envs.render_mode, envs.closed) == (None, None, False)
    assert envs.metadata == {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
    assert isinstance(envs.np_random, np.random.Generator)
    for wrapped in (gymnasium.wrappers.TransformReward(envs, lambda x: 2 * x), gymnasium.Wrapper(envs)):
        assert wrapped.reset()[0].shape == (3, 4)
        assert wrapped.step(np.zeros(3, int))[1].shape == (3,)
    counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    counted.reset()
    assert counted.step(np.zeros(3, int))[0].shape == (3, 4)
    with envs:
        pass
    assert envs.closed


@pytest.mark.parametrize(("method", "told"), [("xla", "use ks.to_gymnax"), ("render", "use ks.to_gymnasium_vec")])
def test_what_it_has_not_of_envpools_is_told_in_one_line(method, told):
    with pytest.raises(ks.ConfigError, match=rf"^{method}: got 'to_envpool'; {told}"):
        getattr(ks.to_envpool(Counting(), 2), method)()


def test_what_is_refused_when_it_is_made_leaves_nothing_to_close():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ks.ConfigError, match="num_envs"):
            ks.to_envpool(Counting(), 0)


def test_a_reset_takes_a_seed_and_a_mask_as_gymnasiums_do():
    envs, other = ks.to_envpool(Counting(length=9), 3, seed=4), ks.to_envpool(Counting(length=9), 3, seed=7)
    first, again = envs.reset(seed=7)[0], other.reset()[0]
    assert np.array_equal(first, again)
    assert not np.array_equal(envs.reset()[0], first)
    assert np.array_equal(envs.reset(seed=7)[0], first)
    obs, info = envs.reset(seed=7, options={"reset_mask": np.array([False, False, True])})
    assert (info["env_id"].tolist(), obs.tolist()) == ([2], first[2:].tolist())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"seed": -1}, "seed: got -1"),
        ({"seed": [1, 2, 3]}, "seed: got"),
        ({"seed": 2**64 - 2}, "seed: got"),
        ({"options": {"mask": 1}}, "option of reset: got 'mask'"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, "reset_mask: got"),
        ({"options": {"reset_mask": [True]}}, "reset_mask: got"),
        ({"env_id": [0], "options": {"reset_mask": np.ones(3, bool)}}, r"env_id: got \[0\]; give it, or"),
    ],
)
def test_what_no_reset_takes_is_refused(given, told):
    with pytest.raises(ks.ConfigError, match=told):
        ks.to_envpool(Counting(), 3).reset(**given)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, bool, np.uint8, np.int64, list])
def test_whole_numbers_of_every_dtype_are_discrete_actions(dtype):
    pool = ks.to_envpool("CartPole-v1", 3)
    pool.reset(seed=0)
    wanted = pool.step(np.array([0, 1, 1]))[0]
    pool.reset(seed=0)
    given = [0, 1, 1] if dtype is list else np.array([0, 1, 1], dtype)
    assert np.array_equal(pool.step(given)[0], wanted)


@pytest.mark.parametrize("entry", [0.5, np.nan, np.inf, -np.inf, 1e30, 2.0, -1.0])
def test_other_floats_are_no_discrete_actions(entry):
    pool = ks.to_envpool("CartPole-v1", 3)
    pool.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ks.ConfigError, match=r"^action: got "):
            pool.step(np.array([0.0, 1.0, entry]))


class Pair(Counting):
    """One whose action is a dict, of which a part may be called as EnvPool's own."""

    name: str = eqx.field(static=True, default="pick")

    @property
    def action_space(self):
        return ks.Dict({self.name: ks.Discrete(2), "force": ks.Box(-1.0, 1.0)})

    def step(self, key, state, action):
        return super().step(key, state, jnp.asarray(action[self.name], jnp.int32))


@pytest.mark.parametrize("name", ["pick", "action", "env_id"])
def test_actions_may_be_dicts_with_the_environments_numbers(name):
    pool, force = ks.to_envpool(Pair(length=9, name=name), 3), np.zeros(2, np.float32)
    pool.reset()
    ids, pick = np.array([2, 0]), np.array([1.0, 0.0])
    parts = {name: pick, "force": force}
    for call in (
        lambda: pool.step(parts, ids),
        lambda: pool.step({"action": parts, "env_id": ids}),
        lambda: pool.step({**parts, "env_id": ids}) if name != "env_id" else pool.step(parts, ids),
        lambda: pool.step({**parts, "players.env_id": ids}, ids),
        lambda: pool.step({"action": parts, "env_id": ids, "players": {"env_id": ids}}),
    ):
        assert call()[4]["env_id"].tolist() == [2, 0]


@pytest.mark.parametrize("more", [{"players.env_id": [2, 0]}, {"players": {"env_id": [2, 0]}}], ids=["dots", "nested"])
def test_numbers_of_players_are_those_of_the_environments(more):
    pool = ks.to_envpool(Counting(length=9), 3)
    pool.reset()
    given = {"action": np.array([1, 0]), "env_id": np.array([2, 0])} | more
    positional = {"action": given["action"], **more}, given["env_id"]
    for count, told in enumerate([pool.step(given), pool.step(*positional)], start=1):
        assert (told[4]["env_id"].tolist(), told[1].tolist()) == ([2, 0], [0, count])


@pytest.mark.parametrize("name", ["players", "players.env_id"])
def test_parts_of_an_action_may_be_called_as_the_numbers_of_players(name):
    pool, ids = ks.to_envpool(Pair(length=9, name=name), 3), np.array([2, 0])
    pool.reset()
    parts = {name: np.array([1, 0]), "force": np.zeros(2, np.float32)}
    assert pool.step({**parts, "env_id": ids})[4]["env_id"].tolist() == [2, 0]


@pytest.mark.parametrize("form", [np.array, lambda given: {"action": np.array(given)}], ids=["array", "dict"])
def test_a_step_does_not_ask_for_the_space_of_actions_anew(form):
    env = Asked(length=99)
    pool = ks.to_envpool(env, 3)
    pool.reset()
    pool.step(form([0, 1, 1]))
    before = len(env.asked)
    for _ in range(5):
        pool.step(form([0, 1, 1]))
    assert len(env.asked) == before


def test_a_dict_of_one_action_and_numbers_steps_these_environments():
    pool = ks.to_envpool(Counting(length=9), 3)
    pool.reset()
    ids = np.array([2, 0])
    assert pool.step({"action": np.array([1, 0]), "env_id": ids})[4]["env_id"].tolist() == [2, 0]
    assert pool.step({"action": np.array([1, 0])}, ids)[4]["env_id"].tolist() == [2, 0]
    assert pool.step({"action": np.array([1, 0]), "env_id": [1]}, ids)[4]["env_id"].tolist() == [2, 0]
    assert pool.step({"action": np.zeros(3, int)})[4]["env_id"].tolist() == [0, 1, 2]
    no = np.zeros(3, int)
    for given in ({"act": no}, {"action": no, "force": 1}, {"env_id": [0]}, {}, {"action": no, "players": {"act": no}}):
        with pytest.raises(ks.ConfigError, match=r"^action: got \{.*; use \{'action': \.\.\., 'env_id': \.\.\.\}$"):
            pool.step(given)
    with pytest.raises(ks.ConfigError, match=r"^env_id: got "):
        pool.step({"action": np.zeros(1, int), "env_id": [7]})
