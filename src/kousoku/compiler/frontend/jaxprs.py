"""Opens jaxprs, which may be closed over constants, and which calls hold under various names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "composite": "jaxpr",
    "custom_vmap_call": "call",
}
"""Operations that call a jaxpr, and the parameter that holds it."""


def called(eqn: Any, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
    """Returns the jaxpr that an operation calls, and what it is called with; None for an operation that calls none.

    A linear system with derivatives of its own is solved by one of its jaxprs; the others are for derivatives.
    """
    name, params = eqn.primitive.name, eqn.params
    if name == "custom_linear_solve":
        sizes = params["const_lengths"]
        begin, count = sizes.matvec + sizes.vecmat, sum(sizes)
        return params["jaxprs"].solve, [*inputs[begin : begin + sizes.solve], *inputs[count:]]
    return (params[CALLS[name]], inputs) if name in CALLS else None


def opened(closed: Any) -> Any:
    """Returns the jaxpr itself."""
    return getattr(closed, "jaxpr", closed)


def consts_of(closed: Any) -> Sequence[Any]:
    """Returns the constants that it is closed over."""
    return getattr(closed, "consts", ())
