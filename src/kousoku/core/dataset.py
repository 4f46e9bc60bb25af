"""Recorded transitions: what agents learn from that do not act."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .errors import ConfigError
from .leaves import words
from .spaces import Box, Dict, Discrete, MultiDiscrete, Space
from .words import plural

BROKEN_OFF, BEGUN_BEFORE = MARKS = "broken_off", "begun_before"
ARRAYS = ("obs", "action", "reward", "terminated", "truncated", "next_obs")
DIGITS = 16
"""Of a data set's hash, as files and messages have it."""


MASKED = "fill them, as by .filled(0.0), or leave the rows out"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """N transitions of an environment, those of an episode one after the other: checked, and not to be changed.

    `next_obs` is always the true successor of (`obs`, `action`), also of an episode's last step: never the observation
    after a reset. An episode that goes on has `next_obs` of a row as `obs` of the next one; where a recording breaks
    off, that row is truncated, and `broken_off` says that it was no clock.

    A data set is equal to another one with the same hash, which is that of its numbers and spaces.

    Attributes:
        obs, next_obs: [N, ...] in the observation space; of a Dict a dict of arrays.
        action: [N, ...] in the action space.
        reward: [N] float32.
        terminated, truncated: [N] whether the task ended with the step; whether a clock, or the recording, did.
        observation_space, action_space: the environment's.
        env: the environment's id; None where nobody says.
        path: the file that it was read from or written to; None for none.
        broken_off: [N] whether the recording broke off after the row, where an episode went on: a truncated row, whose
            episode has no return; None where nobody says.
        begun_before: [N] whether the row's episode had begun before it, where the recording does not hold its
            beginning: the first row of a piece, which has no return; None where nobody says.

    Raises:
        ConfigError: for arrays that are no transitions of such an environment, naming the first entry.

    Examples:
        >>> space, ends = Box(-1.0, 1.0, (1,)), [False, True]
        >>> Dataset([[0.0], [0.1]], [0, 1], [0.0, 1.0], ends, [False, False], [[0.1], [0.2]], space, Discrete(2))
        <Dataset: 2 transitions, 1 episode, mean return 1>
    """

    obs: Any
    action: Any
    reward: Any
    terminated: Any
    truncated: Any
    next_obs: Any
    observation_space: Any
    action_space: Any
    env: str | None = None
    path: str | None = None
    broken_off: Any = None
    begun_before: Any = None

    def __post_init__(self) -> None:
        for name in ("observation_space", "action_space"):
            if not isinstance(getattr(self, name), Space):
                fix = "give the space that the arrays are in, one of kousoku's, such as ks.Box"
                raise ConfigError(f"dataset.{name}", getattr(self, name), fix)
        size = _array("dataset.reward", self.reward, "[N]").shape
        if len(size) != 1 or not size[0]:
            raise ConfigError("dataset.reward", size, "give one number for each of at least one transition, [N]")
        spaces = {"obs": self.observation_space, "next_obs": self.observation_space, "action": self.action_space}
        for name in ARRAYS:
            given = getattr(self, name)
            if name in spaces:
                made = _in_space(f"dataset.{name}", spaces[name], given, size[0])
            elif name == "reward":
                made = _finite("dataset.reward", _numbers("dataset.reward", given, size, np.dtype(np.float32)))
            else:
                made = _flags(f"dataset.{name}", given, size)
            object.__setattr__(self, name, made)
        self._check_marks(size)
        for name in ("env", "path"):
            if not isinstance(getattr(self, name), str | None):
                what = "the environment's id" if name == "env" else "a file's name"
                raise ConfigError(f"dataset.{name}", getattr(self, name), f"give {what}, or None")
        _check_order(self)

    def _check_marks(self, size: tuple[int, ...]) -> None:
        """Refuses marks where no piece of a recording ends or begins."""
        follows_end = np.concatenate([[True], self.ends[:-1]])
        places = {
            BROKEN_OFF: (self.truncated, "a recording breaks off where its row is truncated"),
            BEGUN_BEFORE: (follows_end, "a piece of a recording begins in row 0, or after a row that ends an episode"),
        }
        for name, (fits, fix) in places.items():
            if getattr(self, name) is not None:
                marked = _flags(f"dataset.{name}", getattr(self, name), size)
                object.__setattr__(self, name, marked)
                _refuse_first(f"dataset.{name}", marked, fits | ~marked, fix)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes over what was copied or sent from another process; its arrays cannot be written to there either."""
        self.__dict__.update(state)
        for name in self.held:
            for _, array in named_arrays(name, getattr(self, name)):
                array.setflags(write=False)

    def __len__(self) -> int:
        return self.reward.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and (self is other or self.hash == other.hash)

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        name, returns = "" if self.env is None else f" of {self.env}", self.episode_returns
        mean = f", mean return {returns.mean():.6g}" if returns.size else ""
        counts = {name: int(getattr(self, name).sum()) for name in self.held if name in MARKS}
        pieces = "".join(f", {count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
        return f"<Dataset{name}: {len(self):,} transitions, {plural(returns.size, 'episode')}{mean}{pieces}>"

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of its numbers and spaces, the first 16 digits."""
        spaces = ", ".join(map(eqx.tree_pformat, (self.observation_space, self.action_space)))
        digest = hashlib.sha256(f"({spaces})".encode())
        for name in ARRAYS:
            for path, array in named_arrays(name, getattr(self, name)):
                digest.update(f"{path} {array.dtype} {array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:DIGITS]

    @property
    def held(self) -> tuple[str, ...]:
        """The names of its arrays."""
        return (*ARRAYS, *(name for name in MARKS if getattr(self, name, None) is not None))

    @property
    def ends(self) -> np.ndarray:
        """Whether an episode ends with the row, [N]."""
        return self.terminated | self.truncated

    @cached_property
    def episode_returns(self) -> np.ndarray:
        """The undiscounted return of each episode that is here from its beginning to its end, [E] float64."""
        last = np.flatnonzero(self.ends)
        returns = np.diff(np.cumsum(self.reward, dtype=np.float64)[last], prepend=0.0)
        whole = np.ones(last.shape, bool)
        if self.broken_off is not None:
            whole &= ~self.broken_off[last]
        if self.begun_before is not None and last.size:
            whole &= ~self.begun_before[np.concatenate([[0], last[:-1] + 1])]
        return returns[whole]

    @cached_property
    def moments(self) -> Any:
        """(mean, variance) of floating point observations, in float64; of a Dict of each part, None for other ones."""
        return _moments(self.observation_space, self.obs)

    def described(self) -> dict[str, Any]:
        """Returns what a run folder tells of it, as JSON."""
        return {"type": "Dataset", "path": self.path, "hash": self.hash, "transitions": len(self), "env": self.env}


@dataclass(frozen=True)
class DatasetFile:
    """A data set that a run has learned from, without its numbers: an agent acts without them.

    Attributes:
        path: its file; None where it was made in Python.
        hash, transitions, env: as of the data set.
    """

    path: str | None
    hash: str
    transitions: int
    env: str | None

    def described(self) -> dict[str, Any]:
        """Returns what a run folder tells of it, as JSON."""
        return {"type": "Dataset", **vars(self)}


def named_arrays(name: str, value: Any, spelt: Callable[[str], str] = str) -> Iterator[tuple[str, np.ndarray]]:
    """Lists (name, array) of what is an array, or a dict of such: the parts of a dict as "NAME/PART", each as spelt."""
    if isinstance(value, dict):
        for part in sorted(value):
            yield from named_arrays(f"{name}/{spelt(part)}", value[part], spelt)
    else:
        yield name, value


def alike(one: Space, other: Space, bounds: bool) -> bool:
    """Returns whether arrays of one space can stand for those of another one.

    Args:
        one, other: the spaces.
        bounds: whether those of a Box have to be the same, too.
    """
    if isinstance(one, Dict) and isinstance(other, Dict):
        same = set(one.spaces) == set(other.spaces)
        return same and all(alike(part, other.spaces[name], bounds) for name, part in one.spaces.items())
    if not isinstance(one, Box) or not isinstance(other, Box):
        return one == other
    if one.shape != other.shape or len({jax.dtypes.canonicalize_dtype(space.dtype) for space in (one, other)}) > 1:
        return False
    ends = [[np.asarray(end, np.float32) for end in pair] for pair in ((one.low, other.low), (one.high, other.high))]
    return not bounds or all(bool(np.all(ours == theirs)) for ours, theirs in ends)


def absolute(path: str | os.PathLike[str]) -> str:
    """Returns a path that is the same from whatever folder it is read."""
    return os.path.abspath(os.path.expanduser(path))


def _in_space(name: str, space: Space, given: Any, count: int) -> Any:
    """Returns N elements of a space as arrays of their own; refuses what is none."""
    if isinstance(space, Dict):
        if not isinstance(given, dict) or set(given) != set(space.spaces):
            found = sorted(given) if isinstance(given, dict) else type(given).__name__
            raise ConfigError(name, found, f"give a dict of arrays {sorted(space.spaces)}")
        return {part: _in_space(f"{name}/{part}", space.spaces[part], given[part], count) for part in sorted(given)}
    array = _numbers(name, given, (count, *space.shape), jax.dtypes.canonicalize_dtype(space.dtype))
    if isinstance(space, Box) and space.dtype.kind == "f":
        _finite(name, array)
    if isinstance(space, Box):
        low, high = (np.asarray(bound).astype(array.dtype) for bound in (space.low, space.high))
        inside = (array >= low) & (array <= high)
    else:
        inside = (array >= 0) & (array < np.asarray(space.n if isinstance(space, Discrete) else space.nvec))
    if name.startswith("dataset.action") or not isinstance(space, Box):  # bounds of observations are often wrong
        others = "leave the row out, or give the space that has it"  # counted ones would become others by clipping
        fix = "clip it as the environment does" if isinstance(space, Box) else others
        _refuse_first(name, array, inside, f"it is not in {_bounds(space)}; {fix}")
    return array


def _bounds(space: Box | Discrete | MultiDiscrete) -> str:
    if isinstance(space, Box):
        return f"[{space.low}, {space.high}]"
    return f"0..{space.n - 1}" if isinstance(space, Discrete) else f"0..n-1, n of {space.nvec}"


def _numbers(name: str, given: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns a copy as numbers of a dtype, which cannot be written to; refuses other shapes, and what is no number."""
    array = _array(name, given, list(shape))
    if array.shape != shape:
        raise ConfigError(name, list(array.shape), f"its shape has to be {list(shape)}")
    if array.dtype.kind not in ("iuf" if dtype.kind == "f" else "iu"):
        kind = "numbers" if dtype.kind == "f" else "whole numbers"
        raise ConfigError(name, str(array.dtype), f"give {kind}, which are kept as {dtype}")
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        _refuse_first(name, array, (array >= low) & (array <= high), f"{dtype} holds whole numbers in {low}..{high}")
    with np.errstate(over="ignore"):
        made = np.array(array, dtype)
    if dtype.kind == "f":
        kept = np.isfinite(made) | ~np.isfinite(array)
        _refuse_first(name, array, kept, f"{dtype} holds numbers up to {float(np.finfo(dtype).max):.2g}; scale them")
    made.flags.writeable = False
    return made


def _array(name: str, given: Any, shape: str | list[int]) -> np.ndarray:
    """Returns what is given as one array; refuses a mask, and rows of different lengths."""
    _refuse_masked(name, given)
    try:
        return np.asarray(given)
    except ValueError as error:  # a ragged list
        raise ConfigError(name, ..., f"give one array {shape} ({error})") from error


def _flags(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.array(_array(name, given, list(shape)))
    if array.shape != shape or array.dtype.kind != "b":
        raise ConfigError(name, words(array), f"give truth values {list(shape)}")
    array.flags.writeable = False
    return array


def _refuse_masked(name: str, given: Any) -> None:
    """Refuses an array with entries that are masked out, whose mask a plain array does not have."""
    parts = given if isinstance(given, (list, tuple)) else [given]
    count = sum(int(np.ma.count_masked(part)) for part in parts if isinstance(part, np.ma.MaskedArray))
    if count:
        raise ConfigError(name, f"an array with entries masked out, {count:,} of them", MASKED)


def _finite(name: str, array: np.ndarray) -> np.ndarray:
    _refuse_first(name, array, np.isfinite(array), "use finite numbers")
    return array


def _refuse_first(name: str, array: np.ndarray, good: np.ndarray, fix: str) -> None:
    if not good.all():
        place = tuple(int(i) for i in np.argwhere(~good)[0])
        raise ConfigError(f"{name}[{', '.join(map(str, place))}]", array[place].item(), fix)


def _check_order(data: Dataset) -> None:
    """Refuses rows that do not follow each other, and successors that are the next episode's first observations."""
    follows = np.ones(len(data) - 1, bool)
    differs = np.zeros(len(data) - 1, bool)
    for (_, obs), (_, after) in zip(named_arrays("", data.obs), named_arrays("", data.next_obs), strict=True):
        axes = tuple(range(1, obs.ndim))
        follows &= (after[:-1] == obs[1:]).all(axis=axes)
        differs |= (after[:-1] != obs[:-1]).any(axis=axes)
    ended = data.ends[:-1]
    checked = ended if data.broken_off is None else np.zeros_like(ended)  # who says that knows how episodes end
    broken = np.flatnonzero(~ended & ~follows)
    if broken.size:
        row = int(broken[0])
        fix = f"it is not obs[{row + 1}], and the episode goes on; mark its last row terminated or truncated"
        raise ConfigError(f"dataset.next_obs[{row}]", "another observation", fix)
    if checked.any() and follows[checked].all() and differs.any():
        row = int(np.flatnonzero(checked)[0])
        fix = f"after every episode's end it is obs[{row + 1}], that after the reset; give what the last step led to"
        raise ConfigError(f"dataset.next_obs[{row}]", "the next episode's first observation", fix)


def _moments(space: Space, obs: Any) -> Any:
    if isinstance(space, Dict):
        return {name: _moments(part, obs[name]) for name, part in sorted(space.spaces.items())}
    if isinstance(space, Box) and space.dtype.kind == "f":
        return obs.mean(axis=0, dtype=np.float64), obs.var(axis=0, dtype=np.float64)
    return None
