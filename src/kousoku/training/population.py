"""Seeds times sweep points: which agent and which key each member of a population has."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from ..agents.options import with_number
from ..collectors.streams import member_key
from ..core.agent import Agent
from ..core.errors import check_number, is_number
from .config import TrainConfig


class Population(eqx.Module):
    """N agents that share their structure and differ in numbers.

    Attributes:
        numbers: the agent with every number as float32 [N] and nothing else.
        structure: the agent without its numbers.
        keys: [N] one key for each member.
        seed, point: [N] where each member comes from.
    """

    numbers: Any
    structure: Any = eqx.field(static=True)
    keys: Key[Array, " N"]
    seed: Int[np.ndarray, " N"]
    point: Int[np.ndarray, " N"]

    @property
    def size(self) -> int:
        """N."""
        return self.keys.shape[0]

    def agent(self, i: int) -> Agent:
        """Returns the agent of one member."""
        return eqx.combine(jax.tree.map(lambda leaf: leaf[i], self.numbers), self.structure)


class Members(eqx.Module):
    """The parts of members that training does not change: of a whole population, or of those on one device.

    Attributes:
        numbers: each member's hyper-parameters, [N].
        keys: [N] each member's key.
        env_arrays: the arrays of the environment, which they share.

    Each may also be the `PartitionSpec` of that part.
    """

    numbers: Any
    keys: Any
    env_arrays: Any

    @property
    def count(self) -> int:
        """N."""
        return self.keys.shape[0]


def is_leaf_number(x: Any) -> bool:
    """Tells whether a leaf is a number that members may differ in."""
    return is_number(x) or eqx.is_inexact_array(x)


def make_population(agent: Agent, config: TrainConfig) -> Population:
    """Makes all members of a run: point 0 with every seed, point 1 with every seed, ...

    Raises:
        ConfigError: for a sweep over a name that is no number of the agent, or a value that it refuses.
    """
    seeds = np.arange(config.seeds) if isinstance(config.seeds, int) else np.asarray(config.seeds)
    agents = [_at_point(agent, point) for point in config.points]
    parts = [eqx.partition(each, is_leaf_number) for each in agents]
    stacked = jax.tree.map(lambda *leaves: np.asarray(leaves, np.float32), *[numbers for numbers, _ in parts])
    seed, point = np.tile(seeds, len(agents)), np.repeat(np.arange(len(agents)), len(seeds))
    numbers = jax.tree.map(lambda leaf: jnp.asarray(leaf[point]), stacked)
    keys = jax.vmap(member_key)(jnp.asarray(seed.astype(np.uint32)))
    return Population(numbers, parts[0][1], keys, seed, point)


def _at_point(agent: Agent, point: dict[str, float]) -> Agent:
    for name, value in point.items():
        check_number(f"sweep[{name!r}]", value)
        agent = with_number(agent, name, value)
    return agent


def population_size(config: TrainConfig) -> int:
    """Returns seeds times sweep points, without making any member."""
    seeds = config.seeds if isinstance(config.seeds, int) else len(config.seeds)
    return seeds * len(config.points)


def first(tree: Any) -> Any:
    """Returns the first member of a tree of [N, ...] arrays."""
    return jax.tree.map(lambda leaf: leaf[0], tree)
