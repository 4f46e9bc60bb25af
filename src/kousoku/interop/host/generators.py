"""The random generators that an object holds somewhere, and new seeds for them: copies would all draw the same."""

from __future__ import annotations

import collections
import contextlib
import functools
import random
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

_PLAIN = (str, bytes, bytearray, bool, int, float, complex, type(None), np.ndarray, type, ModuleType, FunctionType)
"""What holds no random generator of the environment's own."""


def seed_generators(held: Any, seed: int) -> None:
    """Seeds the generators of NumPy's and Python's within an object, each in its own way."""
    for place, generator in enumerate(_generators(held)):
        _seed(generator, np.random.SeedSequence([seed, place]))


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
