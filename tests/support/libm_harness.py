"""Compiles one elementary function for this machine and calls it on arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from kousoku.compiler.codegen.builder import Builder
from kousoku.compiler.codegen.operand import Operand
from kousoku.compiler.llvm.target import host

C_TYPES = {"float": np.float32, "double": np.float64}
BYTES = {"float": 4, "double": 8}


@cache
def machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )


def source(make: Callable[..., Operand], type: str, lanes: int, arity: int, given: str = "varying") -> str:
    """IR of f(a, b, out, n): out[i:i+lanes] = make(a[i:i+lanes], b[i:i+lanes]).

    `given` says how the arguments go in: "varying"; "narrow", one element that all lanes share; "second narrow".
    """
    b = Builder(lanes, host().rare_convention)
    b.block = "loop"
    vector = b.type_of(type, True)
    operands = []
    for k in range(arity):
        varying = given == "varying" or (given == "second narrow" and k == 0)
        place = b.define("ptr", False, f"getelementptr {type}, ptr %in{k}, i64 %i")
        loaded = vector if varying else type
        operands.append(b.define(type, varying, f"load {loaded}, ptr {place.text}, align {BYTES[type]}"))
    result = b.splat(make(b, *operands))
    place = b.define("ptr", False, "getelementptr " + type + ", ptr %out, i64 %i")
    b.lines.append(f"  store {vector} {result.text}, ptr {place.text}, align {BYTES[type]}")
    return "\n".join(
        [
            *b.declarations.values(),
            "define void @f(ptr noalias %in0, ptr noalias %in1, ptr noalias %out, i64 %n) {",
            "entry:",
            "  br label %loop",
            "loop:",
            f"  %i = phi i64 [ 0, %entry ], [ %next, %{b.block} ]",
            *b.lines,
            f"  %next = add i64 %i, {lanes}",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %loop, label %exit",
            "exit:",
            "  ret void",
            "}",
        ]
    )


class Compiled:
    """One function as machine code."""

    def __init__(
        self, make: Callable[..., Operand], type: str, lanes: int, arity: int = 1, given: str = "varying"
    ) -> None:
        self.type, self.lanes, self.arity = type, lanes, arity
        self.module = llvm.parse_assembly(source(make, type, lanes, arity, given))
        self.module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        passes = llvm.create_pass_builder(machine(), options)
        passes.getModulePassManager().run(self.module, passes)
        self.assembly = machine().emit_assembly(self.module)
        self.engine = llvm.create_mcjit_compiler(self.module, machine())
        self.engine.finalize_object()
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self.call = call(self.engine.get_function_address("f"))

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        dtype = C_TYPES[self.type]
        count = arrays[0].size
        padded = -(-count // self.lanes) * self.lanes
        given = [np.concatenate([np.asarray(a, dtype), np.ones(padded - count, dtype)]) for a in arrays]
        out = np.empty(padded, dtype)
        self.call(given[0].ctypes.data, given[-1].ctypes.data, out.ctypes.data, padded)
        return out[:count]


@cache
def compiled(make: Callable[..., Operand], type: str, lanes: int, arity: int = 1, given: str = "varying") -> Compiled:
    return Compiled(make, type, lanes, arity, given)


def ulps(got: np.ndarray, reference: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """|got - reference| in units in the last place of the reference, which has more digits than `got`.

    Not finite results must agree: what is rounded to infinity, and what is NaN.
    """
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        target = reference.astype(dtype)
        _, exponent = np.frexp(reference)
        unit = np.ldexp(np.ones_like(reference), np.maximum(exponent, info.minexp + 1) - info.nmant - 1)
        error = np.abs(got.astype(reference.dtype) - reference) / unit
    same = (got == target) | (np.isnan(got) & np.isnan(target))
    return np.where(same & ~np.isfinite(target), 0, np.where(np.isfinite(got) & np.isfinite(target), error, np.inf))
