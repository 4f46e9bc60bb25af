"""Steps and resets of slots by kernels that the host calls: those of few slots are over before XLA has begun one."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ...compiler import HostKernel, address

LONG_CALL = 120_000
"""Nanoseconds of a call from which on XLA's threads, which have to be woken, are faster."""
LONG_CALLS = 3
"""Such calls in a row, after which it is left to them."""
FEW_BYTES = 1 << 16
"""Bytes of results up to which to copy them takes less time than to tell the kernel where new arrays lie.

A step of 64 and of 2,048 CartPoles takes 1.5 and 0.9 µs less so; one of 4,096, with 94,208 bytes, takes as long.
"""


class DirectCall:
    """A step or a reset of all slots.

    Their state is in one of two sets of arrays in turn, and each call writes to the other. What a call tells is in
    arrays of its own, which the caller may keep and write to.

    Args:
        kernel: what is called: (the environment's arrays, slots, the rest) -> (slots, results).
        arrays: leaves of the environment's.
        slots: how many leaves the slots have.

    Attributes:
        pays: whether calls are short enough; where not, XLA had better go on.
    """

    def __init__(self, kernel: HostKernel, arrays: Sequence[Any], slots: int) -> None:
        self.pays = True
        self._kernel, self._long = kernel, 0
        self._results_tree = kernel.tree.children()[1]
        fixed = [np.array(array) for array in (*kernel.consts, *arrays)]
        self._rest = _empty(kernel.given[len(fixed) + slots :])
        state, after = _empty(kernel.made[:slots]), _empty(kernel.made[:slots])
        self._turn = _Turn(kernel, [*fixed, *state, *self._rest], state, after)
        self._next = _Turn(kernel, [*fixed, *after, *self._rest], after, state)

    def takes(self, slots: Sequence[Any]) -> bool:
        """Returns whether slots are of the dtypes that a call leaves them in."""
        own = self._turn.state
        return slots is own or [leaf.dtype for leaf in slots] == [leaf.dtype for leaf in own]

    def __call__(self, slots: Sequence[Any], rest: Any) -> tuple[list[np.ndarray], Any]:
        """Calls the kernel; returns the slots, which the next call but one overwrites, and the results.

        Args:
            slots: leaves of their state: what the last call returned, or others.
            rest: what else the kernel takes, as it was made for.
        """
        turn = self._turn
        if slots is not turn.state:
            _copy(slots, turn.state)
        as_it_is = len(rest) == len(self._rest) and not isinstance(rest[0], dict)
        _copy(rest if as_it_is else jax.tree.leaves(rest), self._rest)
        turn.prepare()
        self._call(turn.inputs, turn.outputs)
        self._turn, self._next = self._next, turn
        return turn.after, self._results_tree.unflatten(turn.results())

    def _call(self, inputs: int, outputs: int) -> None:
        """Calls the kernel; where XLA had several threads for it, looks how long this one is busy.

        To ask that takes half a microsecond: only after a call that has taken long by the clock is it asked.
        """
        clock = time.thread_time_ns if self._long else time.perf_counter_ns
        began = clock()
        self._kernel.call(inputs, outputs, self._kernel.lanes)
        self._long = self._long + 1 if clock() - began > LONG_CALL and self._kernel.is_divisible else 0
        self.pays = self._long < LONG_CALLS


class _Turn:
    """The calls from one set of the slots' arrays to the other: where the kernel reads and writes.

    Few results lie at the same places at each call, and copies of them are given away; many lie in new arrays.

    Args:
        kernel: what is called.
        given: all that it reads.
        state, after: the slots' arrays, of which it writes to the second ones.

    Attributes:
        inputs, outputs: addresses of the lists of addresses that it takes.
    """

    def __init__(
        self, kernel: HostKernel, given: list[np.ndarray], state: list[np.ndarray], after: list[np.ndarray]
    ) -> None:
        self.state, self.after = state, after
        self._given, self._kinds = given, kernel.made[len(after) :]
        self._homes, self._copies = kernel.plan
        self._kept = sum(home < len(after) for home in self._homes)
        self._inputs = np.array([address(given[number]) for number in kernel.inputs], np.int64)
        self._outputs = np.zeros(len(self._homes), np.int64)
        self.inputs, self.outputs = self._inputs.ctypes.data, self._outputs.ctypes.data
        self._outputs[: self._kept] = [address(after[home]) for home in self._homes[: self._kept]]
        self._few = sum(math.prod(shape) * dtype.itemsize for shape, dtype in self._kinds) <= FEW_BYTES
        self._made = self._written_to()

    def prepare(self) -> None:
        """Tells the kernel where to write many results."""
        if not self._few:
            self._made = self._written_to()

    def _written_to(self) -> list[np.ndarray]:
        """Returns all that the kernel makes, with new arrays for its results, and tells it where they lie."""
        made = [*self.after, *_empty(self._kinds)]
        self._outputs[self._kept :] = [address(made[home]) for home in self._homes[self._kept :]]
        return made

    def results(self) -> list[np.ndarray]:
        """Returns what a call has told, in arrays of the caller's; the slots' that are others' copies are filled."""
        made = self._made
        for result, is_input, source in self._copies:
            made[result][...] = self._given[source] if is_input else made[source]
        told = made[len(self.after) :]
        if self._few:
            return [array.copy() for array in told]
        self._made = []
        return told


def _empty(kinds: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """Returns new arrays of these shapes and dtypes, to be written to."""
    return [np.empty(shape, dtype) for shape, dtype in kinds]


def _copy(arrays: Sequence[Any], to: Sequence[np.ndarray]) -> None:
    """Copies arrays into others of the same dtypes."""
    for place, array in zip(to, arrays, strict=True):
        place[...] = array
