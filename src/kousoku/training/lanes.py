"""Seeds times sweep points: which agent and which key each lane has."""

from __future__ import annotations

import os
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from ..agents.options import with_number
from ..core.agent import Agent
from ..core.env import Env
from ..core.errors import ConfigError, check_number, is_number
from .config import MAX_SEED, TrainConfig
from .interaction import lane_key, start
from .tally import Record


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


def make_lanes(agent: Agent, config: TrainConfig) -> Lanes:
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


def _at_point(agent: Agent, point: dict[str, float]) -> Agent:
    for name, value in point.items():
        check_number(f"sweep[{name!r}]", value)
        agent = with_number(agent, name, value)
    return agent


def check_memory(agent: Agent, env: Env, num_lanes: int, record: Record) -> None:
    """Refuse more lanes than memory holds, before anything is allocated.

    Raises:
        ConfigError: with the estimate and the number of lanes that would fit.
    """
    learner = jax.eval_shape(lambda key: start(agent, env, key, record), jax.eval_shape(lambda: jax.random.key(0)))
    bytes_each = 2 * sum(_bytes(leaf) for leaf in jax.tree.leaves(learner)) + 256
    total = _memory()
    if num_lanes > MAX_SEED or num_lanes * bytes_each > 0.8 * total:
        fits = min(int(0.8 * total / bytes_each), MAX_SEED)
        need = f"about {num_lanes * bytes_each / 2**30:.3g} GiB of {total / 2**30:.3g} GiB"
        raise ConfigError("seeds x sweep", f"{num_lanes} lanes", f"they need {need}; use at most {fits}")


def _bytes(leaf: Any) -> int:
    itemsize = 8 if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf.dtype.itemsize
    return int(np.prod(leaf.shape)) * itemsize


def _memory() -> int:
    """Bytes of physical memory; 64 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 64 * 2**30


def num_lanes(config: TrainConfig) -> int:
    """Seeds times sweep points, without making any."""
    seeds = config.seeds if isinstance(config.seeds, int) else len(config.seeds)
    return seeds * len(config.points)


def lane(numbers: Any, structure: Any, i: int) -> Agent:
    """The agent of one lane."""
    return eqx.combine(jax.tree.map(lambda leaf: leaf[i], numbers), structure)


def first(tree: Any) -> Any:
    """The first lane of a tree of [N, ...] arrays."""
    return jax.tree.map(lambda leaf: leaf[0], tree)
