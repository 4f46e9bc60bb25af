"""Recurrent cells: ours beside Equinox's, in XLA and in kernels along arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from kousoku.compiler import kernel
from kousoku.nn.recurrent import GRU, LSTM

from .budget import Budget
from .table import Section, TableColumn, TableRow, median_seconds_in_turns

SEQUENCES = TableColumn("agents", "sequences", ",d")
GRADIENT = TableColumn("gradient_microseconds", "microseconds a gradient", ",.0f")
ABOUT = (
    "The gradient of the mean of squared outputs with respect to a cell's weights, {size} features in and out, through "
    "{steps} steps of sequences side by side: what a recurrent learner computes for a minibatch. Within a kind, cells "
    "run in turns."
)
SIZE = 64
KINDS: dict[str, tuple[Callable[..., eqx.Module], Callable[..., eqx.Module]]] = {
    "GRU": (GRU, eqx.nn.GRUCell),
    "LSTM": (LSTM, eqx.nn.LSTMCell),
}


def section(budget: Budget) -> Section:
    """Measures both kinds of cells."""
    rows = [row for kind in KINDS for row in _rows(kind, budget)]
    return Section("Recurrent cells", ABOUT.format(size=SIZE, steps=budget.cell_steps), (SEQUENCES, GRADIENT), rows)


def _rows(kind: str, budget: Budget) -> list[TableRow]:
    """Measures one kind: ours and Equinox's, in XLA and in the kernel."""
    cells = dict(zip((f"kousoku {kind}", f"equinox {kind}"), KINDS[kind], strict=True))
    names = [(name, on) for name in cells for on in (True, False)]
    runs = [_run(cells[name](SIZE, SIZE, key=jax.random.key(0)), on, budget) for name, on in names]
    seconds = median_seconds_in_turns(runs, budget.repeats, budget.least_seconds)
    return [
        TableRow(f"{name}, {'kernel' if on else 'XLA'}", {"agents": budget.sequences, GRADIENT.key: 1e6 * spent})
        for (name, on), spent in zip(names, seconds, strict=True)
    ]


def _run(cell: eqx.Module, on: bool, budget: Budget) -> Callable[[], object]:
    """Returns a call that computes one gradient and waits for it."""
    inputs = jax.random.normal(jax.random.key(1), (budget.sequences, budget.cell_steps, SIZE))
    gradient = jax.jit(kernel(gradient_of(cell), arrays=True, on=on)).lower(cell, inputs).compile()
    return lambda: jax.block_until_ready(gradient(cell, inputs))


def gradient_of(cell: eqx.Module) -> Callable[[Any, jax.Array], Any]:
    """Returns the function (cell, inputs [n, T, i]) -> gradient of the mean squared output, shaped as the cell."""

    def outputs(cell: Any, inputs: jax.Array) -> jax.Array:
        step = _ours if isinstance(cell, GRU | LSTM) else _equinox
        zeros = jnp.zeros(SIZE, jnp.float32)
        begin = (zeros, zeros) if isinstance(cell, LSTM | eqx.nn.LSTMCell) else zeros
        return jax.lax.scan(lambda carry, x: step(cell, x, carry), begin, inputs)[1]

    def loss(cell: Any, inputs: jax.Array) -> jax.Array:
        return jnp.mean(jnp.square(jax.vmap(outputs, in_axes=(None, 0))(cell, inputs)))

    return jax.grad(loss)


def _ours(cell: Any, x: jax.Array, carry: Any) -> tuple[Any, jax.Array]:
    """Takes a step of one of our cells: (carry, output)."""
    output, carry = cell(x, carry)
    return carry, output


def _equinox(cell: Any, x: jax.Array, carry: Any) -> tuple[Any, jax.Array]:
    """Takes a step of one of Equinox's, whose carry begins with its output: (carry, output)."""
    carry = cell(x, carry)
    return carry, carry[0] if isinstance(carry, tuple) else carry
