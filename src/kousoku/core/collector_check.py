"""Checks of what a collector of one's own answers, made as its first iteration is traced."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .collector import Collector, EpisodeEnd, Steps, TrainState
from .errors import ConfigError, check_count, check_flag, shorten
from .ours import is_ours
from .overridden import check_overridden, overridden
from .update_check import check_leaves, check_state, returned_parts

INIT = "return three things: the slots, what is carried from step to step, and the data"
COLLECT = "return three things: the state, what is learned from, and the steps"
NUMBERS = ("reward", "end.", "estimates.")
"""Parts of `Steps` that are one number of each."""
LEARN = "return three things: the state, sums of the metrics, and the number of updates"
FLAGS = ("batched", "steps_are_fixed", "tells_steps", "rounds_over_devices", "keeps_transitions")
"""Properties that are True or False."""
COUNTS = {
    **dict.fromkeys(("num_envs", "num_steps", "iteration_steps", "period", "gradient_samples"), 1),
    **dict.fromkeys(("steps_before_learning", "samples_held"), 0),
}
"""Properties and fields that are whole numbers, and the smallest that each may be."""


def check_collector(collector: Collector) -> None:
    """Refuses a collector of one's own whose methods cannot be called as training calls them, or that tells no counts.

    Raises:
        ConfigError: naming the method, the property or the field.
    """
    check_overridden(collector, Collector)
    kind = type(collector)
    for name, _ in overridden(kind, Collector):
        field, value = f"{kind.__name__}.{name}", getattr(collector, name, None)
        if name in FLAGS and not isinstance(value, np.bool_):
            check_flag(field, value)
        elif name in COUNTS:
            check_count(field, value, low=COUNTS[name])


def begun(collector: Collector, made: Any) -> tuple[Any, Any, Any]:
    """Returns what `init` returned: slots, carry and data.

    Raises:
        ConfigError: for another number of parts, or one that no program can carry.
    """
    field = f"{type(collector).__name__}.init"
    slots, carry, data = returned_parts(field, made, 3, INIT)
    if not is_ours(type(collector)):
        check_leaves(field, {"slots": slots, "carry": carry, "data": data})
    return slots, carry, data


def collected(collector: Collector, before: TrainState, made: Any) -> tuple[TrainState, Any, Steps]:
    """Returns what `collect` returned: the state, what is learned from, and the steps.

    Raises:
        ConfigError: for another number of parts, a state of another form, or steps that are not as many as the
            collector says.
    """
    field = f"{type(collector).__name__}.collect"
    after, data, steps = returned_parts(field, made, 3, COLLECT)
    if not is_ours(type(collector)):
        _check_train_state(field, before, after)
        _check_steps(field, collector, steps)
    return after, data, steps


def learned(collector: Collector, before: TrainState, made: Any) -> tuple[TrainState, dict[str, Any], Any]:
    """Returns what `learn` returned: the state, sums of the metrics, and the number of updates.

    Raises:
        ConfigError: for another number of parts, a state of another form, or a number that is none.
    """
    field = f"{type(collector).__name__}.learn"
    after, metrics, updates = returned_parts(field, made, 3, LEARN)
    if not is_ours(type(collector)):
        _check_train_state(field, before, after)
        if updates is not None and _shape_and_kind(updates) not in (((), "i"), ((), "u")):
            raise ConfigError(f"{field}'s updates", _told(updates), "give their number, a whole one, or None for one")
    return after, metrics, updates


def _check_train_state(field: str, before: TrainState, after: Any) -> None:
    """Refuses what is no training state like the one before; metrics are training's own."""
    if not isinstance(after, TrainState):
        raise ConfigError(f"{field}'s state", type(after).__name__, "return a TrainState: the one given, moved on")
    check_state(field, *(dataclasses.replace(state, metrics=()) for state in (before, after)))


def _check_steps(field: str, collector: Collector, steps: Any) -> None:
    """Refuses steps that are not as many as a collector says, in any of their parts: all counts rest on it."""
    if not isinstance(steps, Steps):
        raise ConfigError(f"{field}'s steps", type(steps).__name__, "give kousoku.Steps")
    if not isinstance(steps.end, EpisodeEnd):
        raise ConfigError(f"{field}'s end", type(steps.end).__name__, "give a kousoku.EpisodeEnd")
    counted = (collector.num_steps, collector.num_envs) if collector.batched else ()
    fixed = steps.taken is None and collector.tells_steps
    needed = counted if fixed else jnp.shape(steps.reward)
    for path, leaf in jax.tree_util.tree_leaves_with_path(dataclasses.replace(steps, taken=None)):
        name, shape = jax.tree_util.keystr(path).lstrip("."), jnp.shape(leaf)
        if shape[: len(needed)] != needed or (len(shape) > len(needed) and name.startswith(NUMBERS)):
            size = f"num_steps x num_envs is {list(needed)}" if fixed else f"rewards are {list(needed)}"
            raise ConfigError(field, f"steps whose {name} is {list(shape)}", f"{size}: give numbers of so many steps")
    if _shape_and_kind(steps.end.ended)[1] != "b":
        raise ConfigError(f"{field}'s end.ended", _told(steps.end.ended), "give booleans")


def _shape_and_kind(value: Any) -> tuple[Any, str]:
    """Returns an array's shape and its dtype's kind; of what is no array "" for a kind."""
    if not hasattr(value, "dtype") and not isinstance(value, bool | int | float):
        return None, ""
    return jnp.shape(value), jnp.result_type(value).kind


def _told(value: Any) -> str:
    shape, kind = _shape_and_kind(value)
    return f"{jnp.result_type(value)}{list(shape)}" if kind else shorten(value)
