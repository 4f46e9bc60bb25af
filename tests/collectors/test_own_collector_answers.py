"""What a collector of one's own answers beside its iterations is looked at before anything is learned: in one line."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from idle_agent import Idle

import kousoku as ks
from kousoku.core.collector import BufferUse
from kousoku.core.collector_check import check_collector
from kousoku.core.errors import ConfigError
from kousoku.ops.trees import with_fields
from kousoku.training.guards.agent_numbers import check_agent_numbers
from kousoku.training.guards.collector_answers import buffer_use, devices_of, kept
from kousoku.training.metrics.metric_sums import Recording

ENV = ks.make("CartPole-v1")
UNFIXED = {
    "steps_are_fixed": property(lambda self: False),
    "ask_for_steps": lambda self, data, steps: data,
    "steps_are_due": lambda self, data: jnp.bool_(False),
}


class Still(Idle):
    collector: ks.Collector = eqx.field(static=True)

    @property
    def learns_from(self) -> ks.Collector:
        return self.collector


class Reading(Still):
    """An agent that looks at the rewards."""

    def update(self, state, data, key, *, axis=None):
        return state, {"mean": jnp.mean(data.reward)}


def own(**parts: Any) -> ks.Collector:
    """Returns rollouts of 4 slots and 8 steps of which some parts are another's: a value for what a property tells."""
    made = {
        name: part if callable(part) or isinstance(part, property) else property(lambda self, part=part: part)
        for name, part in parts.items()
    }
    return type("Own", (ks.Rollouts,), {"__module__": __name__, **made})(4, 8)


def line(check: Any, *given: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check(*given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def looked_at(collector: ks.Collector) -> None:
    check_agent_numbers(Still(collector), ENV, Recording())


TEXTS = "give two texts: the field that makes it large, and its size in words"
ARRAYS = "give arrays of numbers, such as numpy.array(...)"
JSON = "give a dict that JSON holds, or None"
ANSWERS = {
    "size": ({"size": "large"}, f"size: got 'large'; {TEXTS}"),
    "sizes": ({"size": ("a", 2)}, f"size: got ('a', 2); {TEXTS}"),
    "share": ({"least_share": 2.0}, "least_share: got 2.0; use a number in [0, 1]"),
    "shared": ({"shared": {"a": 3.0}}, f"shared: ['a']: got 3.0; {ARRAYS}"),
    "words": ({"shared": np.array(["a"])}, f"shared: itself: got <U1[1]; {ARRAYS}"),
    "objects": ({"shared": [np.zeros(3, object)]}, f"shared: [0]: got object[3]; {ARRAYS}"),
    "list": ({"recorded_data": [1]}, f"recorded_data: got [1]; {JSON}"),
    "set": ({"recorded_data": {"a": {1}}}, f"recorded_data: got {{'a': {{1}}}}; {JSON} (Object of type set is not"),
    "nan": ({"recorded_data": {"a": np.nan}}, f"recorded_data: got {{'a': nan}}; {JSON} (it has no NaN)"),
    "single": (
        {"batched": False},
        "batched: got False; an iteration is one step of one environment then, and num_envs",
    ),
    "asked": ({"steps_are_fixed": False}, "steps_are_fixed: got False; write ask_for_steps, which is asked for then"),
    "due": (
        {**UNFIXED, "steps_are_due": ks.Collector.steps_are_due},
        "steps_are_fixed: got False; write steps_are_due",
    ),
    "kept": ({"keeps_transitions": True}, "keeps_transitions: got True; write kept_transitions, which is asked for"),
    "steps": ({"iteration_steps": 3}, "iteration_steps: got 3; num_envs x num_steps is 32, and each is told"),
    "period": ({"period": 2**40}, f"period: got {2**40}; use fewer: a period may have 1073741823 steps"),
    "many": ({**UNFIXED, "iteration_steps": 2**31}, f"iteration_steps: got {2**31}; use fewer: a period may have"),
}


@pytest.mark.parametrize(("parts", "told"), ANSWERS.values(), ids=ANSWERS)
def test_what_a_collector_tells_is_used_as_it_is_told(parts, told):
    assert line(check_collector, own(**parts)).startswith(f"Own.{told}")


def test_what_is_told_rightly_is_let_through():
    key = jax.random.key(0)
    arrays = {"a": np.zeros(3, np.int8), "b": jnp.zeros(3, jnp.bfloat16), "c": key, "d": None}
    check_collector(own(shared=arrays, size=("a", "b"), least_share=1, recorded_data={"a": [1, None, np.inf]}))
    looked_at(own(**UNFIXED, iteration_steps=100, tells_steps=False, period=10**6))


SHAPES = "give shapes, such as jax.ShapeDtypeStruct((8, 4), jnp.float32), in any tree; () for nothing"
USE = "give a kousoku.core.collector.BufferUse, or None"
LIKE = "return one like the one given,"
KEYS = "give a key of each step, [8, 4], or None"
METHODS = {
    "number": ({"temporaries": lambda self, data, kept: [data, 5]}, f"temporaries: got 5; {SHAPES}"),
    "text": ({"temporaries": lambda self, data, kept: "x"}, f"temporaries: got 'x'; {SHAPES}"),
    "tuple": ({"buffer_use": lambda self, data, iterations: (1, 2, 3)}, f"buffer_use: got (1, 2, 3); {USE}"),
    "fraction": (
        {"buffer_use": lambda self, data, iterations: BufferUse(1, 2, 0.5)},
        "buffer_use's size: got 0.5; use a whole number of at least 0",
    ),
    "later": (
        {"buffer_use": lambda self, data, iterations: None if iterations < 2 else "full"},
        f"buffer_use: got 'full'; {USE}",
    ),
    "none": (
        {"give_up_episodes": lambda self, data, iteration: None},
        "give_up_episodes: got 'data whose itself is None'",
    ),
    "other": (
        {"give_up_episodes": lambda self, data, iteration: (data, iteration)},
        f"give_up_episodes: got 'data with [1] int32[]'; {LIKE} without it",
    ),
    "asked": (
        {**UNFIXED, "ask_for_steps": lambda self, data, steps: "x"},
        "ask_for_steps: got \"data with itself, 'x'\"",
    ),
    "due": ({**UNFIXED, "steps_are_due": lambda self, data: jnp.int32(0)}, "steps_are_due: got int32[]; give one"),
    "dues": (
        {**UNFIXED, "steps_are_due": lambda self, data: jnp.zeros(4, bool)},
        "steps_are_due: got bool[4]; give one boolean",
    ),
    "turned": ({"acting_keys": lambda self, keys: keys.act.T}, f"acting_keys: got key<fry>[4, 8]; {KEYS}"),
    "whole": ({"acting_keys": lambda self, keys: keys}, "acting_keys: got IterationKeys(act=key<fry>[8, 4], "),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "told"), METHODS.values(), ids=METHODS)
def test_what_a_collector_answers_is_looked_at_before_it_is_asked(parts, told):
    assert line(looked_at, own(**parts)).startswith(f"Own.{told}")


TAKES = r"which \w+\.\w+ takes:"
PARTS = {
    "no keys": ("keys", lambda keys: None, r"keys: got 'parts without \.act .*; give what \w+\.keys gives"),
    "one key": (
        "keys",
        lambda keys: keys.update,
        rf"keys: got 'parts with itself key<fry>\[\]'; .*, {TAKES} with \.act",
    ),
    "no slots": (
        "init",
        lambda made: (None, *made[1:]),
        rf"init: got \"parts without \['slots'\].*; .*, {TAKES} with \['slots'\]",
    ),
    "one slot": ("init", lambda made: jax.tree.map(lambda x: x[0], made), r"init: got \"parts with \['slots'\]\.\w+"),
    "carry": ("init", lambda made: (made[0], jnp.zeros(3), made[2]), rf"init: .*\['carry'\] .*, {TAKES} without it"),
    "data": ("collect", lambda made: (made[0], {}, made[2]), rf"collect: got 'parts without .*, {TAKES} with \."),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "told"), PARTS.values(), ids=PARTS)
def test_what_inherited_methods_do_not_take_is_told_of_who_gives_it(name, change, told):
    usual = getattr(ks.Rollouts, name)
    changed = own(**{name: lambda *given: change(usual(*given))})
    with pytest.raises(ConfigError, match=f"^Own.{told}"):
        check_agent_numbers(Reading(changed), ENV, Recording())


@pytest.mark.parametrize("used", [None, 0, 3, "2", True, 1.5])
def test_devices_are_a_divisor_of_the_slots(used):
    told = line(devices_of, own(num_devices=lambda self, available: used), 3)
    fix = "use a divisor of num_envs, which is 4" if used == 3 else "use a whole number of at least 1 and at most 3"
    assert told == f"Own.num_devices: got {used!r}; {fix}"


def test_devices_and_the_use_of_a_buffer_are_told_as_they_are():
    assert devices_of(own(num_devices=lambda self, available: np.int64(2)), 3) == 2
    use = buffer_use(own(buffer_use=lambda self, data, iterations: BufferUse(np.int32(iterations), 9, 8)), (), 5)
    assert use is not None
    assert [(number, type(number)) for number in use] == [(5, int), (9, int), (8, int)]


NUMBER = jnp.zeros((8, 4), jnp.int32)
STEPS = {
    "complex": ({"reward": NUMBER.astype(jnp.complex64)}, "reward: got complex64[8, 4]; give real numbers"),
    "no reward": ({"reward": None}, "reward: got None; give real numbers"),
    "keys": (
        {"reward": jax.random.split(jax.random.key(0), (8, 4))},
        "reward: got key<fry>[8, 4]; give real numbers",
    ),
    "return": ({"end.episode_return": None}, "end.episode_return: got None; give real numbers"),
    "length": ({"end.length": None}, "end.length: got None; give real numbers"),
    "whole": ({"end.whole": NUMBER}, "end.whole: got int32[8, 4]; give booleans"),
    "action": ({"action": None}, "action: got None; give observations and actions, or none of both"),
    "taken": ({"taken": jnp.float32(32)}, "taken: got float32[]; give the number of steps, a whole one, or None"),
    "estimates": ({"estimates": {}}, "estimates: got 'dict'; give a kousoku.core.collector.EstimateSums, or None"),
}


@pytest.mark.parametrize(("parts", "told"), STEPS.values(), ids=STEPS)
def test_steps_are_numbers_that_there_are_sums_of(parts, told):
    def collect(self, *given):
        state, data, steps = ks.Rollouts.collect(self, *given)
        for name, part in parts.items():
            of, _, field = name.rpartition(".")
            changed = with_fields(getattr(steps, of) if of else steps, **{field: part})
            steps = with_fields(steps, **{of: changed}) if of else changed
        return state, data, steps

    assert line(looked_at, own(collect=collect)) == f"Own.collect's {told}"


def test_what_is_learned_from_and_metrics_are_no_texts():
    def collect(self, *given):
        state, _, steps = ks.Rollouts.collect(self, *given)
        return state, "x", steps

    def learn(self, *given):
        state, _, updates = ks.Rollouts.learn(self, *given)
        return state, {"a": "x"}, updates

    told = line(looked_at, own(collect=collect))
    assert told.startswith("Own.collect: got \"what is learned from with itself, 'x'\"; use arrays")
    assert line(looked_at, own(learn=learn)).startswith("metric 'a': got a str;")


@pytest.mark.parametrize("said", [False, "no"])
def test_a_check_of_the_agent_returns_nothing(said):
    agent = Still(own(check_agent=lambda self, agent, spec: said))
    told = f"Own.check_agent: got {said!r}; it returns nothing; raise a kousoku.ConfigError to refuse an agent"
    assert line(lambda: ks.train(agent, ENV, steps=32, out="")) == told


def test_wrong_keys_of_acting_are_told_for_environments_on_the_host():
    agent = Still(own(acting_keys=lambda self, keys: "x"))
    env = ks.from_gymnasium(lambda: gymnasium.make("CartPole-v1"))
    assert line(lambda: ks.train(agent, env, steps=32, out="")) == f"Own.acting_keys: got 'x'; {KEYS}"


def test_transitions_that_are_kept_are_those_of_all_slots():
    one = ks.Transition(*map(jnp.float32, range(3)), jnp.bool_(False), jnp.bool_(True), jnp.float32(0))
    rows = jax.tree.map(lambda x: np.full((4, 5), x), one)
    marks = np.zeros(4, bool)

    def of(rows: Any, marks: Any) -> tuple[Any, Any, int, None]:
        parts = {
            "kept_transitions": lambda self, data, iterations: rows,
            "begun_before": lambda self, iterations, limit: marks,
        }
        return own(**parts), (), 1, None

    assert kept(*of(rows, marks.tolist()))[0] is rows
    each = "give arrays [4, n, ...]"
    assert (
        line(kept, *of({}, marks))
        == "Own.kept_transitions: got 'dict'; give a kousoku.Transition of arrays [4, n, ...]"
    )
    fewer = with_fields(rows, action=np.zeros((4, 3)))
    assert line(kept, *of(fewer, marks)).startswith(f"Own.kept_transitions: got '.action [4, 3]'; {each}")
    flat = jax.tree.map(np.ravel, rows)
    assert line(kept, *of(flat, marks)).startswith(f"Own.kept_transitions: got '.obs [20]'; {each}")
    assert line(kept, *of(rows, None)) == "Own.begun_before: got None; give booleans [4]"
    assert line(kept, *of(rows, marks[:2])) == "Own.begun_before: got array([False, False]); give booleans [4]"
