"""Value iteration: optimal values and policy, from the exact model."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core.arguments import understood
from ...core.model import TabularModel
from ...ops.planning import Values, advantage, expected_backup, greedy, residual, rounding
from .sweeps import MAX_SWEEPS, Problem, Sweeps, known, prepare, sweep


class Plan(eqx.Module):
    """The values and the policy that planning found.

    Attributes:
        q: value of each action.
        v: value of each state; NaN for one that no start leads to and from which no episode ends, if its costs add up
            for ever.
        policy: pi(a | s), uniform over the best actions.
        sweeps: sweeps over all states.
        residual: the largest abs(max_a q(s, a) - v(s)) of the states that are not NaN.
        converged: whether the values are within the tolerance; if not, they are no more than where the search was when
            it was given up (an undiscounted problem that some start never ends has no values at all).
    """

    q: Float[Array, "S A"]
    v: Float[Array, " S"]
    policy: Float[Array, "S A"]
    sweeps: Int[Array, ""]
    residual: Float[Array, ""]
    converged: Bool[Array, ""]


@understood()
def value_iteration(
    model: TabularModel,
    discount: float | Float[Array, ""],
    tolerance: float | Float[Array, ""] = 1e-6,
    max_sweeps: int = MAX_SWEEPS,
) -> Plan:
    """Applies v(s) <- max_a sum_k p_k [r_k + gamma (1 - terminated_k) v(s'_k)], until it stands still.

    Args:
        model: the exact tables.
        discount: discount factor gamma, in [0, 1].
        tolerance: distance from the values that are exact for the discount as float32 rounds it, in units of the
            largest one; rounding alone may move them by 3e-8 / (1 - gamma) of it.
        max_sweeps: sweeps after which the search is given up; `converged` is False then.

    Raises:
        ConfigError: for bad tables or arguments.

    References:
        Bellman, Dynamic Programming (1957). Sutton and Barto (2nd ed.), equation 4.10 and the box of section 4.4.

    Examples:
        >>> import kousoku as ks
        >>> plan = value_iteration(ks.gridworld("S.G").model(), discount=0.5)
        >>> plan.v.tolist(), bool(plan.converged)
        ([0.5, 1.0, 0.0], True)
    """
    return _solve(prepare(model, discount, tolerance, max_sweeps))


def plan_of(problem: Problem, found: Sweeps, sweeps: Int[Array, ""], converged: Bool[Array, ""]) -> Plan:
    """Returns the plan that belongs to the values that were found."""
    tables = problem.model, found.values, problem.discount
    policy = greedy(advantage(*tables), rounding(*tables))
    values = known(problem, found)
    worst = jnp.max(jnp.abs(residual(problem.model, values, problem.discount)), where=problem.matters, initial=0.0)
    return Plan(expected_backup(problem.model, values, problem.discount), values.v, policy, sweeps, worst, converged)


@jax.jit
def _solve(problem: Problem) -> Plan:
    def best(advantages: Float[Array, "S A"]) -> Float[Array, "S A"]:
        return jax.nn.one_hot(jnp.argmax(advantages, axis=-1), advantages.shape[1], dtype=jnp.float32)

    found = sweep(problem, best, Values.zeros(problem.matters.shape[0]))
    return plan_of(problem, found, found.total, found.settled)
