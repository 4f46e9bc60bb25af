"""Calls kernels from the host, past XLA, and as XLA does: subnormal numbers are taken and made as zeros."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache

from ...llvm.build import build
from ...llvm.compile import LoadedCode
from ...llvm.object_cache import compiler_version
from ...llvm.target import host

NAME = "kousoku_host_call"

X86 = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define void @{name}(ptr %function, ptr %inputs, ptr %outputs, i64 %count) {{
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

define void @{name}(ptr %function, ptr %inputs, ptr %outputs, i64 %count) {{
  %before = call i64 @llvm.aarch64.get.fpcr()
  %flushing = or i64 %before, 16777216
  call void @llvm.aarch64.set.fpcr(i64 %flushing)
  call void %function(ptr %inputs, ptr %outputs, i64 0, i64 %count)
  call void @llvm.aarch64.set.fpcr(i64 %before)
  ret void
}}
"""
"""Bit 24 of FPCR: flush to zero."""

HostCall = Callable[[int, int, int, int], None]
"""A call of the kernel at an address: (address, addresses of inputs, addresses of outputs, number of lanes)."""


@cache
def host_call() -> HostCall | None:
    """Returns what calls a kernel; None for processors that nobody has written it for. It lets go of Python's lock."""
    texts = {"x86_64": X86, "aarch64": AARCH64, "arm64": AARCH64}
    text = texts.get(host().triple.partition("-")[0])
    if text is None:
        return None
    key = hashlib.sha256(f"{NAME} {compiler_version()} {host()}".encode()).hexdigest()
    code = LoadedCode(build(key, lambda: text.format(name=NAME), host()), [NAME])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    _loaded.append(code)
    return function(code.address(NAME))


_loaded: list[LoadedCode] = []
