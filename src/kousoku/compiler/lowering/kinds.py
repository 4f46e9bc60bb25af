"""Helpers that make rules from functions of operands."""

from __future__ import annotations

from collections.abc import Callable

from ..codegen.emitter import Emitter
from ..codegen.operand import Operand
from ..codegen.value import Value
from ..ir import Op, Unsupported

Function = Callable[..., Operand]


def kind(value: Value) -> str:
    """Returns NumPy's letter of the dtype's kind: f, i, u or b."""
    return value.dtype.kind


def simple(function: Function) -> Callable[..., Value]:
    """Returns a rule for a function that does not depend on the sign of integers."""
    return lambda k, op, *xs: k.map(op, function, *xs)


def by_kind(**functions: Function) -> Callable[..., Value]:
    """Returns a rule with a function for each kind of dtype; `x` for any that is not named."""

    def rule(k: Emitter, op: Op, *xs: Value) -> Value:
        function = functions.get(kind(xs[0]), functions.get("x"))
        if function is None:
            raise Unsupported(f"{op.name} of {xs[0].dtype}")
        return k.map(op, function, *xs)

    return rule


def binary(name: str) -> Function:
    """Returns an LLVM instruction of two operands."""
    return lambda b, x, y: b.binary(name, x, y)


def icmp(predicate: str) -> Function:
    """Returns an integer comparison."""
    return lambda b, x, y: b.icmp(predicate, x, y)


def fcmp(predicate: str) -> Function:
    """Returns a floating-point comparison."""
    return lambda b, x, y: b.fcmp(predicate, x, y)


def call(name: str) -> Function:
    """Returns an LLVM intrinsic."""
    return lambda b, *xs: b.intrinsic(name, *xs)


def compare(signed: str, unsigned: str, floating: str) -> Callable[..., Value]:
    """Returns a rule for a comparison."""
    return by_kind(i=icmp(signed), u=icmp(unsigned), b=icmp(unsigned), f=fcmp(floating))


def float_function(function: Function) -> Callable[..., Value]:
    """Returns a rule for an elementary function."""
    return by_kind(f=function)
