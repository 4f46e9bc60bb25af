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


def opened(closed: Any) -> Any:
    """Returns the jaxpr itself."""
    return getattr(closed, "jaxpr", closed)


def consts_of(closed: Any) -> Sequence[Any]:
    """Returns the constants that it is closed over."""
    return getattr(closed, "consts", ())
