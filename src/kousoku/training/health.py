"""Is every number of a run still a number? If not: which one, and in which lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from . import states

UNWATCHED = ("tally.info_sum",)
WORDS = {"tally.reward_sum": "the reward", "tally.td_error_sum": "the TD error"}
CAUSES = ("env_state", "tally.reward_sum")
"""What makes the rest of a lane NaN comes first: its environment's state, then its reward."""


@dataclass(frozen=True)
class Sick:
    """The first leaf that is not finite.

    Attributes:
        leaf: its path, or what it means.
        lane: the first lane that has it.
        value: NaN, or an infinity.
        others: how many more leaves are not finite.
    """

    leaf: str
    lane: int
    value: float
    others: int

    def sentence(self, since: int, step: int, lane: str) -> str:
        """What happened, when and where, on one line."""
        more = f", and so did {self.others} more" if self.others else ""
        return f"{self.leaf} became {self.value:g} between steps {since + 1} and {step} ({lane}){more}"


class Guard:
    """Looks at every float of a learner, whatever tree it is; leaves are [N, ...].

    A leaf that begins with NaN or infinity, as a mask or a list of "not yet" does, may hold them. So may the sums of an
    environment's `info`.

    Args:
        learner: as it begins.
        lanes: how many of its lanes count; the rest are there to fill up devices.
    """

    def __init__(self, learner: Any, lanes: int) -> None:
        self.lanes = lanes
        self.paths = states.paths(learner)
        watched = [i for i, path in enumerate(self.paths) if not path.startswith(UNWATCHED)]
        self.watched = [i for i in watched if jnp.issubdtype(jax.tree.leaves(learner)[i].dtype, jnp.inexact)]
        self.free = ~self._well(learner).all(axis=1, keepdims=True)

    def look(self, learner: Any) -> Sick | None:
        """What is not finite; None if all is well."""
        well = self._well(learner) | self.free
        if well.all():
            return None
        sick = [(i, row) for i, row in zip(self.watched, well, strict=True) if not row.all()]
        i, row = min(sick, key=lambda each: _rank(self.paths[each[0]]))
        lane = int(np.flatnonzero(~row)[0])
        values = np.asarray(jax.tree.leaves(learner)[i][lane].astype(jnp.float32)).ravel()
        return Sick(
            WORDS.get(self.paths[i], self.paths[i]), lane, values[~np.isfinite(values)][0].item(), len(sick) - 1
        )

    def _well(self, learner: Any) -> Bool[np.ndarray, "L N"]:
        """Whether each watched leaf is finite in each lane."""
        leaves = jax.tree.leaves(learner)
        chosen = [leaves[i] for i in self.watched]
        return np.asarray(_finite(chosen))[:, : self.lanes] if chosen else np.ones((0, self.lanes), bool)


@jax.jit
def _finite(leaves: list[Array]) -> Bool[Array, "L N"]:
    return jnp.stack([jnp.isfinite(leaf).reshape(leaf.shape[0], -1).all(axis=1) for leaf in leaves])


def _rank(path: str) -> int:
    return next((i for i, cause in enumerate(CAUSES) if cause in path), len(CAUSES))
