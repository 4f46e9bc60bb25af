"""Recurrent cells of checkpoints of formats 2 to 8: our own then, whose weights lay the other way round."""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Int

Leaf = tuple[str, str, np.ndarray]
"""(path, kind, array [N, ...])."""
CELL = re.compile(r"\.cell\.(weight|recurrent|bias|candidate_bias)$")
PARTS = {"weight": "weight_ih", "recurrent": "weight_hh", "bias": "bias", "candidate_bias": "bias_n"}
"""What its parts are called in Equinox's cell."""
TURNED = ("weight", "recurrent")
NETWORK, OPTIMISER = "agent.network.", "agent.optimiser"


def turned(leaves: list[Leaf], wanted: set[str]) -> list[Leaf]:
    """Returns leaves with every recurrent cell as Equinox's, and an optimiser's vectors in the order that this makes.

    A network of a user's own may have parts of the same names: they are left alone.

    Args:
        leaves: by the paths of today.
        wanted: paths of the training state that they are for.
    """
    order = _order(leaves, wanted)
    return [_turned(leaf, wanted, order) for leaf in leaves]


def _turned(leaf: Leaf, wanted: set[str], order: Int[np.ndarray, " P"] | None) -> Leaf:
    path, kind, array = leaf
    part = _part(path, wanted)
    if part is not None:
        array = array.swapaxes(-1, -2) if part in TURNED else array
        return f"{path.removesuffix(part)}cell.{PARTS[part]}", kind, array
    if order is not None and path.startswith(OPTIMISER) and array.shape[1:] == order.shape:
        return path, kind, array[:, order]
    return leaf


def _order(leaves: list[Leaf], wanted: set[str]) -> Int[np.ndarray, " P"] | None:
    """Returns where each of a network's parameters was in the vector of all; None where they are where they were."""
    places, begin, moved = [], 0, False
    for path, _, array in leaves:
        if path.startswith(NETWORK):
            size = array[0].size
            place = np.arange(begin, begin + size).reshape(array.shape[1:])
            if _part(path, wanted) in TURNED:
                place, moved = place.swapaxes(-1, -2), True
            places.append(place.ravel())
            begin += size
    return np.concatenate(places) if moved else None


def _part(path: str, wanted: set[str]) -> str | None:
    """Returns which part of a recurrent cell of our own this is; None for none."""
    found = CELL.search(path)
    return None if found is None or path in wanted else found[1]
