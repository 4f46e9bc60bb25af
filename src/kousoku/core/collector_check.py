"""Checks of what a collector of one's own answers, made as its first iteration is traced."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .collector import Collector, EpisodeEnd, EstimateSums, Steps, TrainState
from .errors import ConfigError, check_count, check_flag, check_number, error_text
from .leaves import dtype_of, is_array_or_number, words
from .ours import is_ours
from .overridden import check_overridden, overridden
from .spaces import LARGEST
from .update_check import check_leaves, check_metrics, check_state, returned_parts

INIT = "return three things: the slots, what is carried from step to step, and the data"
COLLECT = "return three things: the state, what is learned from, and the steps"
NUMBERS = ("reward", "end.", "estimates.")
"""Parts of `Steps` that are one number of each."""
KINDS = {"b": jnp.bool_, "i": jnp.integer, "f": jnp.floating, "c": jnp.complexfloating}
"""Kinds of numbers by a letter; keys are of none."""
REAL = ("b", "i", "f")
"""Those of which there are sums."""
LEARN = "return three things: the state, sums of the metrics, and the number of updates"
FLAGS = ("batched", "steps_are_fixed", "tells_steps", "rounds_over_devices", "keeps_transitions")
"""Properties that are True or False."""
COUNTS = {
    **dict.fromkeys(("num_envs", "num_steps", "iteration_steps", "period", "gradient_samples"), 1),
    **dict.fromkeys(("steps_before_learning", "samples_held"), 0),
}
"""Properties and fields that are whole numbers, and the smallest that each may be."""
ASKED_OF = {
    "steps_are_fixed": (False, ("ask_for_steps", "steps_are_due")),
    "keeps_transitions": (True, ("kept_transitions", "begun_before")),
}
"""Properties, the answer with which a collector needs methods of its own, and these methods."""


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
        elif name == "least_share":
            check_number(field, value, low=0, high=1)
        elif name in TOLD:
            TOLD[name](field, value)
    if not is_ours(kind):
        _check_together(collector)


def _check_together(collector: Collector) -> None:
    """Refuses answers that do not go together, or ask for methods that there are none of."""
    kind = type(collector).__name__
    for name, (answer, methods) in ASKED_OF.items():
        for method in methods:
            if getattr(collector, name) == answer and getattr(type(collector), method) is getattr(Collector, method):
                raise ConfigError(f"{kind}.{name}", answer, f"write {method}, which is asked for then")
    made = collector.num_envs * collector.num_steps
    if not collector.batched and made != 1:
        fix = f"an iteration is one step of one environment then, and num_envs x num_steps is {made}"
        raise ConfigError(f"{kind}.batched", False, fix)
    steps, name = collector.iteration_steps, "iteration_steps" if collector.period == 1 else "period"
    if collector.steps_are_fixed and collector.tells_steps and steps != made:
        fix = f"num_envs x num_steps is {made}, and each is told: leave it out, or make steps_are_fixed False"
        raise ConfigError(f"{kind}.iteration_steps", steps, fix)
    if steps * collector.period > LARGEST // 2:
        fix = f"use fewer: a period may have {LARGEST // 2} steps, which int32 counts twice"
        raise ConfigError(f"{kind}.{name}", getattr(collector, name), fix)


def _check_size(field: str, size: Any) -> None:
    if not (isinstance(size, tuple) and len(size) == 2 and all(isinstance(each, str) for each in size)):
        raise ConfigError(field, size, "give two texts: the field that makes it large, and its size in words")


def _check_shared(field: str, shared: Any) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(shared):
        if not isinstance(leaf, np.ndarray | jax.Array) or not _is_held(leaf):
            where = jax.tree_util.keystr(path) or "itself"
            raise ConfigError(f"{field}: {where}", words(leaf), "give arrays of numbers, such as numpy.array(...)")


def _is_held(array: Any) -> bool:
    """Returns whether programs hold an array: one of numbers, or of keys."""
    return bool(_shape_and_kind(array)[1]) or jnp.issubdtype(array.dtype, jax.dtypes.prng_key)


def _check_recorded(field: str, told: Any) -> None:
    def refuse(word: str) -> None:
        if word == "NaN":
            raise ValueError("it has no NaN")

    try:
        json.loads(json.dumps(told), parse_constant=refuse)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(field, told, f"give a dict that JSON holds, or None ({error_text(error)})") from error
    if told is not None and not isinstance(told, dict):
        raise ConfigError(field, told, "give a dict that JSON holds, or None")


TOLD = {"size": _check_size, "shared": _check_shared, "recorded_data": _check_recorded}
"""Checks of what other properties tell."""


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
        check_leaves(field, data, "what is learned from")
        _check_steps(field, collector, steps)
        _check_kinds(field, steps)
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
        if updates is not None and _shape_and_kind(updates) != ((), "i"):
            raise ConfigError(f"{field}'s updates", words(updates), "give their number, a whole one, or None for one")
        check_metrics(metrics)
    return after, metrics, updates


def _check_train_state(field: str, before: TrainState, after: Any) -> None:
    """Refuses what is no training state like the one before; metrics are training's own."""
    if not isinstance(after, TrainState):
        raise ConfigError(f"{field}'s state", type(after).__name__, "return a TrainState: the one given, moved on")
    old, new = (dataclasses.replace(state, metrics=()) for state in (before, after))
    check_state(field, old, new)


def _check_steps(field: str, collector: Collector, steps: Any) -> None:
    """Refuses steps that are not as many as a collector says, in any of their parts: all counts rest on it."""
    if not isinstance(steps, Steps):
        raise ConfigError(f"{field}'s steps", type(steps).__name__, "give kousoku.Steps")
    if not isinstance(steps.end, EpisodeEnd):
        raise ConfigError(f"{field}'s end", type(steps.end).__name__, "give a kousoku.EpisodeEnd")
    counted = (collector.num_steps, collector.num_envs) if collector.batched else ()
    fixed = steps.taken is None and collector.tells_steps
    needed = counted if fixed else jnp.shape(steps.reward)
    for path, leaf in jax.tree_util.tree_leaves_with_path(steps):
        name, shape = jax.tree_util.keystr(path).lstrip("."), jnp.shape(leaf)
        if name == "taken":
            continue
        if shape[: len(needed)] != needed or (len(shape) > len(needed) and name.startswith(NUMBERS)):
            size = f"num_steps x num_envs is {list(needed)}" if fixed else f"rewards are {list(needed)}"
            raise ConfigError(field, f"steps whose {name} is {list(shape)}", f"{size}: give numbers of so many steps")


def _check_kinds(field: str, steps: Steps) -> None:
    """Refuses parts of steps that there are no sums of."""
    end, taken = steps.end, steps.taken
    for name, flags in (("ended", end.ended), ("whole", end.whole)):
        if _shape_and_kind(flags)[1] != "b" and (flags is not None or name == "ended"):
            raise ConfigError(f"{field}'s end.{name}", words(flags), "give booleans")
    of_end = {f"end.{name}": getattr(end, name) for name in ("episode_return", "length")}
    for name, numbers in {"reward": steps.reward, **of_end}.items():
        if _shape_and_kind(numbers)[1] not in REAL:
            raise ConfigError(f"{field}'s {name}", words(numbers), "give real numbers")
    if steps.action is None and steps.obs is not None:
        raise ConfigError(f"{field}'s action", None, "give observations and actions, or none of both")
    if taken is not None and _shape_and_kind(taken) != ((), "i"):
        raise ConfigError(f"{field}'s taken", words(taken), "give the number of steps, a whole one, or None")
    if steps.estimates is not None and not isinstance(steps.estimates, EstimateSums):
        fix = "give a kousoku.core.collector.EstimateSums, or None"
        raise ConfigError(f"{field}'s estimates", type(steps.estimates).__name__, fix)


def _shape_and_kind(value: Any) -> tuple[Any, str]:
    """Returns an array's shape, and of which of `KINDS` it is; of what is no array, or one of none, "" for that."""
    if not is_array_or_number(value):
        return None, ""
    return jnp.shape(value), next((kind for kind, of in KINDS.items() if jnp.issubdtype(dtype_of(value), of)), "")
