"""The truth to compare with: optimal values from the exact model."""

from __future__ import annotations

import jax
import numpy as np
from jaxtyping import Float

from ...agents.planning.value_iteration import value_iteration
from ...core.model import TabularModel


def exact_tables(model: TabularModel, discount: float) -> dict[str, np.ndarray]:
    """Returns "exact_q" [S, A] and "exact_v" [S]; nothing if value iteration does not converge.

    It does not where the task is undiscounted and some start leads to no end.
    """
    plan = jax.device_get(value_iteration(model, discount))
    if not plan.converged:
        return {}
    return {"exact_q": plan.q, "exact_v": plan.v}


def optimal_return(model: TabularModel, steps: int) -> Float[np.ndarray, ""]:
    """Returns the largest expected return of an episode that is cut after so many steps; undiscounted, as evaluations.

    v_0 = 0; v_h(s) = max_a sum_k p_k [r_k + (1 - terminated_k) v_(h-1)(s'_k)]; the mean of v_steps over the starts. No
    policy does better, not even one that knows the time.

    References:
        Puterman, Markov Decision Processes (1994), section 4.5 (backward induction).

    Examples:
        >>> import kousoku as ks
        >>> model = ks.gridworld("S.G", step_reward=-1.0, goal_reward=10.0).model()
        >>> float(optimal_return(model, 100)), float(optimal_return(model, 1))
        (8.0, -1.0)
    """
    probability = np.asarray(model.probability, np.float64)
    following = np.asarray(model.next_state)
    reward = (probability * np.asarray(model.reward, np.float64)).sum(axis=-1)
    going = probability * ~np.asarray(model.terminated)
    values = np.zeros(model.num_states)
    for _ in range(steps):
        before, values = values, (reward + (going * values[following]).sum(axis=-1)).max(axis=-1)
        if np.array_equal(before, values):
            break
    return np.asarray(np.asarray(model.start, np.float64) @ values)
