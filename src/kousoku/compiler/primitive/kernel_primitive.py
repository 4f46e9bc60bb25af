"""Defines the JAX primitive: a function of one lane that JAX can batch, differentiate and lower.

The primitive carries the function's jaxpr. Batching adds an axis of lanes; a derivative is the kernel of the
derivative's jaxpr; reverse mode computes the primal values again inside the kernel. Lowering compiles where the
platform has a back end; elsewhere, and where that is not possible, the function itself is lowered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import compress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..backends import BACKENDS, Backend
from ..config import kernels_are_on
from ..fallback import reason_of, warn_once, why_left_to_xla
from ..frontend.keys import is_key, physical
from ..ir import Unsupported
from ..runtime.kernels import CompiledKernel, compiled
from ..tracing.devices import of_one_device, varying_axes
from ..tracing.traced import Flags, Traced, is_differentiable, struct
from .loops import with_bodies_as_kernels
from .sharding import among, is_of_several_devices, needs_devices, over_devices, spans_devices

kernel_p = Primitive("kousoku_kernel")
kernel_p.multiple_results = True
needs_devices(kernel_p)


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
    if kernel.devices is not None:
        return list(kernel.out_avals)
    if not any(map(varying_axes, args)):
        return [among(args, a, (*lanes, *a.shape)) for a in kernel.out_avals]
    uses = (list(compress(args, used)) for used in kernel.uses)
    return [among(args, a, (*lanes, *a.shape), used) for a, used in zip(kernel.out_avals, uses, strict=True)]


# ---- batching


def _batch(args: Any, dims: Any, *, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> Any:
    size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    if kernel.devices is not None:
        return _batch_in_turn(args, dims, kernel)
    moved = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True)]
    flags = tuple((d is not None, *old) for d, old in zip(dims, batched, strict=True))
    results = kernel_p.bind(*moved, kernel=kernel, lanes=(size, *lanes), batched=flags)
    return results, [0] * len(results)


def _batch_in_turn(args: Any, dims: Any, kernel: Traced) -> Any:
    """Calls a kernel of several devices for one lane after the other: they meet for each."""
    own = [jnp.moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True) if d is not None]

    def one(moved: list[Any]) -> list[Any]:
        given = iter(moved)
        values = [a if d is None else next(given) for a, d in zip(args, dims, strict=True)]
        return kernel_p.bind(*values, kernel=kernel, lanes=(), batched=((),) * len(values))

    results = jax.lax.map(one, own)
    return results, [0] * len(results)


batching.primitive_batchers[kernel_p] = _batch


# ---- derivatives


def _prepare(jaxpr: Any) -> Any:
    return with_bodies_as_kernels(jaxpr, kernel_p)


def _jvp(primals: Any, tangents: Any, *, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> Any:
    """Returns results and their tangents; one that no tangent reaches is told to JAX as the zero that it is."""
    if kernel.devices is not None:
        return _jvp_of_devices(primals, tangents, kernel)
    results = kernel_p.bind(*primals, kernel=kernel, lanes=lanes, batched=batched)
    nonzero = tuple(type(t) is not ad.Zero for t in tangents)
    given = [t for t, n in zip(tangents, nonzero, strict=True) if n]
    flags = (*batched, *(f for f, n in zip(batched, nonzero, strict=True) if n))
    none = [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]
    if not any(map(is_differentiable, results)):
        return results, none
    tangent = kernel.tangent(nonzero, _prepare)
    rates = kernel_p.bind(*primals, *given, kernel=tangent, lanes=lanes, batched=flags)
    moved = iter(zip(rates, tangent.moves, strict=True))

    def rate(result: Any, zero: ad.Zero) -> Any:
        if not is_differentiable(result):
            return zero
        value, moves = next(moved)
        return value if moves else zero

    return results, [rate(result, zero) for result, zero in zip(results, none, strict=True)]


def _jvp_of_devices(primals: Any, tangents: Any, kernel: Traced) -> Any:
    """Returns results and tangents of a kernel of several devices, as plain JAX has them."""
    function = kernel.batched_function((), ())
    moved = [i for i, tangent in enumerate(tangents) if type(tangent) is not ad.Zero]

    def of_moved(*values: Any) -> list[Any]:
        given = dict(zip(moved, values, strict=True))
        return function(*(given.get(i, primal) for i, primal in enumerate(primals)))

    results, rates = jax.jvp(of_moved, [primals[i] for i in moved], [tangents[i] for i in moved])
    zeros = (ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results)
    return results, [z if r.dtype == jax.dtypes.float0 else r for z, r in zip(zeros, rates, strict=True)]


ad.primitive_jvps[kernel_p] = _jvp


def _transpose(cotangents: Any, *args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> list[Any]:
    if kernel.origin is None:
        raise NotImplementedError(f"kernel: {kernel.name} is not linear")
    origin, nonzero = kernel.origin
    count = len(nonzero)
    primals, tangents = args[:count], args[count:]
    given = [ad.instantiate_zeros(c) if type(c) is ad.Zero else c for c in cotangents]
    flags = (*batched[:count], *(((True,) * len(lanes),) * len(given)))
    pulled = kernel_p.bind(*primals, *given, kernel=origin.cotangent(nonzero, _prepare), lanes=lanes, batched=flags)
    results = []
    for tangent, cotangent, own in zip(tangents, pulled, batched[count:], strict=True):
        results.append(_summed(cotangent, tangent.aval, own) if ad.is_undefined_primal(tangent) else None)
    return [None] * count + results


def _summed(cotangent: Any, aval: Any, batched: tuple[bool, ...]) -> Any:
    """Sums over the axes of lanes, and of devices, that share the value."""
    total = jnp.sum(cotangent, axis=tuple(axis for axis, flag in enumerate(batched) if not flag))
    devices = tuple(sorted(varying_axes(jax.typeof(total)) - varying_axes(aval)))
    return jax.lax.psum(total, devices) if devices else total


ad.primitive_transposes[kernel_p] = _transpose


# ---- lowering


def _lower_plain(ctx: Any, *args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags) -> Any:
    if not any(map(varying_axes, kernel.in_avals)):  # traced as on one device
        ctx = ctx.replace(avals_in=list(map(of_one_device, ctx.avals_in)))
    return mlir.lower_fun(kernel.batched_function(lanes, batched), multiple_results=True)(ctx, *args)


def _lower_compiled(
    backend: Backend, ctx: Any, *args: Any, kernel: Traced, lanes: tuple[int, ...], batched: Flags
) -> Any:
    if not kernels_are_on() or 0 in lanes:
        return _lower_plain(ctx, *args, kernel=kernel, lanes=lanes, batched=batched)
    try:
        if why_left_to_xla(kernel, math.prod(lanes), is_of_several_devices(ctx)) is not None:
            return _lower_plain(ctx, *args, kernel=kernel, lanes=lanes, batched=batched)
        code = compiled(backend, kernel, math.prod(lanes), _flat(batched), bool(lanes), kernel.in_place(batched))
    except Exception as error:
        if not (kernel.arrays and isinstance(error, Unsupported)):  # XLA does well with arrays
            warn_once(kernel.name, reason_of(error))
        return _lower_plain(ctx, *args, kernel=kernel, lanes=lanes, batched=batched)
    kernel.begun = None if kernel.begun is code else kernel.begun  # from here on the programs keep it
    ctx.module_context.add_keepalive(code)
    if lanes and spans_devices(ctx):
        call = partial(_divided_call, backend, kernel, lanes, batched)
    else:
        call = partial(_call, backend, kernel, lanes, batched, code)
    return mlir.lower_fun(call, multiple_results=True)(ctx, *args)


def _flat(batched: Flags) -> tuple[bool, ...]:
    return tuple(any(flags) for flags in batched)


def _call(
    backend: Backend,
    kernel: Traced,
    lanes: tuple[int, ...],
    batched: Flags,
    code: CompiledKernel,
    *args: Any,
) -> list[Any]:
    """Makes the custom call, with all axes of lanes as one; where devices meet, each says its number.

    Inputs that are results as they came go past the kernel.
    """
    backend.registry()  # XLA knows it from here on
    interface = kernel.summary.interface
    count = math.prod(lanes)
    flat = [_one_axis(a, flags, lanes) for a, flags in zip(args, batched, strict=True)]
    shapes = [(count, *physical(aval)[0]) if lanes else physical(aval)[0] for aval in kernel.out_avals]
    outs: dict[int, jax.ShapeDtypeStruct] = {}
    for origin, shape, aval in zip(interface.results, shapes, kernel.out_avals, strict=True):
        if not origin.is_input:
            outs.setdefault(origin.number, jax.ShapeDtypeStruct(shape, physical(aval)[1]))
    given = [flat[i] for i in interface.inputs]
    if kernel.devices is not None and kernel.meets:
        given.append(jax.lax.axis_index(kernel.devices.axis))
    aliases = kernel.overwritten(batched) if code.lanes > 1 or kernel.arrays else {}
    call = jax.ffi.ffi_call(backend.call_target, list(outs.values()), input_output_aliases=aliases)
    made = call(*given, kernel=np.int64(code.number))
    results = [
        jnp.broadcast_to(flat[origin.number], shape) if origin.is_input else made[origin.number]
        for origin, shape in zip(interface.results, shapes, strict=True)
    ]
    return _as_results(kernel, lanes, results)


def _divided_call(backend: Backend, kernel: Traced, lanes: tuple[int, ...], batched: Flags, *args: Any) -> list[Any]:
    """Calls on several devices, each with its own part of the lanes.

    XLA's partitioner lowers a part in a module of its own, which nobody keeps: the function keeps its code.
    """
    along = _flat(batched)
    each = tuple((yes,) for yes in along)
    kept: list[CompiledKernel] = []

    def part(*flat: Any) -> list[Any]:
        count = next(a.shape[0] for a, yes in zip(flat, along, strict=True) if yes)
        kept.append(compiled(backend, kernel, count, along, True, kernel.in_place(each)))
        given = [_as_given(a, aval) for a, aval in zip(flat, kernel.in_avals, strict=True)]
        results = kernel_p.bind(*given, kernel=kernel, lanes=(count,), batched=each)
        return [_as_held(r) for r in results]

    flat = [_one_axis(a, flags, lanes) for a, flags in zip(args, batched, strict=True)]
    return _as_results(kernel, lanes, over_devices(part, along, [struct(jax.typeof(a)) for a in flat])(*flat))


def _as_results(kernel: Traced, lanes: tuple[int, ...], flat: Sequence[Any]) -> list[Any]:
    """Returns what a kernel holds, with one axis of lanes, as what the function returns over all of them."""
    avals = kernel.out_avals
    shaped = [jnp.reshape(r, (*lanes, *physical(a)[0])) for r, a in zip(flat, avals, strict=True)]
    return [_as_given(r, a) for r, a in zip(shaped, avals, strict=True)]


def _as_given(held: Any, aval: Any) -> Any:
    """Returns what a kernel holds as an array of the function's own type."""
    return jax.random.wrap_key_data(held, impl=aval.dtype) if is_key(aval) else held.astype(aval.dtype)


def _as_held(array: Any) -> Any:
    """Returns an array as a kernel holds it: keys as words, float16 as float32."""
    return jax.random.key_data(array) if is_key(array) else array.astype(physical(array)[1])


def _one_axis(array: Any, flags: tuple[bool, ...], lanes: tuple[int, ...]) -> Any:
    """Joins the axes of lanes; an array that varies along some of them only is repeated along the others."""
    array = _as_held(array)
    if not any(flags):
        return array
    rest = array.shape[sum(flags) :]
    if not all(flags):
        shape = tuple(n if f else 1 for n, f in zip(lanes, flags, strict=True))
        array = jnp.broadcast_to(jnp.reshape(array, (*shape, *rest)), (*lanes, *rest))
    return jnp.reshape(array, (math.prod(lanes), *rest))


mlir.register_lowering(kernel_p, _lower_plain)
for one in BACKENDS:
    mlir.register_lowering(kernel_p, partial(_lower_compiled, one), platform=one.platform)
