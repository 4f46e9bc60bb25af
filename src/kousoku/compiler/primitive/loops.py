"""Has the bodies of long loops differentiated as kernels of their own.

JAX differentiates a loop by tracing its body again and again until it knows which carried values have derivatives, in
forward mode and once more in reverse, and a loop within a loop multiplies that. With the body as one operation, the
kernel primitive, it is traced once for each derivative; and what reverse mode keeps of every iteration are the body's
inputs, not all that was computed of them.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import Primitive

from ..frontend.jaxprs import opened
from ..tracing.traced import Traced, struct

LONG = 2000
"""Operations of a body from which on it is worth computing it once more in reverse mode."""


def with_bodies_as_kernels(closed: Any, kernel_p: Primitive) -> Any:
    """Returns a closed jaxpr with the bodies of its long loops each as one call of the kernel primitive."""
    return closed.replace(jaxpr=closed.jaxpr.replace(eqns=[_replaced(eqn, kernel_p) for eqn in closed.jaxpr.eqns]))


def _replaced(eqn: Any, kernel_p: Primitive) -> Any:
    name = eqn.primitive.name
    if name == "scan" and _count(opened(eqn.params["jaxpr"])) >= LONG:
        return eqn.replace(params=eqn.params | {"jaxpr": _as_kernel(eqn.params["jaxpr"], kernel_p)})
    held = {"jit": "jaxpr", "pjit": "jaxpr"}.get(name)
    if held is None or _count(opened(eqn.params[held])) < LONG:
        return eqn
    return eqn.replace(params=eqn.params | {held: with_bodies_as_kernels(eqn.params[held], kernel_p)})


def _as_kernel(body: Any, kernel_p: Primitive) -> Any:
    """Returns the jaxpr that calls the body as a kernel."""
    traced = Traced.of(body, "the body of a loop")

    def call(*values: Any) -> list[Any]:
        return kernel_p.bind(*values, kernel=traced, lanes=(), batched=((),) * len(values))

    return jax.make_jaxpr(call)(*map(struct, body.in_avals))


def _count(jaxpr: Any) -> int:
    """Returns how many operations a jaxpr has, those of calls and loops included, as far as they are below `LONG`."""
    total = 0
    for eqn in jaxpr.eqns:
        total += 1
        for value in eqn.params.values():
            for part in value if isinstance(value, (list, tuple)) else (value,):
                inner = opened(part)
                total += _count(inner) if hasattr(inner, "eqns") else 0
        if total >= LONG:
            break
    return total
