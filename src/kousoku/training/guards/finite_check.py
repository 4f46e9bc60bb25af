"""Check that every number of a run is finite, which names the first that is not, and its member."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from ..io import tree_io

SMALL = 1 << 14
LARGE = 1 << 16
"""From so many numbers of a member on, what a collector keeps is looked at before it is saved, not at every report,
which would take longer than to learn from it. What is drawn from it shows in the network that learns."""
KEPT = "data"
UNWATCHED = ("metrics.info_sum", "metrics.rests")
WORDS = {"metrics.reward_sum": "the reward", "metrics.metric_sums['td_error']": "the TD error"}
OF_BLOCK = r"^metrics\.block\['(\w+)'\]", r"metrics.\1"
"""The sums of the block that is under way are called as those that they will be added to."""
HIDDEN = "env_state"
CAUSES = (HIDDEN, "metrics.reward_sum")
"""What makes the rest of a member NaN comes first: its environment's state, then its reward."""


@dataclass(frozen=True)
class NonFinite:
    """The first leaf that is not finite.

    Attributes:
        leaf: its path, or what it means.
        hidden: whether it may have been so for some time before a reward or a loss showed it.
        member: the first member that has it.
        value: NaN, or an infinity.
        others: how many more leaves are not finite.
    """

    leaf: str
    hidden: bool
    member: int
    value: float
    others: int

    def sentence(self, when: str, member: str) -> str:
        """Says on one line what happened, when and where."""
        more = f", and so did {self.others} more" if self.others else ""
        return f"{self.leaf} became {self.value:g} {when} ({member}){more}"


class FiniteCheck:
    """A look at every float of a training state, whatever tree it is; leaves are [N, ...].

    A leaf that begins with NaN or infinity, as a mask or a list of "not yet" does, may hold them. So may the sums of an
    environment's `info`.

    Attributes:
        watched: the numbers of the leaves that are looked at.
        watched_often: of those that are looked at in every report: all but what is `LARGE` of a collector's data.

    Args:
        state: as it begins.
        members: how many of its members count; the rest are there to fill up devices.
    """

    def __init__(self, state: Any, members: int) -> None:
        self.members, self.paths = members, [re.sub(*OF_BLOCK, path) for path in tree_io.paths(state)]
        leaves = jax.tree.leaves(state)
        floats = [i for i, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
        candidates = [i for i in floats if not self.paths[i].startswith(UNWATCHED)]
        self.watched = tuple(i for i in candidates if self._is_finite(leaves[i]).all())
        large = {i for i in self.watched if self.paths[i].startswith(KEPT) and leaves[i].size >= LARGE * len(leaves[i])}
        self.watched_often = tuple(i for i in self.watched if i not in large)

    def look(self, state: Any) -> NonFinite | None:
        """Returns what is not finite; None if all is well."""
        leaves = jax.tree.leaves(state)
        found = [i for i in self.watched if not self._is_finite(leaves[i]).all()]
        if not found:
            return None
        i = min(found, key=lambda each: _rank(self.paths[each]))
        member = int(np.flatnonzero(~self._is_finite(leaves[i]))[0])
        values = jax.device_get(leaves[i].astype(jnp.float32))[member].ravel()
        path, value = self.paths[i], values[~np.isfinite(values)][0].item()
        others = len({self.paths[j] for j in found}) - 1
        return NonFinite(WORDS.get(path, path), HIDDEN in path, member, value, others)

    def _is_finite(self, leaf: Array) -> Bool[np.ndarray, " N"]:
        """Returns whether a leaf is finite, in each member."""
        flags = np.isfinite(jax.device_get(leaf)[: self.members])
        return flags.all(axis=tuple(range(1, flags.ndim)), keepdims=True).reshape(-1)


def is_finite(leaves: list[Array], members: int) -> Bool[Array, " N"]:
    """Returns whether all leaves, [N, ...], are finite, in each of the members.

    Small ones are looked at together: each by itself is a step of the program, which costs more than the numbers.
    """
    flags = [jnp.isfinite(leaf).reshape(members, -1) for leaf in leaves]
    small = [each for each in flags if each.shape[1] <= SMALL]
    parts = ([jnp.concatenate(small, axis=1)] if small else []) + [each for each in flags if each.shape[1] > SMALL]
    return functools.reduce(jnp.logical_and, [part.all(axis=1) for part in parts], jnp.ones(members, bool))


def _rank(path: str) -> int:
    return next((i for i, cause in enumerate(CAUSES) if cause in path), len(CAUSES))
