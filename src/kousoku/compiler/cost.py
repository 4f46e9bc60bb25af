"""Estimates whether a function is worth one SIMD kernel, from its jaxpr alone.

A kernel wins nearly everywhere: no operation of it has an overhead, and lanes fill vectors. It loses where products of
matrices that each lane has of its own take the time: XLA computes them in blocks that fit registers, a kernel one
element of all lanes after the other; and where much memory of each lane has to be brought in and out of every call.

The constants are nanoseconds, measured by tools/kernel_cost.py on two cores of an x86 server with gangs of 8 lanes and
JAX 0.10: in products of matrices of up to [32, 32] a multiply-add of a gang takes 1.1 to 2.3 ns, and with matrices of
[64, 64], which do not fit a core's first caches for a gang, 10 to 17 ns; XLA takes 0.08 to 0.16 ns for each lane. Other
operations take 1.2 to 3 ns an element of a gang; with XLA 0.3 to 2 ns an element of a lane and 90 ns an operation
of a loop, however small. Arrays that come in or go out, which are transposed in registers, cost 0.18 ns an element of
processor time with gangs of 16 lanes, and 0.4 ns where a gang's do not fit the first caches. A DQN with two layers of
64 in its own state, estimated 3 to 4 times faster with XLA, was measured to be so by 11 on 2 lanes, 4.9 on 16 and 1.5
on 64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from .backends import backend
from .frontend.jaxprs import called, opened
from .ir import Interface

LANES = 128
"""Lanes that are assumed where their number is not known."""
STEPS = 1024
"""Iterations that are assumed of a loop that ends by what it computes."""
IN_REGISTERS = 32
"""Elements up to which an array comes in and goes out in registers."""
CACHE_BYTES = 64 << 10
"""Of a gang's matrix, beyond which its elements come from slower memory: one of [64, 64] for 8 lanes is."""

KERNEL_MULTIPLY_ADD, KERNEL_MULTIPLY_ADD_IN_MEMORY, KERNEL_ELEMENT, KERNEL_COPY = 1.4, 13.0, 2.0, 0.4
XLA_MULTIPLY_ADD, XLA_ELEMENT, XLA_OPERATION = 0.12, 0.6, 90.0
BUSY_CORES = 2
SHARED_MULTIPLY_ADDS = 4_000_000
"""Of a product of matrices that XLA computes faster, in several threads, than a kernel does in one."""
MARGIN = 2.0
"""How many times faster XLA has to be by the estimate, which may err by as much."""
MOVES = frozenset({"reshape", "squeeze", "broadcast_in_dim", "convert_element_type", "copy", "copy_p", "expand_dims"})


@dataclass(frozen=True)
class Decision:
    """The answer to whether a function is worth one kernel.

    Attributes:
        take: whether it is.
        reason: why, in words.
    """

    take: bool
    reason: str


@dataclass(frozen=True)
class Work:
    """The operations of one lane in one call, counted; loops and what they hold are multiplied out.

    Attributes:
        products: multiply-adds of products of matrices, by the elements of the larger matrix.
        elements: results of all other operations.
        operations: how many operations run, however large.
        moved: elements of large arrays that come in or go out.
        passed_on: elements of large arrays that kernels within take or make, where XLA's program calls these.
    """

    products: tuple[tuple[int, float], ...] = ()
    elements: float = 0.0
    operations: float = 0.0
    moved: float = 0.0
    passed_on: float = 0.0

    @property
    def multiply_adds(self) -> float:
        """The multiply-adds of all products of matrices."""
        return sum(count for _, count in self.products)

    def kernel_ns(self, lanes: int) -> float:
        """Estimates the nanoseconds of a call as one kernel."""
        compiler = backend()
        gang = compiler.gang_size(lanes, compiler.target())
        in_memory = sum(count for size, count in self.products if size * gang * 4 > CACHE_BYTES)
        each = KERNEL_MULTIPLY_ADD * (self.multiply_adds - in_memory) + KERNEL_MULTIPLY_ADD_IN_MEMORY * in_memory
        each += KERNEL_ELEMENT * self.elements
        return max(1.0, lanes / gang / BUSY_CORES) * each + KERNEL_COPY * lanes * self.moved

    def xla_ns(self, lanes: int) -> float:
        """Estimates the nanoseconds of a call as XLA's program over all lanes."""
        each = XLA_MULTIPLY_ADD * self.multiply_adds + XLA_ELEMENT * self.elements
        return lanes * (each + KERNEL_COPY * self.passed_on) + XLA_OPERATION * self.operations


def weigh(
    closed: Any,
    lanes: int | None = None,
    varying: Sequence[bool] | None = None,
    interface: Interface | None = None,
) -> Decision:
    """Decides by estimates of both times.

    Args:
        closed: the jaxpr of one lane.
        lanes: how many there will be; `LANES` where that is not known.
        varying: which inputs have an axis of lanes; None for all. Those that all lanes share are read where they lie.
        interface: what of the inputs and results its kernel has; None for all.
    """
    return _compared(work_of(closed, varying, interface), lanes)


def weigh_work(closed: Any, lanes: int | None = None) -> Decision:
    """Decides as `weigh`, as if no array came into the kernel or went out of it: what it says no to is not worth one.

    That is known of a jaxpr alone; what comes in and goes out only of the kernel's whole code.
    """
    return _compared(replace(work_of(closed), moved=0.0), lanes)


def _compared(work: Work, lanes: int | None) -> Decision:
    """Decides by estimates of both times."""
    count = LANES if lanes is None else lanes
    kernel, xla = work.kernel_ns(count), work.xla_ns(count)
    assumed = f"{count} lanes" + (" (assumed)" if lanes is None else "")
    if not xla:
        return Decision(True, "there is nothing to compute")
    if kernel <= MARGIN * xla:
        return Decision(True, f"one kernel, which is estimated to take {kernel / xla:.0%} of XLA's time on {assumed}")
    return Decision(
        False, f"XLA is estimated to be {kernel / xla:.1f} times faster on {assumed}: {_culprit(work, count)}"
    )


def weigh_arrays(closed: Any, alone: bool) -> Decision:
    """Decides whether a function of one lane should be a kernel with vectors along its arrays, in one thread.

    Where it runs alone, for a single lane on a single device, XLA's threads share the work of large products of
    matrices. Of SAC with 256 samples, a kernel made 1.35 times as many updates as XLA on two cores with two layers of
    64, and 0.8 times as many with two layers of 256.
    """
    operations = _operations(opened(closed), 1.0) if alone else ()
    largest = max((_multiply_adds(eqn) for eqn, _ in operations), default=0)
    if largest < SHARED_MULTIPLY_ADDS:
        return Decision(True, "one kernel, with vectors along arrays")
    return Decision(False, f"XLA's threads share a product of matrices of {largest:,} multiply-adds")


def _culprit(work: Work, lanes: int) -> str:
    """Says what takes a kernel's time."""
    without_products = replace(work, products=()).kernel_ns(lanes)
    if work.kernel_ns(lanes) - without_products >= KERNEL_COPY * lanes * work.moved:
        ratio = work.multiply_adds / max(1.0, work.elements)
        return f"products of matrices have {ratio:.1f} multiply-adds for each element of all else"
    return f"{work.moved:,.0f} elements of large arrays come in and go out of each call"


def work_of(closed: Any, varying: Sequence[bool] | None = None, interface: Interface | None = None) -> Work:
    """Counts the work of a closed jaxpr, those within included; arguments as of `weigh`."""
    jaxpr = opened(closed)
    products: dict[int, float] = {}
    elements = operations = passed_on = 0.0
    for eqn, times in _operations(jaxpr, 1.0):
        multiply_adds = _multiply_adds(eqn)
        if eqn.primitive.name == "kousoku_kernel":
            passed_on += times * _large([*eqn.invars, *eqn.outvars])
            operations += times
        elif multiply_adds:
            larger = max(_size(v.aval) for v in eqn.invars)
            products[larger] = products.get(larger, 0.0) + times * multiply_adds
        elif eqn.primitive.name not in MOVES:
            elements += times * _elements(eqn)
            operations += times
    return Work(tuple(products.items()), elements, operations, _large(_ends(jaxpr, varying, interface)), passed_on)


def _large(variables: Sequence[Any]) -> float:
    """Returns how many elements large arrays have in all."""
    return float(sum(size for v in variables if (size := _size(v.aval)) > IN_REGISTERS))


def _ends(jaxpr: Any, varying: Sequence[bool] | None, interface: Interface | None) -> list[Any]:
    """Returns the arrays that come into the kernel and go out of it, for each lane."""
    own = varying or [True] * len(jaxpr.invars)
    if interface is None:
        return [*compress(jaxpr.invars, own), *jaxpr.outvars]
    made = {o.number: v for v, o in zip(jaxpr.outvars, interface.results, strict=True) if not o.is_input}
    return [*(jaxpr.invars[i] for i in interface.inputs if own[i]), *made.values()]


def _operations(jaxpr: Any, times: float) -> Iterator[tuple[Any, float]]:
    """Yields the operations that are no calls, and how often each runs; of a `cond` all branches, as over lanes.

    A kernel over lanes is one of them, for it is one in XLA's program, too: what is in it takes as long in either.
    """
    for eqn in jaxpr.eqns:
        name, params = eqn.primitive.name, eqn.params
        call = called(eqn, eqn.invars)
        if call is not None:
            yield from _operations(opened(call[0]), times)
        elif name == "cond":
            for branch in params["branches"]:
                yield from _operations(opened(branch), times)
        elif name == "while":
            yield from _operations(opened(params["cond_jaxpr"]), times * STEPS)
            yield from _operations(opened(params["body_jaxpr"]), times * STEPS)
        elif name == "scan":
            yield from _operations(opened(params["jaxpr"]), times * params["length"])
        elif name == "kousoku_kernel" and params["kernel"].arrays:
            inside = params["kernel"].batched_jaxpr(params["lanes"], params["batched"])
            yield from _operations(opened(inside), times)
        else:
            yield eqn, times


def _size(aval: Any) -> int:
    shape = getattr(aval, "shape", ())
    return math.prod(shape)


def _elements(eqn: Any) -> int:
    """Returns how many elements an operation works on: what it makes, or reads in reducing, or writes into an array."""
    name = eqn.primitive.name
    if name.startswith("scatter"):
        return _size(eqn.invars[2].aval)
    if name == "dynamic_update_slice":
        return _size(eqn.invars[1].aval)
    read = eqn.invars if name.startswith(("reduce", "arg", "sort", "cum")) else []
    return max(sum(_size(v.aval) for v in vs) for vs in (eqn.outvars, read))


def _multiply_adds(eqn: Any) -> int:
    """Returns the multiply-adds of a product of matrices or a convolution; 0 for anything else."""
    rule: Callable[[Any], int] | None = PRODUCTS.get(eqn.primitive.name)
    return 0 if rule is None else rule(eqn)


def _dot_multiply_adds(eqn: Any) -> int:
    (summed, _), _ = eqn.params["dimension_numbers"]
    return _size(eqn.outvars[0].aval) * math.prod(eqn.invars[0].aval.shape[axis] for axis in summed)


def _convolution_multiply_adds(eqn: Any) -> int:
    kernel, numbers = eqn.invars[1].aval, eqn.params["dimension_numbers"]
    window = math.prod(kernel.shape[axis] for axis in numbers.rhs_spec[1:])
    return _size(eqn.outvars[0].aval) * window


PRODUCTS: dict[str, Callable[[Any], int]] = {
    "dot_general": _dot_multiply_adds,
    "conv_general_dilated": _convolution_multiply_adds,
}
