"""Kernels that the host calls, past XLA: a call takes some microseconds instead of some dozens."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from .backends import backend
from .config import kernels_are_on, on_by_default
from .frontend.keys import physical
from .ir import Origin
from .runtime.kernels import CompiledKernel, compiled
from .tracing.traced import Traced

LONGEST_CALL = 200_000
"""Nanoseconds of a call from which on XLA's program is faster; by the estimate, which is high for large layers."""


_ADDRESS, _BYTE = ctypes.addressof, ctypes.c_char.from_buffer


class OutputPlan(NamedTuple):
    """A plan of where a kernel's outputs go, each of which has one array, and of which results are copies.

    Attributes:
        homes: the result in whose place each output goes, the first that it is. They rise: outputs are numbered in the
            order of results (see `Interface`).
        copies: (result, whether it is something that was given, the number of that or of the result that it is).
    """

    homes: list[int]
    copies: list[tuple[int, bool, int]]


@dataclass(frozen=True)
class HostKernel:
    """A kernel that reads and writes arrays of the host's where they lie. One thread does all of its lanes.

    The same lanes have the same bits as in a program of XLA's.

    Attributes:
        lanes: how many.
        consts: arrays that its function holds, before its arguments: the first of what is given.
        given, made: the shapes and dtypes of all that is given, and of the function's results.
        is_divisible: whether there is more than one gang of lanes, so that threads could share them.
        inputs: numbers of what is given that the kernel reads, in its order.
        results: where each of the function's results comes from: from what is given, or from an output, by number.
        tree: how results lie.
        call: calls it: (address of the list of inputs' addresses, the same of outputs, lanes).
        code: what keeps its code.
    """

    lanes: int
    consts: list[np.ndarray]
    given: list[tuple[tuple[int, ...], np.dtype]]
    made: list[tuple[tuple[int, ...], np.dtype]]
    is_divisible: bool
    inputs: tuple[int, ...]
    results: tuple[Origin, ...]
    tree: Any
    call: Callable[[int, int, int], None]
    code: CompiledKernel

    @cached_property
    def plan(self) -> OutputPlan:
        """Where outputs go, and what is copied after a call."""
        homes: dict[int, int] = {}
        copies: list[tuple[int, bool, int]] = []
        for result, origin in enumerate(self.results):
            if origin.is_input:
                copies.append((result, True, origin.number))
            elif homes.setdefault(origin.number, result) != result:
                copies.append((result, False, homes[origin.number]))
        return OutputPlan([homes[number] for number in range(len(homes))], copies)


class HostFunction:
    """A kernel as a function of the host's: the first of what it takes stays as it is, the rest is given at each call.

    Several threads may call it at once.

    Args:
        kernel: what is called.
        fixed: the first leaves of what it takes.
    """

    def __init__(self, kernel: HostKernel, fixed: Sequence[Any]) -> None:
        self._kernel = kernel
        self._fixed = [np.ascontiguousarray(leaf) for leaf in (*kernel.consts, *fixed)]
        self._kinds = kernel.given[len(self._fixed) :]
        places = [*map(address, self._fixed), *(0 for _ in self._kinds)]
        self._inputs = np.array([places[number] for number in kernel.inputs], np.int64)
        read = enumerate(kernel.inputs)
        self._given = [(place, number - len(self._fixed)) for place, number in read if number >= len(self._fixed)]

    def __call__(self, given: Sequence[np.ndarray]) -> Any:
        """Returns the kernel's result, in new arrays; what is given has the shapes and dtypes that it was made for."""
        kernel, inputs = self._kernel, self._inputs.copy()
        given = [np.ascontiguousarray(leaf, dtype) for leaf, (_, dtype) in zip(given, self._kinds, strict=True)]
        for place, number in self._given:
            inputs[place] = address(given[number])
        made: list[np.ndarray] = [np.empty(shape, dtype) for shape, dtype in kernel.made]
        outputs = np.array([address(made[home]) for home in kernel.plan.homes], np.int64)
        kernel.call(address(inputs), address(outputs), kernel.lanes)
        for result, is_input, number in kernel.plan.copies:
            source = [*self._fixed, *given][number] if is_input else made[number]
            np.copyto(made[result], source)
        return kernel.tree.unflatten(made)


def address(array: np.ndarray) -> int:
    """Returns where an array lies; in a third of the time that NumPy takes to tell it, where it may be written to."""
    try:
        return _ADDRESS(_BYTE(array))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):  # it may not, or is empty, or lies in pieces
        return array.__array_interface__["data"][0]


def host_may_call(by_default: Callable[[], bool] = on_by_default) -> bool:
    """Returns whether kernels are on, and nothing that looks into JAX's programs is, such as its NaN checks.

    Args:
        by_default: as of `kernels_are_on`.
    """
    return kernels_are_on(by_default) and not jax.config.jax_disable_jit  # pyright: ignore[reportAttributeAccessIssue]


def host_kernel(
    traced: Traced, tree: Any, consts: Sequence[Any], batched: Sequence[bool], lanes: int, longest: int | None
) -> HostKernel | None:
    """Returns a function's kernel for the host; None where the host cannot call it, or has arrays in another form.

    Keys are words in a kernel, and halves are floats of 32 bits: programs of XLA's turn them on the way.

    Args:
        traced: the function, of one lane.
        tree: how its results lie.
        consts: the first of its inputs, that it holds.
        batched: which of the others have an axis of lanes, the first.
        lanes: how many.
        longest: nanoseconds of a call, by the estimate, from which on there is none; None for no limit.

    Raises:
        Unsupported: if the compiler has no rule for something in it.
    """
    along = (*(False for _ in consts), *batched)
    kinds = [(yes, aval, physical(aval)) for yes, aval in zip(along, traced.in_avals, strict=True)]
    kinds += [(True, aval, physical(aval)) for aval in traced.out_avals]
    interface = traced.summary.interface
    if interface.made == 0 or any(aval.dtype != dtype for _, aval, (_, dtype) in kinds):
        return None
    gangs = -(-lanes // backend().gang_size(lanes, backend().target()))
    if longest is not None and gangs * traced.summary.nanoseconds > longest:
        return None
    arrays = [((lanes, *shape) if yes else shape, dtype) for yes, _, (shape, dtype) in kinds]
    code = compiled(backend(), traced, lanes, along, True)
    call = code.host_call()
    if call is None:
        return None
    given, made = arrays[: len(along)], arrays[len(along) :]
    held = [np.asarray(const) for const in consts]
    inputs, results = interface.inputs, interface.results
    return HostKernel(lanes, held, given, made, lanes > code.lanes, inputs, results, tree, call, code)
