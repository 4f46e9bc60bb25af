"""Declares what a back end has to offer, so that nothing outside of it asks which platform it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..ir import Graph
from ..llvm.target import Target

InPlace = tuple[tuple[int, int], ...]
"""Pairs of an input and a result of a kernel, by number, that lie in one place."""


@dataclass(frozen=True)
class KernelModule:
    """The LLVM IR that defines one kernel.

    Attributes:
        text: LLVM IR of a module that defines it.
        lanes: lanes in a gang.
        memory: bytes of buffers for one gang.
    """

    text: str
    lanes: int
    memory: int


@runtime_checkable
class KernelRegistry(Protocol):
    """The registry that tells XLA's programs of a platform where each kernel's code is. Records are its own."""

    def add(self, number: int, gang: int, grain: int, serial: int, batched: bool, devices: int) -> Any:
        """Makes a kernel known, before it has its code: programs may hold it, and calls of it wait.

        Args:
            number: what programs call it by, from 1 to 2**63 - 1.
            gang: lanes in a gang.
            grain: lanes in the smallest piece of work for a thread.
            serial: the most lanes that one thread does by itself.
            batched: whether there is an axis of lanes.
            devices: how many meet in it; 0 where each is by itself.

        Returns:
            The kernel's record.
        """
        ...

    def load(self, record: Any, code: bytes) -> object:
        """Gives a kernel its machine code, which calls wait for; returns what keeps the code in memory."""
        ...

    def memory(self, code: Any) -> int:
        """Returns the bytes of a kernel's buffers for one gang, from what `load` returned."""
        ...

    def host_call(self, record: Any) -> Callable[[int, int, int], None] | None:
        """Returns what calls a kernel that has its code from the host, past XLA, with all that XLA would see to.

        It takes the addresses of lists of addresses, of inputs and of outputs, and the number of lanes; it lets other
        threads of Python's run, and returns when all is done. None where the host has no way to call it.
        """
        ...

    def give_up(self, record: Any) -> None:
        """Says that there will be no code: calls of the kernel fail."""
        ...

    def remove(self, record: Any, code: list[Any]) -> None:
        """Forgets a kernel and frees its code, as soon as no program holds it.

        Args:
            record: what `add` returned.
            code: what `load` returned; empty where it was not called.
        """
        ...


@dataclass(frozen=True)
class Backend:
    """The way in which kernels are compiled for a platform and called there.

    Attributes:
        platform: JAX's name of it.
        target: returns the processor that kernels are compiled for.
        gang_size: (number of lanes, processor) -> lanes in a gang.
        emit_module: (graph, lanes in a gang, which inputs have an axis of lanes, processor, whether vectors lie along
            arrays, what lies in one place) -> LLVM IR with the entry code that the registry calls.
            What is too large for a stack is its affair too.
        registry: returns the process's one registry, known to XLA from the first call on.
        call_target: the name of XLA's custom call, whose attribute `kernel` is a kernel's number. One in which devices
            meet has an input more than its graph, the device's number.
    """

    platform: str
    target: Callable[[], Target]
    gang_size: Callable[[int, Target], int]
    emit_module: Callable[[Graph, int, Sequence[bool], Target, bool, InPlace], KernelModule]
    registry: Callable[[], KernelRegistry]
    call_target: str


@dataclass(frozen=True)
class Platform:
    """The facts that programs should know of the platform that JAX runs on.

    Attributes:
        name: JAX's name of it.
        backend: what compiles kernels for it; None where functions are plain JAX.
        cache_bound: whether an operation on more numbers than fit a core's cache is slower for each of them, so that
            a program of many agents had better advance a few at a time.
        startup_options: `compiler_options` of `jax.jit` for a program that runs once, where optimising it takes longer
            than it saves; None for XLA's own.
        divides_cores: whether JAX may make several devices of one processor, one for each core, before it starts.
        joins_slowly: whether XLA's concatenations had better be copies of one part after the other.
        problems: returns what users of this JAX on it should know, a sentence or two each.
    """

    name: str
    backend: Backend | None = None
    cache_bound: bool = False
    startup_options: dict[str, Any] | None = None
    divides_cores: bool = False
    joins_slowly: bool = False
    problems: Callable[[], list[str]] = list
