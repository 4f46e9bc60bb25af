"""Kernels that the host calls, past XLA: a call takes some microseconds instead of some dozens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .backends import backend
from .config import kernels_are_on
from .frontend.keys import physical
from .ir import Origin
from .runtime.kernels import CompiledKernel, compiled
from .tracing.traced import Traced


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


def host_may_call() -> bool:
    """Returns whether kernels are on, and nothing that looks into JAX's programs is, such as its NaN checks."""
    return kernels_are_on() and not jax.config.jax_disable_jit  # pyright: ignore[reportAttributeAccessIssue]


def host_kernel(
    traced: Traced, tree: Any, consts: Sequence[Any], batched: Sequence[bool], lanes: int
) -> HostKernel | None:
    """Returns a function's kernel for the host; None where the host cannot call it, or has arrays in another form.

    Keys are words in a kernel, and halves are floats of 32 bits: programs of XLA's turn them on the way.

    Args:
        traced: the function, of one lane.
        tree: how its results lie.
        consts: the first of its inputs, that it holds.
        batched: which of the others have an axis of lanes, the first.
        lanes: how many.

    Raises:
        Unsupported: if the compiler has no rule for something in it.
    """
    along = (*(False for _ in consts), *batched)
    kinds = [(yes, aval, physical(aval)) for yes, aval in zip(along, traced.in_avals, strict=True)]
    kinds += [(True, aval, physical(aval)) for aval in traced.out_avals]
    interface = traced.summary.interface
    if interface.made == 0 or any(aval.dtype != dtype for _, aval, (_, dtype) in kinds):
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
