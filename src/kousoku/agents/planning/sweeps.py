"""What the planners share: sweeping until the values have settled, and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from ...core.errors import check_count, check_number, is_number
from ...core.model import TabularModel, check_model
from ...ops.planning import Values, advantage, ends, reachable, rounding

MAX_SWEEPS = 100_000


class Task(eqx.Module):
    """What is to be solved, as arrays.

    Attributes:
        model: the tables.
        discount: gamma.
        matters: states by which convergence is judged. All of them with a discount; without one, those that can be
            reached or can end the episode (the inside of a thick wall can do neither, and its costs add up for ever).
        tolerance: how far from the solution the values may be, in units of the largest one.
        max_sweeps: sweeps after which the search is given up.
    """

    model: TabularModel
    discount: Float[Array, ""]
    matters: Bool[Array, " S"]
    tolerance: Float[Array, ""]
    max_sweeps: Int[Array, ""]


class Sweeps(eqx.Module):
    """Values on their way to a fixed point.

    Attributes:
        values: after the last sweep.
        moving: which values may still be further from the fixed point than the tolerance.
        total: sweeps made.
        settled: whether no value that matters is moving.
    """

    values: Values
    moving: Bool[Array, " S"]
    total: Int[Array, ""]
    settled: Bool[Array, ""]


def prepare(model: TabularModel, discount: Any, tolerance: Any, max_sweeps: Any) -> Task:
    """Check the arguments that all planners have. The model has to be concrete, not traced.

    Raises:
        ConfigError: for tables that are no Markov decision process, a discount outside [0, 1], a tolerance that is not
            positive, or no sweep at all.
    """
    check_model(model)
    check_number("discount", discount, low=0, high=1)
    check_number("tolerance", tolerance, low=0, high=1, open_low=True)
    limit = check_count("max_sweeps", max_sweeps, high=2**30)
    return Task(
        model=TabularModel(
            probability=jnp.asarray(model.probability, jnp.float32),
            next_state=jnp.asarray(model.next_state, jnp.int32),
            reward=jnp.asarray(model.reward, jnp.float32),
            terminated=jnp.asarray(model.terminated),
            start=jnp.asarray(model.start, jnp.float32),
        ),
        discount=jnp.asarray(discount, jnp.float32),
        matters=jnp.asarray(reachable(model) | ends(model) | (is_number(discount) and discount < 1)),
        tolerance=jnp.asarray(tolerance, jnp.float32),
        max_sweeps=jnp.int32(limit),
    )


def sweep(task: Task, weigh: Callable[[Float[Array, "S A"]], Float[Array, "S A"]], start: Values) -> Sweeps:
    """v(s) <- v(s) + sum_a w(s, a) A(s, a) over all states, until the values stand still; w is `weigh` of A.

    Sweeps come in blocks of 1, 1, 2, 4, 8, ..., each as long as all before it. If a block of n sweeps moved the values
    by d, they are within d gamma^n / (1 - gamma^n) of the fixed point, since a sweep contracts distances by gamma.
    Without discounting there is no such bound, and d itself has to do: the second half of all sweeps no longer
    mattered. Values that grow for ever never pass that test.

    References:
        Sutton and Barto (2nd ed.), sections 4.1 and 4.4. Puterman, Markov Decision Processes (1994), theorem 6.3.1.
    """

    def once(_: Int[Array, ""], values: Values) -> Values:
        advantages = advantage(task.model, values, task.discount)
        return values.plus(jnp.sum(weigh(advantages) * advantages, axis=-1))

    def block(state: Sweeps) -> Sweeps:
        length = jnp.clip(state.total, 1, task.max_sweeps - state.total)
        values = lax.fori_loop(0, length, once, state.values)
        shrunk = task.discount ** length.astype(jnp.float32)
        distance = jnp.abs(values.minus(state.values)) * jnp.where(shrunk < 1.0, shrunk / (1.0 - shrunk), 1.0)
        moving = ~(distance <= allowance(task, weigh, values))
        return Sweeps(values, moving, state.total + length, ~jnp.any(moving & task.matters))

    first = Sweeps(start, jnp.full_like(task.matters, True), jnp.int32(0), jnp.array(False))
    return lax.while_loop(lambda state: ~state.settled & (state.total < task.max_sweeps), block, first)


def allowance(
    task: Task, weigh: Callable[[Float[Array, "S A"]], Float[Array, "S A"]], values: Values
) -> Float[Array, ""]:
    """How far values may still be from the fixed point: the tolerance, and what rounding does anyway."""
    largest = jnp.max(jnp.abs(values.v), where=task.matters, initial=0.0)
    weights = weigh(advantage(task.model, values, task.discount))
    noise = jnp.sum(weights * rounding(task.model, values, task.discount), axis=-1)
    return task.tolerance * largest + jnp.max(noise, where=task.matters, initial=0.0)


def known(task: Task, sweeps: Sweeps) -> Values:
    """The values, NaN for a state that does not matter and has not settled."""
    lost = sweeps.moving & ~task.matters
    return Values(jnp.where(lost, jnp.nan, sweeps.values.v), sweeps.values.rest)


def is_concrete(x: Array | np.ndarray) -> bool:
    """Whether a value can be looked at now, rather than when a traced program runs."""
    return not isinstance(x, Tracer)
