"""A population: which agent, which environment and which key each of its members has."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Int, Key

from ..collectors.env_kernel import EnvStructure, partition_env
from ..core.agent import Agent
from ..core.env import Env
from ..core.errors import is_number
from .io.tree_io import pick_member


class PointEnvs(NamedTuple):
    """The environments of P points: what they share, and the numbers in which they differ.

    Attributes:
        by_point: [P] each as a whole; the same one again for all points that have its numbers.
        numbers: an environment with each leaf that differs as an array [P, ...], and nothing else.
        arrays: the environment with all other leaves.
    """

    by_point: tuple[Env, ...]
    numbers: Any
    arrays: Any

    @property
    def structure(self) -> EnvStructure:
        """What is left of an environment without its leaves, the same of all; it cannot be pickled, and is not kept."""
        return partition_env(self.by_point[0])[1]

    @property
    def distinct(self) -> list[Env]:
        """Each environment once."""
        return list({id(env): env for env in self.by_point}.values())

    @property
    def bytes_each(self) -> int:
        """Bytes of the numbers of one point."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.numbers)) // len(self.by_point)


class MemberNumbers(NamedTuple):
    """The numbers that members may differ in.

    Attributes:
        agent: the agent with every number as float32 [N] and nothing else.
        env: the environment with each leaf in which members differ, [N, ...], and nothing else.
    """

    agent: Any
    env: Any


class Population(eqx.Module):
    """N agents, each in its environment, that share their structure and differ in numbers.

    Attributes:
        numbers: each member's, [N, ...].
        structure: the agent without its numbers.
        envs: the environments of the sweep's points, and what they share.
        keys: [N] one key for each member.
        seed, point: [N] where each member comes from.
    """

    numbers: MemberNumbers
    structure: Any = eqx.field(static=True)
    envs: PointEnvs
    keys: Key[Array, " N"]
    seed: Int[np.ndarray, " N"]
    point: Int[np.ndarray, " N"]

    @property
    def size(self) -> int:
        """N."""
        return self.keys.shape[0]

    def agent(self, i: int) -> Agent:
        """Returns the agent of one member."""
        return eqx.combine(pick_member(self.numbers.agent, i), self.structure)

    def env(self, i: int) -> Env:
        """Returns the environment of one member."""
        return self.envs.by_point[self.point[i]]


class Members(eqx.Module):
    """The parts of members that training does not change: of a whole population, or of those on one device.

    Attributes:
        numbers: `MemberNumbers`, [N, ...].
        keys: [N] each member's key.
        env_arrays: the arrays of the environment that they share.
        shared: those of their collector, see `Collector.shared`.

    Each may also be the `PartitionSpec` of that part.
    """

    numbers: Any
    keys: Any
    env_arrays: Any
    shared: Any = ()

    @property
    def count(self) -> int:
        """N."""
        return self.keys.shape[0]


def is_leaf_number(x: Any) -> bool:
    """Returns whether a leaf is a number that members may differ in."""
    return is_number(x) or eqx.is_inexact_array(x)


def member_of(program: Any, numbers: MemberNumbers, env_arrays: Any) -> tuple[Agent, Env]:
    """Returns the agent and the environment of one member.

    Args:
        program: has both without their numbers and arrays, as `agent` and `env`.
        numbers: the member's own.
        env_arrays: those that members share.
    """
    return eqx.combine(numbers.agent, program.agent), program.env.with_arrays(eqx.combine(numbers.env, env_arrays))


def first(tree: Any) -> Any:
    """Returns the first member of a tree of [N, ...] arrays."""
    return jax.tree.map(lambda leaf: leaf[0], tree)
