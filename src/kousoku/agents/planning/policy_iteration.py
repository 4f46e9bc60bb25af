"""Policy iteration: evaluate the policy, make it greedy, until it no longer changes."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ...core.arguments import understood
from ...core.model import TabularModel
from ...ops.planning import Values, advantage, greedy, rounding
from .policy_evaluation import evaluate
from .sweeps import MAX_SWEEPS, Problem, Sweeps, prepare
from .value_iteration import Plan, plan_of

MAX_IMPROVEMENTS = 1_000


@understood()
def policy_iteration(
    model: TabularModel,
    discount: float | Float[Array, ""],
    tolerance: float | Float[Array, ""] = 1e-6,
    max_sweeps: int = MAX_SWEEPS,
) -> Plan:
    """Computes pi_0 -> v_0 -> pi_1 -> v_1 -> ..., each policy greedy for the values of the one before.

    The first policy takes every action with equal probability, so that it ends the episode wherever any policy does.
    A state's row changes only where an action is better by more than rounding: policies of equal value are not
    exchanged for each other for ever. The plan's policy is the last one, spread over all actions that are as good.

    Args:
        model: the exact tables.
        discount: discount factor gamma, in [0, 1].
        tolerance: distance of each evaluation from the exact values, in units of the largest one.
        max_sweeps: sweeps of one evaluation after which the search is given up; `converged` is False then.

    Raises:
        ConfigError: for bad tables or arguments.

    References:
        Howard, Dynamic Programming and Markov Processes (1960). Sutton and Barto (2nd ed.), the box of section 4.3
        (and exercise 4.4 on policies of equal value).

    Examples:
        >>> import kousoku as ks
        >>> plan = policy_iteration(ks.gridworld("S.G").model(), discount=0.5)
        >>> plan.policy[0].tolist(), plan.v.tolist()
        ([0.0, 1.0, 0.0, 0.0], [0.5, 1.0, 0.0])
    """
    return _solve(prepare(model, discount, tolerance, max_sweeps))


class _Iteration(eqx.Module):
    policy: Float[Array, "S A"]
    found: Sweeps
    sweeps: Int[Array, ""]
    improvements: Int[Array, ""]
    stable: Bool[Array, ""]


@jax.jit
def _solve(problem: Problem) -> Plan:
    def improve(state: _Iteration) -> _Iteration:
        tables = problem.model, state.found.values, problem.discount
        gain, error = advantage(*tables), rounding(*tables)
        better = jnp.max(gain - error, axis=-1) > jnp.sum(state.policy * (gain + error), axis=-1)
        policy = jnp.where(better[:, None], greedy(gain, error), state.policy)
        found = evaluate(problem, policy, state.found.values)
        stable = ~jnp.any(better & problem.matters)
        return _Iteration(policy, found, state.sweeps + found.total, state.improvements + 1, stable)

    def goes_on(state: _Iteration) -> Bool[Array, ""]:
        return state.found.settled & ~state.stable & (state.improvements < MAX_IMPROVEMENTS)

    states, actions = problem.model.probability.shape[:2]
    anything = jnp.full((states, actions), 1.0 / actions, jnp.float32)
    found = evaluate(problem, anything, Values.zeros(states))
    last = lax.while_loop(goes_on, improve, _Iteration(anything, found, found.total, jnp.int32(0), jnp.array(False)))
    return plan_of(problem, last.found, last.sweeps, last.found.settled & last.stable)
