"""Policy evaluation: the values of a given policy, from the exact model."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...core.arguments import understood
from ...core.errors import ConfigError
from ...core.model import TabularModel
from ...ops.planning import Values
from ...ops.trees import to_device
from .sweeps import MAX_SWEEPS, Problem, Sweeps, is_concrete, known, prepare, sweep


@understood()
def policy_evaluation(
    model: TabularModel,
    policy: Float[Array | np.ndarray, "S A"],
    discount: float | Float[Array, ""],
    tolerance: float | Float[Array, ""] = 1e-6,
    max_sweeps: int = MAX_SWEEPS,
) -> Float[Array, " S"]:
    """Returns v(s) = sum_a pi(a | s) sum_k p_k [r_k + gamma (1 - terminated_k) v(s'_k)].

    Args:
        model: the exact tables.
        policy: pi(a | s); every row sums to 1.
        discount: discount factor gamma, in [0, 1].
        tolerance: distance from the exact values, in units of the largest one.
        max_sweeps: sweeps after which the search is given up.

    Returns:
        The value of each state; NaN for one that no start leads to and from which no episode ends, if its costs add up
        for ever.

    Raises:
        ConfigError: for bad tables or arguments; if the values do not settle, as with discount 1 and a policy that may
            never end the episode. (Where the discount is traced, the values are NaN instead.)

    References:
        Sutton and Barto (2nd ed.), equation 4.5 and the box of section 4.1.

    Examples:
        >>> import kousoku as ks
        >>> model = ks.gridworld("S.G", step_reward=-1.0, goal_reward=0.0).model()
        >>> right = np.eye(4, dtype=np.float32)[[1, 1, 1]]
        >>> policy_evaluation(model, right, 1.0).tolist()
        [-2.0, -1.0, 0.0]
    """
    problem = prepare(model, discount, tolerance, max_sweeps)
    check_policy(policy, model)
    sweeps, values = _solve(problem, to_device(policy, jnp.float32))
    if is_concrete(sweeps.settled) and not jax.device_get(sweeps.settled):
        fix = "use a discount below 1, a policy that ends every episode, or more sweeps"
        raise ConfigError("policy_evaluation", f"values that still move after {int(sweeps.total)} sweeps", fix)
    return values


def evaluate(problem: Problem, policy: Float[Array, "S A"], start: Values) -> Sweeps:
    """Applies v(s) <- v(s) + sum_a pi(a | s) A(s, a), from `start` until the values settle."""
    return sweep(problem, lambda _: policy, start)


def check_policy(policy: Float[Array | np.ndarray, "S A"], model: TabularModel) -> None:
    """Refuses a table that is no policy of this model.

    Raises:
        ConfigError: naming the shape, or the first state whose probabilities do not sum to 1.
    """
    shape = (model.num_states, model.num_actions)
    if np.shape(policy) != shape:
        raise ConfigError("policy", f"shape {np.shape(policy)}", f"use {shape}: one row for each state")
    if not is_concrete(policy):
        return
    rows = np.asarray(policy, np.float64)
    bad = ~(np.abs(rows.sum(axis=1) - 1.0) <= 1e-5) | (rows < 0).any(axis=1)
    if bad.any():
        s = int(np.argmax(bad))
        raise ConfigError(f"policy[{s}]", rows[s].tolist(), "use probabilities >= 0 that sum to 1")


@jax.jit
def _solve(problem: Problem, policy: Float[Array, "S A"]) -> tuple[Sweeps, Float[Array, " S"]]:
    """Returns the sweeps, and the values [S] that they settled at; NaN where they did not."""
    sweeps = evaluate(problem, policy, Values.zeros(policy.shape[0]))
    return sweeps, jnp.where(sweeps.settled, known(problem, sweeps).v, jnp.nan)
