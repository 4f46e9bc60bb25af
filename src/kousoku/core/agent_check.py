"""Checks of what an agent of one's own answers, of which nothing has to run to be known."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .agent import Agent
from .collector import Collector
from .collector_check import check_collector
from .env import Env, EnvSpec
from .error_meanings import KNOWN_ERRORS, error_meaning
from .errors import ConfigError, check_takes, shorten
from .leaves import dtype_of, is_array_or_number, key_like, shapes, words
from .ours import is_ours
from .overridden import A_METHOD, PROPERTY, called_with, check_overridden
from .spaces import Discrete, Space, element_like
from .update_check import check_leaves, returned_parts

KINDS = {"i": "iu", "u": "iu", "f": "iuf"}
"""Which kinds of numbers stand for those of a space: whole ones for whole ones, either for the others."""


def for_env(agent: Agent, spec: EnvSpec) -> Agent:
    """Returns the agent with what it leaves to the environment filled in; see `Agent.for_env`.

    Raises:
        ConfigError: if a method of one's own cannot be called so or returns no agent, or what it learns from is not a
            collector whose methods can be called.
    """
    return _made_by(agent, "for_env", spec)


def taught_in(agent: Agent, env: Env) -> Agent:
    """Returns the agent with what it is taught in an environment before it learns; see `Agent.taught_in`.

    Raises:
        ConfigError: as from `for_env`.
    """
    return _made_by(agent, "taught_in", env)


def _made_by(agent: Agent, name: str, given: Any) -> Agent:
    """Returns the agent that a method of an agent's makes of it, and whose collector's methods can be called.

    Raises:
        ConfigError: naming the method, what it takes or returns, and what it should.
    """
    kind, method = type(agent), getattr(agent, name)
    field, own = f"{kind.__name__}.{name}", not is_ours(getattr(kind, name))
    if own:
        check_takes(field, method, called_with(Agent, name))
    made = method(given)
    if own and not isinstance(made, Agent):
        got = made if made is None or isinstance(made, type) else type(made).__name__
        raise ConfigError(field, got, "return an agent: self, or dataclasses.replace(self, ...)")
    _check_collector(made)
    return made


def check_agent(agent: Agent, spec: EnvSpec, plays_greedily: bool = True) -> None:
    """Refuses an agent of one's own that lacks what it learns from asks of it, or whose methods give something else.

    It is traced, which takes milliseconds, and neither compiled nor run. What the library's own agents answer is known.

    Args:
        agent: the agent.
        spec: of the environment.
        plays_greedily: whether it is evaluated, so that `act` has to answer `greedy=True`, too.

    Raises:
        ConfigError: naming the method, what it gives, and what it should.
    """
    kind, key = type(agent), key_like()
    _check_collector(agent)
    _check_signatures(agent, plays_greedily)
    if not is_ours(kind.init):
        with tracing(agent, "init"):
            made = eqx.filter_eval_shape(lambda key: agent.init(spec, key), key)
        check_leaves(f"{kind.__name__}.init", made)
    if not is_ours(kind.initial_carry):
        with tracing(agent, "initial_carry"):
            made = eqx.filter_eval_shape(lambda key: agent.initial_carry(agent.init(spec, key)), key)
        check_leaves(f"{kind.__name__}.initial_carry", made, "a carry")
    if (said := agent.learns_from.check_agent(agent, spec)) is not None:
        fix = "it returns nothing; raise a kousoku.ConfigError to refuse an agent"
        raise ConfigError(f"{type(agent.learns_from).__name__}.check_agent", said, fix)
    if not is_ours(kind.act):
        for how in ({}, {"greedy": True}) if plays_greedily else ({},):
            _check_answers(agent, spec, how)
    if not is_ours(kind.q_values):
        _check_q_values(agent, spec)


def _check_collector(agent: Agent) -> None:
    """Refuses an agent whose `learns_from` is no collector, or one of one's own that cannot be called as training does.

    Raises:
        ConfigError: saying what to write.
    """
    given = agent.learns_from
    if not isinstance(given, Collector):
        is_kind = isinstance(given, type) and issubclass(given, Collector)
        fix = f"make one of it: {given.__name__}(...)" if is_kind else "use a collector, such as kousoku.Online()"
        got, fix = (A_METHOD, PROPERTY) if hasattr(given, "__func__") else (given, fix)
        raise ConfigError(f"{type(agent).__name__}.learns_from", got, fix)
    check_collector(given)


def _check_signatures(agent: Agent, plays_greedily: bool) -> None:
    """Refuses methods of one's own that cannot be called as training calls them, and `act` as evaluation calls it, too.

    Raises:
        ConfigError: naming the first, and its arguments.
    """
    axis = ("axis",) if agent.learns_from.batched else ()
    for greedy in ((), ("greedy",)) if plays_greedily else ((),):
        check_overridden(agent, Agent, keywords={"act": greedy, "update": axis, "update_with_errors": axis})


@contextlib.contextmanager
def tracing(agent: Agent, method: str) -> Generator[None, None, None]:
    """Says what an error of JAX's means, of an agent's method that is traced within.

    Raises:
        ConfigError: where it has a meaning; others are raised as they are.
    """
    try:
        yield
    except KNOWN_ERRORS as error:
        raise ConfigError("agent", type(agent).__name__, f"{method}: {error_meaning(error)}") from error


def _check_q_values(agent: Agent, spec: EnvSpec) -> None:
    """Refuses action values that are not those of every state and action.

    Raises:
        ConfigError: with the shape.
    """
    key, field = key_like(), f"{type(agent).__name__}.q_values"
    with tracing(agent, "q_values"):
        found = eqx.filter_eval_shape(lambda key: agent.q_values(agent.init(spec, key)), key)
    states, actions = spec.observation_space, spec.action_space
    if found is None:
        return
    if not isinstance(states, Discrete) or not isinstance(actions, Discrete):
        raise ConfigError(field, words(found), "observations and actions are not both Discrete: it should give None")
    if shapes(found) != [("", (states.n, actions.n), "float32")]:
        raise ConfigError(field, words(found), f"it should give float32[{states.n}, {actions.n}], or None")


def _check_answers(agent: Agent, spec: EnvSpec, how: dict[str, bool]) -> None:
    """Refuses another number of answers than three, no action of the space, or another carry than the first."""
    key = key_like()
    method = f"act{' (greedy=True)' if how else ''}"
    field = f"{type(agent).__name__}.{method}"

    def answers(key: Any) -> Any:
        state, obs = agent.init(spec, key), spec.observation_space.sample(key)
        carry = agent.initial_carry(state)
        made = agent.act(state, obs, carry, key, **how)
        action, carried, extras = returned_parts(
            field, made, 3, "return three things: the action, what is carried on, and extras or None"
        )
        check_leaves(field, extras, "extras")
        return action, carried, carry

    with tracing(agent, method):
        action, carry, first = eqx.filter_eval_shape(answers, key)
    check_action(field, action, spec.action_space)
    if jax.tree.structure(carry) != jax.tree.structure(first) or shapes(carry) != shapes(first):
        raise ConfigError(f"{field}'s carry", words(carry), f"carry on what is like `initial_carry`: {words(first)}")


def has_own_methods(agent: Agent, collector: object, methods: dict[str, str]) -> bool:
    """Returns whether some of the methods that a collector asks of an agent are the person's own.

    Args:
        agent: the agent.
        collector: what it learns from, for the message.
        methods: what each takes and gives, by its name.

    Raises:
        ConfigError: naming the first that is missing.
    """
    for name, does in methods.items():
        if not callable(getattr(agent, name, None)):
            fix = f"one that learns from {type(collector).__name__} has {name}{does}"
            raise ConfigError(f"{type(agent).__name__}.{name}", ..., fix)
        if not is_ours(getattr(type(agent), name, agent)) and not does.endswith("static method"):
            arguments = does.removeprefix("(").partition(")")[0].split(", ")
            check_takes(f"{type(agent).__name__}.{name}", getattr(agent, name), tuple(arguments))
    return not all(is_ours(getattr(type(agent), name, agent)) for name in ("init", *methods))


def check_action(field: str, action: Any, space: Space) -> None:
    """Refuses what is no action of a space, from its shapes.

    Raises:
        ConfigError: with the space.
    """
    if not is_like_action(action, space):
        raise ConfigError(field, words(action), f"it should give an action of {shorten(space)}")


def is_like_action(given: Any, space: Space) -> bool:
    """Returns whether something has the structure and shapes of an action, and whole numbers where that has some."""
    wanted = element_like(space)

    def alike(leaf: Any, like: Any) -> bool:
        if not is_array_or_number(leaf) or np.shape(leaf) != like.shape:
            return False
        return getattr(dtype_of(leaf), "kind", "no number") in KINDS[like.dtype.kind]

    return jax.tree.structure(given) == jax.tree.structure(wanted) and jax.tree.all(jax.tree.map(alike, given, wanted))
