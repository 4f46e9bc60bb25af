"""Is every number of a run still a number? If not: which one, and in which lane."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from . import states

SMALL = 1 << 14
UNWATCHED = ("tally.info_sum",)
WORDS = {"tally.reward_sum": "the reward", "tally.td_error_sum": "the TD error"}
HIDDEN = "env_state"
CAUSES = (HIDDEN, "tally.reward_sum")
"""What makes the rest of a lane NaN comes first: its environment's state, then its reward."""


@dataclass(frozen=True)
class Sick:
    """The first leaf that is not finite.

    Attributes:
        leaf: its path, or what it means.
        hidden: whether it may have been so for some time before a reward or a loss showed it.
        lane: the first lane that has it.
        value: NaN, or an infinity.
        others: how many more leaves are not finite.
    """

    leaf: str
    hidden: bool
    lane: int
    value: float
    others: int

    def sentence(self, when: str, lane: str) -> str:
        """What happened, when and where, on one line."""
        more = f", and so did {self.others} more" if self.others else ""
        return f"{self.leaf} became {self.value:g} {when} ({lane}){more}"


class Guard:
    """Looks at every float of a learner, whatever tree it is; leaves are [N, ...].

    A leaf that begins with NaN or infinity, as a mask or a list of "not yet" does, may hold them. So may the sums of an
    environment's `info`.

    Attributes:
        watched: the numbers of the leaves that are looked at.

    Args:
        learner: as it begins.
        lanes: how many of its lanes count; the rest are there to fill up devices.
    """

    def __init__(self, learner: Any, lanes: int) -> None:
        self.lanes, self.paths = lanes, states.paths(learner)
        leaves = jax.tree.leaves(learner)
        floats = [i for i, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
        seen = [i for i in floats if not self.paths[i].startswith(UNWATCHED)]
        self.watched = tuple(i for i in seen if self._well(leaves[i]).all())

    def look(self, learner: Any) -> Sick | None:
        """What is not finite; None if all is well."""
        leaves = jax.tree.leaves(learner)
        sick = [i for i in self.watched if not self._well(leaves[i]).all()]
        if not sick:
            return None
        i = min(sick, key=lambda each: _rank(self.paths[each]))
        lane = int(np.flatnonzero(~self._well(leaves[i]))[0])
        values = np.asarray(leaves[i][lane].astype(jnp.float32)).ravel()
        path, value = self.paths[i], values[~np.isfinite(values)][0].item()
        return Sick(WORDS.get(path, path), HIDDEN in path, lane, value, len(sick) - 1)

    def _well(self, leaf: Array) -> Bool[np.ndarray, " N"]:
        """Whether a leaf is finite, in each lane."""
        flags = np.isfinite(np.asarray(leaf)[: self.lanes])
        return flags.all(axis=tuple(range(1, flags.ndim)), keepdims=True).reshape(-1)


def finite(leaves: list[Array], lanes: int) -> Bool[Array, " N"]:
    """Whether all leaves, [N, ...], are finite, in each of the `lanes` lanes.

    Small ones are looked at together: each by itself is a step of the program, which costs more than the numbers.
    """
    flags = [jnp.isfinite(leaf).reshape(lanes, -1) for leaf in leaves]
    small = [each for each in flags if each.shape[1] <= SMALL]
    parts = ([jnp.concatenate(small, axis=1)] if small else []) + [each for each in flags if each.shape[1] > SMALL]
    return functools.reduce(jnp.logical_and, [part.all(axis=1) for part in parts], jnp.ones(lanes, bool))


def _rank(path: str) -> int:
    return next((i for i, cause in enumerate(CAUSES) if cause in path), len(CAUSES))
