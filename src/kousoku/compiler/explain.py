"""Tells what became of a function: operations, registers and memory, times, and the code itself on request."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from .backends import backend
from .codegen import array_emitter, emitter
from .cost import Decision, weigh, weigh_arrays
from .fallback import reason_of, why_left_to_xla, why_not_here
from .ir import Graph, Interface
from .llvm.compile import assembly_code, object_code, optimised_code
from .llvm.target import Target
from .no_gc import no_gc
from .tracing.devices import is_traced_for_several_devices
from .tracing.traced import Traced


@dataclass(frozen=True)
class Explanation:
    """The account of how a function of one lane is compiled; printed, a summary.

    Attributes:
        name: of the function.
        lanes: lanes in a gang, whose numbers lie side by side in vectors.
        arrays: whether vectors lie along the arrays of one lane instead.
        target: the processor.
        fallback: why the function is plain JAX instead, here and now; None if it is compiled.
        decision: whether a kernel is estimated to be faster than XLA. Over lanes it is compiled all the same, along
            arrays it is not.
        operations: how many of each kind are left after simplifying, those inside loops and branches too.
        in_registers: arrays of so few elements that each is a number of its own.
        in_memory: larger arrays.
        passed: results that are inputs as they came, and go past the kernel.
        buffer_bytes: of a gang's arrays in memory.
        code_bytes: of machine code.
        seconds: of each stage: trace, read, emit, llvm.
        llvm_ir: what the compiler writes, as text.
    """

    name: str
    lanes: int
    arrays: bool
    target: Target
    fallback: str | None
    decision: Decision
    operations: dict[str, int]
    in_registers: int
    in_memory: int
    passed: int
    buffer_bytes: int
    code_bytes: int
    seconds: dict[str, float]
    llvm_ir: str

    @cached_property
    def optimised_ir(self) -> str:
        """What LLVM makes of the text."""
        return optimised_code(self.llvm_ir, self.target)

    @cached_property
    def assembly(self) -> str:
        """The machine's instructions."""
        return assembly_code(self.llvm_ir, self.target)

    @property
    def traffic(self) -> dict[str, int]:
        """The number of dear places in the code: reads and writes of scattered lanes, registers that ran out."""
        return {
            "gathers": len(re.findall(r"call .*@llvm\.masked\.gather", self.optimised_ir)),
            "scatters": len(re.findall(r"call .*@llvm\.masked\.scatter", self.optimised_ir)),
            "spills": self.assembly.count(" Spill"),
        }

    def __str__(self) -> str:
        if self.fallback is not None:
            return f"{self.name}: plain JAX, for {self.fallback}"
        counts = sorted(self.operations.items(), key=lambda item: (-item[1], item[0]))
        places = f"{self.in_registers} in registers, {self.in_memory} in memory, {self.passed} passed on as they came"
        along = "along arrays" if self.arrays else f"{self.lanes} lanes in a gang"
        rows = {
            "decision": self.decision.reason,
            "target": f"{self.target.cpu}, vectors of {self.target.bits} bits, {along}",
            "operations": f"{sum(self.operations.values())}: " + ", ".join(f"{name} {n}" for name, n in counts),
            "arrays": f"{places}; {self.buffer_bytes} bytes a gang",
            "code": f"{self.code_bytes} bytes; " + ", ".join(f"{n} {kind}" for kind, n in self.traffic.items()),
            "seconds": ", ".join(f"{stage} {spent:.3f}" for stage, spent in self.seconds.items()),
        }
        width = max(map(len, rows))
        return "\n".join([f"{self.name}: one kernel", *(f"  {row:<{width}}  {text}" for row, text in rows.items())])


def explain(traced: Traced, traced_seconds: float, lanes: int, why_not: str | None = None) -> Explanation:
    """Compiles a traced function anew, if it would be compiled here and now.

    Args:
        traced: the function.
        traced_seconds: that tracing it took.
        lanes: how many, that all have their own inputs.
        why_not: what keeps this function from being compiled, where its caller knows that; None for nothing.
    """
    spent, decision = {"trace": traced_seconds}, _decision(traced, lanes, None)
    not_compiled = partial(plain, traced.name, traced.arrays, lanes, decision=decision, seconds=spent)
    why_not = why_not or why_not_here()
    if why_not is not None:
        return not_compiled(why_not)
    compiler = backend()
    target = compiler.target()
    gang = 1 if traced.arrays else compiler.gang_size(lanes, target)
    clock = _Clock()
    try:
        why_not = why_left_to_xla(traced, lanes, is_traced_for_several_devices())
        if why_not is not None:
            return not_compiled(why_not)
        graph, interface = traced.graph, traced.summary.interface
        read = clock.lap()
        with no_gc():  # as where kernels are made: memory is used again when it is freed
            assembly = compiler.emit_module(graph, gang, (True,) * len(graph.inputs), target, traced.arrays, ())
        emitted = clock.lap()
        code = object_code(assembly.text, target)
        seconds = spent | {"read": read, "emit": emitted, "llvm": clock.lap()}
    except Exception as error:
        return not_compiled(reason_of(error))
    sizes = [v.size for v in _variables(graph)]
    small = sum(size <= (array_emitter.UNROLL if traced.arrays else emitter.UNROLL) for size in sizes)
    return Explanation(
        name=traced.name,
        lanes=gang,
        arrays=traced.arrays,
        target=target,
        fallback=None,
        decision=_decision(traced, lanes, interface),
        operations=dict(Counter(op.name for op in graph.walk())),
        in_registers=small,
        in_memory=len(sizes) - small,
        passed=sum(origin.is_input for origin in interface.results),
        buffer_bytes=assembly.memory,
        code_bytes=len(code),
        seconds=seconds,
        llvm_ir=assembly.text,
    )


def plain(
    name: str, arrays: bool, lanes: int, why: str, *, decision: Decision, seconds: Mapping[str, float]
) -> Explanation:
    """Returns the explanation of a function that is not compiled for `lanes` lanes; `why` as `Explanation.fallback`."""
    target = backend().target()
    gang = 1 if arrays else backend().gang_size(lanes, target)
    return Explanation(name, gang, arrays, target, why, decision, {}, 0, 0, 0, 0, 0, dict(seconds), "")


def _decision(traced: Traced, lanes: int, interface: Interface | None) -> Decision:
    """Decides as `decide` does, or along arrays; without an interface where the function cannot be read."""
    if traced.arrays:
        return weigh_arrays(traced.jaxpr, lanes == 1 and not is_traced_for_several_devices())
    return weigh(traced.jaxpr, lanes, interface=interface)


class _Clock:
    """A clock of the time since it was last asked."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def lap(self) -> float:
        """Returns the seconds since the last lap."""
        before, self.began = self.began, time.perf_counter()
        return self.began - before


def _variables(graph: Graph) -> list[Any]:
    return [*graph.inputs, *(v for op in graph.walk() for v in op.outputs)]
