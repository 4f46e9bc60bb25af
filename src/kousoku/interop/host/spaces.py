"""Gymnasium's spaces as ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.errors import ConfigError
from ...core.host import Starts
from ...core.spaces import LARGEST, Box, Dict, Discrete, MultiDiscrete, Space, narrowed_box
from .texts import is_text
from .values import Leaf, leaves_of


def our_spaces(name: str, observations: Any, actions: Any) -> tuple[Space, Space, Starts | None]:
    """Returns the spaces of ours for a Gymnasium environment's two, and where their indices begin.

    Args:
        name: of the environment, for messages.
        observations, actions: Gymnasium's.

    Raises:
        ConfigError: as `our_space`.
    """
    ours = our_space(f"observation_space of {name}", observations)
    acts = our_space(f"action_space of {name}", actions, acts=True)
    return ours, acts, starts_of(observations, actions)


def our_space(field: str, space: Any, *, acts: bool = False) -> Space:
    """Returns the space of ours in which a Gymnasium environment's observations or actions lie here.

    Numbers have at most 32 bits, whole ones begin at 0, a MultiBinary is a MultiDiscrete of twos, a Tuple is a Dict
    with the names "0", "1", ..., and a Text a Box of the indices of its characters.

    Args:
        field: what it is, for messages.
        space: Gymnasium's.
        acts: whether actions lie in it, which are no texts.

    Raises:
        ConfigError: for a space that has no counterpart here, such as Graph, or whose numbers 32 bits do not hold.

    Examples:
        >>> our_space("observation_space", spaces.Tuple([spaces.Discrete(3, start=1), spaces.MultiBinary(2)]))
        Dict(spaces={'0': Discrete(n=3), '1': MultiDiscrete(nvec=(2, 2))})
    """
    try:
        leaves = leaves_of(space)
        if not leaves:
            raise TypeError(f"{space!r} holds nothing")
        if acts and any(leaf.codes is not None for leaf in leaves):
            raise TypeError("no agent writes a Text: use a MultiDiscrete, of which a gymnasium.ActionWrapper makes it")
    except TypeError as error:
        raise ConfigError(field, type(space).__name__, str(error)) from error
    for leaf in leaves:
        if leaf.start is not None and not np.all(_in_32_bits(leaf)):
            raise ConfigError(
                field, leaf.space, "use a space whose numbers fit 32 bits, for example one that starts at 0"
            )
    return _counterpart(space)


def _in_32_bits(leaf: Leaf) -> Any:
    """Returns of each index whether 32 bits hold all that it may be."""
    first = np.asarray(leaf.start, np.int64)
    return (first >= -LARGEST - 1) & (first <= LARGEST - np.asarray(leaf.count, np.int64))


def starts_of(observations: Any, actions: Any) -> Starts | None:
    """Returns where the indices of two spaces of Gymnasium's begin; None where all do at 0."""
    starts = Starts(*(tuple(_plain(leaf.start) for leaf in leaves_of(space)) for space in (observations, actions)))
    return starts if any(start is not None for part in starts for start in part) else None


def _plain(start: Any) -> int | tuple[int, ...] | None:
    return tuple(start.tolist()) if isinstance(start, np.ndarray) else start


def _counterpart(space: Any) -> Space:
    if isinstance(space, spaces.Dict):
        return Dict({name: _counterpart(part) for name, part in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return Dict({str(place): _counterpart(part) for place, part in enumerate(space.spaces)})
    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        return MultiDiscrete(tuple(map(int, space.nvec)))
    if isinstance(space, spaces.MultiBinary):
        return MultiDiscrete((2,) * space.shape[0])
    if is_text(space):
        (leaf,) = leaves_of(space)
        return Box(0.0, float(len(leaf.codes or ())), leaf.shape, leaf.dtype)
    return narrowed_box(space.low, space.high, space.shape, space.dtype)
