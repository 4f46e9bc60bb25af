"""The truth to compare with: optimal values from the exact model."""

from __future__ import annotations

import numpy as np

from ...agents.planning.value_iteration import value_iteration
from ...core.model import TabularModel
from ...ops.planning import reachable


def exact_tables(model: TabularModel, discount: float) -> dict[str, np.ndarray]:
    """Returns "exact_q" [S, A], "exact_v" [S] and "reachable" [S]; nothing if value iteration does not converge.

    It does not where the task is undiscounted and some start leads to no end.
    """
    plan = value_iteration(model, discount)
    if not plan.converged:
        return {}
    return {"exact_q": np.asarray(plan.q), "exact_v": np.asarray(plan.v), "reachable": reachable(model)}
