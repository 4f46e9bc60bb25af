"""Steps and resets of slots by kernels that the host calls: those of few slots are over before XLA has begun one."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ...compiler import HostKernel

LINE = 64
"""Bytes of a cache line."""
THREADS_PAY = 120_000
"""Nanoseconds of a call from which on XLA's threads, which take 50 us to wake, are faster."""
LONG_CALLS = 3
"""Such calls in a row, after which it is left to them."""

Kind = tuple[tuple[int, ...], np.dtype]


class ArrayBlock:
    """The layout of arrays that lie in one piece of memory, each at the beginning of a cache line.

    Args:
        kinds: their shapes and dtypes.
    """

    def __init__(self, kinds: Sequence[Kind]) -> None:
        sizes = [-(-int(np.prod(shape, dtype=np.int64)) * dtype.itemsize // LINE) * LINE for shape, dtype in kinds]
        self._kinds = [(*kind, at) for kind, at in zip(kinds, itertools.accumulate([0, *sizes]), strict=False)]
        self._bytes = sum(sizes) + LINE
        self.offsets = np.array([at for *_, at in self._kinds], np.int64)

    def new(self) -> tuple[int, list[np.ndarray]]:
        """Returns the address of a new piece of memory, and the arrays in it, whose numbers are any."""
        memory = np.empty(self._bytes, np.uint8)
        first = memory.__array_interface__["data"][0]
        shift = -first % LINE
        return first + shift, [np.ndarray(shape, dtype, memory, shift + at) for shape, dtype, at in self._kinds]


class DirectCall:
    """A step or a reset of all slots. Their state is in one of two blocks in turn, and each call writes to the other.

    Everything that a call tells is in memory of its own, which the caller may keep and write to.

    Args:
        kernel: what is called: (the environment's arrays, slots, the rest) -> (slots, what is told).
        arrays: leaves of the environment's.
        slots: how many leaves the slots have.

    Attributes:
        pays: whether calls are short enough; where not, XLA had better go on.
    """

    def __init__(self, kernel: HostKernel, arrays: Sequence[Any], slots: int) -> None:
        self.pays = True
        self._kernel, self._turn, self._long = kernel, 0, 0
        self._told_tree = kernel.tree.children()[1]
        fixed = [*kernel.consts, *arrays]
        at, self._fixed = ArrayBlock(kernel.given[: len(fixed)]).new()
        for place, array in zip(self._fixed, fixed, strict=True):
            np.copyto(place, np.asarray(array))
        addresses = [place.__array_interface__["data"][0] for place in self._fixed]
        states = ArrayBlock(kernel.made[:slots])
        both = [states.new(), states.new()]
        self._states = [views for _, views in both]
        rest = ArrayBlock(kernel.given[len(fixed) + slots :])
        at, self._rest = rest.new()
        self._told = ArrayBlock(kernel.made[slots:])
        self._plan_inputs(addresses, [base + states.offsets for base, _ in both], at + rest.offsets)
        self._plan_outputs(slots, [base + states.offsets for base, _ in both])

    def _plan_inputs(self, fixed: list[int], states: list[np.ndarray], rest: np.ndarray) -> None:
        """Lists for each turn the addresses that the kernel reads."""
        every = [[*fixed, *state.tolist(), *rest.tolist()] for state in states]
        self._inputs = [np.array([each[number] for number in self._kernel.inputs], np.int64) for each in every]
        self._inputs_at = [addresses.ctypes.data for addresses in self._inputs]

    def _plan_outputs(self, slots: int, states: list[np.ndarray]) -> None:
        """Lists where each output goes: to the first result that it is; it is copied from there to others.

        Outputs are numbered as results are, so that those that are told of, for which each call has new memory, come
        after all that belong to the slots.
        """
        homes: dict[int, int] = {}
        self._copies: list[tuple[int, bool, int]] = []
        for result, origin in enumerate(self._kernel.results):
            if origin.is_input:
                self._copies.append((result, True, origin.number))
            elif homes.setdefault(origin.number, result) != result:
                self._copies.append((result, False, homes[origin.number]))
        placed = [homes[number] for number in range(len(homes))]
        kept = [result for result in placed if result < slots]
        assert placed == sorted(placed)
        self._first_told = len(kept)
        self._offsets = self._told.offsets[[result - slots for result in placed[len(kept) :]]]
        self._outputs = [np.zeros(len(placed), np.int64) for _ in states]
        for addresses, other in zip(self._outputs, reversed(states), strict=True):
            addresses[: len(kept)] = other[kept]
        self._outputs_at = [addresses.ctypes.data for addresses in self._outputs]

    def __call__(self, slots: Sequence[Any], rest: Any) -> tuple[list[np.ndarray], Any]:
        """Calls the kernel; returns the slots, which the next call but one overwrites, and what is told.

        Args:
            slots: leaves of their state: what the last call returned, or others.
            rest: what else the kernel takes, as it was made for.
        """
        turn, state = self._turn, self._states[self._turn]
        if slots is not state:
            for place, leaf in zip(state, slots, strict=True):
                np.copyto(place, np.asarray(leaf))
        for place, leaf in zip(self._rest, jax.tree.leaves(rest), strict=True):
            np.copyto(place, leaf)
        address, told = self._told.new()
        np.add(self._offsets, address, out=self._outputs[turn][self._first_told :])
        self._call_and_watch(turn)
        after = self._states[1 - turn]
        if self._copies:
            given, made = [*self._fixed, *state, *self._rest], [*after, *told]
            for result, is_input, source in self._copies:
                np.copyto(made[result], given[source] if is_input else made[source])
        self._turn = 1 - turn
        return after, self._told_tree.unflatten(told)

    def _call_and_watch(self, turn: int) -> None:
        """Calls the kernel and looks how long that takes."""
        began = time.perf_counter_ns()
        self._kernel.call(self._inputs_at[turn], self._outputs_at[turn], self._kernel.lanes)
        self._long = self._long + 1 if time.perf_counter_ns() - began > THREADS_PAY else 0
        self.pays = self._long < LONG_CALLS
