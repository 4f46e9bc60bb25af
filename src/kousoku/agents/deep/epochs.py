"""Several passes over a rollout, minibatch by minibatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray

from .minibatches import Plan, minibatch_indices

Scalars = dict[str, Float[Array, ""]]
Step = Callable[[Any, Array], tuple[Any, Scalars]]


def run_epochs(
    step: Step, learned: Any, plan: Plan, keys: Key[Array, " E"], target_kl: float | Array | None
) -> tuple[Any, Scalars]:
    """`step(learned, indices) -> (learned, metrics)` for each minibatch of each epoch.

    Args:
        step: learns from the samples of these indices.
        learned: what it changes.
        plan: the division into minibatches.
        keys: one for each epoch.
        target_kl: later epochs are left out once the mean of "approx_kl" over an epoch exceeds this; None for never.

    Returns:
        What was learned, and the metrics' means over the steps of all epochs, or, with `target_kl`, of the last one
        that was made, and "epochs", their number.

    References:
        Schulman et al., arXiv:1707.06347, algorithm 1. Stopping early: J. Achiam, OpenAI Spinning Up (2018).
    """
    if target_kl is not None:
        return _until_too_far(step, learned, plan, keys, target_kl)
    learned, metrics = jax.lax.scan(lambda learned, key: _epoch(step, learned, plan, key), learned, keys)
    return learned, jax.tree.map(jnp.mean, metrics)


Carry = tuple[Any, Bool[Array, ""], Scalars]


def _epoch(step: Step, learned: Any, plan: Plan, key: PRNGKeyArray) -> tuple[Any, Scalars]:
    learned, metrics = jax.lax.scan(step, learned, minibatch_indices(plan, key))
    return learned, jax.tree.map(jnp.mean, metrics)


def _until_too_far(
    step: Step, learned: Any, plan: Plan, keys: Key[Array, " E"], target_kl: float | Array
) -> tuple[Any, Scalars]:
    """Every epoch is compiled once; those after the stop are passed over."""

    def epoch_or_none(carry: Carry, key: PRNGKeyArray) -> tuple[Carry, Bool[Array, ""]]:
        learned, stopped, metrics = carry
        learned, metrics = jax.lax.cond(stopped, lambda: (learned, metrics), lambda: _epoch(step, learned, plan, key))
        return (learned, stopped | (metrics["approx_kl"] > target_kl), metrics), ~stopped

    names = jax.eval_shape(lambda key: _epoch(step, learned, plan, key)[1], keys[0])
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), names)
    (learned, _, metrics), made = jax.lax.scan(epoch_or_none, (learned, jnp.array(False), nothing), keys)
    return learned, metrics | {"epochs": jnp.sum(made, dtype=jnp.float32)}
