"""Compile times: each stage of ours, and XLA's for the same function."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kousoku.compiler import kernel
from kousoku.compiler.backends.cpu.entry import emit_module
from kousoku.compiler.frontend import from_jaxpr
from kousoku.compiler.llvm.compile import object_code
from kousoku.compiler.llvm.target import host
from kousoku.compiler.passes import run_passes
from kousoku.envs import make

from .budget import Budget
from .subprocess_timing import run_in_subprocess
from .table import Section, TableColumn, TableRow, attempt

ABOUT = (
    "From Python to a program that can be called, in a process that has compiled something else before; every "
    "repeat compiles other constants, so that no cache helps. The stages of the kernel are measured one by one, the "
    "total as `jax.jit(jax.vmap(...)).lower(...).compile()`. Straight-line functions are compiled once."
)
STAGES = ("trace", "read", "emit", "llvm")
COLUMNS = (
    TableColumn("seconds", "total, s", ",.3f"),
    TableColumn("trace", "trace, s", ",.3f"),
    TableColumn("read", "read, s", ",.3f"),
    TableColumn("emit", "emit, s", ",.3f"),
    TableColumn("llvm", "LLVM, s", ",.3f"),
    TableColumn("operations", "operations", ",d"),
)
WIDTH = 16
CARTPOLE, STRAIGHT, FORWARD = "CartPole step", "straight line", "straight line, forward mode"

Function = tuple[Callable[..., Any], tuple[Any, ...]]


def section(budget: Budget) -> Section:
    """Measures each function, with the kernel and with XLA."""
    rows = []
    for name in (CARTPOLE, STRAIGHT, FORWARD):
        for compiler, measure in (("kernel", "kernel_seconds"), ("XLA", "xla_seconds")):
            repeats = budget.repeats if name == CARTPOLE else 1
            arguments = measure, name, budget.operations, repeats
            title = f"{name}, {compiler}"
            rows.append(attempt(title, 0, lambda a=arguments, t=title: _row(t, a, budget.compile_limit)))
    rows = [TableRow(row.name, {k: v for k, v in row.figures.items() if k != "agents"}, row.note) for row in rows]
    return Section("Compile times", ABOUT, COLUMNS, rows)


def _row(title: str, arguments: tuple[Any, ...], limit: float) -> TableRow:
    return TableRow(title, run_in_subprocess(__name__, *arguments, limit=limit))


def kernel_seconds(name: str, operations: int, repeats: int) -> dict[str, float]:
    """Returns medians of the stages' seconds and of the whole, and the number of operations that are compiled."""
    _whole(variant(CARTPOLE, operations, -1), True)
    stages = [_stages(variant(name, operations, 2 * i)) for i in range(repeats)]
    whole = [_whole(variant(name, operations, 2 * i + 1), True) for i in range(repeats)]
    found = {key: statistics.median(stage[key] for stage in stages) for key in STAGES}
    return {"seconds": statistics.median(whole), **found, "operations": stages[0]["operations"]}


def xla_seconds(name: str, operations: int, repeats: int) -> dict[str, float]:
    """Returns the median of the whole."""
    _whole(variant(CARTPOLE, operations, -1), False)
    return {"seconds": statistics.median(_whole(variant(name, operations, i), False) for i in range(repeats))}


def _stages(given: Function) -> dict[str, Any]:
    """Times the kernel's stages, one after the other."""
    function, args = given
    target = host()
    times = [time.perf_counter()]
    jaxpr = jax.make_jaxpr(function)(*args)
    times.append(time.perf_counter())
    graph = run_passes(from_jaxpr(jaxpr))
    times.append(time.perf_counter())
    assembly = emit_module(graph, target.lanes, [True] * len(graph.inputs), target, False)
    times.append(time.perf_counter())
    object_code(assembly.text, target)
    times.append(time.perf_counter())
    return {**dict(zip(STAGES, np.diff(times).tolist(), strict=True)), "operations": len(graph.ops)}


def _whole(given: Function, on: bool) -> float:
    """Returns the seconds until the batched function can be called."""
    function, args = given
    lanes = [jax.ShapeDtypeStruct((1024, *jnp.shape(x)), jax.typeof(x).dtype) for x in args]
    began = time.perf_counter()
    jax.jit(jax.vmap(kernel(function, on=on))).lower(*lanes).compile()
    return time.perf_counter() - began


def variant(name: str, operations: int, number: int) -> Function:
    """Returns a function with a constant of its own, and arguments of one lane."""
    if name == CARTPOLE:
        env = make("CartPole-v1", gravity=9.8 + 1e-3 * number)
        state, _ = env.reset(jax.random.key(0))
        return lambda *given: _flat_step(env, *given), (*jax.tree.leaves(state), jnp.int32(1))
    function = straight_line(operations, 1.0 + 1e-3 * number)
    x = jnp.linspace(0.1, 0.9, WIDTH)
    if name == STRAIGHT:
        return function, (x,)
    return lambda x, tangent: jax.jvp(function, (x,), (tangent,)), (x, jnp.ones(WIDTH, jnp.float32))


def _flat_step(env: Any, *given: Any) -> Any:
    *numbers, action = given
    structure = jax.tree.structure(jax.eval_shape(env.reset, jax.random.key(0))[0])
    return env.step(jax.random.key(0), jax.tree.unflatten(structure, numbers), action)


def straight_line(operations: int, scale: float) -> Callable[[Any], Any]:
    """Returns a function of 16 numbers made of so many scalar operations without a loop, each of which the result
    needs.
    """
    rng = np.random.default_rng(0)
    others, kinds = rng.integers(WIDTH, size=operations), rng.integers(8, size=operations)

    def function(x: Any) -> Any:
        values = [scale * x[i] for i in range(WIDTH)]
        for n in range(operations - WIDTH):
            a, b = values[n % WIDTH], values[others[n]]
            values[n % WIDTH] = _operation(int(kinds[n]), a, b)
        return jnp.stack(values)

    return function


def _operation(kind: int, a: Any, b: Any) -> Any:
    """Computes one of what dynamics are made of; bounded, so that numbers stay numbers."""
    if kind < 3:
        return a + b
    if kind < 5:
        return a * b
    if kind < 7:
        return a - b
    return jnp.minimum(a, b)
