"""Describes the processor that kernels are compiled for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

FULL_EFFORT, LEAST_EFFORT = 2, 1
"""LLVM's levels of optimisation: for code that runs for long, and for code that runs for a moment.

At 0 LLVM contracts products and sums of vectors but not of single numbers: an agent's bits would depend on how many are
trained beside it.
"""
EFFORT = FULL_EFFORT
"""The level of this process's kernels."""


@dataclass(frozen=True)
class Target:
    """A processor.

    Attributes:
        triple: LLVM's name of architecture, vendor and system.
        cpu: LLVM's name of the model.
        features: its instruction set extensions, as LLVM spells them.
        lanes: float32 numbers that a gang of lanes should have.
        bits: of a vector register.
        effort: LLVM's level of optimisation. The least one compiles kernels in less than half of the time; they are
            slower.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    bits: int
    effort: int = FULL_EFFORT

    def attributes(self) -> str:
        """Returns function attributes.

        On x86 the stack is aligned to whole vectors. LLVM knows only when it is too late that it has to put vectors
        there, and every access would reach over the end of a cache line.
        """
        found = 'nounwind "no-trapping-math"="true"'
        if "86" not in self.triple:
            return found
        width = f'"prefer-vector-width"="{self.bits}" "min-legal-vector-width"="{self.bits}"'
        return f'{found} "frame-pointer"="all" "stackrealign" {width}'

    @property
    def rare_convention(self) -> str:
        """How to call what hardly ever runs: sparing all registers, so that a kernel's vectors survive it.

        LLVM 22 fails on it for AArch64.
        """
        return "preserve_allcc" if self.triple.startswith("x86_64") else "ccc"

    def machine(self) -> llvm.TargetMachine:
        """Makes LLVM's code generator for it."""
        target = llvm.Target.from_triple(self.triple)
        code_model = "large" if "windows" in self.triple else "default"  # see `LoadedCode`
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=self.effort, reloc="pic", codemodel=code_model
        )


@cache
def prepare() -> None:
    """Starts LLVM, once in a process."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


def host() -> Target:
    """Returns this machine's processor, with this process's effort."""
    return _host(EFFORT)


@cache
def _host(effort: int) -> Target:
    prepare()
    features = llvm.get_host_cpu_features()
    triple = llvm.get_process_triple()
    if features.get("avx512f") and features.get("avx512vl") and features.get("avx512dq") and features.get("avx512bw"):
        bits = 512
    elif features.get("avx2"):
        bits = 256
    else:
        bits = 128
    return Target(triple, llvm.get_host_cpu_name(), features.flatten(), bits // 32 if bits > 128 else 8, bits, effort)
