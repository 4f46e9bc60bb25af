"""Members of a population: seeds times sweep points."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np

from ..agents.options import with_number
from ..collectors.streams import member_key
from ..core.agent import Agent
from ..core.sweep_names import of_agent
from ..ops.trees import rows, to_device
from .config import TrainConfig
from .population import MemberNumbers, PointEnvs, Population, is_leaf_number


def make_population(agent: Agent, envs: PointEnvs, config: TrainConfig) -> Population:
    """Makes all members of a run: point 0 with every seed, point 1 with every seed, ...

    Raises:
        ConfigError: for a sweep over a name that is no number of the agent, or a value that it refuses.
    """
    seeds = np.arange(config.seeds) if isinstance(config.seeds, int) else np.asarray(config.seeds)
    agents = [_at_point(agent, point) for point in config.points]
    parts = [eqx.partition(each, is_leaf_number) for each in agents]
    with np.errstate(over="ignore"):  # where a number may be infinite, 1e39 is as good as that
        stacked = jax.tree.map(lambda *leaves: np.asarray(leaves, np.float32), *[numbers for numbers, _ in parts])
    seed, point = np.tile(seeds, len(agents)), np.repeat(np.arange(len(agents)), len(seeds))
    numbers = MemberNumbers(
        jax.tree.map(lambda leaf: to_device(leaf[point]), stacked),
        rows(envs.numbers, point),
    )
    keys = jax.vmap(member_key)(to_device(seed.astype(np.uint32)))
    return Population(numbers, parts[0][1], envs, keys, seed, point)


def _at_point(agent: Agent, point: dict[str, float]) -> Agent:
    for name, value in of_agent(point).items():
        agent = with_number(agent, name, value)
    return agent


def population_size(config: TrainConfig) -> int:
    """Returns seeds times sweep points, without making any member."""
    seeds = config.seeds if isinstance(config.seeds, int) else len(config.seeds)
    return seeds * len(config.points)
