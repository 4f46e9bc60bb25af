"""What is around a training: JAX counting in 64 bits, threads, a default device, a guard of transfers."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest
from fast_compile import fast_compile_flags
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.agents import planning
from kousoku.core.errors import RunWarning
from kousoku.training.evaluation.film import is_drawable

SMALL = """
import json, sys
import kousoku as ks

rollouts = {"num_envs": 4, "num_steps": 8, "hidden": (8,), "init": "lecun_normal"}
epochs = rollouts | {"minibatches": 2, "epochs": 1}
replay = {"num_envs": 4, "hidden": (8,), "init": "lecun_normal"}
replay |= {"learning_starts": 32, "batch_size": 8, "capacity": 64}
deep = {"ppo": epochs, "pqn": epochs, "a2c": rollouts, "apg": rollouts}
deep |= dict.fromkeys(("dqn", "sac", "td3", "ddpg"), replay)
envs = dict.fromkeys(("apg", "td3", "ddpg"), "Pendulum-v1") | dict.fromkeys(("ppo", "pqn", "a2c", "dqn"), "CartPole-v1")

def trained(id):
    if id in ("bc", "iql", "td3_bc"):
        env = "Pendulum-v1" if id == "td3_bc" else "CartPole-v1"
        small = {"num_envs": 2, "learning_starts": 16, "hidden": (8,)}
        data = ks.train("sac", env, steps=40, out="", eval_episodes=0, **small).collect(40)
        return ks.train(id, env, dataset=data, steps=20, hidden=(8,), batch_size=8, out="", eval_episodes=1)
    env = envs.get(id, "Bandit-v0" if id.startswith("bandit") else "GridWorld-v0")
    return ks.train(ks.make_agent(id, **deep.get(id, {})), env, steps=64, out="", eval_episodes=1)
"""


def made(id: str) -> ks.Env:
    return ks.make(id, **({"map": "S.G"} if id == "CustomGrid-v0" else {}))


def in_64_bits(script: str, *words: str) -> None:
    """Runs a script in a process where JAX counts in 64 bits, as many scientists have it do."""
    environment = {**os.environ, "JAX_ENABLE_X64": "1", "XLA_FLAGS": fast_compile_flags()}
    command = [sys.executable, "-c", SMALL + script, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow_because("a new process trains")
def test_agents_with_tables_in_64_bits():
    in_64_bits("assert trained('sarsa').q_values.dtype.name == 'float32'; trained('dyna_q')")


@pytest.mark.full("processes")
@pytest.mark.parametrize("id", ks.list_agents())
def test_every_agent_in_64_bits(id):
    if id == "evosax":
        pytest.importorskip("evosax")
    in_64_bits(f"trained({id!r})")


def learned(seed: int, out: str | None = "") -> np.ndarray:
    """What one agent learns."""
    return ks.train("q_learning", "GridWorld-v0", steps=500, seeds=[seed], out=out, eval_episodes=1).q_values


@pytest.mark.slow_because("five trainings")
def test_threads_train_at_once_each_as_if_it_were_alone():
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(learned, (0, 1), (None, None)))
    for seed, found in enumerate(together):
        np.testing.assert_array_equal(found, learned(seed))
    assert len(list(Path("runs").iterdir())) == 2


@pytest.mark.full("covered")
def test_a_default_device_and_a_guard_of_transfers_change_nothing():
    plain = learned(0)
    with jax.default_device(jax.devices()[-1]):
        np.testing.assert_array_equal(learned(0), plain)
    with jax.transfer_guard("disallow"):
        np.testing.assert_array_equal(learned(0), plain)


NETWORK = {"hidden": (8,), "num_envs": 4, "init": "lecun_normal"}
ROLLOUTS = NETWORK | {"num_steps": 8, "minibatches": 2, "epochs": 1}
GUARDED = {
    "table": ("q_learning", {}, "GridWorld-v0", {"seeds": 3, "record": ["returns", "visits", "q_values"]}),
    "two tables": ("double_q_learning", {}, "GridWorld-v0", {"record": ["returns", "q_values"]}),
    "bandit": ("bandit_ucb", {}, "DriftingBandit-v0", {}),
    "model": ("dyna_q", {}, "BlockingMaze-v0", {}),
    "readable loop": ("sarsa", {}, "FrozenLake-v1", {"loop": "python", "seeds": 2}),
    "sweep of the environment": ("q_learning", {}, "GridWorld-v0", {"sweep": {"env.slip": [0.1, 0.2, 0.3]}}),
    "rollouts": ("ppo", ROLLOUTS, "CartPole-v1", {"seeds": 3}),
    "recurrent": ("ppo", ROLLOUTS | {"recurrent": "gru"}, "Pendulum-v1", {}),
    "replay": ("dqn", NETWORK | {"learning_starts": 32, "batch_size": 8, "capacity": 64}, "CartPole-v1", {}),
    "generations": ("ars", {"num_directions": 4}, "CartPole-v1", {}),
}


@pytest.mark.full("covered")
@pytest.mark.films
@pytest.mark.parametrize("kind", GUARDED)
def test_nothing_is_moved_that_is_not_meant_to_be(kind):
    """On two devices, which three members do not fill: from its beginning to what is done with it afterwards."""
    id, options, env, settings = GUARDED[kind]
    agent = ks.make_agent(id, **options)
    settings = {"record_every": 64, "eval_episodes": 2} | settings
    with jax.transfer_guard("disallow"):
        begun = ks.train(agent, env, steps=128, eval_every=64, checkpoint_every=64, out="run", **settings)
        run = ks.resume("run", steps=2 * begun.record.facts["steps"])
        assert ks.load("run").evaluate(3).returns.shape[1] == 3
        assert ks.load("run", checkpoint="best").record.facts["status"] == "unfinished"
        policy = ks.load_policy("run")
        space = policy.spec.observation_space
        policy.step(np.zeros(space.shape, space.dtype), policy.initial_carry())
        if run.record.film is not None:
            run.animate(agents=run.record.num_members)
        new = {name: value for name, value in settings.items() if name not in ("sweep", "loop")}
        ks.train(agent, env, steps=64, init_from=run, out="", **new)


@pytest.mark.parametrize("guard", [jax.transfer_guard, jax.transfer_guard_host_to_device])
@pytest.mark.parametrize("agent", ["q_learning", ks.make_agent("ppo", **ROLLOUTS)], ids=["table", "rollouts"])
@pytest.mark.parametrize("loop", ["python", "compiled"])
def test_a_guard_of_transfers_without_compilation_is_refused(agent, loop, guard):
    """Each number in the code would be moved: one line says so before anything is written."""
    with (
        guard("disallow"),
        jax.disable_jit(),
        pytest.raises(ks.ConfigError, match=r"^jax\.transfer_guard: got 'disallow'"),
    ):
        ks.train(agent, "CartPole-v1", steps=64, loop=loop, out="run")
    assert not Path("run").exists()


@pytest.mark.full("covered")
def test_planners_move_nothing_that_is_not_meant_to_be():
    model = ks.make("FrozenLake-v1").model()
    wanted = planning.value_iteration(model, 0.9)
    with jax.transfer_guard("disallow"):
        for found in (planning.value_iteration(model, 0.9), planning.policy_iteration(model, 0.9)):
            np.testing.assert_allclose(found.v, wanted.v, atol=1e-5)
            np.testing.assert_allclose(planning.policy_evaluation(model, found.policy, 0.9), wanted.v, atol=1e-5)


@pytest.mark.full("whole way")
@pytest.mark.parametrize("id", [id for id in OWN_ENVS if is_drawable(made(id))])
def test_films_move_nothing_that_is_not_meant_to_be(id):
    with jax.transfer_guard("disallow"):
        ks.animate(made(id), max_steps=3)


def test_training_under_a_search_for_reused_keys_says_that_it_is_left_out():
    with jax.debug_key_reuse(True):
        with pytest.warns(RunWarning, match="^jax_debug_key_reuse: got True; training and evaluation switch it off"):
            run = ks.train("q_learning", "GridWorld-v0", steps=100, seeds=2, out="", eval_episodes=2)
        assert jax.config.jax_debug_key_reuse
    plain = ks.train("q_learning", "GridWorld-v0", steps=100, seeds=2, out="", eval_episodes=2)
    np.testing.assert_array_equal(run.q_values, plain.q_values)
