"""What a class of one's own has in the place of the library's methods can be called as those are, or is one line."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from corridor import Corridor

import kousoku as ks
from kousoku.agents.evolution.openai_es import OpenAIES
from kousoku.agents.evolution.strategy import EvolutionStrategy
from kousoku.core.agent import Agent
from kousoku.core.agent_check import check_agent, for_env, taught_in
from kousoku.core.collector import Collector
from kousoku.core.collector_check import check_collector
from kousoku.core.env import Env
from kousoku.core.env_shapes import check_shapes
from kousoku.core.errors import ConfigError
from kousoku.core.overridden import called_with, overridden
from kousoku.core.wrapper import Wrapper
from kousoku.envs.classic.cartpole import CartPole

GRID = ks.gridworld("S..G")
PROPERTY = "got 'a method'; write @property above it"


class Usual(ks.Agent):
    """An agent that learns nothing."""

    learns_from: Any = ks.Rollouts(num_envs=2, num_steps=4)

    def init(self, spec, key):
        return jnp.zeros(3)

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(1), carry, None

    def update(self, state, data, key, *, axis=None):
        return state, {}


class Known(Corridor):
    """An environment that says what may happen, and can be drawn."""

    def model(self):
        raise NotImplementedError

    def panels(self):
        return ()

    def scene(self, state):
        raise NotImplementedError


def own(base: type, **changes: Any) -> type:
    return type("Own", (base,), {"__module__": __name__, **changes})


def names(base: type, kind: Any) -> list[str]:
    return [name for name, part in vars(base).items() if name[0] != "_" and isinstance(part, kind)]


METHOD = type(lambda: None)


def nothing(self):
    """Takes less than it is given."""


def much(self, a, b, c, d, e, f, g):
    """Takes more than it is given."""


def by_name(self, *, key=None):
    """Takes by name what is given by place."""


TAKEN = {nothing: "()", much: "(a, b, c, d, e, f, g)", by_name: "(*, key=None)"}


def line(check: Any, *given: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check(*given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def told(base: type, name: str, wrong: Any = much) -> str:
    wanted = ", ".join(called_with(base, name))
    return f"Own.{name}: got {wrong.__name__ + TAKEN[wrong]!r}; use a function of ({wanted}"


@pytest.mark.parametrize("name", names(Collector, METHOD))
def test_methods_of_a_collector(name):
    collector = own(ks.Rollouts, **{name: much})(num_envs=2, num_steps=4)
    assert line(check_collector, collector) == told(Collector, name) + ")"


@pytest.mark.parametrize("name", ["num_envs", *names(Collector, property)])
def test_properties_of_a_collector_are_no_methods(name):
    collector = own(ks.Rollouts, **{name: nothing})(num_envs=2, num_steps=4)
    assert line(check_collector, collector) == f"Own.{name}: {PROPERTY}"


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("batched", 1, "use True or False"),
        ("tells_steps", None, "use True or False"),
        ("iteration_steps", "8", "use a whole number of at least 1"),
        ("period", 0, "use a whole number of at least 1"),
        ("samples_held", -1, "use a whole number of at least 0"),
    ],
)
def test_what_a_collector_tells_is_of_its_kind(name, value, fix):
    collector = own(ks.Rollouts, **{name: property(lambda self: value)})(num_envs=2, num_steps=4)
    assert line(check_collector, collector) == f"Own.{name}: got {value!r}; {fix}"


def test_a_collector_that_is_right_is_let_through():
    flags = {"rounds_over_devices": property(lambda self: np.bool_(True)), "batched": property(lambda self: True)}

    def wide(self, *given, more=None):
        return ()

    check_collector(own(ks.Rollouts, temporaries=wide, size=property(lambda self: ("a", "b")), **flags)(2, 4))


@pytest.mark.parametrize("wrong", TAKEN, ids=lambda wrong: wrong.__name__)
@pytest.mark.parametrize("name", ["for_env", "taught_in"])
def test_what_makes_an_agent_of_an_agent_is_called_as_it_has_to_be(name, wrong):
    agent = own(Usual, **{name: wrong})()
    assert line(ks.train, agent, GRID) == told(Agent, name, wrong) + ")"


@pytest.mark.parametrize(("made", "got"), [(None, "None"), ("x", "'str'"), (Usual, f"{Usual!r}")])
@pytest.mark.parametrize("name", ["for_env", "taught_in"])
def test_what_makes_an_agent_of_an_agent_gives_one(name, made, got):
    agent = own(Usual, **{name: lambda self, given: made})()
    assert line(ks.train, agent, GRID) == (
        f"Own.{name}: got {got}; return an agent: self, or dataclasses.replace(self, ...)"
    )


def test_what_it_learns_from_is_looked_at_before_anybody_asks_it():
    told = "Usual.learns_from: got 'online'; use a collector, such as kousoku.Online()"
    assert line(ks.train, Usual("online"), own(Corridor, records_info=property(lambda self: True))()) == told


def test_an_agent_may_become_another_one():
    class Fills(Usual):
        size: int = 0

        def for_env(self, spec):
            return dataclasses.replace(self, size=spec.observation_space.n)

        def taught_in(self, env, more=None):
            return Usual()

    filled = for_env(Fills(), GRID.spec)
    assert (type(filled), filled.size) == (Fills, 4)
    assert type(taught_in(filled, GRID)) is Usual


def test_the_collector_of_what_an_agent_becomes_is_looked_at():
    odd = own(ks.Rollouts, keys=nothing)(num_envs=2, num_steps=4)
    agent = own(Usual, for_env=lambda self, spec: Usual(odd))()
    assert line(ks.train, agent, GRID) == told(Collector, "keys", nothing) + ")"
    plain = own(ks.Agent, learns_from=nothing, init=Usual.init, act=Usual.act, update=Usual.update)
    assert line(ks.train, plain(), GRID) == f"Own.learns_from: {PROPERTY}"


@pytest.mark.parametrize("name", [name for name in names(Agent, METHOD) if name != "update_with_errors"])
def test_methods_of_an_agent(name):
    said = line(check_agent, own(Usual, **{name: much})(), GRID.spec)
    assert said.startswith(told(Agent, name))


@pytest.mark.parametrize("name", [n for n in names(EvolutionStrategy, METHOD) if n not in ("for_env", "act_by")])
def test_methods_of_a_strategy(name):
    assert line(own(OpenAIES, **{name: much})) == told(EvolutionStrategy, name) + ")"


@pytest.mark.parametrize("name", ["candidates", "starts"])
def test_properties_of_a_strategy_are_no_methods(name):
    assert line(own(OpenAIES, **{name: nothing})) == f"Own.{name}: {PROPERTY}"


def test_the_number_of_candidates_is_one():
    assert line(own(OpenAIES, candidates=property(lambda self: "4"))) == (
        "Own.candidates: got '4'; use a whole number of at least 1"
    )


def env_line(env: ks.Env) -> str:
    said = line(check_shapes, env)
    return said.partition("; ")[2].removesuffix("; kousoku.check_env tells all")


@pytest.mark.parametrize(
    ("base", "name"),
    [(Env, name) for name in names(Env, METHOD)] + [(Known, name) for name in ("model", "panels", "scene")],
)
def test_methods_of_an_environment(base, name):
    wanted = ", ".join(called_with(base, name))
    assert env_line(own(Known, **{name: much})()) == (
        f"{name}: its arguments are {TAKEN[much]}; write them as ({wanted})"
    )


@pytest.mark.parametrize("name", names(Wrapper, METHOD))
def test_methods_of_a_wrapper_and_of_what_is_within(name):
    said = f"{name}: its arguments are {TAKEN[much]}; write them as ({', '.join(called_with(Wrapper, name))})"
    wrapped = own(Wrapper, **{name: much})(GRID)
    assert env_line(wrapped) == said
    assert env_line(ks.Wrapper(wrapped)) == f"Own.{said}"


@pytest.mark.parametrize(
    ("base", "name"), [(Corridor, "records_info"), (Corridor, "spec"), (Wrapper, "steps_per_action")]
)
def test_properties_of_an_environment_are_no_methods(base, name):
    made = own(base, **{name: nothing})
    assert env_line(made(GRID) if base is Wrapper else made()) == f"{name} is a method: write @property above it"


def test_a_world_is_an_environment():
    odd = own(Corridor, world_at=lambda self, state: None)
    told = "world_at: it has to return an environment, for None too, got None"
    assert env_line(odd()) == told
    assert env_line(ks.Wrapper(odd())) == told
    raises = own(Corridor, world_at=lambda self, state: self.clock[state])
    assert env_line(raises()).startswith("world_at: raised AttributeError: ")
    check_shapes(own(Corridor, world_at=lambda self, state: Corridor())())


def test_fields_that_have_the_names_of_what_is_drawn_or_known_are_no_mistake():
    class Holds(Corridor):
        model: Any = 1.0
        scene: Any = 2.0

    check_shapes(Holds())


@pytest.mark.parametrize("base", [Agent, Collector, Env, Wrapper, EvolutionStrategy])
def test_nothing_of_the_librarys_own_is_looked_at(base):
    assert [name for name, _ in overridden(base, base) if name not in getattr(base, "__abstractvars__", ())] == []
    assert inspect.isabstract(base) or base is Wrapper


def check_own_agent(agent):
    check_agent(agent, GRID.spec)


def check_strategy(strategy):
    """Strategies check themselves when they are made."""


FIELDS = [
    (check_shapes, CartPole, {}, "time_limit", 50, "int | None"),
    (check_own_agent, Usual, {}, "learns_from", ks.Rollouts(4, 4), "Any"),
    (check_collector, ks.Rollouts, {"num_envs": 2, "num_steps": 4}, "num_steps", 8, "int"),
    (check_strategy, OpenAIES, {}, "noise_std", 0.5, "ScalarOrSchedule"),
]


@pytest.mark.parametrize(
    ("check", "base", "given", "name", "value", "kind"), FIELDS, ids=lambda x: getattr(x, "__name__", None)
)
def test_a_field_without_its_type_is_told_and_with_it_taken(check, base, given, name, value, kind):
    wrong = own(base, **{name: value})
    said = line(lambda: check(wrong(**given)))
    assert f"{name} = {value}: " in said or f"Own.{name}: got {value}; " in said
    stays = given.get(name, base.__dataclass_fields__[name].default)
    assert f"it is a field: write `{name}: {kind} = ...`; without its type it stays {stays}" in said
    for right in (
        own(base, __annotations__={name: Any}, **{name: value}),
        own(wrong, __annotations__={name: Any}, **{name: value}),
    ):
        made = right(**{key: x for key, x in given.items() if key != name})
        assert getattr(made, name) == value
        check(made)


def test_what_belongs_to_the_class_needs_no_type():
    assert own(OpenAIES, fewest=4)().fewest == 4
