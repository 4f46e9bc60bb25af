"""Walks a jaxpr as every reader of one does: calls are entered, what changes nothing is passed through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from jax.extend import core as jex_core

from .jaxprs import called, consts_of, opened

UNCHANGED = frozenset({
    "copy", "copy_p", "optimization_barrier", "sharding_constraint", "name", "pvary", "pcast", "mesh_cast",
    "stop_gradient", "reshard", "device_put", "layout_constraint",
})  # fmt: skip
"""Operations that return their inputs."""


class Inliner(ABC):
    """A walk over a jaxpr and those that it calls, operation by operation; a subclass says what becomes of each.

    Attributes:
        unchanged: operations that return their inputs.
    """

    unchanged: frozenset[str] = UNCHANGED

    def inline(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """Appends what the jaxpr's operations become; returns its results."""
        env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
        env.update((v, self.constant(c, v.aval)) for v, c in zip(jaxpr.constvars, consts, strict=True))

        def atom(v: Any) -> Any:
            return self.constant(v.val, v.aval) if isinstance(v, jex_core.Literal) else env[v]

        for eqn in jaxpr.eqns:
            results = self.equation(eqn, [atom(v) for v in eqn.invars])
            env.update(zip(eqn.outvars, results, strict=True))
        return [atom(v) for v in jaxpr.outvars]

    def closed(self, closed: Any, args: Sequence[Any]) -> list[Any]:
        """Appends what the operations of a jaxpr become that may be closed over constants; returns its results."""
        return self.inline(opened(closed), consts_of(closed), args)

    def equation(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        """Appends what one equation does; returns its results."""
        call = called(eqn, inputs)
        if call is not None:
            return self.closed(*call)
        if eqn.primitive.name in self.unchanged:
            return inputs
        return self.operation(eqn, inputs)

    @abstractmethod
    def constant(self, value: Any, aval: Any) -> Any:
        """Returns a constant of that type."""

    @abstractmethod
    def operation(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        """Appends an operation that is no call; returns its results."""
