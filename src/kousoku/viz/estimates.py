"""One number for many agents, and how well it is known: which statistic a report uses, and how it is called.

Agents with a table of action values are compared with exact values, which are expectations: theirs are means. Agents
without one have the interquartile mean, which one lucky or failed agent among few does not move. Fewer than four agents
get no interval: Student's would be absurdly wide, and they can all be seen.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Shaped

from ..core.record import RunRecord
from ..ops.statistics import FEWEST, MeanInterval, iqm_interval, mean_interval

Statistic = Literal["mean", "IQM"]
IQM_WORDS = "interquartile mean"


def statistic(record: RunRecord) -> Statistic:
    """Returns "IQM" for agents without a table of action values, of which there are at least four; else "mean"."""
    return "IQM" if "q" not in record.tables and fewest_agents(record) >= FEWEST else "mean"


def fewest_agents(record: RunRecord) -> int:
    """Returns the number of agents of the setting that has the fewest."""
    return int(np.bincount(record.member_point, minlength=len(record.points)).min())


def estimate(record: RunRecord, values: Shaped[np.ndarray, "... n"]) -> MeanInterval:
    """Returns the statistic of n agents' values over the last axis, with its 95% interval where n is four or more."""
    if statistic(record) == "IQM":
        return iqm_interval(values)
    found = mean_interval(values)
    low, high = (np.where(found.n < FEWEST, np.nan, bound) for bound in (found.low, found.high))
    return MeanInterval(found.mean, low, high, found.n)


def how_drawn(record: RunRecord) -> dict[str, Any]:
    """Says how a report's curves are made, for the words under them."""
    known = fewest_agents(record) >= FEWEST
    return {"statistic": statistic(record), "interval": known, "agents": record.num_members}
