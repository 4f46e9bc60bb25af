"""What users hold survives pickle, `copy` and a pool of processes: errors, agents, environments, runs."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.core.as_text import as_text
from kousoku.core.errors import ConfigError
from kousoku.envs.contract import ContractError
from kousoku.nn import NETWORK_CONFIGS
from kousoku.ops.schedules import Cosine, Exponential, Harmonic, Linear
from kousoku.training.config import TrainConfig

NEEDED = {"CustomGrid-v0": {"map": "S.G"}}
ARRAY = np.arange(3.0)


def copies(thing: Any) -> tuple[Any, ...]:
    """The thing by each way to copy it."""
    return pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)


def check_copies(thing: Any) -> None:
    """Sees that each copy is of the same class, and equal."""
    for other in copies(thing):
        assert type(other) is type(thing)
        assert eqx.tree_equal(other, thing)


def tracer() -> Any:
    kept: list[Any] = []
    jax.eval_shape(lambda x: kept.append(x) or x, jnp.float32(0))
    return kept[0]


GIVEN = {
    "a number": 0,
    "nothing": ...,
    "an array": ARRAY,
    "a function": lambda x: x,
    "a class of no module": type("Local", (), {}),
    "a generator": (x for x in "ab"),
    "a tracer": tracer(),
    "a long text": "x" * 200,
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_an_error_keeps_its_words_whatever_was_given(given):
    error = ConfigError("steps", given, "use more")
    error.add_note("in the second run")
    for other in copies(error):
        assert type(other) is ConfigError
        assert (str(other), other.field, other.fix) == (str(error), "steps", "use more")
        assert other.__notes__ == ["in the second run"]
        assert {str(again) for again in copies(other)} == {str(error)}


def test_what_can_be_pickled_is_given_as_it_was():
    for given in (..., 3, "text", ARRAY):
        for other in copies(ConfigError("steps", given, "use more")):
            np.testing.assert_array_equal(other.given, given)


def test_other_errors_keep_their_words():
    for error in (ContractError("it breaks a rule"), ks.KernelWarning("slow")):
        assert {str(other) for other in copies(error)} == {str(error)}


def work(rate: float) -> float:
    return ks.make_agent("q_learning", learning_rate=rate).learning_rate


@pytest.mark.full("covered")
def test_an_error_comes_out_of_a_pool_of_processes():
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        assert pool.submit(work, 0.5).result() == 0.5
        with pytest.raises(ConfigError, match=r"learning_rate: got -1\.0; use a number in"):
            pool.submit(work, -1.0).result()
        agent, env = pool.submit(_returned, ks.make_agent("ppo"), ks.make("CartPole-v1")).result()
    assert agent == ks.make_agent("ppo")
    assert env == ks.make("CartPole-v1")


def _returned(*things: Any) -> tuple[Any, ...]:
    return things


def test_agents():
    for id in ks.list_agents():
        check_copies(ks.make_agent(id))
        check_copies(ks.make_agent(id).learns_from)


@pytest.mark.parametrize("id", OWN_ENVS)
def test_environments_and_their_spaces(id):
    env = ks.make(id, **NEEDED.get(id, {}))
    check_copies(env)
    check_copies(env.spec)


SHOWN = {
    "an agent": lambda: ks.make_agent("iql"),
    "an agent with options": lambda: ks.make_agent("ppo", learning_rate=0.5, hidden=(8,)),
    "an environment": lambda: ks.make("CartPole-v1"),
    "one with options": lambda: ks.make("CartPole-v1", gravity=1.5),
    "one in wrappers": lambda: ks.make("Pendulum-v1", wrap=["frame_stack:2"]),
    "one with arrays": lambda: ks.make("GridWorld-v0"),
}


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
def test_copies_are_shown_as_what_they_are_copies_of(make):
    """Numbers and parts of a copy are other objects than the defaults that they are equal to."""
    thing = make()
    assert {repr(other) for other in copies(thing)} == {repr(thing)}


def test_what_is_equal_to_a_default_is_not_shown_and_all_else_is():
    assert repr(ks.make_agent("iql")) == "IQL()"
    assert [repr(other) for other in copies(ks.make("CartPole-v1"))] == ["CartPole()"] * 3
    assert repr(ks.make("CartPole-v1", gravity=float("9.8"))) == "CartPole()"
    assert repr(copies(ks.make("CartPole-v1", gravity=1.5))[0]) == "CartPole(gravity=1.5)"


class Weighted(eqx.Module):
    weights: jax.Array


class Holding(eqx.Module):
    part: Weighted = Weighted(jnp.arange(2.0))
    parts: tuple[Weighted, ...] = ()


def test_arrays_are_looked_at_and_traced_ones_are_not():
    thing, other = Holding(), Holding(Weighted(jnp.ones(2)), (Weighted(jnp.ones(2)),))
    shown: list[str] = []
    jax.eval_shape(lambda thing: shown.append(as_text(thing)), thing)
    assert {as_text(copied) for copied in copies(thing)} == {"Holding()"}
    assert shown == ["Holding(part=Weighted(weights=f32[2]))"]
    assert {as_text(copied) for copied in copies(other)} == {
        "Holding(part=Weighted(weights=f32[2]), parts=(Weighted(weights=f32[2]),))"
    }


def test_timesteps_states_and_keys():
    check_copies(ks.make("GridWorld-v0").reset(jax.random.key(0)))
    for other in copies(jax.random.key(3)):
        assert (other == jax.random.key(3)).all()


def test_values():
    spaces = {"a": ks.Discrete(3), "b": ks.MultiDiscrete((2, 3)), "c": ks.Box((0.0, -1.0), (1.0, 1.0), (2,))}
    check_copies(ks.Dict(spaces))
    check_copies(ks.finite(ks.make("GridWorld-v0").model()))
    for value in (
        Linear(1.0, 0.1, 10),
        Cosine(1.0, 0.1, 10),
        Exponential(1.0, 0.5, 10),
        Harmonic(1.0, 10),
        *(c() for c in NETWORK_CONFIGS),
    ):
        check_copies(value)


def test_settings():
    for value in (
        TrainConfig(steps=1000, seeds=[1, 2], sweep={"epsilon": [0.1, 0.2]}),
        ks.preset("ppo", "CartPole-v1"),
    ):
        assert set(map(repr, copies(value))) == {repr(value)}


def test_every_public_name():
    for name in ks.__all__:
        assert all(other is getattr(ks, name) for other in copies(getattr(ks, name))), name


@pytest.mark.slow_because("it trains, evaluates twice and compiles three policies")
def test_a_run_its_evaluation_and_its_policy():
    run = ks.train("q_learning", "GridWorld-v0", steps=300, seeds=2, out="", eval_episodes=1)
    played, policy, obs = run.evaluate(2), ks.load_policy(run), np.arange(96)
    for other in copies(run):
        assert repr(other) == repr(run)
        np.testing.assert_array_equal(other.q_values, run.q_values)
    np.testing.assert_array_equal(copies(run)[0].evaluate(2).returns, played.returns)
    np.testing.assert_array_equal(copies(played)[0].returns, played.returns)
    for thing in (played, run.record, ks.compare({"a": run, "b": run}).groups[0].entrants[0]):
        assert thing == thing
        assert all(other != thing for other in copies(thing))
        assert {thing: 1}[thing] == 1
    for other in copies(policy):
        assert repr(other) == repr(policy)
        np.testing.assert_array_equal(other(obs), policy(obs))


def test_a_data_set_keeps_its_hash_and_cannot_be_written_to():
    """Its spaces too, of which the hash is made, whatever was asked first."""
    data = ks.train("ars", "Pendulum-v1", steps=400, out="", progress=False, eval_episodes=1).collect(50)
    moved = copies(data)
    for other in moved:
        assert other.hash == data.hash
        assert other == data
        assert not any(array.flags.writeable for array in (other.obs, other.action, other.reward, other.truncated))
    for space in (data.observation_space, ks.Box(0, 9, (2,), "uint8"), ks.Dict({"x": ks.Box(-1.0, 1.0)})):
        assert {repr(other) for other in copies(space)} == {repr(space)}
