"""Steps and resets of slots by kernels that the host calls: those of few slots are over before XLA has begun one."""

from __future__ import annotations

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
        self._kernel, self._turn, self._long = kernel, 0, 0
        self._results_tree = kernel.tree.children()[1]
        self._fixed = [np.array(array) for array in (*kernel.consts, *arrays)]
        self._states = [_empty(kernel.made[:slots]), _empty(kernel.made[:slots])]
        self._rest = _empty(kernel.given[len(self._fixed) + slots :])
        self._homes, self._copies = kernel.plan
        self._kept = sum(home < slots for home in self._homes)
        self._given = [[*self._fixed, *state, *self._rest] for state in self._states]
        self._inputs = [np.array([*map(address, given)], np.int64)[list(kernel.inputs)] for given in self._given]
        self._outputs = [np.zeros(len(self._homes), np.int64) for _ in self._states]
        for outputs, other in zip(self._outputs, reversed(self._states), strict=True):
            outputs[: self._kept] = [address(other[home]) for home in self._homes[: self._kept]]
        self._made = kernel.made[slots:]
        self._told = [home - slots for home in self._homes[self._kept :]]
        self._lists = [(i.ctypes.data, o.ctypes.data) for i, o in zip(self._inputs, self._outputs, strict=True)]

    def takes(self, slots: Sequence[Any]) -> bool:
        """Returns whether slots are of the dtypes that a call leaves them in."""
        own = self._states[self._turn]
        return slots is own or [leaf.dtype for leaf in slots] == [leaf.dtype for leaf in own]

    def __call__(self, slots: Sequence[Any], rest: Any) -> tuple[list[np.ndarray], Any]:
        """Calls the kernel; returns the slots, which the next call but one overwrites, and the results.

        Args:
            slots: leaves of their state: what the last call returned, or others.
            rest: what else the kernel takes, as it was made for.
        """
        turn = self._turn
        state, after = self._states[turn], self._states[1 - turn]
        if slots is not state:
            _copy(slots, state)
        _copy(jax.tree.leaves(rest), self._rest)
        results = _empty(self._made)
        self._outputs[turn][self._kept :] = [address(results[number]) for number in self._told]
        self._call(*self._lists[turn])
        for result, is_input, source in self._copies:
            made = [*after, *results]
            made[result][...] = self._given[turn][source] if is_input else made[source]
        self._turn = 1 - turn
        return after, self._results_tree.unflatten(results)

    def _call(self, inputs: int, outputs: int) -> None:
        """Calls the kernel; where XLA had several threads for it, looks how long this one is busy.

        To ask that takes half a microsecond: only after a call that has taken long by the clock is it asked.
        """
        clock = time.thread_time_ns if self._long else time.perf_counter_ns
        began = clock()
        self._kernel.call(inputs, outputs, self._kernel.lanes)
        self._long = self._long + 1 if clock() - began > LONG_CALL and self._kernel.is_divisible else 0
        self.pays = self._long < LONG_CALLS


def _empty(kinds: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """Returns new arrays of these shapes and dtypes, to be written to."""
    return [np.empty(shape, dtype) for shape, dtype in kinds]


def _copy(arrays: Sequence[Any], to: Sequence[np.ndarray]) -> None:
    """Copies arrays into others of the same dtypes."""
    for place, array in zip(to, arrays, strict=True):
        np.copyto(place, array, casting="equiv")
