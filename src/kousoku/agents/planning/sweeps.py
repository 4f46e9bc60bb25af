"""Parts that the planners share: sweeping until the values have settled, and the checks of their arguments."""

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
from ...ops.trees import to_device

MAX_SWEEPS = 100_000


class Problem(eqx.Module):
    """The problem to be solved, as arrays.

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
        change: how far the last block of sweeps moved the values that matter.
        calm: whether after it no value that matters was moving.
        settled: whether that is to be relied on.
    """

    values: Values
    moving: Bool[Array, " S"]
    total: Int[Array, ""]
    change: Float[Array, ""]
    calm: Bool[Array, ""]
    settled: Bool[Array, ""]


def prepare(model: TabularModel, discount: Any, tolerance: Any, max_sweeps: Any) -> Problem:
    """Checks the arguments that all planners have. The model has to be concrete, not traced.

    Raises:
        ConfigError: for tables that are no Markov decision process, a discount outside [0, 1], a tolerance that is not
            positive, or no sweep at all.
    """
    check_model(model)
    check_number("discount", discount, low=0, high=1)
    check_number("tolerance", tolerance, low=0, high=1, open_low=True)
    limit = check_count("max_sweeps", max_sweeps, high=2**30)
    return Problem(
        model=TabularModel(
            probability=to_device(model.probability, jnp.float32),
            next_state=to_device(model.next_state, jnp.int32),
            reward=to_device(model.reward, jnp.float32),
            terminated=to_device(model.terminated),
            start=to_device(model.start, jnp.float32),
        ),
        discount=to_device(discount, jnp.float32),
        matters=to_device(reachable(model) | ends(model) | (is_number(discount) and discount < 1)),
        tolerance=to_device(tolerance, jnp.float32),
        max_sweeps=to_device(limit, jnp.int32),
    )


def sweep(problem: Problem, weights_of: Callable[[Float[Array, "S A"]], Float[Array, "S A"]], start: Values) -> Sweeps:
    """Applies v(s) <- v(s) + sum_a w(s, a) A(s, a) to all states, until the values stand still; w is `weights_of` of A.

    Sweeps come in blocks of 1, 1, 2, 4, 8, ..., each as long as all before it. If a block of n sweeps moved the values
    by d, they are within d gamma^n / (1 - gamma^n) of the fixed point, since a sweep contracts distances by gamma.
    Without discounting there is no such bound. There the rate is taken from the blocks themselves (`_ahead`), two of
    which in a row have to find the values close: a slow approach may hide behind a fast one in one of them. What is no
    more than rounding counts as it is. Values that grow for ever never pass that test.

    References:
        Sutton and Barto (2nd ed.), sections 4.1 and 4.4. Puterman, Markov Decision Processes (1994), theorem 6.3.1.
    """

    def once(_: Int[Array, ""], values: Values) -> Values:
        advantages = advantage(problem.model, values, problem.discount)
        return values.plus(jnp.sum(weights_of(advantages) * advantages, axis=-1))

    def block(state: Sweeps) -> Sweeps:
        length = jnp.clip(state.total, 1, problem.max_sweeps - state.total)
        values = lax.fori_loop(0, length, once, state.values)
        moved, noise = jnp.abs(values.minus(state.values)), _noise(problem, weights_of, values)
        change = jnp.max(moved, where=problem.matters, initial=0.0)
        shrunk = problem.discount ** length.astype(jnp.float32)
        doubled = (length == state.total) & (length > 1)
        ahead = jnp.where(moved > noise, _ahead(change, state.change, doubled), 1.0)
        distance = moved * jnp.where(shrunk < 1.0, shrunk / (1.0 - shrunk), ahead)
        moving = ~(distance <= problem.tolerance * _largest(problem, values) + noise)
        calm = ~jnp.any(moving & problem.matters)
        settled = calm & (state.calm | (shrunk < 1.0) | (change == 0.0))
        return Sweeps(values, moving, state.total + length, change, calm, settled)

    no = jnp.array(False)
    first = Sweeps(start, jnp.full_like(problem.matters, True), jnp.int32(0), jnp.float32(0.0), no, no)
    return lax.while_loop(lambda state: ~state.settled & (state.total < problem.max_sweeps), block, first)


def _ahead(change: Float[Array, ""], before: Float[Array, ""], doubled: Bool[Array, ""]) -> Float[Array, ""]:
    """Returns how far the fixed point is after a block, in units of the block's own change; at least 1.

    If distances shrink by x in n sweeps, then a block of n sweeps and the next one, of 2 n, change the values by
    (1 - x) and x (1 - x^2), in units of the distance before. Their ratio is x (1 + x), and x^2 / (1 - x^2) of the
    second change is left. Infinite where nothing shrinks, or the block is not twice as long as the one before.
    """
    ratio = change / jnp.maximum(before, jnp.finfo(jnp.float32).tiny)
    shrunk = 0.5 * (jnp.sqrt(1.0 + 4.0 * ratio) - 1.0)
    left = jnp.where(shrunk < 1.0, shrunk**2 / (1.0 - shrunk**2), jnp.inf)
    return jnp.where(doubled, jnp.maximum(left, 1.0), jnp.inf)


def _largest(problem: Problem, values: Values) -> Float[Array, ""]:
    """Returns the size of the largest value that matters."""
    return jnp.max(jnp.abs(values.v), where=problem.matters, initial=0.0)


def _noise(
    problem: Problem, weights_of: Callable[[Float[Array, "S A"]], Float[Array, "S A"]], values: Values
) -> Float[Array, ""]:
    """Returns how far, at most, rounding moves the values in a sweep."""
    weights = weights_of(advantage(problem.model, values, problem.discount))
    noise = jnp.sum(weights * rounding(problem.model, values, problem.discount), axis=-1)
    return jnp.max(noise, where=problem.matters, initial=0.0)


def known(problem: Problem, sweeps: Sweeps) -> Values:
    """Returns the values, NaN for a state that does not matter and has not settled."""
    lost = sweeps.moving & ~problem.matters
    return Values(jnp.where(lost, jnp.nan, sweeps.values.v), sweeps.values.rest)


def is_concrete(x: Array | np.ndarray) -> bool:
    """Returns whether a value can be looked at now, rather than when a traced program runs."""
    return not isinstance(x, Tracer)
