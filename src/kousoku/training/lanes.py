"""Seeds times sweep points: which agent and which key each lane has."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from ..agents.options import with_number
from ..core.agent import AnyAgent
from ..core.errors import check_number, is_number
from .config import TrainConfig
from .interaction import lane_key


class Lanes(eqx.Module):
    """N lanes. Agents share their structure and differ in numbers.

    Attributes:
        numbers: the agent with every number as float32 [N] and nothing else.
        structure: the agent without its numbers.
        keys: [N] one key for each lane.
        seed, point: [N] where each lane comes from.
    """

    numbers: Any
    structure: Any = eqx.field(static=True)
    keys: Key[Array, " N"]
    seed: Int[np.ndarray, " N"]
    point: Int[np.ndarray, " N"]

    @property
    def count(self) -> int:
        return self.keys.shape[0]


def is_leaf_number(x: Any) -> bool:
    """Whether a leaf is a number that lanes may differ in."""
    return is_number(x) or eqx.is_inexact_array(x)


def make_lanes(agent: AnyAgent, config: TrainConfig) -> Lanes:
    """All lanes of a run: point 0 with every seed, point 1 with every seed, ...

    Raises:
        ConfigError: for a sweep over a name that is no number of the agent, or a value that it refuses.
    """
    seeds = np.arange(config.seeds) if isinstance(config.seeds, int) else np.asarray(config.seeds)
    agents = [_at_point(agent, point) for point in config.points]
    parts = [eqx.partition(each, is_leaf_number) for each in agents]
    stacked = jax.tree.map(lambda *leaves: np.asarray(leaves, np.float32), *[numbers for numbers, _ in parts])
    seed, point = np.tile(seeds, len(agents)), np.repeat(np.arange(len(agents)), len(seeds))
    numbers = jax.tree.map(lambda leaf: jnp.asarray(leaf[point]), stacked)
    keys = jax.vmap(lane_key)(jnp.asarray(seed.astype(np.uint32)))
    return Lanes(numbers, parts[0][1], keys, seed, point)


def _at_point(agent: AnyAgent, point: dict[str, float]) -> AnyAgent:
    for name, value in point.items():
        check_number(f"sweep[{name!r}]", value)
        agent = with_number(agent, name, value)
    return agent


def num_lanes(config: TrainConfig) -> int:
    """Seeds times sweep points, without making any."""
    seeds = config.seeds if isinstance(config.seeds, int) else len(config.seeds)
    return seeds * len(config.points)


def lane(numbers: Any, structure: Any, i: int) -> Any:
    """The agent of one lane."""
    return eqx.combine(jax.tree.map(lambda leaf: leaf[i], numbers), structure)


def first(tree: Any) -> Any:
    """The first lane of a tree of [N, ...] arrays."""
    return jax.tree.map(lambda leaf: leaf[0], tree)
