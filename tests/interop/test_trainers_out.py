"""Other libraries' own trainers, run on our environments: each for some thousand steps."""

import importlib
import importlib.util
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.slow_because("another library's trainer is compiled"),
]


PUREJAXRL = {
    "LR": 2.5e-3, "NUM_ENVS": 16, "NUM_STEPS": 32, "TOTAL_TIMESTEPS": 16_384, "UPDATE_EPOCHS": 4,
    "NUM_MINIBATCHES": 4, "GAMMA": 0.99, "GAE_LAMBDA": 0.95, "CLIP_EPS": 0.2, "ENT_COEF": 0.01, "VF_COEF": 0.5,
    "MAX_GRAD_NORM": 0.5, "ACTIVATION": "tanh", "ANNEAL_LR": True, "DEBUG": False, "NORMALIZE_ENV": True,
}  # fmt: skip
BRAX = {
    "num_timesteps": 4_000, "num_envs": 16, "batch_size": 16, "num_minibatches": 2, "unroll_length": 8,
    "num_updates_per_batch": 2, "num_evals": 2, "max_devices_per_host": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def jax_as_others_have_it(monkeypatch):
    """Lets dtypes be promoted, and gives back what newer JAX has no longer and others still call."""

    def replicated(tree, devices):
        return jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * len(devices)), tree)

    monkeypatch.setattr(jax, "device_put_replicated", replicated, raising=False)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def library(name):
    """Imports a library that may not be installed; its own warnings are its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def gymnax_makes_ours(id, **options):
    env = ks.to_gymnax(id, **options)
    return env, env.default_params


class TestRejax:
    @pytest.mark.parametrize(
        ("algorithm", "id", "options"),
        [
            ("PPO", "CartPole-v1", {}),
            ("PPO", "Pendulum-v1", {"normalize_observations": True}),
            ("PPO", "MinAtar/Breakout-v1", {}),
            ("DQN", "CartPole-v1", {"fill_buffer": 500}),
            ("SAC", "Pendulum-v1", {"fill_buffer": 500}),
        ],
    )
    def test_it_trains(self, algorithm, id, options):
        env = ks.to_gymnax(id)
        sizes = {"num_envs": 16, "num_steps": 32, "num_minibatches": 4} if algorithm == "PPO" else {"num_envs": 8}
        made = getattr(library("rejax"), algorithm).create(
            env=env, env_params=env.default_params, total_timesteps=4096, eval_freq=2048, **sizes, **options
        )
        _, (lengths, returns) = jax.jit(made.train)(jax.random.PRNGKey(0))
        assert np.isfinite(returns).all()
        limit = env.default_params.max_steps_in_episode
        assert (np.asarray(lengths) <= limit).all()
        if id == "CartPole-v1":  # a reward of 1 at every step
            assert np.array_equal(lengths, returns)
        if algorithm == "PPO" and id == "CartPole-v1":
            assert returns[-1].mean() > returns[0].mean()


class TestPureJaxRL:
    """Its scripts, where their folder's parent is on the path: they are no package of PyPI."""

    @pytest.fixture(autouse=True)
    def scripts(self, monkeypatch):
        found = importlib.util.find_spec("purejaxrl")
        if found is None:
            pytest.skip("PYTHONPATH names no folder with PureJaxRL's source")
        monkeypatch.syspath_prepend(next(iter(found.submodule_search_locations)))

    def test_its_ppo_learns_where_gymnaxs_environment_is_replaced_by_ours(self, monkeypatch):
        ppo = importlib.import_module("ppo")
        monkeypatch.setattr(ppo.gymnax, "make", gymnax_makes_ours)
        out = jax.jit(ppo.make_train(PUREJAXRL | {"ENV_NAME": "CartPole-v1"}))(jax.random.PRNGKey(0))
        returns = np.asarray(out["metrics"]["returned_episode_returns"])
        assert returns[-1].mean() > 2 * returns[1].mean() > 20

    def test_its_ppo_for_continuous_actions_runs(self, monkeypatch):
        ppo = importlib.import_module("ppo_continuous_action")
        monkeypatch.setattr(ppo, "BraxGymnaxWrapper", ks.to_gymnax)
        config = PUREJAXRL | {"ENV_NAME": "Pendulum-v1"}
        out = jax.jit(ppo.make_train(config))(jax.random.PRNGKey(0))
        returns = np.asarray(out["metrics"]["returned_episode_returns"])[-1]
        assert ((returns > -2000) & (returns < 0)).all()


class TestStoix:
    """Its PPO, where its source and that of Stoa are on the path: neither is a package of PyPI."""

    def test_its_ppo_learns_where_gymnaxs_environment_is_replaced_by_ours(self, monkeypatch):
        ppo, hydra = library("stoix.systems.ppo.anakin.ff_ppo"), library("hydra")
        folder = f"{next(iter(importlib.util.find_spec('stoix').submodule_search_locations))}/configs"
        monkeypatch.setattr(library("gymnax"), "make", gymnax_makes_ours)
        sizes = ["arch.total_num_envs=16", "arch.total_timesteps=16384", "arch.num_evaluation=2"]
        others = ["arch.absolute_metric=False", "arch.num_eval_episodes=16", "logger.loggers.console.enabled=False"]
        with hydra.initialize_config_dir(f"{folder}/default/anakin", version_base="1.2"):
            config = hydra.compose(
                "default_ff_ppo.yaml", overrides=[*sizes, *others, f"hydra.searchpath=[file://{folder}]"]
            )
        library("omegaconf").OmegaConf.set_struct(config, False)
        with jax.default_device(jax.devices()[0]):
            assert ppo.run_experiment(config) > 60


class TestBrax:
    def returns_of(self, id, **options):
        """Trains Brax's PPO: returns what it evaluates to, before and after."""
        train = library("brax.training.agents.ppo.train").train
        env, told = ks.to_brax(id), []
        train(
            environment=env,
            episode_length=env.episode_length,
            progress_fn=lambda _, metrics: told.append(metrics["eval/episode_reward"]),
            **BRAX,
            **options,
        )
        return told

    def test_its_ppo_trains_on_a_robot(self):
        before, after = self.returns_of("InvertedPendulum-v5", normalize_observations=True)
        assert 1 < before < after

    @pytest.mark.parametrize("full_reset", [False, True])
    def test_its_ppo_trains_in_playgrounds_wrappers(self, full_reset):
        wrapper = library("mujoco_playground._src.wrapper")

        def wrapped(env, **options):
            return wrapper.wrap_for_brax_training(env, full_reset=full_reset, **options)

        before, after = self.returns_of("InvertedPendulum-v5", wrap_env_fn=wrapped, normalize_observations=True)
        assert 1 < before < after


def test_playgrounds_reset_begins_the_episode_that_it_has_kept():
    wrapper = library("mujoco_playground._src.wrapper")
    env = wrapper.wrap_for_brax_training(ks.to_brax("Pendulum-v1"), episode_length=3)
    first = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), 4))
    state, step = first, jax.jit(env.step)
    for _ in range(3):
        state = step(state, jnp.ones((4, 1)))
    assert (state.done == 1).all()
    assert np.array_equal(state.obs, first.obs)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), state.data, first.data))
    assert state.data is state.pipeline_state
    again = step(state, jnp.ones((4, 1)))
    assert not (again.obs == first.obs).all()
    assert again.done.sum() == 0
