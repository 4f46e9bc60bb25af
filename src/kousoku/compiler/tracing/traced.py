"""Holds a function of one lane as JAX traced it, with what the compiler derives from it: its graph and derivatives."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, jaxpr_as_fun
from jax.interpreters import partial_eval as pe

from ..backends import InPlace, backend
from ..frontend import from_jaxpr
from ..frontend.jaxprs import called, opened
from ..frontend.keys import physical
from ..ir import Devices, Graph, GraphSource, GraphSummary, Interface, summarise
from ..no_gc import no_gc
from ..passes import run_passes
from ..runtime.kernels import CompiledKernel, begin
from .devices import varying_axes

Flags = tuple[tuple[bool, ...], ...]


class Traced(GraphSource):
    """A function of one lane: traced, or known from an earlier process and traced when its operations are asked for.

    Attributes:
        name: the function's, for messages.
        in_avals, out_avals: the types of its arguments and results.
        trace: gives its jaxpr.
        origin: of a tangent function: the function that it belongs to, and which of its inputs have tangents.
        on_summary: called with the summary when it has been worked out.
        prepared: its jaxpr as it is differentiated, once it has been.
        arrays: whether vectors are to lie along its arrays, and not along lanes.
        devices: those that run it together; None where it is of one.
        donated: which of its arguments results may overwrite; empty for none.
    """

    def __init__(
        self,
        name: str,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        trace: Callable[[], Any],
    ) -> None:
        self.name, self.in_avals, self.out_avals = name, in_avals, out_avals
        self.trace = trace
        self.origin: tuple[Traced, tuple[bool, ...]] | None = None
        self.on_summary: Callable[[GraphSummary], None] | None = None
        self.derived: dict[Any, Traced] = {}
        self.jitted: dict[Any, Any] = {}
        self.prepared: Any = None
        self.begun: CompiledKernel | None = None
        self.arrays = False
        self.devices: Devices | None = None
        self.donated: tuple[bool, ...] = ()

    @classmethod
    def of(cls, jaxpr: Any, name: str) -> Traced:
        """Makes one of a closed jaxpr that is at hand."""
        return cls(name, jaxpr.in_avals, jaxpr.out_avals, lambda: jaxpr)

    @cached_property
    def jaxpr(self) -> Any:
        """Its jaxpr, closed."""
        return self.trace()

    @cached_property
    def graph(self) -> Graph:
        """What the kernel does: of the function, what is not there already in its inputs.

        Raises:
            Unsupported: if the compiler cannot read it.
        """
        return self.read()

    @cached_property
    def summary(self) -> GraphSummary:
        """What the graph amounts to.

        Raises:
            Unsupported: if the compiler cannot read it.
        """
        found = summarise(self.graph, Interface.of(self._whole))
        if self.on_summary is not None:
            self.on_summary(found)
        return found

    @property
    def meets(self) -> int:
        return 0 if self.devices is None else self.graph.devices

    def read(self) -> Graph:
        """Makes the kernel's graph."""
        return Interface.of(self._whole).narrowed(self._whole)

    @cached_property
    def _whole(self) -> Graph:
        """The graph of all inputs and all results."""
        jaxpr = self.jaxpr
        with no_gc():
            return run_passes(from_jaxpr(jaxpr, backend().platform, self.devices), self.arrays)

    def begin_compiling(self, count: int, batched: tuple[bool, ...]) -> None:
        """Compiles for `count` lanes in a thread, while this one goes on.

        Raises:
            Unsupported: if the compiler cannot read it.
        """
        if self.summary.interface.made:
            name, along = f"kousoku compiles {self.name}", tuple((yes,) for yes in batched)
            self.begun = begin(backend(), self, count, batched, name, self.in_place(along))

    def overwritten(self, batched: Flags) -> dict[int, int]:
        """Returns which of the kernel's inputs results of it take the place of, by number.

        They are paired as `jax.jit` pairs what is donated to it, so that a program of one kernel copies nothing: each
        of the function's results takes the first donated argument of the same shape and type that is left. A gang reads
        all that its lanes are given before it writes any result, so it may. XLA first copies what somebody else needs.

        Args:
            batched: for each axis of lanes, whether each argument has it. What lanes share is not overwritten.
        """
        interface = self.summary.interface
        free: dict[Any, deque[int]] = {}
        for number, aval in enumerate(self.in_avals):
            if self.donated and self.donated[number] and (any(batched[number]) or not batched[number]):
                free.setdefault(physical(aval), deque()).append(number)
        places = {number: place for place, number in enumerate(interface.inputs)}
        pairs: dict[int, int] = {}
        paired: set[int] = set()
        for origin, aval in zip(interface.results, self.out_avals, strict=True):
            left = free.get(physical(aval))
            if not left:
                continue
            place = places.get(left.popleft())
            if place is not None and not origin.is_input and origin.number not in paired:
                pairs[place] = origin.number
                paired.add(origin.number)
        return pairs

    def in_place(self, batched: Flags) -> InPlace:
        """Returns the pairs of `overwritten` that the code has to know of: of vectors along arrays, which writes what
        it makes of such an input where it lies.
        """
        return tuple(self.overwritten(batched).items()) if self.arrays else ()

    def batched_function(self, lanes: tuple[int, ...], batched: Flags) -> Any:
        """Returns the function over all axes of lanes, in plain JAX."""
        function = jaxpr_as_fun(self.jaxpr)
        for level in reversed(range(len(lanes))):
            axes = tuple(0 if flags[level] else None for flags in batched)
            function = jax.vmap(function, in_axes=axes, axis_size=lanes[level])
        return function

    def batched_jaxpr(self, lanes: tuple[int, ...], batched: Flags) -> Any:
        """Returns the jaxpr over all axes of lanes."""
        if not lanes:
            return self.jaxpr
        shapes = [
            jax.ShapeDtypeStruct((*(n for n, f in zip(lanes, flags, strict=True) if f), *a.shape), a.dtype)
            for a, flags in zip(self.in_avals, batched, strict=True)
        ]
        return jax.make_jaxpr(self.batched_function(lanes, batched))(*shapes)

    @cached_property
    def uses(self) -> list[list[bool]]:
        """The inputs that each result depends on."""
        count = len(self.out_avals)
        return [pe.dce_jaxpr(self.jaxpr.jaxpr, [i == k for i in range(count)])[1] for k in range(count)]

    @cached_property
    def moves(self) -> list[bool]:
        """Whether any of the tangents that go in reaches each result of a tangent function."""
        assert self.origin is not None
        jaxpr, count = self.jaxpr.jaxpr, len(self.origin[0].in_avals)
        return _reached(jaxpr, [False] * count + [True] * (len(jaxpr.invars) - count))

    def _prepared(self, prepare: Callable[[Any], Any]) -> Any:
        """Returns the jaxpr to differentiate as a function, the same one every time."""
        if self.prepared is None:
            self.prepared = prepare(self.jaxpr)
        return jaxpr_as_fun(self.prepared)

    def tangent(self, nonzero: tuple[bool, ...], prepare: Callable[[Any], Any]) -> Traced:
        """Returns the function (inputs, tangents of the `nonzero` ones) -> tangents of the differentiable outputs.

        Args:
            nonzero: which inputs have tangents.
            prepare: gives, of the jaxpr, one that means the same and is differentiated in its place.
        """
        if ("jvp", nonzero) not in self.derived:
            avals = self.in_avals
            function = self._prepared(prepare)

            def push(*values: Any) -> list[Any]:
                primals, given = values[: len(avals)], iter(values[len(avals) :])
                tangents = [next(given) if n else _zero(p) for n, p in zip(nonzero, primals, strict=True)]
                _, out = jax.jvp(lambda *xs: _floats(function(*xs)), primals, tuple(tangents))
                return list(out)

            given = [a for a, n in zip(avals, nonzero, strict=True) if n]
            jaxpr = jax.make_jaxpr(push)(*map(struct, [*avals, *given]))
            found = self.derived["jvp", nonzero] = Traced.of(jaxpr, f"jvp of {self.name}")
            found.origin = self, nonzero
            found.arrays = self.arrays
        return self.derived["jvp", nonzero]

    def cotangent(self, nonzero: tuple[bool, ...], prepare: Callable[[Any], Any]) -> Traced:
        """Returns the function (inputs, cotangents of the differentiable outputs) -> cotangents of the
        `nonzero` inputs; arguments as of `tangent`.
        """
        if ("vjp", nonzero) not in self.derived:
            avals = self.in_avals
            function = self._prepared(prepare)

            def pull(*values: Any) -> list[Any]:
                primals, cotangents = values[: len(avals)], values[len(avals) :]
                moving = [p for p, n in zip(primals, nonzero, strict=True) if n]

                def of_moving(*xs: Any) -> list[Any]:
                    given = iter(xs)
                    return _floats(function(*(next(given) if n else p for n, p in zip(nonzero, primals, strict=True))))

                _, back = jax.vjp(of_moving, *moving)
                return list(back(list(cotangents)))

            outs = [a for a in self.out_avals if is_differentiable(a)]
            jaxpr = jax.make_jaxpr(pull)(*map(struct, [*avals, *outs]))
            found = self.derived["vjp", nonzero] = Traced.of(jaxpr, f"vjp of {self.name}")
            found.arrays = self.arrays
        return self.derived["vjp", nonzero]


def _reached(jaxpr: Any, from_inputs: Sequence[bool]) -> list[bool]:
    """Returns for each result whether any of these inputs reaches it; loops and branches count as one operation."""
    reached = {v for v, flag in zip(jaxpr.invars, from_inputs, strict=True) if flag}

    def is_reached(atom: Any) -> bool:
        return not isinstance(atom, Literal) and atom in reached

    for eqn in jaxpr.eqns:
        flags = [is_reached(atom) for atom in eqn.invars]
        if any(flags):
            call = called(eqn, flags)
            outs = [True] * len(eqn.outvars) if call is None else _reached(opened(call[0]), call[1])
            reached.update(v for v, flag in zip(eqn.outvars, outs, strict=True) if flag)
    return [is_reached(atom) for atom in jaxpr.outvars]


def struct(aval: Any) -> jax.ShapeDtypeStruct:
    """Returns what to trace with for a value of that type."""
    devices = {"manual_axis_type": aval.manual_axis_type, "sharding": aval.sharding} if varying_axes(aval) else {}
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False), **devices)


def is_differentiable(aval: Any) -> bool:
    """Returns whether values of that type have derivatives."""
    return jnp.issubdtype(aval.dtype, jnp.floating)


def _floats(values: Sequence[Any]) -> list[Any]:
    return [v for v in values if is_differentiable(jax.typeof(v))]  # a value may be a constant, a plain bool even


def _zero(primal: Any) -> Any:
    if is_differentiable(primal):
        return jnp.zeros_like(primal)
    return np.zeros(primal.shape, jax.dtypes.float0)
