"""Checkpoints of formats 2 to 14: where their leaves lie in today's training state."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np

from . import former_cells
from .former_cells import Leaf

RENAMED = (
    (r"^agent_state\b", "agent"),
    (r"^lane\b", "slots"),
    (r"^memory\.network\b", "carry"),
    (r"^memory\.discounted_return$", "data"),
    (r"^tally\.td_error_sum$", "metrics.metric_sums['td_error']"),
    (r"^tally\.sound$", "metrics.finite_iterations"),
    (r"^tally\b", "metrics"),
)
METRIC_SUMS = "metric_sums"
BUFFER = "data.buffer"
"""Where a replay buffer lies."""
BUFFER_ALONE = range(2, 8)
"""Formats in which it was all that its collector kept."""

AGENT_BEGINS_AT_ZERO = (
    ("agent.rest", "agent.arms.rest", "agent.mean_rest"),
    ("agent.episode_visits",),
    ("agent.actor_metrics",),
)
"""The same of an agent's state: what came last first."""
BEGINS_AT_ZERO = ("metrics.", "data.estimates.", "slots.return_rest", *chain(*AGENT_BEGINS_AT_ZERO))
"""Where what a former checkpoint does not have begins at zero."""
ENDED_EARLY = ".ended_early"
"""The end of a path that does, too, in whatever wrappers it lies: of a repeated action."""


def upgrade(leaves: list[Leaf], needed: list[Leaf]) -> list[Leaf]:
    """Returns the leaves of an old checkpoint under today's paths.

    What was not summed up then begins at zero, estimates of the episodes on their way and the rests of their returns
    among it, every episode was whole, and sums that nobody asks for now are left out: checkpoints are made at reports,
    where all sums are empty, or where somebody stopped a run between two of them.

    Args:
        leaves: of the checkpoint.
        needed: of a training state as it begins.
    """
    replays = _holds_buffer(needed) and not _holds_buffer(leaves)
    wanted = {path for path, _, _ in needed}
    renamed = [(_path(path, replays), kind, array) for path, kind, array in leaves]
    found = {path: (kind, array) for path, kind, array in former_cells.turned(renamed, wanted)}
    if "metrics.updates" in found:
        found.setdefault("metrics.iterations", found["metrics.updates"])
    uncounted = "metrics.updates" in wanted - found.keys()
    for path, kind, array in needed:
        if uncounted and path.startswith("metrics.") and METRIC_SUMS in path:  # there is no number for their means
            found[path] = kind, np.zeros_like(array)
        if path.startswith(BEGINS_AT_ZERO) or path.endswith(ENDED_EARLY):
            found.setdefault(path, (kind, np.zeros_like(array)))
        if path == "slots.whole":
            found.setdefault(path, (kind, np.ones_like(array)))
    return [(path, *rest) for path, rest in found.items() if path in wanted or not path.startswith("metrics.")]


def fill_up(needed: list[tuple[str, Any]], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Returns the arrays of the agents' states that a run folder has without names, with those that came later at zero.

    Args:
        needed: path, and shape and dtype of one member, of each array that there is today, in the same order.
        arrays: those of the folder [members, ...]; if it is others that they lack, they stay as they are.
    """
    added: list[str] = []
    for names in AGENT_BEGINS_AT_ZERO:
        added += [path for path, _ in needed if path.startswith(names)]
        if added and len(arrays) + len(added) == len(needed):
            members, given = len(arrays[0]), iter(arrays)
            return [np.zeros((members, *x.shape), x.dtype) if path in added else next(given) for path, x in needed]
    return arrays


def place_in(format: int, path: str) -> str:
    """Returns where what lies at a path today lies in a checkpoint of that format, as far as replay buffers go."""
    return "data" + path.removeprefix(BUFFER) if format in BUFFER_ALONE and path.startswith(BUFFER) else path


def _holds_buffer(leaves: list[Leaf]) -> bool:
    return any(path.startswith(f"{BUFFER}.") for path, _, _ in leaves)


def _path(path: str, replays: bool) -> str:
    for old, new in RENAMED:
        path = re.sub(old, new, path)
    return BUFFER + path.removeprefix("data") if replays and path.startswith("data.") else path
