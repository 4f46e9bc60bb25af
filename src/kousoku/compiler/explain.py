"""Tells what became of a function: operations, registers and memory, times, and the code itself on request."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .backends import backend
from .codegen import array_emitter, emitter
from .cost import Decision, weigh, weigh_arrays
from .fallback import reason_of
from .ir import Graph, Interface
from .llvm.compile import assembly_code, object_code, optimised_code
from .llvm.target import Target


@dataclass(frozen=True)
class Explanation:
    """The account of how a function of one lane is compiled; printed, a summary.

    Attributes:
        name: of the function.
        lanes: lanes in a gang, whose numbers lie side by side in vectors.
        target: the processor.
        fallback: why the function is plain JAX instead; None if it is compiled.
        decision: whether a kernel is estimated to be faster than XLA; it is compiled all the same.
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
        rows = {
            "decision": self.decision.reason,
            "target": f"{self.target.cpu}, vectors of {self.target.bits} bits, {self.lanes} lanes in a gang",
            "operations": f"{sum(self.operations.values())}: " + ", ".join(f"{name} {n}" for name, n in counts),
            "arrays": f"{places}; {self.buffer_bytes} bytes a gang",
            "code": f"{self.code_bytes} bytes; " + ", ".join(f"{n} {kind}" for kind, n in self.traffic.items()),
            "seconds": ", ".join(f"{stage} {spent:.3f}" for stage, spent in self.seconds.items()),
        }
        width = max(map(len, rows))
        return "\n".join([f"{self.name}: one kernel", *(f"  {row:<{width}}  {text}" for row, text in rows.items())])


def explain(traced: Any, traced_seconds: float, lanes: int) -> Explanation:
    """Compiles a traced function anew, for `lanes` lanes that all have their own inputs."""
    compiler = backend()
    target = compiler.target()
    gang = 1 if traced.arrays else compiler.gang_size(lanes, target)
    clock = _Clock()
    try:
        graph, interface = traced.graph, traced.summary.interface
        read = clock.lap()
        assembly = compiler.emit_module(graph, gang, (True,) * len(graph.inputs), target, traced.arrays)
        emitted = clock.lap()
        code = object_code(assembly.text, target)
        seconds = {"trace": traced_seconds, "read": read, "emit": emitted, "llvm": clock.lap()}
    except Exception as error:
        decision = _decision(traced, lanes, None)
        spent = {"trace": traced_seconds}
        return Explanation(traced.name, gang, target, reason_of(error), decision, {}, 0, 0, 0, 0, 0, spent, "")
    sizes = [v.size for v in _variables(graph)]
    small = sum(size <= (array_emitter.UNROLL if traced.arrays else emitter.UNROLL) for size in sizes)
    return Explanation(
        name=traced.name,
        lanes=target.lanes if traced.arrays else gang,
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


def _decision(traced: Any, lanes: int, interface: Interface | None) -> Decision:
    """Decides as `decide` does; without an interface where the function cannot be read."""
    if traced.arrays:
        return weigh_arrays(traced.jaxpr)
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
