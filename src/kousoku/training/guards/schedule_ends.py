"""Schedules that end before their run does: in one that is gone on with, or longer than counts are."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Collection

import jax
import jax.numpy as jnp

from ...core.agent import Agent
from ...core.errors import RunWarning
from ...core.spaces import LARGEST
from ...ops.schedules import Schedule, counted_steps, value_at

NOTHING = 1e-6
"""The share of its first value below which a learning rate teaches nothing."""


def warn_spent_rates(agent: Agent, begun_for: int, until: int, swept: Collection[str]) -> None:
    """Warns of each schedule of a learning rate that ends at 0 where the run was to end, if it goes on from there.

    Args:
        agent: with its schedules, whose shares are counts.
        begun_for: the steps that the run was begun for.
        until: the steps that are asked for now.
        swept: names of hyper-parameters that are numbers of each member's own.
    """
    if until <= begun_for:
        return
    for name in (field.name for field in dataclasses.fields(agent) if field.name.endswith("learning_rate")):
        rate = getattr(agent, name)
        if name in swept or not callable(rate):
            continue
        first, last = (float(value_at(rate, jnp.int32(min(step, LARGEST)))) for step in (0, begun_for))
        if abs(last) <= NOTHING * abs(first):
            ends = f"{name} comes to 0 at the {begun_for:,} steps that this run was begun for"
            fix = "nothing is learned after them; begin another with init_from, or anew with more steps"
            warnings.warn(f"{ends}: {fix}", RunWarning, stacklevel=3)


def warn_early_ends(agent: Agent, steps: int) -> None:
    """Warns of each share of a run that is more steps than a schedule counts.

    Args:
        agent: with its schedules, whose shares are not counts yet.
        steps: of the run.
    """
    if steps <= LARGEST:
        return
    for path, schedule in jax.tree.leaves_with_path(agent, is_leaf=_is_schedule):
        share = getattr(schedule, "steps", None)
        if isinstance(share, str) and (counts := counted_steps(share, steps)) == LARGEST:
            name = jax.tree_util.keystr(path[-1:]).lstrip(".")
            what = f"{name} changes over {counts:,} steps, not over {share} of the run's {steps:,}"
            warnings.warn(f"{what}: schedules count no further", RunWarning, stacklevel=3)


def _is_schedule(leaf: object) -> bool:
    return isinstance(leaf, Schedule)
