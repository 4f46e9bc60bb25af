"""Checks of what a collector of one's own answers beside its iterations, made before anything is learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...core.collector import BufferUse, Collector, TrainState, acting_key_shapes
from ...core.errors import ConfigError, check_count
from ...core.leaves import words
from ...core.ours import is_ours
from ...core.timestep import Transition
from ...core.update_check import check_state

SHAPES = "give shapes, such as jax.ShapeDtypeStruct((8, 4), jnp.float32), in any tree; () for nothing"
SOME = (0, 1, 10**6)
"""Numbers of iterations after which a buffer is asked how full it is."""
USE = "give a kousoku.core.collector.BufferUse, or None"


def check_answers(collector: Collector, state: TrainState, data: Any) -> None:
    """Refuses answers of a collector of one's own that training cannot use, some of which it asks for at its end.

    Args:
        collector: the collector.
        state: the shapes of a member's training state before the first step.
        data: the shapes of what its first iteration learns from.

    Raises:
        ConfigError: naming the method, what it gives, and what it should.
    """
    checks: dict[str, Callable[[str], object]] = {
        "temporaries": lambda field: _check_shapes(field, collector.temporaries(data, state.data)),
        "buffer_use": lambda _: [buffer_use(collector, state.data, made) for made in SOME],
        "acting_keys": lambda field: _check_acting_keys(field, collector),
        "give_up_episodes": lambda field: _check_data(field, collector.give_up_episodes, state.data),
        "ask_for_steps": lambda field: _check_data(field, collector.ask_for_steps, state.data),
        "steps_are_due": lambda field: _check_due(field, collector, state.data),
    }
    kind = type(collector)
    for name, check in checks.items():
        if not is_ours(getattr(kind, name)):
            check(f"{kind.__name__}.{name}")


def devices_of(collector: Collector, available: int) -> int:
    """Returns among how many of the available devices a collector divides the slots of one member.

    Raises:
        ConfigError: for what is no divisor of `num_envs` up to the number of those.
    """
    used = collector.num_devices(available)
    field = f"{type(collector).__name__}.num_devices"
    check_count(field, used, high=available)
    if collector.num_envs % used:
        raise ConfigError(field, used, f"use a divisor of num_envs, which is {collector.num_envs}")
    return int(used)


def buffer_use(collector: Collector, data: Any, iterations: int) -> BufferUse | None:
    """Returns how full a collector's buffer is after so many iterations; None where it has none.

    Raises:
        ConfigError: for anything else than a `BufferUse` of whole numbers, or None.
    """
    use = collector.buffer_use(data, iterations)
    if use is None or is_ours(type(collector).buffer_use):
        return use
    field = f"{type(collector).__name__}.buffer_use"
    if not isinstance(use, BufferUse):
        raise ConfigError(field, use, USE)
    return BufferUse(*(check_count(f"{field}'s {name}", value, low=0) for name, value in use._asdict().items()))


def kept(collector: Collector, data: Any, iterations: int, time_limit: int | None) -> tuple[Transition, np.ndarray]:
    """Returns the transitions that a collector keeps, and of each slot whether the first is in an episode's midst.

    Raises:
        ConfigError: for anything else than a `Transition` [B, n, ...] and booleans [B].
    """
    rows, begun = collector.kept_transitions(data, iterations), collector.begun_before(iterations, time_limit)
    kind = type(collector)
    if is_ours(kind):
        return rows, begun
    field, slots = f"{kind.__name__}.kept_transitions", collector.num_envs
    if not isinstance(rows, Transition):
        raise ConfigError(field, type(rows).__name__, f"give a kousoku.Transition of arrays [{slots}, n, ...]")
    size = np.shape(rows.reward)
    for path, leaf in jax.tree_util.tree_leaves_with_path(rows):
        if len(size) != 2 or size[0] != slots or np.shape(leaf)[:2] != size:
            got = f"{jax.tree_util.keystr(path)} {list(np.shape(leaf))}"
            raise ConfigError(field, got, f"give arrays [{slots}, n, ...], with as many steps of each")
    field, marks = f"{kind.__name__}.begun_before", np.asarray(begun)
    if marks.shape != (slots,) or marks.dtype != np.bool_:
        raise ConfigError(field, begun, f"give booleans [{slots}]")
    return rows, marks


def _check_shapes(field: str, made: Any) -> None:
    for leaf in jax.tree.leaves(made):
        if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape"):
            raise ConfigError(field, leaf, SHAPES)


def _check_acting_keys(field: str, collector: Collector) -> None:
    made = acting_key_shapes(collector)
    size = (collector.num_steps, collector.num_envs) if collector.batched else ()
    is_key = hasattr(made, "dtype") and jnp.issubdtype(made.dtype, jax.dtypes.prng_key)
    if made is not None and (not is_key or made.shape != size):
        raise ConfigError(field, words(made), f"give a key of each step, {list(size)}, or None")


def _check_data(field: str, change: Callable[[Any, Any], Any], data: Any) -> None:
    check_state(field, data, eqx.filter_eval_shape(lambda data: change(data, jnp.int32(1)), data), "data")


def _check_due(field: str, collector: Collector, data: Any) -> None:
    due = eqx.filter_eval_shape(collector.steps_are_due, data)
    if not isinstance(due, bool) and (getattr(due, "dtype", None) != np.bool_ or due.shape != ()):
        raise ConfigError(field, words(due), "give one boolean")


def inherited(kind: type, name: str) -> Any:
    """Returns the library's method in whose place a class has one of its own; None where that is abstract, or its own.

    The class that it is of comes with it.
    """
    if is_ours(getattr(kind, name)):
        return None
    found = (base for base in kind.__mro__ if base is not Collector and is_ours(vars(base).get(name)))
    return next(found, None)


def check_like_inherited(
    collector: Collector, made: Callable[[type], Any], name: str, used_by: tuple[str, ...]
) -> None:
    """Refuses what a method of one's own gives if it is not like what methods take that are the library's still.

    It is to be asked where these could not be traced: what they make do with is let through.

    Args:
        collector: the collector.
        made: from a class to what its method gives.
        name: of the method.
        used_by: the methods that take it.

    Raises:
        ConfigError: naming the method, and the parts that differ.
    """
    kind = type(collector)
    base, takers = inherited(kind, name), [each for each in used_by if is_ours(getattr(kind, each))]
    if base is None or not takers:
        return
    like = f"give what {base.__name__}.{name} gives, which {base.__name__}.{takers[0]} takes:"
    check_state(f"{kind.__name__}.{name}", made(base), made(kind), "parts", like)
