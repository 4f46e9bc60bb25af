"""Figures of a row about several seeds: the mean of their returns, its interval, the worst."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from kousoku.ops.statistics import mean_interval

from .table import TableColumn

SEEDS = TableColumn("agents", "seeds", ",d")
INTERVAL = (TableColumn("low", "95% from", ",.0f"), TableColumn("high", "to", ",.0f"))
WORST = TableColumn("worst", "worst seed", ",.0f")


def figures(returns: Float[np.ndarray, " seeds"]) -> dict[str, float | int | None]:
    """Returns the figures of the seeds' mean returns; of one seed there is no interval."""
    mean, low, high, count = (part.item() for part in mean_interval(returns))
    several = count > 1
    return {
        "agents": count,
        "return": mean,
        "low": low if several else None,
        "high": high if several else None,
        "worst": float(returns.min()),
    }
