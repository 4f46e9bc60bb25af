"""Fine-tuning: a run whose agents begin with what an agent of another run has learned."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..agents.options import describe
from ..collectors.streams import key_of
from ..core.agent import Agent
from ..core.env import Env, EnvSpec
from ..core.errors import ConfigError, shorten
from ..core.leaves import key_like
from ..core.spaces import Box, Dict, Space
from .io import tree_io

NOT_SAVED = "a run that was not saved"
"""What a run folder says of a run without a folder."""


class TrainedMember(NamedTuple):
    """An agent of a run, with what it has learned.

    Attributes:
        folder: of the run; None if it was not saved.
        number: of the agent in it.
        agent: its hyper-parameters.
        state: what it has learned.
        spec: of the environment that it was trained on.
    """

    folder: Path | None
    number: int
    agent: Agent
    state: Any
    spec: EnvSpec

    @property
    def place(self) -> str:
        """The run folder from the root on, so that it is found again from anywhere."""
        return NOT_SAVED if self.folder is None else str(self.folder.absolute())


def check_adoptable(trained: TrainedMember, agent: Agent, env: Env) -> None:
    """Refuses an agent that a run on this environment cannot begin with.

    Raises:
        ConfigError: naming what differs, there and here: the kind of agent, a space, or a part of what was learned; or
            what is not finite.
    """
    there, here = (describe(each)["id"] for each in (trained.agent, agent))
    if there != here:
        raise ConfigError("init_from", there, f"this run trains {here}; name a run of the same agent")
    spec = env.spec
    if not _looks_alike(trained.spec.observation_space, spec.observation_space):
        raise _other_space("observation space", trained.spec.observation_space, spec.observation_space)
    if not eqx.tree_equal(trained.spec.action_space, spec.action_space):
        raise _other_space("action space", trained.spec.action_space, spec.action_space)
    fresh, adopted = _shapes(trained, agent, spec)
    if tree_io.shapes(adopted) != tree_io.shapes(fresh):
        raise _other_state(trained, agent, spec, adopted)
    if _functions(adopted) != _functions(fresh) and _functions(fresh) == _functions(_fresh(agent, spec)):
        was, now = _differences(trained.agent, agent)
        raise ConfigError("init_from", was, f"the network of this run has {now}; give it the same options")
    _check_finite(trained, agent, spec)


def _looks_alike(one: Space, other: Space) -> bool:
    """Returns whether agents see elements of both spaces alike: to them a box of floats has no bounds."""
    if isinstance(one, Dict) and isinstance(other, Dict):
        names = one.spaces.keys()
        return names == other.spaces.keys() and all(_looks_alike(one.spaces[n], other.spaces[n]) for n in names)
    if isinstance(one, Box) and isinstance(other, Box) and one.dtype.kind == "f":
        return (one.shape, one.dtype) == (other.shape, other.dtype)
    return bool(eqx.tree_equal(one, other))


def _other_space(what: str, there: Space, here: Space) -> ConfigError:
    fix = f"that agent was trained with {_described(there)}, and this run has {_described(here)}"
    return ConfigError("init_from", what, fix)


def _described(space: Space) -> str:
    """Returns a space on one line: of a box the shape first, as its bounds may be many numbers."""
    if isinstance(space, Box):
        return f"Box {space.shape} of {space.dtype} from {shorten(space.low)} to {shorten(space.high)}"
    return shorten(space, 200)


def _other_state(trained: TrainedMember, agent: Agent, spec: EnvSpec, state: Any) -> ConfigError:
    """Names the options that make this agent's state another than that of the run; else the first leaf that differs."""
    needed = tree_io.shapes(_fresh(agent, spec))
    held = {name: getattr(trained.agent, name) for name in vars(agent)}
    other = {name: value for name, value in held.items() if _makes_another_state(agent, name, value, spec)}
    if other:
        there, here = (_listed({name: getattr(each, name) for name in other}) for each in (trained.agent, agent))
        return ConfigError("init_from", there, f"this run has {here}; give it the same options")
    was, now = _differences(trained.agent, agent)
    if type(trained.agent) is type(agent) and was != now and _with_network_of(trained, agent, spec):
        return ConfigError("init_from", was, f"the network of this run has {now}; give it the same options")
    there, here = tree_io.difference(tree_io.shapes(state), needed)
    return ConfigError("init_from", there, f"this agent on this environment needs {here}; give it the same options")


def _with_network_of(trained: TrainedMember, agent: Agent, spec: EnvSpec) -> bool:
    """Returns whether with the network's options of the run the state would be of the same shapes."""
    try:
        same = dataclasses.replace(agent, network=trained.agent.network)  # pyright: ignore[reportAttributeAccessIssue]
    except (AttributeError, TypeError, ConfigError):
        return False
    return tree_io.shapes(_fresh(same, spec)) == tree_io.shapes(trained.state)


def _makes_another_state(agent: Agent, name: str, value: Any, spec: EnvSpec) -> bool:
    """Returns whether the agent's state has other leaves with another value of one option."""
    if not isinstance(value, bool | str | int | tuple) or getattr(agent, name) == value:
        return False
    try:
        other = dataclasses.replace(agent, **{name: value})
    except ConfigError:  # which goes with other options only
        return False
    return tree_io.shapes(_fresh(other, spec)) != tree_io.shapes(_fresh(agent, spec))


def _listed(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def _shapes(trained: TrainedMember, agent: Agent, spec: EnvSpec) -> tuple[Any, Any]:
    """Returns the shapes of the agent's fresh state, and of what it becomes with what it adopts.

    Raises:
        ConfigError: if the two states are so unlike that nothing can be adopted.
    """
    fresh = _fresh(agent, spec)
    try:
        return fresh, jax.eval_shape(agent.adopt, fresh, trained.state)
    except ValueError as error:
        if tree_io.shapes(trained.state) == tree_io.shapes(fresh):
            raise
        raise _other_state(trained, agent, spec, trained.state) from error


def _fresh(agent: Agent, spec: EnvSpec) -> Any:
    return jax.eval_shape(lambda key: agent.init(spec, key), key_like())


def _functions(state: Any) -> Any:
    """Returns all of a state that is no array, such as a network's activation, but for the spaces that it holds.

    Each has been compared already, and its bounds are others while a program is traced. An agent may have functions
    that are new ones each time; those of two of its states differ.
    """
    return jax.tree.structure(jax.tree.map(lambda node: 0, state, is_leaf=lambda node: isinstance(node, Space)))


def _differences(one: Agent, other: Agent) -> tuple[str, str]:
    """Returns in words what the networks of two agents are built with, as far as it differs."""
    options = [describe(agent).get("network", {}) for agent in (one, other)]
    names = [name for name in options[0] | options[1] if options[0].get(name) != options[1].get(name)]
    was, now = (", ".join(f"{name}={each.get(name)}" for name in names) for each in options)
    return was or "other functions", now or "its own"


def _check_finite(trained: TrainedMember, agent: Agent, spec: EnvSpec) -> None:
    """Refuses NaN and infinity in what is adopted, but where the agent itself begins with them, as a mask does."""
    if not _not_finite(trained.state):
        return
    fresh = jax.jit(lambda key: agent.init(spec, key))(key_of(0))
    adopted = jax.jit(lambda *states: agent.adopt(*states))(fresh, trained.state)
    found = _not_finite(adopted) - _not_finite(fresh)
    if found:
        fix = f"agent {trained.number} of {trained.place} has diverged; name another one, or load an earlier checkpoint"
        raise ConfigError("init_from", f"{min(found)} is not finite", fix)


def _not_finite(state: Any) -> set[str]:
    """Returns the paths of leaves that hold NaN or infinity."""
    pairs = zip(tree_io.paths(state), jax.tree.leaves(state), strict=True)
    floats = ((path, leaf) for path, leaf in pairs if jnp.issubdtype(leaf.dtype, jnp.inexact))
    return {path for path, leaf in floats if not np.isfinite(jax.device_get(leaf)).all()}
