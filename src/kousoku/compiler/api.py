"""`kernel`: the function that users call."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer, eval_jaxpr

from ..core.errors import check_count
from .backends.cpu.entry import assemble
from .config import kernels_are_on
from .explain import Explanation, explain
from .fallback import reason_of
from .llvm.target import host
from .no_gc import without_collection
from .primitive.kernel_primitive import Traced, kernel_p, struct
from .primitive.sharding import of_one_device, varying
from .trace_config import decisive
from .tracing.fingerprint import modules
from .tracing.trace_cache import Memory

WORTH_SECONDS = 0.05  # of tracing, from which on it is kept


@runtime_checkable
class Kernel(Protocol):
    """What `kernel` returns: a function of JAX's, and how it is compiled."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives."""
        ...

    def explain(self, *args: Any, lanes: int = 4096, **kwargs: Any) -> Explanation:
        """How it is compiled for `lanes` lanes and arguments, of one lane, like these (arrays or shapes)."""
        ...

    def begin_compiling(self, lanes: int, in_axes: Sequence[int | None]) -> None:
        """Compile what was traced last, in a thread; programs that call it wait when they run.

        Args:
            lanes: how many lanes it will be called for.
            in_axes: as `jax.vmap` will have them, one for each argument by position; those by name have lanes.
        """
        ...


def kernel(function: Callable[..., Any], *, on: bool | None = None) -> Kernel:
    """The same function, compiled for lanes.

    A function of one lane goes in, in plain JAX: pure, of pytrees of arrays. The result is a JAX function with the same
    meaning. Under `jax.vmap` it becomes one SIMD kernel over all lanes that uses every core; `jit`, `scan`, `grad` and
    the rest work as ever. On a CPU it is compiled by LLVM; on other platforms, and where the compiler has no rule for
    something, it is plain JAX (with a warning that names what).

    Args:
        function: of arrays, of one lane. Leaves of its arguments that are no arrays are static.
        on: whether to compile; None for the switch (`use_kernels`, or the environment variable KOUSOKU_KERNEL).

    Example:
        >>> import jax, jax.numpy as jnp, kousoku as ks
        >>> step = ks.kernel(lambda x: jnp.where(x > 1.0, x * 0.5, 3.0 * x))
        >>> jax.vmap(step)(jnp.arange(4.0))
        Array([0. , 3. , 1. , 1.5], dtype=float32)
    """
    cache: dict[Any, tuple[Traced, Any]] = {}
    name = getattr(function, "__qualname__", type(function).__name__)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not (kernels_are_on() if on is None else on):
            return function(*args, **kwargs)
        leaves, tree = jax.tree.flatten((args, kwargs))
        dynamic = [leaf for leaf in leaves if _is_array(leaf)]
        static = tuple(None if _is_array(leaf) else leaf for leaf in leaves)
        here, avals = decisive(), list(map(jax.typeof, dynamic))
        identity = (tree, static, tuple(avals), here)
        alone = tuple(map(of_one_device, avals))
        found = cache.get(identity) or cache.get((tree, static, alone, here))
        consts: list[Any] = []
        if found is None:
            traced, out_tree, consts = _recall_or_trace(function, name, tree, static, dynamic, alone)
            found = traced, out_tree
            if not consts:
                cache[identity] = found
        traced, out_tree = found
        flags = ((),) * (len(consts) + len(dynamic))
        results = kernel_p.bind(*consts, *dynamic, kernel=traced, lanes=(), batched=flags)
        return jax.tree.unflatten(out_tree, results)

    def explained(*args: Any, lanes: int = 4096, **kwargs: Any) -> Explanation:
        check_count("lanes", lanes)
        began = time.perf_counter()
        traced = _traced(function, name, *args, **kwargs)
        return explain(traced, time.perf_counter() - began, lanes)

    def begin_compiling(lanes: int, in_axes: Sequence[int | None]) -> None:
        if on is False or not kernels_are_on() or jax.default_backend() != "cpu" or not cache:
            return
        (tree, static, *_), (traced, _) = list(cache.items())[-1]
        args, kwargs = jax.tree.unflatten(tree, [leaf is None for leaf in static])
        axes = [*zip(in_axes, args, strict=True), (0, kwargs)]
        along = tuple(axis is not None for axis, arg in axes for is_array in jax.tree.leaves(arg) if is_array)
        with contextlib.suppress(Exception):  # whoever lowers it meets it again, and tells
            traced.begin_compiling(lanes, along)

    made = cast(Any, wrapper)
    made.explain, made.begin_compiling = explained, begin_compiling
    return made


def compiles(function: Callable[..., Any], *args: Any) -> bool:
    """Whether kernels are on, the platform is one that they are compiled for, and there is a rule for everything."""
    return kernels_are_on() and jax.default_backend() == "cpu" and reason_against(function, *args) is None


def reason_against(function: Callable[..., Any], *args: Any) -> str | None:
    """What keeps a function of one lane from being compiled, or None."""
    try:
        program = _traced(function, "", *args).program
        assemble(program, 1, [False] * len(program.inputs), host())
    except Exception as error:
        return reason_of(error)
    return None


def _traced(function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Traced:
    """The function, traced for arguments like these, which may be shapes."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    dynamic = [leaf for leaf in leaves if _is_array(leaf)]
    static = tuple(None if _is_array(leaf) else leaf for leaf in leaves)
    structs = [jax.ShapeDtypeStruct(jnp.shape(x), jax.typeof(x).dtype) for x in dynamic]
    return _trace(function, name, tree, static, structs)[0]


def _is_array(leaf: Any) -> bool:
    kinds = jax.Array | np.ndarray | np.generic | bool | int | float | Tracer | jax.ShapeDtypeStruct
    return isinstance(leaf, kinds)


def _as_on_one_device(value: Any) -> Any:
    """A value, or its type on one device if it is one of several's own."""
    aval = jax.typeof(value)
    alone = of_one_device(aval)
    return value if alone is aval else struct(alone)


def _recall_or_trace(
    function: Callable[..., Any],
    name: str,
    tree: Any,
    static: tuple[Any, ...],
    dynamic: list[Any],
    avals: Sequence[Any],
) -> tuple[Traced, Any, list[Any]]:
    """As `_trace`; but a function that an earlier process has traced is not traced again."""
    types = list(map(struct, avals))
    memory = Memory.of(function, name, tree, static, types)
    if memory is not None:
        found = memory.recall(name, avals, lambda: _trace(function, name, tree, static, types)[0].jaxpr)
        if found is not None:
            return *found, []
    began = time.perf_counter()
    traced, out_tree, consts = _trace(function, name, tree, static, dynamic)
    if memory is not None and not consts and time.perf_counter() - began >= WORTH_SECONDS:
        results = jax.tree.unflatten(out_tree, map(struct, traced.out_avals))
        traced.told = partial(memory.keep, results, modules())
    return traced, out_tree, consts


def _trace(
    function: Callable[..., Any], name: str, tree: Any, static: tuple[Any, ...], dynamic: list[Any]
) -> tuple[Traced, Any, list[Any]]:
    """The traced function, the structure of its result, and values of outer traces that it uses."""
    out_tree = None

    def flat(*values: Any) -> list[Any]:
        nonlocal out_tree
        given = iter(values)
        leaves = [next(given) if s is None else s for s in static]
        args, kwargs = jax.tree.unflatten(tree, leaves)
        results, out_tree = jax.tree.flatten(function(*args, **kwargs))
        return results

    with without_collection():
        jaxpr = jax.make_jaxpr(flat)(*map(_as_on_one_device, dynamic))
        if any(isinstance(c, Tracer) and varying(jax.typeof(c)) for c in jaxpr.consts):
            jaxpr = jax.make_jaxpr(flat)(*dynamic)  # the types of what it uses name the devices: so all have to
    jaxpr, consts = _lift_tracers(jaxpr)
    return Traced.of(jaxpr, name), out_tree, consts


def _lift_tracers(closed: Any) -> tuple[Any, list[Any]]:
    """Constants that are values of an outer trace become the first inputs."""
    lifted = [isinstance(c, Tracer) for c in closed.consts]
    if not any(lifted):
        return closed, []
    moved = [c for c, yes in zip(closed.consts, lifted, strict=True) if yes]

    def opened(*values: Any) -> list[Any]:
        given = iter(values[: len(moved)])
        consts = [next(given) if yes else c for c, yes in zip(closed.consts, lifted, strict=True)]
        return eval_jaxpr(closed.jaxpr, consts, *values[len(moved) :])

    avals = [*map(jax.typeof, moved), *closed.in_avals]
    return jax.make_jaxpr(opened)(*map(struct, avals)), moved
