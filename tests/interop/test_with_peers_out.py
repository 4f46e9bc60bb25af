"""Our environments in other libraries' own tests and training loops."""

import copy
import pickle
import unittest
import warnings
from functools import partial
from inspect import unwrap

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import Counting
from fresh_process import in_a_new_process

import kousoku as ks

pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def dtypes_as_others_have_them():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


class Paint(ks.Env):
    """Observes the action that was taken."""

    time_limit: int | None = None

    @property
    def observation_space(self):
        return ks.Box(3, 200, (2,), "uint8")

    @property
    def action_space(self):
        return self.observation_space

    def reset(self, key):
        return self.step(key, None, jnp.full(2, 3, jnp.uint8))

    def step(self, key, state, action):
        return action, ks.Timestep(action, jnp.float32(0.0), jnp.array(False), jnp.array(False))


GOES_ON = """
import json, pickle
import jax, jax.numpy as jnp, numpy as np
with open({path!r}, "rb") as file:
    env = pickle.load(file)
print(json.dumps({step}))
"""


@pytest.mark.filterwarnings("ignore:.*precision lowered")
def test_envpools_object_has_no_more_than_ours():
    envpool = pytest.importorskip("envpool")
    theirs, ours = envpool.make_gymnasium("CartPole-v1", num_envs=3), ks.to_envpool("CartPole-v1", 3)
    assert {name for name in dir(theirs) if name[0] != "_" and not hasattr(ours, name)} == {"seed"}  # it does nothing
    for envs in (theirs, ours):
        wrapped = gymnasium.wrappers.TransformReward(envs, lambda reward: 2 * reward)
        assert wrapped.reset()[0].shape == (3, 4)
        ids = np.array([2, 0], np.int32)
        for action in (np.zeros(3), np.zeros(3, bool), np.zeros(3, int)):
            assert wrapped.step(action)[1].tolist() == [2, 2, 2]
        told = envs.step({"action": np.zeros(2, np.int32), "env_id": ids})[4]
        assert sorted(told["env_id"].tolist()) == [0, 2]


@pytest.mark.parametrize(
    ("library", "make", "begin", "step"),
    [
        ("dm_env", "to_dm_env('CartPole-v1')", "env.reset(); env.step(0)", "env.step(1).observation.tolist()"),
        (
            "stable_baselines3",
            "to_sb3_vec('FrozenLake-v1', 3)",
            "env.seed(1); env.reset(); env.step(np.full(3, 2))",
            "[env.step(np.full(3, 2))[0].tolist() for _ in range(5)]",
        ),
        ("brax", "to_brax('Pendulum-v1')", "None", "env.reset(jax.random.PRNGKey(3)).obs.tolist()"),
        (
            "brax",
            "to_brax('Pendulum-v1')",
            "env = (env, env.reset(jax.random.PRNGKey(3)))",
            "env[0].step(env[1], jnp.ones(1)).obs.tolist()",
        ),
    ],
    ids=["dm_env", "stable_baselines3", "brax", "brax state"],
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow_because("another process compiles what it steps")
def test_what_was_pickled_goes_on_in_another_process(library, make, begin, step, tmp_path):
    pytest.importorskip(library)
    names = {"env": eval(f"ks.{make}"), "np": np, "jax": jax, "jnp": jnp}
    exec(begin, names)
    (tmp_path / "env").write_bytes(pickle.dumps(names["env"]))
    script = "import warnings\nwarnings.simplefilter('ignore')\n" + GOES_ON
    assert in_a_new_process(script.format(path=str(tmp_path / "env"), step=step)) == eval(step, names)


class TestDmEnv:
    @pytest.fixture(autouse=True)
    def library(self):
        self.dm_env = pytest.importorskip("dm_env")

    def test_it_passes_dm_envs_own_tests(self):
        from dm_env import test_utils

        class Case(test_utils.EnvironmentTestMixin):
            def make_object_under_test(self):
                return ks.to_dm_env("CartPole-v1")

        from absl.testing import absltest

        case = type("Case", (Case, absltest.TestCase), {})
        result = unittest.TestResult()
        unittest.TestLoader().loadTestsFromTestCase(case).run(result)
        assert result.testsRun > 3
        assert not result.failures + result.errors

    @pytest.mark.parametrize(("length", "limit", "discount"), [(2, None, 0.0), (9, 2, 1.0)])
    def test_the_discount_is_0_where_the_task_ended_only(self, length, limit, discount):
        env = ks.to_dm_env(Counting(length=length), max_episode_steps=limit)
        assert env.reset().first()
        assert env.step(0).discount == 1.0
        last = env.step(0)
        assert last.last()
        assert (last.reward, last.discount, last.observation[1]) == (2.0, discount, 2.0)
        again = env.step(1)
        assert again.first()
        assert again.observation[1] == 0.0

    def test_specs_hold_what_it_gives(self):
        for id in ("Pendulum-v1", "Taxi-v4", "Blackjack-v1"):
            env = ks.to_dm_env(id)
            env.observation_spec().validate(env.reset().observation)
            env.action_spec().validate(np.zeros(env.action_spec().shape, env.action_spec().dtype))

    def test_actions_are_clipped_and_messages_are_of_one(self):
        env = ks.to_dm_env(Paint())
        env.reset()
        assert env.step(np.array([256, -1])).observation.tolist() == [200, 3]
        with pytest.raises(ks.ConfigError, match=r"^action: got 'int64 \[1\]'; use an array like uint8 \[2\]$"):
            env.step(np.array([1]))


class TestGymnax:
    @pytest.fixture(autouse=True)
    def library(self):
        pytest.importorskip("gymnax")

    @pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")
    def test_a_loop_in_purejaxrls_manner_runs_on_gymnaxs_wrappers(self):
        from gymnax.environments import spaces
        from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper

        env = ks.to_gymnax("CartPole-v1")
        assert isinstance(env.action_space(env.default_params), spaces.Discrete)
        assert isinstance(env.observation_space(env.default_params), spaces.Box)
        params, wrapped = env.default_params, LogWrapper(FlattenObservationWrapper(env))
        obs, state = jax.vmap(wrapped.reset, (0, None))(jax.random.split(jax.random.PRNGKey(0), 8), params)

        def step(carry, key):
            obs, state = carry
            keys = jax.random.split(key, 8)
            actions = jax.vmap(wrapped.action_space(params).sample)(keys)
            obs, state, reward, done, info = jax.vmap(wrapped.step, (0, 0, 0, None))(keys, state, actions, params)
            return (obs, state), (reward, done, info["returned_episode_returns"])

        _, (reward, done, returns) = jax.lax.scan(step, (obs, state), jax.random.split(jax.random.PRNGKey(1), 100))
        assert reward.sum() == 800
        assert done.any()
        assert 8 < float(returns[-1].mean()) < 60


class TestBrax:
    @pytest.fixture(autouse=True)
    def library(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.envs = pytest.importorskip("brax.envs")

    @pytest.mark.filterwarnings("ignore")
    def test_it_runs_in_braxs_wrappers(self):
        env = ks.to_brax("Pendulum-v1")
        assert isinstance(env, self.envs.Env)
        assert (env.observation_size, env.action_size, env.episode_length) == (3, 1, 200)
        wrapped = self.envs.training.wrap(env, episode_length=5)
        state = jax.jit(wrapped.reset)(jax.random.split(jax.random.PRNGKey(0), 4))
        step = jax.jit(wrapped.step)
        seen = []
        for _ in range(6):
            state = step(state, jnp.zeros((4, 1)))
            seen.append((float(state.done[0]), float(state.info["truncation"][0])))
        assert seen == [(0, 0)] * 4 + [(1, 1), (0, 0)]

    @pytest.mark.filterwarnings("ignore")
    def test_actions_are_scaled_to_bounds(self):
        env = ks.to_brax("Pendulum-v1")
        ours = ks.make("Pendulum-v1")
        state = env.reset(jax.random.PRNGKey(0))
        after = env.step(state, jnp.array([1.0]))
        _, timestep = ours.step(jax.random.key(0), state.pipeline_state, jnp.array([2.0]))
        assert np.allclose(after.obs, timestep.obs, atol=1e-6)
        assert jax.tree.structure(state) == jax.tree.structure(after)

    def test_actions_of_another_shape_are_refused_where_they_are_traced(self):
        env = ks.to_brax("Pendulum-v1")
        state, step = env.reset(jax.random.PRNGKey(0)), partial(unwrap(type(env).step), env)  # without types checked
        for given in (np.zeros(3), np.zeros((3, 1)), None):
            with pytest.raises(ks.ConfigError, match=r"^action: got .*; use an array like float32 \[1\]$"):
                step(state, given)
        with pytest.raises(ks.ConfigError, match=r"^action: got 'float32 \[2\]'; "):
            jax.jit(jax.vmap(step, (None, 0)))(state, jnp.zeros((4, 2)))
        wanted = step(state, np.array([0.5])).obs
        for given in (0.5, [0.5], jnp.array([0.5])):
            assert jnp.array_equal(step(state, given).obs, wanted)

    def test_copies_and_pickles_step_as_they_do(self):
        env = ks.to_brax("Pendulum-v1")
        state = env.reset(jax.random.PRNGKey(0))
        for copied in (lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy, copy.copy):
            there, now = copied(env), copied(state)
            assert type(now) is type(state)
            assert isinstance(there, self.envs.Env)
            assert jax.tree.structure(now) == jax.tree.structure(state)
            after, wanted = there.step(now, jnp.array([0.5])), env.step(state, jnp.array([0.5]))
            assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), after, wanted))

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.slow_because("Brax's PPO is compiled")
    def test_braxs_ppo_runs_once_jax_has_what_it_calls(self, monkeypatch):
        def replicated(tree, devices):
            return jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * len(devices)), tree)

        monkeypatch.setattr(jax, "device_put_replicated", replicated, raising=False)  # newer JAX has it no longer
        from brax.training.agents.ppo import train as ppo

        env, told = ks.to_brax("Pendulum-v1"), []
        sizes = {"num_envs": 8, "batch_size": 8, "num_minibatches": 2, "unroll_length": 5, "num_updates_per_batch": 1}
        ppo.train(
            environment=env,
            num_timesteps=160,
            episode_length=20,
            num_evals=2,
            max_devices_per_host=1,
            progress_fn=lambda _, metrics: told.append(metrics["eval/episode_reward"]),
            **sizes,
        )
        assert len(told) == 2
        assert np.isfinite(told).all()

    @pytest.mark.parametrize("id", ["CartPole-v1", "Taxi-v4"])
    def test_what_brax_cannot_take_is_refused(self, id):
        with pytest.raises(ks.ConfigError, match="space"):
            ks.to_brax(id)


class TestStableBaselines3:
    @pytest.fixture(autouse=True)
    def library(self):
        self.sb3 = pytest.importorskip("stable_baselines3")

    def test_ends_are_told_as_it_expects(self):
        envs = ks.to_sb3_vec(Counting(length=9), 2, max_episode_steps=2)
        envs.seed(3)
        start = envs.reset()
        assert np.array_equal(start[0], ks.to_gymnasium(Counting(length=9)).reset(seed=3)[0])
        envs.step(np.array([0, 0]))
        obs, _, done, infos = envs.step(np.array([0, 0]))
        assert done.all()
        assert infos[0]["TimeLimit.truncated"]
        assert infos[0]["terminal_observation"].tolist() == [start[0, 0], 2]
        assert obs[:, 1].tolist() == [0, 0]
        assert not ks.to_sb3_vec(Counting(length=1), 1).env_is_wrapped(object)[0]

    def test_what_it_tells_of_pictures_is_what_there_is(self):
        envs = ks.to_sb3_vec("CartPole-v1", 1, render_mode="rgb_array")
        assert envs.metadata == {"render_modes": ["rgb_array"], "render_fps": 50.0}

    def test_each_is_the_environment_alone_that_is_reset_where_episodes_end(self):
        envs, alone = ks.to_sb3_vec("FrozenLake-v1", 2), [ks.to_gymnasium("FrozenLake-v1") for _ in range(2)]
        envs.seed(3)
        assert envs.reset().tolist() == [int(env.reset(seed=3 + i)[0]) for i, env in enumerate(alone)]
        ends = 0
        for step in range(60):
            obs, reward, done, infos = envs.step(np.full(2, step % 4))
            for i, env in enumerate(alone):
                seen, rewarded, terminated, truncated, _ = env.step(step % 4)
                assert (reward[i], done[i]) == (rewarded, terminated or truncated)
                ends += done[i]
                assert obs[i] == (env.reset()[0] if done[i] else seen)
                assert not done[i] or infos[i]["terminal_observation"] == seen
        assert ends > 6

    def test_copies_and_pickles_go_on_as_the_original_does(self):
        envs = ks.to_sb3_vec("FrozenLake-v1", 3, render_mode="rgb_array")
        new = pickle.loads(pickle.dumps(envs))
        assert isinstance(new, self.sb3.common.vec_env.VecEnv)
        for each in (envs, new):
            each.seed(4)
        assert np.array_equal(envs.reset(), new.reset())
        copies = [pickle.loads(pickle.dumps(envs)), copy.deepcopy(envs)]
        assert np.array_equal(copies[0].get_images()[1], envs.get_images()[1])
        for _ in range(20):
            wanted = envs.step(np.full(3, 2))
            for each in copies:
                assert all(np.array_equal(a, b) for a, b in zip(each.step(np.full(3, 2))[:3], wanted[:3], strict=True))

    def test_what_needs_a_reset_says_so(self):
        from gymnasium.error import ResetNeeded

        envs = ks.to_sb3_vec("CartPole-v1", 3, render_mode="rgb_array")
        for call in (lambda: envs.step(np.zeros(3, int)), envs.get_images):
            with pytest.raises(ResetNeeded, match="call reset"):
                call()
        assert ks.to_sb3_vec("CartPole-v1", 2).get_images() == [None, None]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"low": 1}, "option of reset: got 'low'; known: none"),
            ([{}, {"low": 1}], "option of reset: got 'low'; known: none"),
            (3, "options of reset: got 3; use a dict, or None"),
            ("low", "options of reset: got 'low'; use a dict, or None"),
            ([3, {}], "options of reset: got 3; use a dict, or None"),
        ],
    )
    def test_there_are_no_options_of_a_reset(self, options, told):
        envs = ks.to_sb3_vec("CartPole-v1", 2)
        with pytest.raises(ks.ConfigError, match=told):
            envs.set_options(options)
        for none in (None, {}, [{}, {}]):
            envs.set_options(none)
            assert envs.reset().shape == (2, 4)

    @pytest.mark.parametrize("indices", [3, -4, [0, 7], 1.5, True, [True, False, False], "0"])
    def test_environments_that_are_not_there(self, indices):
        envs = ks.to_sb3_vec("CartPole-v1", 3)
        for call in (lambda: envs.get_attr("spec", indices), lambda: envs.env_is_wrapped(object, indices)):
            with pytest.raises(ks.ConfigError, match=r"indices: got .*; use a whole number of at least -3 and at most"):
                call()

    @pytest.mark.parametrize(
        ("indices", "count"), [(None, 3), (0, 1), (-1, 1), (np.int64(2), 1), ([0, 2], 2), (np.arange(3), 3), ([], 0)]
    )
    def test_environments_that_are_there(self, indices, count):
        envs = ks.to_sb3_vec("CartPole-v1", 3)
        assert envs.get_attr("spec", indices) == [envs.env.spec] * count
        assert envs.env_is_wrapped(object, indices) == [False] * count

    def test_a_step_takes_the_actions_that_were_given_for_it(self):
        envs = ks.to_sb3_vec("CartPole-v1", 2)
        envs.reset()
        copies = [pickle.loads(pickle.dumps(envs)), copy.deepcopy(envs)]
        for each in (envs, *copies):
            with pytest.raises(ks.ConfigError, match=r"^actions: got nothing; call step_async\(\) first$"):
                each.step_wait()
        envs.step(np.zeros(2, int))
        with pytest.raises(ks.ConfigError, match="call step_async"):
            envs.step_wait()
        envs.step_async(np.zeros(2, int))
        envs.reset()
        with pytest.raises(ks.ConfigError, match="call step_async"):
            envs.step_wait()
        with pytest.raises(ks.ConfigError, match="action: got None"):
            envs.step(None)
        assert envs.step(np.ones(2, int))[0].shape == (2, 4)

    def test_actions_are_clipped(self):
        envs = ks.to_sb3_vec(Paint(), 2)
        envs.reset()
        assert envs.step(np.array([[256, -1], [5, 6]]))[0].tolist() == [[200, 3], [5, 6]]

    @pytest.mark.filterwarnings("ignore")
    def test_its_ppo_learns_on_them(self):
        from stable_baselines3.common.vec_env import VecMonitor

        envs = VecMonitor(ks.to_sb3_vec("CartPole-v1", 32))
        model = self.sb3.PPO("MlpPolicy", envs, n_steps=64, batch_size=512, n_epochs=10, device="cpu", seed=0)
        model.learn(30_000)
        assert np.mean([info["r"] for info in model.ep_info_buffer]) > 60


class TestTorch:
    """A policy gradient in one file, in CleanRL's manner: Gymnasium's vectors, PyTorch, next-step resets."""

    @pytest.fixture(autouse=True)
    def library(self):
        self.torch = pytest.importorskip("torch")

    @pytest.mark.filterwarnings("ignore")
    def test_it_learns_from_a_vector(self):
        import gymnasium

        torch = self.torch
        torch.manual_seed(0)
        envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.make_vec("kousoku/CartPole-v1", num_envs=32))
        net = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))
        optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
        obs, over, returns = torch.as_tensor(envs.reset(seed=0)[0]), torch.zeros(32), []
        for _ in range(60):
            steps = []
            for _ in range(64):
                out = net(obs)
                dist = torch.distributions.Categorical(logits=out[:, :2])
                action = dist.sample()
                new, reward, terminated, truncated, info = envs.step(action.numpy())
                ended = torch.as_tensor(terminated | truncated).float()
                steps.append((dist.log_prob(action), out[:, 2], torch.as_tensor(reward), ended, 1 - over))
                obs, over = torch.as_tensor(new), ended
                if "episode" in info:
                    returns += info["episode"]["r"][info["_episode"]].tolist()
            with torch.no_grad():
                value = net(obs)[:, 2]
            loss = 0.0
            for log_prob, estimate, reward, ended, real in reversed(steps):
                value = reward + 0.99 * value * (1 - ended)
                advantage = value - estimate
                loss = loss + (real * (advantage**2 - log_prob * advantage.detach())).mean()
            optimiser.zero_grad()
            (loss / 64).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimiser.step()
        assert np.mean(returns[-50:]) > 2 * np.mean(returns[:50])


@pytest.mark.filterwarnings("ignore")
def test_boards_of_pgx_which_are_drawings_are_not_announced_as_pixels():
    pytest.importorskip("pgx")
    assert ks.to_gymnasium("pgx:tic_tac_toe").metadata["render_modes"] == []
    with pytest.raises(ks.ConfigError, match="render_mode"):
        ks.to_gymnasium_vec("pgx:tic_tac_toe", 2, render_mode="rgb_array")
