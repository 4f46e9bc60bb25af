"""One number for many agents, and how well it is known: which statistic a run has, and how it is told.

Agents with a table of action values are compared with exact values, which are expectations: theirs are means. Agents
without one have the interquartile mean, which one lucky or failed agent among few does not move. When there is an
interval is decided by `estimate_interval`; the shell, the report and Python all tell what is found here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from ..core.record import RunRecord
from ..core.words import plural
from ..ops.statistics import FEWEST, MeanInterval, Statistic, estimate_interval
from .text import interval_text, short

IQM_WORDS = "interquartile mean"


class SummaryStatistic(NamedTuple):
    """A number as it is told.

    Attributes:
        value: the statistic of what it is made of.
        low, high: its 95% interval; NaN where it has none.
        statistic: "mean" or "IQM".
        over: what it is made of: "5 agents", or "10 episodes" of one agent.
        least, most: of what it is made of.
    """

    value: float
    low: float
    high: float
    statistic: Statistic
    over: str
    least: float
    most: float

    @property
    def number(self) -> str:
        """The value, with its interval if it has one."""
        return f"{short(self.value)} {interval_text(self.low, self.high)}".strip()

    @property
    def spread(self) -> str:
        """The interval in words; or else from where to where the values go, if there are several."""
        if not math.isnan(self.low):
            return f"95% interval {short(self.low)} to {short(self.high)} over {self.over}"
        if self.least < self.most:
            return f"{self.over} from {short(self.least)} to {short(self.most)}"
        return "" if math.isnan(self.value) else self.over

    @property
    def name(self) -> str:
        """The statistic in words."""
        return IQM_WORDS if self.statistic == "IQM" else "mean"

    @property
    def words(self) -> str:
        """The value and all of this."""
        return f"{short(self.value)} ({', '.join(part for part in (self.name, self.spread) if part)})"


def summary_statistic(values: Shaped[np.ndarray, " n"], what: str, statistic: Statistic = "mean") -> SummaryStatistic:
    """Returns how n values are told, which are of one kind ("agent", "episode"); NaN counts as missing."""
    found = estimate_interval(values, statistic)
    known = np.asarray(values, np.float64)[~np.isnan(values)]
    least, most = (float(known.min()), float(known.max())) if known.size else (math.nan, math.nan)
    low, high = float(found.low), float(found.high)
    return SummaryStatistic(float(found.mean), low, high, statistic, plural(known.size, what), least, most)


def statistic(record: RunRecord) -> Statistic:
    """Returns "IQM" for agents without a table of action values, of which there are at least four; else "mean"."""
    return "IQM" if "q" not in record.tables and fewest_agents(record) >= FEWEST else "mean"


def fewest_agents(record: RunRecord) -> int:
    """Returns the number of agents of the sweep point that has the fewest."""
    return int(np.bincount(record.member_point, minlength=len(record.points)).min())


def estimate(record: RunRecord, values: Shaped[np.ndarray, "... n"]) -> MeanInterval:
    """Returns the statistic of n agents' values over the last axis, with its 95% interval where n is four or more."""
    return estimate_interval(values, statistic(record))


def how_drawn(record: RunRecord) -> dict[str, Any]:
    """Says how a report's curves are made, for the words under them."""
    known = fewest_agents(record) >= FEWEST
    return {"statistic": statistic(record), "interval": known, "agents": record.num_members}
