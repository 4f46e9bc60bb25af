"""Mistakes in an agent, a collector or an environment of one's own: one line each, before anything is learned."""

from __future__ import annotations

import itertools
import sys
import types
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

import kousoku as ks
from kousoku.agents.exploration import EpsilonGreedy
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.core.agent_check import check_agent
from kousoku.core.env_shapes import check_shapes
from kousoku.core.errors import ConfigError, RunWarning, check_count
from kousoku.core.spaces import LARGEST

GRID = ks.gridworld("S..G")
QUIET = {"out": "", "eval_episodes": 0}
COUNT = itertools.count()


class Usual(ks.Agent):
    """A table that learns nothing; a subclass makes a mistake."""

    learns_from: ks.Online = ks.Online()

    def init(self, spec, key):
        return jnp.zeros((4, 4))

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(1), carry, None

    def update(self, state, data, key, *, axis=None):
        return state, {"loss": jnp.float32(1.0)}


class Decides(Usual):
    def update(self, state, data, key, *, axis=None):
        return (state if data.reward > 0 else state + 1), {}


class Counts(Usual):
    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(int(state[0, 0])), carry, None


class Converts(Usual):
    def init(self, spec, key):
        return np.asarray(jax.random.normal(key, (3,)))


class Alone(Usual):
    learns_from: ks.Rollouts = ks.Rollouts(num_envs=2, num_steps=4)

    def update(self, state, data, key):
        return state, {}


class AsksHow(Usual):
    def act(self, state, obs, carry, key, *, greedy):
        return jnp.int32(1), carry, None


class AsksWhere(Usual):
    def update(self, state, data, key, *, axis):
        return state, {}


class Renames(Usual):
    def update(self, state, data, key, *, axis=None):
        return state, {f"loss{next(COUNT)}": jnp.float32(1.0)}


class Speaks(Usual):
    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(1), carry, "text"


class OneError(Usual):
    learns_from: ks.Replay = ks.Replay(num_envs=2, num_steps=2, capacity=64, batch_size=8, prioritised=True)

    def update_with_errors(self, state, data, key, *, axis=None):
        return state, {}, jnp.float32(1.0)


class NoErrors(OneError):
    def update_with_errors(self, state, data, key, *, axis=None):
        return state, {}, None


class PairsOfErrors(OneError):
    def update_with_errors(self, state, data, key, *, axis=None):
        return state, {}, jnp.zeros((8, 2))


class Guesses(Usual):
    learns_from: ks.Replay = ks.Replay(num_envs=2, num_steps=2, capacity=64, batch_size=8, discount=0.9)

    def estimate(self, state, obs, action):
        return jnp.float32(1.0)


class TwoTables(Usual):
    def q_values(self, state):
        return jnp.concatenate([state, state])


class Values(Usual):
    def q_values(self, state):
        return {"first": state}


class NoCollector(ks.Agent):
    learns_from: Any = "online"
    init, act, update = Usual.init, Usual.act, Usual.update


class AKind(NoCollector):
    learns_from: Any = ks.Rollouts


class CarriesText(Usual):
    def initial_carry(self, state):
        return "x"


class CarriesNothing(Usual):
    initial_carry: Any = ()


class CarriesOf(Usual):
    def initial_carry(self):
        return ()


class BranchesToCarry(Usual):
    def initial_carry(self, state):
        return state[0] if state[0, 0] > 0 else state[1]


class BeginsBy(Usual):
    def init(self, key):
        return jnp.zeros((4, 4))


class LearnsBy(Usual):
    def update(self, state, data):
        return state, {}


class LearnsAlone(Usual):
    def update(self, state, data, key):
        return state, {}


class ValuesOf(Usual):
    def q_values(self):
        return None


class EstimatesBy(Usual):
    def estimate(self, state, obs):
        return None


class ErrorsOf(OneError):
    def update_with_errors(self, state, data, key):
        return state, {}, jnp.zeros(8)


class Nested(Usual):
    def init(self, spec, key):
        return {"deep": {"few": [jnp.zeros(2), ()]}}


class ToTuple(Nested):
    def update(self, state, data, key, *, axis=None):
        return {"deep": {"few": tuple(state["deep"]["few"])}}, {}


class ToNone(Nested):
    def update(self, state, data, key, *, axis=None):
        return {"deep": {"few": [state["deep"]["few"][0], None]}}, {}


class ToMore(Nested):
    def update(self, state, data, key, *, axis=None):
        return {"deep": state["deep"] | {"none": None}}, {}


class Adds(Nested):
    def update(self, state, data, key, *, axis=None):
        return state | {"more": jnp.int32(1)}, {}


class Drops(Nested):
    def update(self, state, data, key, *, axis=None):
        return {"deep": {"few": [(), ()]}}, {}


class Sized(ks.Agent):
    count: int = 2
    init, act, update = Usual.init, Usual.act, Usual.update

    @property
    def learns_from(self) -> ks.Rollouts:
        return ks.Rollouts(num_envs=check_count("num_envs", self.count), num_steps=2)


class Vast(Usual):
    learns_from: ks.Replay = ks.Replay(num_envs=4, num_steps=2, capacity=2**31 - 8, batch_size=8)


class Fewer(ks.Rollouts):
    """Says that it takes more steps than it does."""

    def collect(self, agent, slots, state, keys, axis):
        state, data, steps = super().collect(agent, slots, state, keys, axis)
        return state, data, jax.tree.map(lambda x: x[1:], steps)


class Halves(ks.Rollouts):
    def collect(self, agent, slots, state, keys, axis):
        return super().collect(agent, slots, state, keys, axis)[:2]


class FromFewer(Usual):
    learns_from: ks.Rollouts = Fewer(num_envs=3, num_steps=5)


class FromHalves(Usual):
    learns_from: ks.Rollouts = Halves(num_envs=3, num_steps=5)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            Decides,
            r"agent: got 'Decides'; a value that is not known before it runs decides what Python does",
        ),
        (Counts, r"agent: got 'Counts'; act: a value that is not known before it runs has to be a number of Python's"),
        (Converts, r"agent: got 'Converts'; init: NumPy is given a value that is not known before it runs"),
        (
            Alone,
            r"Alone.update: got 'Alone.update\(state, data, key\)'; use a function of \(state, data, key, \*, axis\)",
        ),
        (
            AsksHow,
            r"AsksHow.act: got '.*greedy\)'; give greedy a default: it is called with \(state, obs, carry, key\)",
        ),
        (AsksWhere, r"AsksWhere.update: got .*; give axis a default: it is called with \(state, data, key\)"),
        (Speaks, r"Speaks.act: got .*extras with itself, 'text'.*; use arrays"),
        (OneError, r"OneError.update_with_errors's errors: got float32\[\]; give one number of each sample, \[8\]"),
        (NoErrors, r"NoErrors.update_with_errors's errors: got None; give one number of each sample, \[8\]"),
        (
            PairsOfErrors,
            r"PairsOfErrors.update_with_errors's errors: got float32\[8, 2\]; give one number of each sample, \[8\]",
        ),
        (Guesses, r"Guesses.estimate: got 'float32'; give a kousoku.Estimate of numbers, or None"),
        (TwoTables, r"TwoTables.q_values: got float32\[8, 4\]; it should give float32\[4, 4\], or None"),
        (Values, r"Values.q_values: got .*; it should give float32\[4, 4\], or None"),
        (FromFewer, r"Fewer.collect: got 'steps whose obs is \[4, 3\]'; num_steps x num_envs is \[5, 3\]"),
        (CarriesText, r"CarriesText.initial_carry: got \"a carry with itself, 'x'\"; use arrays"),
        (CarriesNothing, r"CarriesNothing.initial_carry: got \(\); use a function of \(state\)"),
        (CarriesOf, r"CarriesOf.initial_carry: got 'CarriesOf.initial_carry\(\)'; use a function of \(state\)"),
        (BranchesToCarry, r"agent: got 'BranchesToCarry'; initial_carry: a value that is not known before it runs"),
        (BeginsBy, r"BeginsBy.init: got 'BeginsBy.init\(key\)'; use a function of \(spec, key\)"),
        (LearnsBy, r"LearnsBy.update: got 'LearnsBy.update\(state, data\)'; use a function of \(state, data, key\)"),
        (ValuesOf, r"ValuesOf.q_values: got .*; use a function of \(state\)"),
        (EstimatesBy, r"EstimatesBy.estimate: got .*; use a function of \(state, obs, action\)"),
        (ErrorsOf, r"ErrorsOf.update_with_errors: got .*; use a function of \(state, data, key, \*, axis\)"),
        (
            ToTuple,
            r"ToTuple.update: got \"a state whose \['deep'\]\['few'\] is a tuple of 2\"; .*\['few'\] is a list of 2",
        ),
        (ToNone, r"ToNone.update: got .*\['few'\]\[1\] is None\"; .*\['few'\]\[1\] is a tuple of 0"),
        (ToMore, r"ToMore.update: got .*\['deep'\] is a dict of 'few', 'none'\"; .*\['deep'\] is a dict of 'few'"),
        (Adds, r"Adds.update: got \"a state with \['more'\] int32\[\]\"; return one like the one given, without it"),
        (Drops, r"Drops.update: got .*a state without \['deep'\]\['few'\]\[0\] float32\[2\].*; .*, with \['deep'\]"),
        (Sized, r"agent: got 'Sized'; count decides what Python does, .*: make it structure, eqx.field\(static=True\)"),
        (Vast, r"capacity: got '2147483640 transitions'; they need more than"),
        (FromHalves, r"Halves.collect: got a tuple of 2; return three things: the state, what is learned from"),
    ],
)
def test_a_mistake_in_an_agent_is_one_line(kind, told):
    with pytest.raises(ConfigError, match=rf"^{told}"):
        ks.train(kind(), GRID, steps=100, **QUIET)


class DecidesByNumPy(Usual):
    """Whose fields are values of NumPy's, which are known while it is traced."""

    learns: Any = np.bool_(True)
    how: Any = np.str_("max")

    def update(self, state, data, key, *, axis=None):
        number = {"max": 1.0, "min": 2.0}[self.how] if self.learns else 3.0
        return state, {"loss": jnp.float32(number)}


@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")  # as equinox takes values of NumPy's for
@pytest.mark.parametrize(
    ("options", "number"), [({}, 1.0), ({"how": np.str_("min")}, 2.0), ({"learns": np.bool_(False)}, 3.0)]
)
def test_values_of_numpys_decide_what_python_does(options, number):
    assert ks.train(DecidesByNumPy(**options), GRID, steps=50, **QUIET).curves["loss"][-1].tolist() == [number]


def test_a_collector_may_hand_on_arrays_of_numpys():
    class Numbered(ks.Online):
        def collect(self, agent, slots, state, keys, axis):
            state, data, steps = super().collect(agent, slots, state, keys, axis)
            return state, (data, np.arange(3)), steps

        def learn(self, agent, state, data, keys, axis):
            assert data[1].tolist() == [0, 1, 2]
            return super().learn(agent, state, data[0], keys, axis)

    class Mine(Usual):
        learns_from: ks.Online = Numbered()

    assert ks.train(Mine(), GRID, steps=50, **QUIET).record.facts["steps"] == 50


def test_the_names_of_metrics_may_not_change():
    """An update is traced once for one agent, and again for devices that share agents."""
    run = ks.train(Renames(), GRID, steps=100, **QUIET)
    assert len([name for name in run.curves if name.startswith("loss")]) == 1
    told = r"^metrics: got 'loss\d+'; the first update had loss\d+; their names may not change"
    with pytest.raises(ConfigError, match=told):
        ks.train(Renames(), GRID, steps=100, seeds=2, devices=2, **QUIET)


def test_an_update_of_one_step_needs_no_axis():
    check_agent(LearnsAlone(), GRID.spec)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (NoCollector, r"NoCollector.learns_from: got 'online'; use a collector, such as kousoku.Online\(\)"),
        (AKind, r"AKind.learns_from: got .*Rollouts.*; make one of it: Rollouts\(...\)"),
    ],
)
def test_what_it_learns_from_is_a_collector(kind, told):
    with pytest.raises(ConfigError, match=rf"^{told}"):
        check_agent(kind(), GRID.spec)


def test_action_values_of_the_right_shape_are_taken():
    class Tells(Usual):
        def q_values(self, state):
            return state

    assert ks.train(Tells(), GRID, steps=10, **QUIET).q_values.shape == (1, 4, 4)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: QLearning(learning_rate=lambda: 0.1), r"learning_rate: got .*; use a function of \(count\)"),
        (lambda: QLearning(learning_rate=lambda n: None), r"learning_rate: got .*lambda.*; it gives None; use a"),
        (lambda: QLearning(learning_rate=lambda n: jnp.ones(2)), r"learning_rate: got .*; it gives float32\[2\]"),
        (lambda: QLearning(learning_rate=lambda n: n["a"]), r"learning_rate: got .*; it raises \w+Error: "),
        (lambda: EpsilonGreedy(lambda n: "half"), r"epsilon: got .*; it raises TypeError: "),
    ],
)
def test_a_schedule_that_gives_no_number_is_refused(make, told):
    with pytest.raises(ConfigError, match=f"^{told}"):
        make()


def test_a_kind_of_exploration_is_none():
    agent = QLearning()
    object.__setattr__(agent, "exploration", EpsilonGreedy)
    with pytest.raises((ConfigError, TypeCheckError), match=r"exploration.*EpsilonGreedy"):  # types are checked here
        agent.init(GRID.spec, jax.random.key(0))


@pytest.mark.parametrize("number", [LARGEST + 1, 2**40, -LARGEST - 2])
def test_a_whole_number_of_an_environment_beyond_int32_is_named(number):
    class Far(type(ks.make("CartPole-v1"))):
        far: int = number

    with pytest.raises(ConfigError, match=rf"far is {number}, which int32 does not hold: use a float"):
        check_shapes(Far())


class Remembers(ks.Wrapper):
    """Keeps the last action beside the state of what is inside, and does not say where that lies."""

    def reset(self, key):
        state, timestep = self.env.reset(key)
        return (state, jnp.int32(0)), timestep

    def restart(self, key, state):
        inside, timestep = self.env.restart(key, state[0])
        return (inside, jnp.int32(0)), timestep

    def step(self, key, state, action):
        inside, timestep = self.env.step(key, state[0], action)
        return (inside, action), timestep


class Tells(Remembers):
    def inner_state(self, state):
        return state[0]


def test_a_wrapper_says_where_the_state_of_what_is_inside_lies():
    with pytest.raises(
        ConfigError, match=r"inner_state: it has to give the state of CartPole, which is a part of this"
    ):
        check_shapes(Remembers(ks.make("CartPole-v1")))
    check_shapes(Tells(ks.make("CartPole-v1")))


def test_visits_that_are_asked_for_where_there_is_no_table_are_warned_of():
    """By default they are counted where they can be, without a word elsewhere."""
    assert "visits" not in ks.train(Usual(), "CartPole-v1", steps=10, **QUIET).record.tables
    with pytest.warns(
        RunWarning, match="record: 'visits' are not counted: CartPole has no table of states and actions"
    ):
        ks.train(Usual(), "CartPole-v1", steps=10, record=["metrics", "visits"], **QUIET)


def test_a_fraction_is_not_swept_where_whole_numbers_are():
    class Whole(Usual):
        n: int = eqx.field(default=3, converter=int)

    with pytest.raises(ConfigError, match=r"sweep\['n'\]: got 2.5; it is a whole number, 2 or another one"):
        ks.train(Whole(), GRID, steps=10, sweep={"n": [1, 2.5]}, **QUIET)


def test_methods_that_were_replaced_are_traced_again():
    """As where a notebook loads a file again: classes stay the same, and what is equal is known by the same program."""

    class Mine(Usual):
        pass

    first = ks.train(Mine(), GRID, steps=50, **QUIET)
    Mine.update = lambda self, state, data, key, *, axis=None: (state, {"other": jnp.float32(7.0)})
    second, both = (ks.train(Mine(), GRID, steps=50, seeds=seeds, **QUIET) for seeds in (1, 2))
    assert [{"loss", "other"} & set(run.curves) for run in (first, second, both)] == [{"loss"}, {"other"}, {"other"}]


class Told(Usual):
    """Tells a number, by a field or by a method."""

    number: Any = eqx.field(static=True, default=None)

    def update(self, state, data, key, *, axis=None):
        return state, {"loss": jnp.float32(self.number())}


def loss(agent) -> list[float]:
    return ks.train(agent, GRID, steps=50, **QUIET).curves["loss"][-1].tolist()


def test_methods_that_hold_something_else_are_traced_again():
    """In a closure, as a default or by name alone, and in a part of an agent."""

    class Mine(Usual):
        pass

    class Part(eqx.Module):
        def number(self):
            return 0.0

    class Whole(Usual):
        part: Part = Part()

        def update(self, state, data, key, *, axis=None):
            return state, {"loss": jnp.float32(self.part.number())}

    def told(number):
        return lambda self: number

    def closed(number):
        return lambda self, state, data, key, *, axis=None: (state, {"loss": jnp.float32(number)})

    def default(number):
        return lambda self, state, data, key, given=number, *, axis=None: (state, {"loss": jnp.float32(given)})

    def named(number):
        return lambda self, state, data, key, *, axis=None, given=number: (state, {"loss": jnp.float32(given)})

    for number, made in enumerate([closed, closed, default, default, named, named], 1):
        Mine.update = made(float(number))
        assert loss(Mine()) == [number]
    for number in (1.0, 2.0):
        Part.number = told(number)
        assert loss(Whole()) == [number]


NOTEBOOK = """
import types
import helpers

def scale(x):
    return SCALE * x

class Model:
    def number(self):
        return 1.0

def number():
    return scale(2.0) + LIST[0] + helpers.offset() + Model().number()

SCALE, LIST = 1.0, [0.0]
"""


@pytest.mark.parametrize(
    "cell",
    [
        "SCALE = 2.0",
        "LIST[0] = 2.0",
        "def scale(x): return x + 2.0",
        "helpers.offset = lambda: 2.0",
        "class Model:\n    def number(self):\n        return 3.0",
    ],
)
def test_what_globals_hold_is_traced_again_where_it_changed(cell, monkeypatch):
    """As where one cell of a notebook is run again: functions stay, and what they name is another thing."""
    helpers = types.ModuleType("helpers")
    helpers.__file__ = "helpers.py"
    exec("def offset(): return 0.0", vars(helpers))
    monkeypatch.setitem(sys.modules, "helpers", helpers)
    cells: dict[str, Any] = {"__name__": "notebook"}
    exec(NOTEBOOK, cells)
    agent, cleared, clear = Told(number=cells["number"]), [], jax.clear_caches
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(clear()))
    assert [loss(agent), loss(agent), len(cleared)] == [[3.0], [3.0], 0]
    exec(cell, cells)
    assert [loss(agent), len(cleared)] == [[5.0], 1]


def test_an_agent_that_has_got_an_id_since_finds_its_runs_and_no_other_does():
    class Named(Usual):
        pass

    ks.train(Named(), GRID, steps=10, out="before", eval_episodes=0)
    ks.register_agent("named_since", Named)
    try:
        assert ks.load("before", agent=Named(), env=GRID).evaluate(2).returns.shape == (1, 2)
    finally:
        del ks.agents.AGENTS._entries["named_since"]
    for other, name in ((QLearning(), "q_learning"), (Usual(), "Usual")):
        with pytest.raises(ConfigError, match=rf"agent's id: got '{name}'; the run was started with 'Named'"):
            ks.load("before", agent=other, env=GRID).evaluate(2)
