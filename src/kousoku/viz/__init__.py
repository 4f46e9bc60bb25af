"""Pictures of a run, drawn from its record alone: plots, animations and the report.

Names are imported when they are first used, so that training without pictures never loads Matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..core.record import REPORT as REPORT

if TYPE_CHECKING:
    from .animation import Animation, animate
    from .curves import plot_lengths, plot_returns
    from .report import write_report
    from .values import plot_error, plot_values, plot_visits

_HOME_OF = {
    "Animation": "animation",
    "animate": "animation",
    "plot_error": "values",
    "plot_lengths": "curves",
    "plot_returns": "curves",
    "plot_values": "values",
    "plot_visits": "values",
    "write_report": "report",
}

__all__ = [
    "Animation",
    "animate",
    "plot_error",
    "plot_lengths",
    "plot_returns",
    "plot_values",
    "plot_visits",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kousoku.viz' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
