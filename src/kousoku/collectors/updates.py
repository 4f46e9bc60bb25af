"""Several updates after one another, on minibatches that are drawn before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ..compiler import on_arrays


def make_updates(
    update: Callable[[Int[Array, ""], Any], tuple[Any, dict[str, Array], Any]],
    agent_state: Any,
    count: int | Int[Array, ""],
    most: int,
    axis: str | None,
) -> tuple[Any, dict[str, Array], Any]:
    """Makes updates in a loop along arrays.

    Args:
        update: (number of the update, agent's state) -> (state, metrics, what is told of its samples, or None).
        agent_state: before the first one.
        count: how many there are.
        most: how many there may be.
        axis: of the devices that share the environments.

    Returns:
        The state after the last one; the sum of each metric; what was told, [most, ...], zeros where no update was.
    """

    def add_update(i: Int[Array, ""], now: tuple[Any, dict[str, Array], Any]) -> tuple[Any, dict[str, Array], Any]:
        learned, metrics, told = update(i, now[0])
        rows = jax.tree.map(lambda rows, row: rows.at[i].set(row), now[2], told)
        return learned, jax.tree.map(jnp.add, now[1], metrics), rows

    _, metrics, told = jax.eval_shape(update, jnp.int32(0), agent_state)
    sums = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), metrics)
    rows = jax.tree.map(lambda x: jnp.zeros((most, *x.shape), x.dtype), told)
    run = on_arrays(lambda *begin: jax.lax.fori_loop(0, count, add_update, begin), axis, donate_argnums=(0, 1, 2))
    return run(agent_state, sums, rows)
