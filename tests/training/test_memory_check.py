"""The estimate of memory counts what is held at once."""

import re
import signal
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from still import Still

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.ops.trees import tree_bytes
from kousoku.training.guards import memory_check
from kousoku.training.guards.memory_check import check_memory, check_samples
from kousoku.training.loop import program
from kousoku.training.metrics.metric_sums import Recording
from kousoku.training.population import PointEnvs

ENV = ks.make("CartPole-v1")


def refusal(agent, memory, monkeypatch, env=ENV):
    """What is said where there are so many bytes of memory; None where they are enough."""
    monkeypatch.setattr(memory_check, "_memory", lambda: memory)
    try:
        check_samples(agent, env)
        check_memory(agent, PointEnvs((env,), None, env), 1, Recording())
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.by_default("1-None")
@pytest.mark.parametrize(("episodes", "num_envs"), [(1, None), (1, 4), (4, None), (4, 64)])
def test_candidates_count_as_data_as_noise_as_policies_and_once_an_episode(episodes, num_envs, monkeypatch):
    """Two for the data, one for noise, one for policies, one for each episode, however few slots play them."""
    agent = ks.make_agent("ars", num_directions=32, episodes=episodes, num_envs=num_envs, hidden=(128, 128))
    agent = agent.for_env(ENV.spec)
    policy = jax.eval_shape(lambda key: agent.init(ENV.spec, key), jax.random.key(0)).policy
    vectors = 64 * 4 * sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(policy))
    held = (4 + episodes) * vectors / 0.8
    assert refusal(agent, int(1.1 * held), monkeypatch) is None
    said = refusal(agent, int(0.99 * held), monkeypatch)
    assert said is not None
    assert said.startswith("num_directions: got '64 candidates'; they need about ")


@pytest.mark.full("covered")
@pytest.mark.parametrize("options", [{}, {"prioritised": True}, {"prioritised": True, "n_step": 5}])
def test_a_buffer_counts_with_its_priorities_and_with_the_steps_of_what_is_drawn(options, monkeypatch):
    sizes = {"num_envs": 4, "capacity": 40_000, "batch_size": 64, "gradient_steps": 50}
    agent = ks.make_agent("dqn", **sizes, hidden=(4,), **options)
    step = 4 * (4 + 4) + 4 + 4 + 1 + 1  # two observations, action, reward, two flags
    held = 2 * 40_000 * (step + (8 if "prioritised" in options else 0))
    held += 50 * 64 * (step + (5 * (4 + 4 + 1 + 1) if "n_step" in options else 0))
    assert refusal(agent, int(1.02 * held / 0.8), monkeypatch) is None
    said = refusal(agent, int(0.99 * held / 0.8), monkeypatch)
    assert said is not None
    assert said.startswith("capacity: got '40000 transitions'; they need about ")


@pytest.mark.full("covered")
def test_what_other_collectors_hold_is_state_and_data_twice(monkeypatch):
    agent = ks.make_agent("ppo", num_envs=64, num_steps=64, hidden=(4,)).for_env(ENV.spec)
    shapes = memory_check.shapes_of(agent, ENV, Recording())
    held = 2 * tree_bytes((shapes.state, shapes.data, shapes.steps.info, shapes.steps.end)) + 256
    assert refusal(agent, int(1.01 * held / 0.8), monkeypatch) is None
    assert "num_envs" in str(refusal(agent, int(0.99 * held / 0.8), monkeypatch))


def test_a_data_set_that_is_too_large_is_named_and_not_the_minibatches_of_it(monkeypatch):
    n, rng = 4000, np.random.default_rng(0)
    obs, next_obs = (rng.uniform(-0.1, 0.1, (n, 4)) for _ in range(2))
    data = ks.Dataset(
        obs, np.zeros(n, int), np.zeros(n), np.ones(n, bool), np.zeros(n, bool), next_obs,
        ENV.observation_space, ENV.action_space,
    )  # fmt: skip
    agent = ks.make_agent("bc", dataset=data, hidden=(4,), batch_size=16).for_env(ENV.spec)
    held = n * (2 * 4 * 4 + 4 + 4 + 1 + 1)
    assert refusal(agent, 2 * held, monkeypatch) is None
    said = refusal(agent, held, monkeypatch)
    assert said is not None
    assert said.startswith("dataset: got '4000 transitions'; they need about ")


class Heavy(Still):
    """Nothing to see, and a state of 4000 bytes."""

    def reset(self, key):
        return jnp.zeros(1000), super().reset(key)[1]


PENDULUM, GRID, HEAVY = ks.make("Pendulum-v1"), ks.make("GridWorld-v0"), Heavy()
MANY, FEW = {"capacity": 1000, "batch_size": 10**6}, {"batch_size": 100}
LARGE = 2**20
REFUSED = {
    "minibatch": ("dqn", ENV, MANY, FEW, "batch_size: got 'a minibatch of 1000000 transitions'; they need more than "),
    "minibatch of what is held": (
        "dqn", ENV, {"capacity": 1000, "batch_size": 230_000}, FEW,
        "batch_size: got 'a minibatch of 230000 transitions'; they need about ",
    ),
    "minibatches": ("sac", PENDULUM, MANY, FEW, "batch_size: got '8 minibatches of 1000000 transitions'; they need "),
    "td3": ("td3", PENDULUM, MANY, FEW, "batch_size: got '8 minibatches of 1000000 transitions'; they need "),
    "dagger": ("dagger", GRID, MANY, FEW, "batch_size: got '2 minibatches of 1000000 transitions'; they need "),
    "ratio": (
        "sac", PENDULUM, {"update_ratio": 20, "num_envs": 1024, "capacity": 1024}, {"update_ratio": "1/64"},
        "update_ratio: got '20480 minibatches of 256 transitions'; they need ",
    ),
    "ratio of dagger": (
        "dagger", GRID, {"update_ratio": 20, "num_envs": 1024, "capacity": 1024}, {"update_ratio": "1/64"},
        "update_ratio: got '20480 minibatches of 128 transitions'; they need ",
    ),
    "ratio of dqn": (
        "dqn", ENV, {"update_ratio": 20, "num_envs": 1024, "capacity": 1024}, {"update_ratio": "1/64"},
        "update_ratio: got '20480 minibatches of 128 transitions'; they need ",
    ),
    "gradient steps": (
        "dqn", ENV, {"gradient_steps": 10**5, "batch_size": 16, "capacity": 1000}, {"gradient_steps": 1},
        "gradient_steps: got '100000 minibatches of 16 transitions'; they need ",
    ),
    "buffer": ("dqn", ENV, {"capacity": 10**6, "batch_size": 20_000}, {"capacity": 1000}, "capacity: got '1000000 tr"),
    "least buffer": (
        "dqn", ENV, {"capacity": LARGE, "num_envs": LARGE}, {"num_envs": 8, "capacity": 1000},
        "num_envs: got '1048576 environments x 1 steps'; they need ",
    ),
    "steps": ("ppo", ENV, {"num_envs": 8, "num_steps": LARGE}, {"num_steps": 8}, "num_steps: got '8 environments x 1"),
    "environments": ("ppo", ENV, {"num_envs": LARGE, "num_steps": 8}, {"num_envs": 8}, "num_envs: got '1048576 envir"),
    "pqn": ("pqn", ENV, {"num_envs": 8, "num_steps": LARGE}, {"num_steps": 8}, "num_steps: got '8 environments x 1048"),
    "states": (
        "dqn", HEAVY, {"num_envs": 2048, "capacity": 10_000}, {"num_envs": 8},
        "num_envs: got '2,048 environments'; they need about 0.0153 GiB of 0.00931 GiB; use fewer",
    ),
    "states of rollouts": (
        "ppo", HEAVY, {"num_envs": 2048, "num_steps": 4096}, {"num_envs": 8, "num_steps": 8}, "num_steps: got '2048 "),
}  # fmt: skip


@pytest.mark.by_default("minibatches", "gradient steps", "steps", "states")
@pytest.mark.parametrize("name", REFUSED)
def test_what_takes_the_memory_is_named_and_less_of_it_fits(name, monkeypatch):
    agent_id, env, options, less, said = REFUSED[name]

    def refused(**options):
        agent = ks.make_agent(agent_id, hidden=(4,), **options).taught_in(env).for_env(env.spec)
        return refusal(agent, 10_000_000, monkeypatch, env)

    assert str(refused(**options)).startswith(said)
    assert refused(**options | less) is None


STRATEGIES = {
    "ars": ("num_directions", 2),
    "openai_es": ("population_size", 2),
    "pgpe": ("population_size", 2),
    "sep_cma_es": ("population_size", 4),
}


@pytest.mark.by_default("ars")
@pytest.mark.parametrize("agent_id", STRATEGIES)
def test_a_strategy_names_what_it_has_and_its_network_where_the_fewest_candidates_do_not_fit(agent_id, monkeypatch):
    field, fewest = STRATEGIES[agent_id]

    def refused(memory, count, **options):
        agent = ks.make_agent(agent_id, **{field: count}, **options)
        return str(refusal(agent.for_env(ENV.spec), memory, monkeypatch))

    network = {"hidden": (300, 300)}  # 92,402 parameters, of which each candidate takes five times 4 bytes
    many = 128 if agent_id == "ars" else 64
    assert refused(20_000_000, 64, **network).startswith(f"{field}: got '{many} candidates'; they need about ")
    assert refused(20_000_000, fewest, **network) == "None"
    for count in (fewest, 64):
        said = refused(4_000_000, count, **network)
        assert said.startswith(f"agent: got '{type(ks.make_agent(agent_id)).__name__}'; learning it needs about ")
        assert said.endswith("; use a smaller network")
    assert refused(20_000_000, fewest, episodes=64, **network).startswith("episodes: got '64 episodes of each of ")


@pytest.mark.parametrize(
    ("agent_id", "options", "field"),
    [
        ("ars", {"num_directions": 3, "episodes": 6}, "num_directions"),
        ("ars", {"num_directions": 3, "episodes": 7}, "episodes"),
        ("ars", {"num_directions": 2, "episodes": 2}, "episodes"),
        ("pgpe", {"population_size": 2, "episodes": 2}, "episodes"),
        ("pgpe", {"population_size": 4, "episodes": 2}, "population_size"),
        ("evosax", {"population_size": 8}, "population_size"),
    ],
)
def test_what_there_can_be_fewer_of_is_named(agent_id, options, field):
    assert ks.make_agent(agent_id, **options).learns_from.size[0] == field


@pytest.mark.parametrize(("devices", "mebibytes"), [(1, 40), (2, 70)])
def test_activations_count_once_they_are_planned_and_the_folder_is_free_again(
    devices, mebibytes, monkeypatch, tmp_path
):
    """The estimate knows the rollouts, 0.5 MiB, and the network; the layers of 8,192 steps are known when compiled.

    On two devices XLA plans for 14 MiB on each, and a kernel takes 22 beside it.
    """
    agent = ks.make_agent("ppo", num_envs=64, minibatches=1, epochs=1, hidden=(256, 256))
    assert refusal(agent, mebibytes << 20, monkeypatch) is None
    with pytest.raises(ConfigError) as refused:
        ks.train(agent, "CartPole-v1", steps=8192, out=tmp_path / "run", progress=False, devices=devices)
    of = f"{mebibytes / 1024 / devices:.3g} GiB a device"
    said = f"agent: got 'PPO'; training it needs about 0.0[0-9]+ GiB of {of}; use smaller minibatches, .*"
    assert re.fullmatch(said, str(refused.value))
    assert not list((tmp_path / "run").iterdir())


def test_the_time_in_which_a_program_is_planned_is_a_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(program, "is_far_from_full", lambda *_: False)
    monkeypatch.setattr(program, "check_program", lambda *_: time.sleep(0.5))
    (tmp_path / "run").mkdir()  # as a refused run leaves it
    ks.train("q_learning", "GridWorld-v0", steps=100, out=tmp_path / "run", progress=False, eval_episodes=0)
    facts = ks.load(tmp_path / "run").record.facts
    assert min(facts["seconds"], facts["first_block_seconds"]) >= 0.5


@pytest.mark.parametrize(
    ("settings", "far"), [({"minibatches": 64}, True), ({"hidden": (512, 512)}, False), ({"num_envs": 4096}, False)]
)
def test_the_plan_is_asked_for_where_activations_might_fill_memory(settings, far, monkeypatch):
    monkeypatch.setattr(memory_check, "_memory", lambda: 16 << 30)
    agent = ks.make_agent("ppo", **settings).for_env(ENV.spec)
    learned = jax.eval_shape(lambda key: agent.init(ENV.spec, key), jax.random.key(0))
    assert memory_check.is_far_from_full(agent, learned, ENV, jax.devices()[:1]) is far
    mine = type("Mine", (type(agent),), {"__module__": "mine"})()
    assert not memory_check.is_far_from_full(mine, learned, ENV, jax.devices()[:1])


def test_a_device_s_own_memory_is_its_limit():
    class Plan:
        argument_size_in_bytes, temp_size_in_bytes, output_size_in_bytes, alias_size_in_bytes = 300, 500, 200, 100

    class Device:
        def __init__(self, limit):
            self.limit = limit

        def memory_stats(self):
            return {"bytes_limit": self.limit}

    class Compiled:
        def __init__(self, plan):
            self.plan = plan

        def memory_analysis(self):
            return self.plan

    agent = ks.make_agent("ppo")
    memory_check.check_program(agent, Compiled(Plan()), 0, [Device(900), Device(9000)])
    memory_check.check_program(agent, Compiled(None), 0, [Device(1)])
    for beside, least in ((0, 899), (50, 949)):
        with pytest.raises(ConfigError, match=r"training it needs about .* a device; use"):
            memory_check.check_program(agent, Compiled(Plan()), beside, [Device(9000), Device(least)])


def test_a_refused_run_swallows_no_signal_and_leaves_no_folder_of_its_own(monkeypatch):
    def signalled(*_):
        signal.raise_signal(signal.SIGINT)
        raise ConfigError("agent", "PPO", "use a smaller one")

    monkeypatch.setattr(program, "is_far_from_full", lambda *_: False)
    monkeypatch.setattr(program, "check_program", signalled)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        ks.train("q_learning", "GridWorld-v0", steps=100, progress=False)
    assert not list(Path("runs").iterdir())
