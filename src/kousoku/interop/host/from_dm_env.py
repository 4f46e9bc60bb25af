"""Environments with DeepMind's interface `dm_env` as ours."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ...core.errors import ConfigError
from ...core.host import HostEnv
from .from_gymnasium import host_env, made

_PLAIN = (str, bytes, bytearray, bool, int, float, complex, type(None), np.ndarray, type, ModuleType, FunctionType)
"""What holds no random generator of the environment's own."""


def from_dm_env(env: Any, *, workers: int = 0, name: str | None = None) -> HostEnv:
    """Makes an environment to train in of one with the interface `dm_env`, which goes on running on the host.

    An episode whose last step has a discount above 0 is truncated, one with the discount 0 terminated; discounts on the
    way are not told to agents, which have their own.

    Args:
        env: a function that makes a `dm_env.Environment`, without arguments or with one that is called `seed`; or such
            an environment, of which every slot gets a copy. Random generators of NumPy's and Python's in a copy are
            seeded with the slot's seed; one that draws in another way needs a function with a `seed`.
        workers: processes to step the environments in, each a share of them; 0 for this one.
        name: what it is called in messages and records; by default the environment's class.

    Raises:
        ConfigError: for what is neither, or a spec that has no counterpart.
    """
    if not _is_dm_env(env) and not callable(env):
        raise ConfigError("env", env, "give a dm_env.Environment, or a function that makes one")
    copied = _is_dm_env(env)
    factory = functools.partial(_Adapter, _copier(env) if copied else env, copied)
    example = made(name or getattr(env, "__name__", type(env).__name__), factory)
    return host_env(name or example.name, factory, workers, example)


def _is_dm_env(env: Any) -> bool:
    if isinstance(env, type):
        return False
    return all(callable(getattr(env, part, None)) for part in ("reset", "step", "action_spec", "observation_spec"))


def _copier(env: Any) -> Callable[[], Any]:
    """Returns what makes copies of an environment.

    Raises:
        ConfigError: if it does not allow that.
    """
    try:
        copy.deepcopy(env)
    except Exception as error:  # copying runs the environment's code
        fix = f"every slot needs a copy, which it does not allow ({type(error).__name__}); give a function"
        raise ConfigError("env", type(env).__name__, fix) from error
    return functools.partial(copy.deepcopy, env)


class _Adapter(gymnasium.Env[Any, Any]):
    """An environment of `dm_env` as one of Gymnasium's; made again with the seed where its factory takes one.

    A copy of one is seeded by the generators that it holds.
    """

    def __init__(self, factory: Callable[..., Any], copied: bool = False) -> None:
        self._factory, self._copied = factory, copied
        self._seeded = "seed" in inspect.signature(factory).parameters
        self._env = factory(seed=0) if self._seeded else factory()
        self.observation_space = _space("observation", self._env.observation_spec())
        self.action_space = _space("action", self._env.action_spec())

    @property
    def name(self) -> str:
        """The class of the environment."""
        return type(self._env).__name__

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        del options
        if seed is not None and self._seeded:
            self._env = self._factory(seed=seed)
        elif seed is not None and self._copied:
            for place, generator in enumerate(_generators(self._env)):
                _seed(generator, np.random.SeedSequence([seed, place]))
        return _values(self._env.reset().observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        timestep = self._env.step(action)
        ended = timestep.last()
        terminated = ended and timestep.discount == 0
        return _values(timestep.observation), float(timestep.reward or 0.0), terminated, ended and not terminated, {}

    def close(self) -> None:
        self._env.close()


def _generators(env: Any) -> Iterator[Any]:
    """Finds the random generators in an object: in its attributes, in theirs, and so on, in their order."""
    waiting, seen = [env], set[int]()
    while waiting:
        held = waiting.pop()
        if id(held) in seen or isinstance(held, _PLAIN):
            continue
        seen.add(id(held))
        if isinstance(held, np.random.RandomState | np.random.Generator | random.Random):
            yield held
        else:
            waiting.extend(reversed(_held_in(held)))


def _held_in(held: Any) -> list[Any]:
    """Returns what an object consists of, in an order that is the same in every process."""
    found: list[Any] = []
    if isinstance(held, Mapping):
        found += list(held.values())
    elif isinstance(held, list | tuple | collections.deque):
        found += list(held)
    elif isinstance(held, functools.partial):
        found += [held.func, *held.args, *held.keywords.values()]
    slots = [name for kind in type(held).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in ("__self__", *map(str, slots)):
        with contextlib.suppress(Exception):  # an attribute may be code of the environment's
            found.append(getattr(held, name))
    with contextlib.suppress(TypeError):
        found += list(vars(held).values())
    return found


def _seed(generator: Any, sequence: np.random.SeedSequence) -> None:
    """Seeds a random generator, whatever draws from it."""
    if isinstance(generator, np.random.Generator):
        kind: Any = type(generator.bit_generator)
        generator.bit_generator.state = kind(sequence).state
    elif isinstance(generator, np.random.RandomState):
        bits: Any = generator.get_state(legacy=False)
        generator.set_state(getattr(np.random, bits["bit_generator"])(sequence).state)
    else:
        generator.seed(int.from_bytes(sequence.generate_state(8).tobytes(), "little"))


def _space(what: str, spec: Any) -> spaces.Space[Any]:
    """Returns a spec as a space of Gymnasium's.

    Raises:
        ConfigError: for one that has no counterpart.
    """
    if isinstance(spec, Mapping):
        return spaces.Dict({str(name): _space(what, part) for name, part in spec.items()})
    if isinstance(spec, tuple | list):
        return spaces.Tuple([_space(what, part) for part in spec])
    if hasattr(spec, "num_values"):
        return spaces.Discrete(int(spec.num_values))
    dtype: Any = np.dtype(getattr(spec, "dtype", object))
    if dtype.kind == "b":
        return spaces.Box(0, 1, spec.shape, np.uint8)
    if dtype.kind not in "fiu":
        raise ConfigError(f"{what} spec", spec, "use an Array, BoundedArray or DiscreteArray of numbers, or a dict")
    ends = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)
    low: Any = np.broadcast_to(getattr(spec, "minimum", ends[0]), spec.shape).astype(dtype)
    high: Any = np.broadcast_to(getattr(spec, "maximum", ends[1]), spec.shape).astype(dtype)
    return spaces.Box(low, high, spec.shape, dtype)


def _values(observation: Any) -> Any:
    """Returns an observation with the names that its space has."""
    if isinstance(observation, Mapping):
        return {str(name): _values(part) for name, part in observation.items()}
    return observation
