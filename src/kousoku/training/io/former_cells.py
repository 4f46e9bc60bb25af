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
AGENT = "agent."
"""Where the agent's own state lies: what environments and buffers hold may have as many numbers, and stays."""


def turned(leaves: list[Leaf], wanted: set[str]) -> list[Leaf]:
    """Returns leaves with every recurrent cell as Equinox's, and vectors of all parameters in that order.

    An optimiser keeps such vectors. A network of a user's own may have parts of the same names: they are left alone.

    Args:
        leaves: by the paths of today.
        wanted: paths of the training state that they are for.
    """
    orders = _orders(leaves, wanted)
    return [_turned(leaf, wanted, orders) for leaf in leaves]


def _turned(leaf: Leaf, wanted: set[str], orders: dict[int, Int[np.ndarray, " P"]]) -> Leaf:
    path, kind, array = leaf
    part = _part(path, wanted)
    if part is not None:
        array = array.swapaxes(-1, -2) if part in TURNED else array
        return f"{path.removesuffix(part)}cell.{PARTS[part]}", kind, array
    if path.startswith(AGENT) and array.dtype.kind == "f" and array.ndim == 2 and array.shape[1] in orders:
        return path, kind, array[:, orders[array.shape[1]]]
    return leaf


def _orders(leaves: list[Leaf], wanted: set[str]) -> dict[int, Int[np.ndarray, " P"]]:
    """Returns by P where each parameter was in a vector of all P of whatever has a cell somewhere in it."""
    cells = [path for path, _, _ in leaves if _part(path, wanted) in TURNED]
    inner = {".".join(path.split(".")[:-2]) for path in cells}  # what has a cell
    holders = sorted({holder.rsplit(".", up)[0] for holder in inner for up in range(holder.count(".") + 1)})
    found = [_order([leaf for leaf in leaves if leaf[0].startswith(f"{holder}.")], wanted) for holder in holders]
    return {order.size: order for order in found}


def _order(leaves: list[Leaf], wanted: set[str]) -> Int[np.ndarray, " P"]:
    """Returns where each number of these leaves was in the vector of all of them."""
    places, begin = [], 0
    for path, _, array in leaves:
        place = begin + np.arange(array[0].size).reshape(array.shape[1:])
        places.append((place.swapaxes(-1, -2) if _part(path, wanted) in TURNED else place).ravel())
        begin += array[0].size
    return np.concatenate(places)


def _part(path: str, wanted: set[str]) -> str | None:
    """Returns which part of a recurrent cell of our own this is; None for none."""
    found = CELL.search(path)
    return None if found is None or path in wanted else found[1]
