"""The JAX primitive: a function of one lane that JAX can batch, differentiate and lower.

The primitive carries the function's jaxpr. Batching adds an axis of lanes; a derivative is the kernel of the
derivative's jaxpr; reverse mode computes the primal values again inside the kernel. Lowering on a CPU compiles; where
that is not possible, or on another platform, the function itself is lowered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import compress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

from ..backends.cpu.ffi import TARGET_NAME, runtime
from ..config import kernels_are_on
from ..fallback import reason_of, warn_once
from ..frontend import read
from ..frontend.keys import is_key
from ..ir import Program, Source, Summary, summary_of
from ..no_gc import without_collection
from ..runtime.kernels import Compiled, begin, compiled
from .sharding import among, needs_devices, of_one_device, over_devices, spans_devices, varying

Flags = tuple[tuple[bool, ...], ...]

kernel_p = Primitive("kousoku_kernel")
kernel_p.multiple_results = True
needs_devices(kernel_p)


class Traced(Source):
    """A function of one lane: traced, or known from an earlier process and traced when its operations are asked for.

    Attributes:
        name: the function's, for messages.
        in_avals, out_avals: the types of its arguments and results.
        trace: gives its jaxpr.
        origin: of a tangent function: the function that it belongs to, and which of its inputs have tangents.
        told: called with the summary when it has been worked out.
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
        self.told: Callable[[Summary], None] | None = None
        self.derived: dict[Any, Traced] = {}
        self.jitted: dict[Any, Any] = {}
        self.begun: Compiled | None = None

    @classmethod
    def of(cls, jaxpr: Any, name: str) -> Traced:
        """A function of which the closed jaxpr is at hand."""
        return cls(name, jaxpr.in_avals, jaxpr.out_avals, lambda: jaxpr)

    @cached_property
    def jaxpr(self) -> Any:
        """Its jaxpr, closed."""
        return self.trace()

    @cached_property
    def program(self) -> Program:
        """What the compiler reads.

        Raises:
            Unsupported: if it cannot.
        """
        return self.read()

    @cached_property
    def summary(self) -> Summary:
        """What the program amounts to.

        Raises:
            Unsupported: if the compiler cannot read it.
        """
        found = summary_of(self.program)
        if self.told is not None:
            self.told(found)
        return found

    def read(self) -> Program:
        """Make the program."""
        jaxpr = self.jaxpr
        with without_collection():
            return read(jaxpr)

    def begin_compiling(self, count: int, batched: tuple[bool, ...]) -> None:
        """Compile for `count` lanes in a thread, while this one goes on.

        Raises:
            Unsupported: if the compiler cannot read it.
        """
        self.begun = begin(self, count, batched, f"kousoku compiles {self.name}")

    def batched_function(self, lanes: tuple[int, ...], batched: Flags) -> Any:
        """The function over all axes of lanes, in plain JAX."""
        function = jaxpr_as_fun(self.jaxpr)
        for level in reversed(range(len(lanes))):
            axes = tuple(0 if flags[level] else None for flags in batched)
            function = jax.vmap(function, in_axes=axes, axis_size=lanes[level])
        return function

    def batched_jaxpr(self, lanes: tuple[int, ...], batched: Flags) -> Any:
        """The jaxpr over all axes of lanes."""
        if not lanes:
            return self.jaxpr
        shapes = [
            jax.ShapeDtypeStruct((*(n for n, f in zip(lanes, flags, strict=True) if f), *a.shape), a.dtype)
            for a, flags in zip(self.in_avals, batched, strict=True)
        ]
        return jax.make_jaxpr(self.batched_function(lanes, batched))(*shapes)

    @cached_property
    def uses(self) -> list[list[bool]]:
        """Of each result, which inputs it depends on."""
        count = len(self.out_avals)
        return [pe.dce_jaxpr(self.jaxpr.jaxpr, [i == k for i in range(count)])[1] for k in range(count)]

    def tangent(self, nonzero: tuple[bool, ...]) -> Traced:
        """(inputs, tangents of the `nonzero` ones) -> tangents of the differentiable outputs."""
        if ("jvp", nonzero) not in self.derived:
            avals = self.in_avals
            function = jaxpr_as_fun(self.jaxpr)

            def push(*values: Any) -> list[Any]:
                primals, given = values[: len(avals)], iter(values[len(avals) :])
                tangents = [next(given) if n else _zero(p) for n, p in zip(nonzero, primals, strict=True)]
                _, out = jax.jvp(lambda *xs: _floats(function(*xs)), primals, tuple(tangents))
                return list(out)

            given = [a for a, n in zip(avals, nonzero, strict=True) if n]
            jaxpr = jax.make_jaxpr(push)(*map(struct, [*avals, *given]))
            found = self.derived["jvp", nonzero] = Traced.of(jaxpr, f"jvp of {self.name}")
            found.origin = self, nonzero
        return self.derived["jvp", nonzero]

    def cotangent(self, nonzero: tuple[bool, ...]) -> Traced:
        """(inputs, cotangents of the differentiable outputs) -> cotangents of the `nonzero` inputs."""
        if ("vjp", nonzero) not in self.derived:
            avals = self.in_avals
            function = jaxpr_as_fun(self.jaxpr)

            def pull(*values: Any) -> list[Any]:
                primals, cotangents = values[: len(avals)], values[len(avals) :]
                moving = [p for p, n in zip(primals, nonzero, strict=True) if n]

                def of_moving(*xs: Any) -> list[Any]:
                    given = iter(xs)
                    return _floats(function(*(next(given) if n else p for n, p in zip(nonzero, primals, strict=True))))

                _, back = jax.vjp(of_moving, *moving)
                return list(back(list(cotangents)))

            outs = [a for a in self.out_avals if _differentiable(a)]
            jaxpr = jax.make_jaxpr(pull)(*map(struct, [*avals, *outs]))
            self.derived["vjp", nonzero] = Traced.of(jaxpr, f"vjp of {self.name}")
        return self.derived["vjp", nonzero]


def struct(aval: Any) -> jax.ShapeDtypeStruct:
    """What to trace with for a value of that type."""
    devices = {"manual_axis_type": aval.manual_axis_type, "sharding": aval.sharding} if varying(aval) else {}
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False), **devices)


def _differentiable(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.floating)


def _floats(values: Sequence[Any]) -> list[Any]:
    return [v for v in values if _differentiable(jax.typeof(v))]  # a value may be a constant, a plain bool even


def _zero(primal: Any) -> Any:
    if _differentiable(primal):
        return jnp.zeros_like(primal)
    return np.zeros(primal.shape, jax.dtypes.float0)


# ---- evaluation and shapes


@kernel_p.def_impl
def _evaluate(*args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> list[Any]:
    identity = (lanes, batched, kernels_are_on())
    if identity not in kernel.jitted:
        bind = partial(kernel_p.bind, kernel=kernel, lanes=lanes, batched=batched)
        kernel.jitted[identity] = jax.jit(lambda *xs: bind(*xs))
    with jax.disable_jit(False):  # a kernel is compiled also where nothing else is; else this would call itself
        return kernel.jitted[identity](*args)


@kernel_p.def_abstract_eval
def _shapes(*args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> list[Any]:
    if not any(map(varying, args)):
        return [among(args, a, (*lanes, *a.shape)) for a in kernel.out_avals]
    uses = (list(compress(args, used)) for used in kernel.uses)
    return [among(args, a, (*lanes, *a.shape), used) for a, used in zip(kernel.out_avals, uses, strict=True)]


# ---- batching


def _batch(args: Any, dims: Any, *, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> Any:
    size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    moved = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True)]
    flags = tuple((d is not None, *old) for d, old in zip(dims, batched, strict=True))
    results = kernel_p.bind(*moved, kernel=kernel, lanes=(size, *lanes), batched=flags)
    return results, [0] * len(results)


batching.primitive_batchers[kernel_p] = _batch


# ---- derivatives


def _jvp(primals: Any, tangents: Any, *, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> Any:
    results = kernel_p.bind(*primals, kernel=kernel, lanes=lanes, batched=batched)
    nonzero = tuple(type(t) is not ad.Zero for t in tangents)
    given = [t for t, n in zip(tangents, nonzero, strict=True) if n]
    flags = (*batched, *(f for f, n in zip(batched, nonzero, strict=True) if n))
    moved = iter(
        kernel_p.bind(*primals, *given, kernel=kernel.tangent(nonzero), lanes=lanes, batched=flags)
        if any(map(_differentiable, results))
        else []
    )
    none = [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]
    return results, [next(moved) if _differentiable(r) else zero for r, zero in zip(results, none, strict=True)]


ad.primitive_jvps[kernel_p] = _jvp


def _transpose(cotangents: Any, *args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> list[Any]:
    if kernel.origin is None:
        raise NotImplementedError(f"kernel: {kernel.name} is not linear")
    origin, nonzero = kernel.origin
    count = len(nonzero)
    primals, tangents = args[:count], args[count:]
    given = [ad.instantiate_zeros(c) if type(c) is ad.Zero else c for c in cotangents]
    flags = (*batched[:count], *(((True,) * len(lanes),) * len(given)))
    pulled = kernel_p.bind(*primals, *given, kernel=origin.cotangent(nonzero), lanes=lanes, batched=flags)
    results = []
    for tangent, cotangent, own in zip(tangents, pulled, batched[count:], strict=True):
        results.append(_summed(cotangent, tangent.aval, own) if ad.is_undefined_primal(tangent) else None)
    return [None] * count + results


def _summed(cotangent: Any, aval: Any, batched: tuple[bool, ...]) -> Any:
    """Over the axes of lanes, and of devices, that share the value."""
    total = jnp.sum(cotangent, axis=tuple(axis for axis, flag in enumerate(batched) if not flag))
    devices = tuple(sorted(varying(jax.typeof(total)) - varying(aval)))
    return jax.lax.psum(total, devices) if devices else total


ad.primitive_transposes[kernel_p] = _transpose


# ---- lowering


def _lower_plain(ctx: Any, *args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> Any:
    if not any(map(varying, kernel.in_avals)):  # traced as on one device
        ctx = ctx.replace(avals_in=list(map(of_one_device, ctx.avals_in)))
    return mlir.lower_fun(kernel.batched_function(lanes, batched), multiple_results=True)(ctx, *args)


def _lower_cpu(ctx: Any, *args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> Any:
    if not kernels_are_on() or not kernel.out_avals or 0 in lanes:
        return _lower_plain(ctx, *args, kernel=kernel, lanes=lanes, batched=batched)
    try:
        code = compiled(kernel, math.prod(lanes), _flat(batched), bool(lanes))
    except Exception as error:
        warn_once(kernel.name, reason_of(error))
        return _lower_plain(ctx, *args, kernel=kernel, lanes=lanes, batched=batched)
    kernel.begun = None if kernel.begun is code else kernel.begun  # from here on the programs keep it
    ctx.module_context.add_keepalive(code)
    if lanes and spans_devices(ctx):
        call = partial(_divided_call, kernel, lanes, batched)
    else:
        call = partial(_call, kernel, lanes, batched, code)
    return mlir.lower_fun(call, multiple_results=True)(ctx, *args)


def _flat(batched: Flags) -> tuple[bool, ...]:
    return tuple(any(flags) for flags in batched)


def _call(kernel: Traced, lanes: tuple[int, ...], batched: Flags, code: Compiled, *args: Any) -> list[Any]:
    """The custom call, with all axes of lanes as one."""
    runtime()
    count = math.prod(lanes)
    flat = [_one_axis(a, flags, lanes) for a, flags in zip(args, batched, strict=True)]
    outs = []
    for aval in kernel.out_avals:
        shape, dtype = _physical(aval)
        outs.append(jax.ShapeDtypeStruct((count, *shape) if lanes else shape, dtype))
    results = jax.ffi.ffi_call(TARGET_NAME, outs)(*flat, kernel=np.int64(code.number))
    return _as_results(kernel, lanes, results)


def _divided_call(kernel: Traced, lanes: tuple[int, ...], batched: Flags, *args: Any) -> list[Any]:
    """Calls on several devices, each with its own part of the lanes.

    XLA's partitioner lowers a part in a module of its own, which nobody keeps: the function keeps its code.
    """
    along = _flat(batched)
    kept: list[Compiled] = []

    def part(*flat: Any) -> list[Any]:
        count = next(a.shape[0] for a, yes in zip(flat, along, strict=True) if yes)
        kept.append(compiled(kernel, count, along, True))
        given = [_as_key(a, aval) for a, aval in zip(flat, kernel.in_avals, strict=True)]
        results = kernel_p.bind(*given, kernel=kernel, lanes=(count,), batched=tuple((yes,) for yes in along))
        return [_as_words(r) for r in results]

    flat = [_one_axis(a, flags, lanes) for a, flags in zip(args, batched, strict=True)]
    return _as_results(kernel, lanes, over_devices(part, along, [struct(jax.typeof(a)) for a in flat])(*flat))


def _as_results(kernel: Traced, lanes: tuple[int, ...], flat: Sequence[Any]) -> list[Any]:
    """Words with one axis of lanes, as what the function returns over all of them."""
    avals = kernel.out_avals
    shaped = [jnp.reshape(r, (*lanes, *_physical(a)[0])) for r, a in zip(flat, avals, strict=True)]
    return [_as_key(r, a) for r, a in zip(shaped, avals, strict=True)]


def _physical(aval: Any) -> tuple[tuple[int, ...], Any]:
    from ..frontend.keys import physical

    return physical(aval)


def _as_key(words: Any, aval: Any) -> Any:
    return jax.random.wrap_key_data(words, impl=aval.dtype) if is_key(aval) else words


def _as_words(array: Any) -> Any:
    return jax.random.key_data(array) if is_key(array) else array


def _one_axis(array: Any, flags: tuple[bool, ...], lanes: tuple[int, ...]) -> Any:
    """The axes of lanes as one; an array that varies along some of them only is repeated along the others."""
    array = _as_words(array)
    if not any(flags):
        return array
    rest = array.shape[sum(flags) :]
    if not all(flags):
        shape = tuple(n if f else 1 for n, f in zip(lanes, flags, strict=True))
        array = jnp.broadcast_to(jnp.reshape(array, (*shape, *rest)), (*lanes, *rest))
    return jnp.reshape(array, (math.prod(lanes), *rest))


mlir.register_lowering(kernel_p, _lower_plain)
mlir.register_lowering(kernel_p, _lower_cpu, platform="cpu")
