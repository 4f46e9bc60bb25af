"""Calls kernels from the host, past XLA. As in XLA's threads, subnormal numbers are taken and made as zeros."""

from __future__ import annotations

import ctypes
from functools import cache

from ...llvm.build import build_own
from ...llvm.compile import LoadedCode
from ...llvm.target import Target, host

NAME = "kousoku_host_call"

X86 = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define void @{name}(ptr %function, ptr %inputs, ptr %outputs, i64 %count) nounwind {{
  %before.at = alloca i32
  %flushing.at = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %before.at)
  %before = load i32, ptr %before.at
  %flushing = or i32 %before, 32832
  store i32 %flushing, ptr %flushing.at
  call void @llvm.x86.sse.ldmxcsr(ptr %flushing.at)
  call void %function(ptr %inputs, ptr %outputs, i64 0, i64 %count)
  call void @llvm.x86.sse.ldmxcsr(ptr %before.at)
  ret void
}}
"""
"""Bits 15 and 6 of MXCSR: flush to zero, denormals are zeros."""

AARCH64 = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

define void @{name}(ptr %function, ptr %inputs, ptr %outputs, i64 %count) nounwind {{
  %before = call i64 @llvm.aarch64.get.fpcr()
  %flushing = or i64 %before, 16777216
  call void @llvm.aarch64.set.fpcr(i64 %flushing)
  call void %function(ptr %inputs, ptr %outputs, i64 0, i64 %count)
  call void @llvm.aarch64.set.fpcr(i64 %before)
  ret void
}}
"""
"""Bit 24 of FPCR: flush to zero."""

TEXTS = {"x86_64": X86, "aarch64": AARCH64, "arm64": AARCH64}
"""By the architecture, as LLVM's triples have it."""


class HostCaller:
    """The caller of the kernel at an address, for processors that it has been written for. It lets go of Python's lock.

    Args:
        target: the processor.
    """

    def __init__(self, target: Target) -> None:
        text = TEXTS[architecture(target)].format(name=NAME)
        self._code = LoadedCode(build_own(NAME, lambda: text, target), [NAME])
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self.call = function(self._code.address(NAME))


def architecture(target: Target) -> str:
    """Returns the first part of LLVM's triple."""
    return target.triple.partition("-")[0]


@cache
def host_caller() -> HostCaller | None:
    """Returns what calls kernels in this process; None on a processor that nobody has written it for."""
    return HostCaller(host()) if architecture(host()) in TEXTS else None
