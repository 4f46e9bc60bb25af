"""Compiles functions of one lane: `kernel` and what decides about it."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import jax

from ..core.errors import ConfigError, check_count, check_flag
from .backends import backend, current
from .config import kernels_are_on
from .cost import Decision, weigh, weigh_work
from .explain import Explanation, explain, plain
from .fallback import reason_of, warn_once, why_not_here
from .host_kernel import LONGEST_CALL, HostKernel, host_kernel, host_may_call
from .jax_config import trace_affecting_config
from .primitive.kernel_primitive import kernel_p
from .tracing.devices import of_one_device
from .tracing.trace import LanesMeet, is_array, recall_or_trace, trace_among, trace_like
from .tracing.traced import Traced

USUAL_LANES = 4096
"""Lanes that a kernel is explained for where nobody says how many."""


@runtime_checkable
class Kernel(Protocol):
    """A function of JAX's that `kernel` returns, which also says how it is compiled."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        ...

    def explain(self, *args: Any, lanes: int | None = None, **kwargs: Any) -> Explanation:
        """Explains how it is compiled here and now, or why it is not.

        Args:
            args, kwargs: arguments of one lane like those that it will be given, arrays or shapes; of a kernel with
                `axis_name` those of one device, within `jax.shard_map`.
            lanes: how many; by default 4096, and of a kernel along arrays a single one.
        """
        ...

    def begin_compiling(self, lanes: int, in_axes: Sequence[Any]) -> None:
        """Compiles what was traced last, in a thread; programs that call it wait when they run.

        Args:
            lanes: how many lanes it will be called for.
            in_axes: as `jax.vmap` will have them, one for each argument by position, or for each part of it; those by
                name have lanes.
        """
        ...

    def for_host(self, lanes: int, in_axes: Sequence[Any], *args: Any, longest: int | None = None) -> HostKernel | None:
        """Returns it as a kernel that the host calls with NumPy's arrays, past XLA; None where that cannot be.

        Args:
            lanes: how many.
            in_axes: as `jax.vmap` would have them, one for each argument, or for each part of it: 0 or None.
            args: of one lane, like those that it will be given.
            longest: nanoseconds of a call, by the estimate, from which on there is none; None for no limit.
        """
        ...


def kernel(
    function: Callable[..., Any],
    *,
    on: bool | None = None,
    arrays: bool = False,
    axis_name: str | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Kernel:
    """Returns the same function, compiled for lanes, or for the arrays of one.

    A function of one lane goes in, in plain JAX: pure, of pytrees of arrays. The result is a JAX function with the same
    meaning. Under `jax.vmap` it becomes one SIMD kernel over all lanes that uses every core; `jit`, `scan`, `grad` and
    the rest work as ever. On a CPU it is compiled by LLVM; on other platforms, and where the compiler has no rule for
    something, it is plain JAX (with a warning that names what).

    Args:
        function: of arrays, of one lane. Leaves of its arguments that are no arrays are static.
        on: False for plain JAX in any case; else the switch decides (`use_kernels`, or the environment variable
            KOUSOKU_KERNEL), which True has asked only when a program is compiled, None when it is traced as well.
        arrays: whether vectors lie along its arrays, as suits few lanes that each compute with large arrays: a
            gradient step is one, with its products of matrices in blocks that fit registers. Lanes are then shared out
            among the cores, one at a time; a single one with very large products is plain JAX, as XLA's threads share
            these.
        axis_name: the devices' name, where the function takes sums, means, or largest or smallest elements over those
            of `jax.shard_map`, or joins their arrays: its kernels meet while they run. With `arrays` only.
        donate_argnums: numbers of arguments by position whose arrays may be overwritten by results of the same shape
            and type, as what a loop carries may: it is neither copied nor given new memory at each turn. Unlike
            `jax.jit`'s, what is still needed afterwards is copied first, so no value is lost.

    Raises:
        ConfigError: for what is no function, a switch that is neither True nor False, `axis_name` without `arrays`, or
            numbers of arguments that are none.

    Example:
        >>> import jax, jax.numpy as jnp, kousoku as ks
        >>> step = ks.kernel(lambda x: jnp.where(x > 1.0, x * 0.5, 3.0 * x))
        >>> jax.vmap(step)(jnp.arange(4.0))
        Array([0. , 3. , 1. , 1.5], dtype=float32)
    """
    if not callable(function):
        raise ConfigError("function", function, "use a function of arrays, of one lane")
    if on is not None:
        check_flag("on", on)
    check_flag("arrays", arrays)
    if axis_name is not None and not arrays:
        raise ConfigError("axis_name", axis_name, "devices meet in kernels with arrays=True only")
    name = getattr(function, "__qualname__", type(function).__name__)
    traces = _Traces(function, name, arrays, axis_name, _argument_numbers(donate_argnums), {})

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not (kernels_are_on() if on is None else on):
            return function(*args, **kwargs)
        try:
            traced, out_tree, operands = traces.of(args, kwargs)
        except LanesMeet as axes:
            warn_once(name, f"its lanes meet over {axes}")
            return function(*args, **kwargs)
        results = kernel_p.bind(*operands, kernel=traced, lanes=(), batched=((),) * len(operands))
        return jax.tree.unflatten(out_tree, results)

    def explained(*args: Any, lanes: int | None = None, **kwargs: Any) -> Explanation:
        count = (1 if arrays else USUAL_LANES) if lanes is None else check_count("lanes", lanes)
        return traces.explained(args, kwargs, count, "it is switched off by on=False" if on is False else None)

    def begin_compiling(lanes: int, in_axes: Sequence[Any]) -> None:
        if on is False or not kernels_are_on() or current().backend is None or not traces.kept:
            return
        (tree, static, *_), (traced, _) = list(traces.kept.items())[-1]
        args, kwargs = jax.tree.unflatten(tree, [leaf is None for leaf in static])
        along = _varying((*in_axes, 0), (*args, kwargs), lambda dynamic: dynamic)
        with contextlib.suppress(Exception):  # whoever lowers it meets it again, and tells
            traced.begin_compiling(lanes, along)

    def for_host(lanes: int, in_axes: Sequence[Any], *args: Any, longest: int | None = None) -> HostKernel | None:
        if on is False or not host_may_call() or current().backend is None:
            return None
        try:
            traced, out_tree, operands = traces.of(args, {})
            along = _varying(in_axes, args)
            return host_kernel(traced, out_tree, operands[: len(operands) - len(along)], along, lanes, longest)
        except Exception:
            return None  # the program that is called instead meets the same, and warns

    made = cast(Any, wrapper)
    made.explain, made.begin_compiling, made.for_host = explained, begin_compiling, for_host
    return made


@dataclass(frozen=True)
class _Traces:
    """The traces of a kernel's function, one for each structure and types of its arguments.

    Attributes:
        function, name: what is traced, and what it is called.
        arrays, axis_name: as `kernel` was told.
        donated: numbers of arguments by position that may be overwritten.
        kept: the traces and the structures of their results.
    """

    function: Callable[..., Any]
    name: str
    arrays: bool
    axis_name: str | None
    donated: frozenset[int]
    kept: dict[Any, tuple[Traced, Any]]

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Traced, Any, list[Any]]:
        """Returns a trace, the structure of its result, and what it is called with: values of outer traces, arguments.

        Raises:
            LanesMeet: if its lanes meet over axes of the caller's.
        """
        tree, static, dynamic = _parts(args, kwargs)
        here, avals = trace_affecting_config(), list(map(jax.typeof, dynamic))
        identity = (tree, static, tuple(avals), here)
        alone = tuple(map(of_one_device, avals))
        found = self.kept.get(identity)
        if found is None and self.axis_name is None:
            found = self.kept.get((tree, static, alone, here))
        if found is not None:
            return *found, dynamic
        if self.axis_name is None:
            traced, out_tree, consts = recall_or_trace(self.function, self.name, tree, static, dynamic, alone)
        else:
            traced, out_tree, consts = trace_among(self.function, self.name, tree, static, dynamic, self.axis_name)
        traced.arrays = self.arrays
        traced.donated = (False,) * len(consts) + _leaves_of(self.donated, args, kwargs)
        if not consts:
            self.kept[identity] = traced, out_tree
        return traced, out_tree, [*consts, *dynamic]

    def explained(self, args: tuple[Any, ...], kwargs: dict[str, Any], lanes: int, why_not: str | None) -> Explanation:
        """Explains how the function is compiled for arguments like these, or why it is not."""
        began = time.perf_counter()
        try:
            traced = self._anew(args, kwargs)
        except LanesMeet as axes:
            meets = f"its lanes meet over {axes}"
            return plain(self.name, self.arrays, lanes, meets, decision=Decision(False, meets), seconds={})
        return explain(traced, time.perf_counter() - began, lanes, why_not)

    def _anew(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        """Traces once more, for arguments like these, which may be shapes.

        Raises:
            LanesMeet: if its lanes meet over axes of the caller's.
        """
        if self.axis_name is None:
            traced = trace_like(self.function, self.name, *args, **kwargs)
        else:
            traced = trace_among(self.function, self.name, *_parts(args, kwargs), self.axis_name)[0]
        traced.arrays = self.arrays
        return traced


def _parts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """Returns arguments as (how they are put together, leaves that are static or None, leaves that are traced)."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    static = tuple(None if is_array(leaf) else leaf for leaf in leaves)
    return tree, static, [leaf for leaf in leaves if is_array(leaf)]


def _argument_numbers(numbers: int | Sequence[int]) -> frozenset[int]:
    """Returns numbers of arguments by position as a set.

    Raises:
        ConfigError: for what is no such number.
    """
    each = tuple(numbers) if isinstance(numbers, (tuple, list, set, frozenset, range)) else (numbers,)
    return frozenset(check_count("donate_argnums", number, low=0) for number in each)


def _leaves_of(numbers: frozenset[int], args: tuple[Any, ...], kwargs: Any) -> tuple[bool, ...]:
    """Returns for each leaf of the arguments that is traced whether it belongs to one of these numbers.

    Raises:
        ConfigError: for a number that no argument has.
    """
    count = len(args) + len(kwargs)
    if numbers and max(numbers) >= count:
        raise ConfigError("donate_argnums", max(numbers), f"the function was given {count} arguments, from 0 on")
    each = [(i in numbers, jax.tree.leaves(arg)) for i, arg in enumerate(args)] + [(False, jax.tree.leaves(kwargs))]
    return tuple(yes for yes, leaves in each for leaf in leaves if is_array(leaf))


def on_arrays(
    function: Callable[..., Any], axis: str | None = None, donate_argnums: int | Sequence[int] = ()
) -> Kernel:
    """Returns a learner's function compiled with vectors along its arrays.

    Args:
        function: of arrays.
        axis: the devices' name, over which it takes means; None where it takes none.
        donate_argnums: as of `kernel`.
    """
    return kernel(function, arrays=True, axis_name=axis, donate_argnums=donate_argnums)


def few_lanes(function: Callable[..., Any]) -> Callable[..., HostKernel | None]:
    """Returns what makes a function's kernels for the host: of (number of lanes, in_axes, arguments of one lane).

    Vectors lie along lanes, or along the arrays of a single one. There is none where XLA's program would be faster.
    """
    alone, among = on_arrays(function), kernel(function)

    def made(lanes: int, in_axes: Sequence[Any], *args: Any) -> HostKernel | None:
        return (alone if lanes == 1 else among).for_host(lanes, in_axes, *args, longest=LONGEST_CALL)

    return made


def decide(
    function: Callable[..., Any], *args: Any, lanes: int | None = None, in_axes: Sequence[Any] | None = None
) -> Decision:
    """Decides whether a function of one lane should be one kernel; nothing is compiled.

    It should not where kernels are off, where the platform has no back end, where XLA is estimated to be faster (see
    `cost`), and where there is no rule for something in it. `kernel` itself asks no estimate about lanes: it compiles
    what this says no to for being slow, too.

    Args:
        function: of arrays, of one lane; what it raises when it is traced is raised here.
        args: its arguments of one lane, or their shapes.
        lanes: how many there will be, where that is known.
        in_axes: as `jax.vmap` will have them, one for each argument; None if all have lanes.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> decide(lambda x, w: jnp.tanh(x @ w), jnp.ones((32, 256)), jnp.ones((256, 256)), lanes=8).take
        False
    """
    why_not = why_not_here()
    if why_not is not None:
        return Decision(False, why_not)
    traced = trace_like(function, "", *args)
    decision = weigh_work(traced.jaxpr, lanes)
    if not decision.take:
        return decision
    try:
        interface = traced.summary.interface
    except Exception as error:
        return Decision(False, reason_of(error))
    decision = weigh(traced.jaxpr, lanes, None if in_axes is None else _varying(in_axes, args), interface)
    reason = _reason_against(traced) if decision.take else None
    return decision if reason is None else Decision(False, reason)


def _varying(
    in_axes: Sequence[Any], args: Sequence[Any], dynamic: Callable[[Any], bool] = is_array
) -> tuple[bool, ...]:
    """Returns for each leaf of the arguments that is traced whether it has an axis of lanes."""
    found: list[bool] = []

    def part(axis: int | None, arg: Any) -> None:
        found.extend(axis is not None for leaf in jax.tree.leaves(arg) if dynamic(leaf))

    for axes, arg in zip(in_axes, args, strict=True):
        jax.tree.map(part, axes, arg, is_leaf=lambda x: x is None)
    return tuple(found)


def compiles(function: Callable[..., Any], *args: Any) -> bool:
    """Returns whether kernels are on, the platform is one that they are compiled for, and there is a rule for all."""
    return why_not_here() is None and reason_against(function, *args) is None


def reason_against(function: Callable[..., Any], *args: Any) -> str | None:
    """Returns what keeps a function of one lane from being compiled, or None."""
    try:
        traced = trace_like(function, "", *args)
    except Exception as error:
        return reason_of(error)
    return _reason_against(traced)


def _reason_against(traced: Traced) -> str | None:
    try:
        graph = traced.graph
        backend().emit_module(graph, 1, [False] * len(graph.inputs), backend().target(), traced.arrays, ())
    except Exception as error:
        return reason_of(error)
    return None
