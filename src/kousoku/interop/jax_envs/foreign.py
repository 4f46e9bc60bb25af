"""Common ground of other libraries' environments: their object as structure, their dtypes, their missing packages."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from ...core.env import Env, EnvSpec
from ...core.errors import ConfigError, check_count, error_text, nearest
from ...core.leaves import key_like
from ...core.promotion import their_promotion
from ...core.spaces import Space
from ...core.timestep import Timestep
from ...envs.timesteps import first_timestep
from .. import libraries
from .spaces import conformed

NEVER = int(np.iinfo(np.int32).max)
"""A time limit that no episode reaches."""


class Foreign:
    """An object of another library as structure: what programs are compiled for.

    Two are equal if they were made from the same id and options, or hold the same object.

    Attributes:
        it: the object.
        recipe: what it was made from, as text; None for an object that a user gave.
    """

    __slots__ = ("it", "recipe")

    def __init__(self, it: Any, recipe: str | None = None) -> None:
        self.it, self.recipe = it, recipe

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Foreign):
            return NotImplemented
        return self.it is other.it or (self.recipe is not None and self.recipe == other.recipe)

    def __hash__(self) -> int:
        return hash(self.recipe) if self.recipe is not None else id(self.it)

    def __repr__(self) -> str:
        return self.recipe or type(self.it).__name__


class ForeignEnv(Env):
    """An environment of another library: its reset and step without its auto-reset and its time limit.

    Its code runs with JAX's usual promotion of dtypes, whatever is set here, and gets raw keys, which all libraries
    take. Observations have the dtypes of our spaces, and the state keeps its dtypes from step to step.

    Attributes:
        theirs: the environment itself.
        their_spec: spaces and time limit, translated.
        recorded_as: names that runs record fields by, where these are not their own.
    """

    recorded_as: ClassVar[Mapping[str, str]] = MappingProxyType({"their_spec": "told"})

    theirs: eqx.AbstractVar[Foreign]
    their_spec: eqx.AbstractVar[EnvSpec]
    time_limit: eqx.AbstractVar[int | None]

    @abstractmethod
    def begin(self, key: Array) -> tuple[Any, PyTree[Array]]:
        """Begins an episode: their state and observation."""

    @abstractmethod
    def take(self, key: Array, state: Any, action: Any) -> tuple[Any, PyTree[Array], Array, Any, Any]:
        """Takes one action: their state, observation and reward; whether the task ended, and whether it was cut."""

    @property
    def observation_space(self) -> Space:
        return self.their_spec.observation_space

    @property
    def action_space(self) -> Space:
        return self.their_spec.action_space

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Timestep]:
        with _their_own(self.theirs.it, "reset"):
            begun = self.begin(jax.random.key_data(key))
        with their_promotion():
            return self._begun(*begun)

    def _begun(self, state: Any, obs: PyTree[Array]) -> tuple[Any, Timestep]:
        """Returns their state and observation at an episode's start as ours."""
        return settled(state), first_timestep(conformed(self.observation_space, obs))

    def step(self, key: PRNGKeyArray, state: Any, action: PyTree[Array]) -> tuple[Any, Timestep]:
        own = jax.tree.map(lambda leaf: leaf, state)  # some write into dicts of the state that they are given
        with _their_own(self.theirs.it, "step"):
            after, obs, reward, terminated, truncated = self.take(jax.random.key_data(key), own, action)
        with their_promotion():
            obs = conformed(self.observation_space, obs)
            reward = _scalar(self, "reward", reward, jnp.float32)
            flags = [_scalar(self, "end of an episode", flag, jnp.bool_) for flag in (terminated, truncated)]
            return kept(state, after), Timestep(obs, reward, *flags)


def _scalar(env: ForeignEnv, what: str, value: Any, dtype: Any) -> Array:
    """Returns one number of theirs as ours; their truth may be a number, too, and have axes of length 1.

    Raises:
        ConfigError: for several numbers.
    """
    if jnp.size(value) != 1:
        fix = f"its {what} is of shape {list(jnp.shape(value))}; wrap it so that there is one number"
        raise ConfigError("environment", str(env.theirs), fix)
    return jnp.reshape(jnp.asarray(value), ()).astype(dtype)


@contextlib.contextmanager
def _their_own(env: Any, what: str) -> Iterator[None]:
    """Runs code of another library's environment: dtypes are promoted as it is used to, and its errors are one line.

    Raises:
        ConfigError: where it raises anything, as with an option that is of no use.
    """
    try:
        with their_promotion():
            yield
    except ConfigError:
        raise
    except Exception as error:  # theirs, of any kind
        fix = f"its {what} raises {type(error).__name__}: {error_text(error)}"
        raise ConfigError("env", type(env).__name__, fix) from error


def settled(state: Any) -> Any:
    """Returns a state whose leaves are arrays, none of a weak type: Python's numbers in it would change their type."""
    return jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, jnp.asarray(leaf).dtype), state)


def kept(before: Any, after: Any) -> Any:
    """Returns the state after a step with the dtypes of the one before it.

    Raises:
        ConfigError: where another structure has come of it, or a fraction of what was whole.
    """
    if jax.tree.structure(before) != jax.tree.structure(after):
        raise ConfigError("environment", "its state", "a step changes its structure, so that no loop can carry it")

    def as_before(old: Array, new: Any) -> Array:
        new = jnp.asarray(new)
        if new.dtype == old.dtype:
            return jax.lax.convert_element_type(new, old.dtype)
        if jnp.issubdtype(new.dtype, jnp.floating) and not jnp.issubdtype(old.dtype, jnp.floating):
            fix = f"a reset makes {old.dtype} of what a step makes {new.dtype}, so that no loop can carry it"
            raise ConfigError("environment", "its state", fix)
        return new.astype(old.dtype)

    return jax.tree.map(as_before, before, after)


def imported(library: str, module: str, package: str, lowest: str) -> Any:
    """Imports a module of a library that is an extra.

    Args:
        library: the prefix of its ids, and the name of the extra.
        module: to import.
        package: the name of the distribution.
        lowest: the first version that works.

    Raises:
        ConfigError: if it is not installed, too old, or broken.
    """
    install = f"pip install 'kousoku[{library}]'"
    return libraries.imported("environment", f"{library}:", module, package, lowest, install)


def check_id(library: str, id: str, known: Iterable[str]) -> None:
    """Refuses an id that a library does not have.

    Raises:
        ConfigError: with the nearest ids.
    """
    names = list(known)
    if id in names:
        return
    close = [f"{library}:{name}" for name in nearest(id, names)]
    fix = f"did you mean {' or '.join(close)}?" if close else f"`kousoku list {library}:` shows all"
    raise ConfigError("environment id", f"{library}:{id}", fix)


def recipe(library: str, id: str, options: dict[str, Any]) -> str | None:
    """Returns what an environment is made from; None if its options have no text that tells them apart."""
    plain = (bool, int, float, str, type(None))
    if not all(isinstance(value, plain) for value in options.values()):
        return None
    said = ", ".join(f"{name}={value!r}" for name, value in sorted(options.items()))
    return f"{library}:{id}({said})"


def checked_limit(time_limit: Any) -> int | None:
    """Returns a time limit as an int, None for none."""
    return None if time_limit is None else check_count("time_limit", time_limit, high=NEVER)


def layers(env: Any) -> list[Any]:
    """Returns an environment and those that are inside it, where it is a wrapper of its library's, outermost first."""
    found = [env]
    while (name := inner_name(found[-1])) is not None:
        found.append(vars(found[-1])[name])
    return found


def inner_name(env: Any) -> str | None:
    """Returns the name under which a wrapper has the environment inside; None of what has none."""
    held = getattr(env, "__dict__", {})
    return next((name for name in ("_env", "env") if hasattr(held.get(name), "step")), None)


def check_layers(env: Any) -> None:
    """Refuses wrappers that begin episodes by themselves or make many environments, wherever they are.

    Raises:
        ConfigError: naming the wrapper.
    """
    for name in (type(layer).__name__ for layer in layers(env)):
        if "AutoReset" in name:
            raise ConfigError("env", name, "give it without auto-reset: its `unwrapped`")
        if "Vmap" in name:
            raise ConfigError("env", name, "give one environment; training makes many of it")


def shapes_of(env: Any, reset: Callable[[Array], Any]) -> Any:
    """Returns the shapes of what their reset gives, of which nothing is computed.

    Args:
        env: theirs, for the message.
        reset: its reset, of a raw key.

    Raises:
        ConfigError: for a reset that cannot be traced, as with an option that is of no use.
    """
    with _their_own(env, "reset"):
        return jax.eval_shape(reset, jax.eval_shape(jax.random.key_data, key_like()))


def call(library: str, id: str, make: Any, options: dict[str, Any]) -> Any:
    """Makes something of a library with options, whose names it knows itself.

    Raises:
        ConfigError: if it cannot.
    """
    try:
        return make(**options)
    except Exception as error:  # of any kind: a download that fails, an option that is unknown
        install = libraries.install_command(error)
        fix = f"it cannot be made, the library says: {error_text(error)}" + (f"; {install}" if install else "")
        raise ConfigError(f"{library}:{id}", options, fix) from error
