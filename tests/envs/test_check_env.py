"""`check_env` names the rule that an environment breaks, and accepts unusual ones that break none."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corridor import Corridor, said
from forked import in_a_forked_process

import kousoku as ks
from kousoku import Box, ContractError, Dict, Discrete, MultiDiscrete
from kousoku.core.env import Finite
from kousoku.envs import contract
from kousoku.envs.evidence import Evidence

pytestmark = pytest.mark.contract


def replaced(where: str, field: str, value: Callable[[Any], Any]) -> Callable:
    """One field of the timestep that `where` gives becomes something else."""

    def spoil(at: str, key: Any, before: Any, result: Any) -> Any:
        if at != where:
            return result
        return result[0], eqx.tree_at(lambda t: getattr(t, field), result[1], value(result[1]))

    return spoil


def traced(x: Any) -> bool:
    return isinstance(x, jax.core.Tracer)


def key_reuse(where, key, before, result):
    return (
        result if where == "reset" else (result[0], eqx.tree_at(lambda t: t.reward, result[1], jax.random.normal(key)))
    )


def growing_state(where, key, before, result):
    return result if where == "reset" else (jnp.zeros(2, jnp.int32), result[1])


def other_state(where, key, before, result):
    return result if where == "reset" else (result[0].astype(jnp.float32), result[1])


def compiled_differs(where, key, before, result):
    return (result[0], eqx.tree_at(lambda t: t.obs, result[1], result[1].obs + 1)) if traced(key) else result


def batch_differs(where, key, before, result):
    batched = where == "step" and type(key).__name__ == "BatchTracer"
    return (result[0], eqx.tree_at(lambda t: t.reward, result[1], jnp.float32(5.0))) if batched else result


def counting() -> Callable:
    """Every call gives another reward after a step."""
    count = itertools.count(1)
    return replaced("step", "reward", lambda t: jnp.float32(next(count)))


def counting_starts() -> Callable:
    count = itertools.count()
    return replaced("reset", "obs", lambda t: jnp.int32(next(count) % 10))


def raising(error: Exception) -> Callable:
    def spoil(where, key, before, result):
        if where == "step":
            raise error
        return result

    return spoil


def keeping() -> Callable:
    """The first reset keeps its key, and every step takes it."""
    kept = []

    def spoil(where, key, before, result):
        if where == "reset":
            kept.append(key)
            return result
        return result[0] + jax.random.randint(kept[0], (), 0, 1), result[1]

    return spoil


BROKEN = {
    "reset: the first timestep must be neither terminated nor truncated": [
        replaced("reset", "terminated", lambda t: jnp.array(True)),
        replaced("reset", "truncated", lambda t: jnp.array(True)),
    ],
    "reset: the first reward must be 0, got 2.0": [replaced("reset", "reward", lambda t: jnp.float32(2.0))],
    "reset: the same key must give the same result": [counting_starts()],
    "step: the same key, state and action must give the same result": [counting()],
    "step: reward must be a float32 scalar, got float64[]": [replaced("step", "reward", lambda t: np.float64(1.0))],
    "step: reward must be a float32 scalar, got int32[]": [replaced("step", "reward", lambda t: jnp.int32(1))],
    "step: reward must be a float32 scalar, got float32[1]": [replaced("step", "reward", lambda t: t.reward[None])],
    "step: terminated must be a bool scalar, got int32[]": [replaced("step", "terminated", lambda t: jnp.int32(0))],
    "step: truncated must be a bool scalar, got float32[]": [replaced("step", "truncated", lambda t: jnp.float32(0))],
    "step: timestep.reward has a weak type": [replaced("step", "reward", lambda t: jnp.asarray(0.0))],
    "reset: timestep.obs has a weak type": [replaced("reset", "obs", lambda t: jnp.asarray(0))],
    "step: state has a weak type": [lambda w, k, b, r: (jnp.asarray(0), r[1]) if w == "step" else r],
    "step: observation 12 is outside Discrete(n=10)": [replaced("step", "obs", lambda t: jnp.int32(12))],
    "reset: observation -1 is outside Discrete(n=10)": [replaced("reset", "obs", lambda t: jnp.int32(-1))],
    "step: the state's structure, shapes or dtypes change": [growing_state, other_state],
    "a PRNG key is used twice; split it first": [key_reuse],
    "reset: compiled, it gives another result than without": [compiled_differs],
    "step: under jax.vmap an environment gives another result than alone": [batch_differs],
    "reset must return (state, Timestep)": [
        lambda w, k, b, r: (r[0], tuple(jax.tree.leaves(r[1]))) if w == "reset" else r,
        lambda w, k, b, r: r[1] if w == "reset" else r,
        lambda w, k, b, r: (*r, {}) if w == "reset" else r,
    ],
    "step must return (state, Timestep)": [
        lambda w, k, b, r: (r[0], r[1].obs, r[1].reward, r[1].terminated, {}) if w == "step" else r,
        lambda w, k, b, r: (r[0], None) if w == "step" else r,
    ],
    "step: raised ZeroDivisionError: by hand": [raising(ZeroDivisionError("by hand\nand more"))],
    "step: a value of one call is kept, and used in another": [keeping()],
    "step: raised NotImplementedError": [raising(NotImplementedError())],
}


@pytest.mark.parametrize(("rule", "spoil"), [(rule, spoil) for rule, spoils in BROKEN.items() for spoil in spoils])
def test_a_broken_rule_is_named(rule, spoil):
    with pytest.raises(ContractError) as caught:
        ks.check_env(Corridor(spoil), steps=20)
    first, *problems = str(caught.value).splitlines()
    assert first == "Corridor breaks the contract of an environment:"
    assert any(problem.startswith(f"  - {rule}") for problem in problems), str(caught.value)
    assert len(problems) == len(set(problems)) <= 4


def test_a_reward_that_is_nan_later_on_is_found():
    def late(where, key, before, result):
        bad = jnp.where(result[0] >= 3, jnp.float32(jnp.nan), jnp.float32(0.0))
        return result if where == "reset" else (result[0], eqx.tree_at(lambda t: t.reward, result[1], bad))

    with pytest.raises(ContractError, match=r"step \d+: reward is nan"):
        ks.check_env(Corridor(late), steps=200)


@pytest.mark.by_default("5")
@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "5"])
def test_a_time_limit_is_none_or_a_count(limit):
    with pytest.raises(ContractError, match=r"time_limit is .*: use None or a whole number from 1 to 2147483647"):
        ks.check_env(Corridor(time_limit=limit))
    ks.check_env(Corridor(time_limit=5), steps=10)


class Timeless(ks.Env):
    """All but a time limit."""

    observation_space = property(lambda self: Discrete(2))
    action_space = property(lambda self: Discrete(2))

    def reset(self, key):
        raise AssertionError("it cannot be made")

    def step(self, key, state, action):
        raise AssertionError("it cannot be made")


def test_a_class_without_a_time_limit_is_told_how_to_write_one():
    with pytest.raises(
        ks.ConfigError, match=r"^Timeless.time_limit: got nothing; write `time_limit: int \| None = None"
    ):
        Timeless()
    with pytest.raises(TypeError, match="abstract method"):
        ks.Env()


def test_spaces_are_ours():
    with pytest.raises(ContractError, match="observation_space is 10: use Discrete, MultiDiscrete, Box or Dict"):
        ks.check_env(Corridor(spaces=(10, Discrete(2))))
    with pytest.raises(ContractError, match="action_space is None: use Discrete"):
        ks.check_env(Corridor(spaces=(Discrete(10), None)))


def test_what_is_no_environment_is_refused():
    script = """
import json, kousoku as ks
messages = []
class Walk(ks.Env):
    pass

for thing in (None, ks.Env, "GridWorld-v0", Walk):
    try:
        ks.check_env(thing)
    except ks.ContractError as error:
        messages.append(str(error))
print(json.dumps(messages))
"""
    told = "an environment must be a kousoku.Env, got {}: subclass it"
    *kinds, of_id, of_class = in_a_forked_process(script)
    assert of_id == told.replace("{}: subclass it", "str: kousoku.make('GridWorld-v0') makes it")
    assert of_class == "an environment must be a kousoku.Env, got Walk: that is the class; make one of it: Walk(...)"
    assert [message.split(" got ")[1].split(":")[0] for message in kinds][::2] == ["NoneType"]
    assert all(message.startswith(told.split("{}")[0]) and message.endswith(": subclass it") for message in kinds)
    assert len(kinds) == 2


class Mutable(Corridor):
    """Its state is a NumPy array that a step changes in place."""

    def reset(self, key):
        return np.zeros(3, np.int32), said(jnp.int32(0))

    def step(self, key, state, action):
        if not traced(state):
            state[0] = (state[0] + 1) % 10
        return state, said(jnp.int32(0))


class Keyed(ks.Env):
    """Nothing is wrong with a key in the state, a Dict observation, a Box action and no end."""

    time_limit: int | None = eqx.field(static=True, default=5)

    @property
    def observation_space(self) -> Dict:
        return Dict({"place": MultiDiscrete((3, 3)), "height": Box(-1.0, 1.0, (2,))})

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (2,))

    def reset(self, key):
        kept, draw = jax.random.split(key)
        return {"key": kept, "steps": jnp.int32(0)}, said(self.observation_space.sample(draw))

    def step(self, key, state, action):
        kept, draw = jax.random.split(state["key"])
        obs = {"place": self.observation_space.sample(draw)["place"], "height": action}
        return {"key": kept, "steps": state["steps"] + 1}, said(obs)


class BadRestart(Corridor):
    """The first timestep of its second episode says that it has ended."""

    def restart(self, key, state):
        return state, said(state, terminated=True)


class KeyReuseInRestart(Corridor):
    """It uses the key of a restart twice."""

    def restart(self, key, state):
        start = jax.random.randint(key, (), 0, 2, jnp.int32) + jax.random.randint(key, (), 0, 2, jnp.int32)
        return start, said(start)


def test_a_state_that_is_changed_in_place_is_found():
    with pytest.raises(ContractError, match="step: it changes the state that it was given; return a new one"):
        ks.check_env(Mutable(), steps=5)


@pytest.mark.full("covered")
def test_a_restart_keeps_the_rules_of_a_reset():
    with pytest.raises(ContractError, match="restart: the first timestep must be neither terminated nor truncated"):
        ks.check_env(BadRestart(), steps=5)
    with pytest.raises(ContractError, match="a PRNG key is used twice"):
        ks.check_env(KeyReuseInRestart(), steps=5)


@pytest.mark.full("covered")
def test_an_unusual_environment_that_breaks_no_rule_passes():
    ks.check_env(Keyed(), steps=20)
    ks.check_env(Corridor(), steps=200)


class Told(ks.Env):
    """An environment and a model that may be another one's."""

    inner: ks.Env
    told: Any
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Any:
        return self.inner.observation_space

    @property
    def action_space(self) -> Any:
        return self.inner.action_space

    def reset(self, key):
        return self.inner.reset(key)

    def step(self, key, state, action):
        return self.inner.step(key, state, action)

    def restart(self, key, state):
        return self.inner.restart(key, state)

    def model(self) -> ks.TabularModel:
        if self.told is None:
            raise ks.ConfigError("told", None, "there is no model")
        return self.told

    def panels(self) -> tuple:
        return ()


GRID = "S..\n..G"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (
            lambda m: eqx.tree_at(lambda t: t.probability, m, m.probability * 0.5),
            r"model: probability\[0, 0\]: got \[0.45",
        ),
        (
            lambda m: eqx.tree_at(lambda t: t.next_state, m, m.next_state + 9),
            r"model: next_state\[0, 0, 0\]: got 9; use",
        ),
        (lambda m: eqx.tree_at(lambda t: t.reward, m, m.reward * np.nan), r"model: reward\[0, 0, 0\]: got nan; use"),
        (lambda m: eqx.tree_at(lambda t: t.start, m, m.start * np.nan), "model: start: got nan; use probabilities"),
        (lambda m: eqx.tree_at(lambda t: t.start, m, np.eye(6)[1]), "model: an episode begins in 0, which the model"),
        (
            lambda m: eqx.tree_at(lambda t: t.reward, m, m.reward + 1),
            "model: step from 0 with action . gives observation",
        ),
        (lambda m: eqx.tree_at(lambda t: t.next_state, m, (m.next_state + 1) % 6), "model: step from 0 with action"),
        (lambda m: eqx.tree_at(lambda t: t.terminated, m, ~m.terminated), "model: step from 0 with action"),
        (lambda m: ks.gridworld(GRID + "\n...").model(), "model: it has 9 states, but observations are Discrete"),
        (lambda m: ks.gridworld(GRID, moves=8).model(), "model: it has 8 actions, but actions are Discrete"),
        (lambda m: ks.gridworld(GRID).model(), "model: step from"),
    ],
)
def test_a_model_that_does_not_fit_is_named(change, rule):
    env = ks.gridworld(GRID, slip=0.1)
    (problem,) = contract._model(Evidence(Told(env, change(env.model())), 200, 0))
    assert re.match(rule, problem), problem


@pytest.mark.full("covered")
def test_a_model_that_does_not_fit_breaks_the_contract():
    env = ks.gridworld(GRID)
    model = env.model()
    with pytest.raises(ContractError, match=r"Told breaks the contract of an environment:\n  - model: step from 0"):
        ks.check_env(Told(env, eqx.tree_at(lambda t: t.reward, model, model.reward - 1.0)), steps=20)


def test_a_model_that_fits_passes():
    env = ks.gridworld(GRID, slip=0.1)
    assert isinstance(Told(env, env.model()), Finite)
    changing = ks.gridworld([GRID, "S#.\n..G"], change_at=(1000,))
    for told in (Told(env, env.model()), Told(env, None), Told(changing, changing.model())):
        assert list(contract._model(Evidence(told, 200, 0))) == []


def used_twice_in_a_loop(where, key, before, result):
    if where == "reset":
        return result
    noise = jax.lax.scan(lambda total, _: (total + jax.random.normal(key), None), jnp.float32(0), None, length=2)[0]
    return result[0], eqx.tree_at(lambda t: t.reward, result[1], noise)


def used_twice_in_a_jitted_function(where, key, before, result):
    noise = jax.jit(lambda key: jax.random.normal(key) + jax.random.normal(key))
    return result if where == "reset" else (result[0], eqx.tree_at(lambda t: t.reward, result[1], noise(key)))


@pytest.mark.full("covered")
@pytest.mark.parametrize("spoil", [used_twice_in_a_loop, used_twice_in_a_jitted_function])
def test_a_key_that_is_used_twice_inside_another_function_is_found(spoil):
    with pytest.raises(ContractError, match="a PRNG key is used twice"):
        ks.check_env(Corridor(spoil), steps=5)


class Branching(Corridor):
    """A key is used in a branch that is never taken, and after it: the traced program alone looks wrong."""

    def step(self, key, state, action):
        state = jax.lax.cond(
            state > 100, lambda: jax.random.randint(key, (), 0, 9, jnp.int32), lambda: jnp.int32(state)
        )
        return super().step(key, state, action)


@pytest.mark.full("covered")
def test_a_key_that_only_seems_to_be_used_twice_is_accepted():
    env = Branching()
    with pytest.raises(jax.errors.KeyReuseError), jax.debug_key_reuse(True):
        jax.jit(env.step)(jax.random.key(0), jnp.int32(0), jnp.int32(1))
    ks.check_env(env, steps=5)


class NotBatched(Corridor):
    """Its restart cannot be one of many."""

    def restart(self, key, state):
        if type(key).__name__ == "BatchTracer":
            raise NotImplementedError("not under vmap")
        return self.reset(key)


def test_a_restart_that_fails_under_vmap_is_named():
    with pytest.raises(ContractError, match="batched: raised NotImplementedError: not under vmap"):
        ks.check_env(NotBatched(), steps=5)


@pytest.mark.full("covered")
@pytest.mark.parametrize("own_restart", [False, True])
def test_few_programs_are_compiled_and_no_operation_for_itself(own_restart, caplog):
    class Plain(Corridor):
        """Nothing of it was compiled before."""

    class Begun(Corridor):
        def restart(self, key, state):
            return self.reset(key)

    with jax.log_compiles(), caplog.at_level("WARNING", logger="jax"):
        ks.check_env(Begun() if own_restart else Plain(), steps=31 + own_restart)
    names = re.findall(r"Finished XLA compilation of jit\((\w+)\)", caplog.text)
    expected = ["_samples", "_used", "by_values", "by_values", "reset", "step", "steps"]
    assert sorted(names) == sorted(expected + ["by_values"] * own_restart)


def test_a_step_that_is_another_when_it_is_traced_is_named():
    def spoil(where, key, before, result):
        if where != "step" or not traced(key):
            return result
        return result[0], eqx.tree_at(lambda t: t.reward, result[1], jnp.float32(5.0))

    with pytest.raises(ContractError, match="step: compiled, it gives another result than without"):
        ks.check_env(Corridor(spoil), steps=5)


class HostState(Corridor):
    """A reset gives an array of NumPy's, which has no `at`: that fails for who calls methods by hand."""

    def reset(self, key):
        return np.zeros(3, np.int32), said(jnp.int32(0))

    def step(self, key, state, action):
        return state.at[0].add(1), said(jnp.int32(0))


def test_a_step_that_fails_with_the_values_of_a_reset_is_named():
    with pytest.raises(ContractError, match=r"step: raised AttributeError: 'numpy.ndarray' object has no attribute"):
        ks.check_env(HostState(), steps=5)


def test_the_seed_decides_what_an_environment_is_tried_with():
    first, again, other = (Evidence(ks.make("CartPole-v1"), 20, seed) for seed in (0, 0, -7))
    same, different = [
        [bool(np.array_equal(getattr(first, name), getattr(seen, name))) for name in ("actions", "observation")]
        for seen in (again, other)
    ]
    assert (same, different) == ([True, True], [False, False])
    assert jax.random.key_data(first.key(0)).tolist() != jax.random.key_data(other.key(0)).tolist()
