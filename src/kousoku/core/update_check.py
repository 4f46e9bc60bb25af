"""Checks of what an agent's update returns: a state, and real scalars by name. They are made as it is traced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .errors import ConfigError, shorten
from .leaves import is_array_or_number, kind_words, shapes, words
from .ours import is_ours

MOST_TOLD = 3
"""How many parts of a state that have changed are named."""
SCALARS = "an update returns a dict of scalars to record, by name; {} for none"


def checked_update(agent: Any, before: Any, made: Any, axis: str | None = None, samples: int | None = None) -> Any:
    """Returns what an agent's update returned: the state, the metrics and, of three parts, the errors of its samples.

    Args:
        agent: whose update it is, for the message.
        before: its state before.
        made: what it returned.
        axis: the devices that share its environments; metrics of an agent of one's own become means over them.
        samples: how many errors there are to be, of as many samples; None where two parts are to be returned.

    Raises:
        ConfigError: for anything else, a state of another form, or metrics that cannot be recorded.
    """
    parts = 2 if samples is None else 3
    method, more = ("update", "") if parts == 2 else ("update_with_errors", ", and the errors of its samples")
    field = f"{type(agent).__name__}.{method}"
    made = returned_parts(field, made, parts, f"return the new state, and a dict of scalars to record{more}")
    check_state(field, before, made[0])
    if samples is not None and (np.shape(made[2]) != (samples,) or not _is_real(made[2])):
        raise ConfigError(f"{field}'s errors", words(made[2]), f"give one number of each sample, [{samples}]")
    metrics = {name: _held(value) for name, value in made[1].items()} if isinstance(made[1], dict) else made[1]
    check_metrics(metrics)
    if axis is not None and not is_ours(type(agent)):
        metrics = {name: jax.lax.pmean(jnp.asarray(value, jnp.float32), axis) for name, value in metrics.items()}
    return made[0], metrics, *made[2:]


def returned_parts(field: str, made: Any, count: int, fix: str) -> Any:
    """Returns what a method returned, a tuple of so many parts.

    Raises:
        ConfigError: for anything else, with what to return.
    """
    if isinstance(made, tuple | list) and len(made) == count:
        return made
    raise ConfigError(field, kind_words(made), fix)


def check_state(
    field: str, before: Any, after: Any, name: str = "a state", like: str = "return one like the one given,"
) -> None:
    """Refuses a state, or something else, of another form than the one before.

    Args:
        field: what returned it, for the message.
        before, after: what it should be like, and what it is.
        name: what it is called, and `like`, how it is told to be like the other.

    Raises:
        ConfigError: naming the parts that differ.
    """
    check_leaves(field, after, name)
    old, new = (dict.fromkeys(_shapes(state)) for state in (before, after))
    gone, come = old.keys() - new.keys(), new.keys() - old.keys()
    if gone or come:
        got = f"{name} with {_told(come)}" if come else f"{name} without {_told(gone)}"
        raise ConfigError(field, got, f"{like} {f'with {_told(gone)}' if gone else 'without it'}")
    if other := _other_part(before, after):
        where, was, now = other
        raise ConfigError(field, f"{name} whose {where} is {now}", f"{like} whose {where} is {was}")


def _other_part(before: Any, after: Any, path: Any = ()) -> tuple[str, str, str] | None:
    """Returns the first part of a state that is another kind of node now: where it is, what it was, what it is."""
    (old, was), (new, now) = map(_one_level, (before, after))
    if was != now:
        of_before, of_after = kind_words(before), kind_words(after)
        same = f"{of_before} with other static fields, or in another order"
        return jax.tree_util.keystr(path) or "itself", of_before, of_after if of_after != of_before else same
    for (step, one), (_, other) in zip(old, new, strict=True):
        if step and (found := _other_part(one, other, (*path, *step))):
            return found
    return None


def _one_level(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda part: part is not tree)


def check_leaves(field: str, state: Any, name: str = "a state") -> None:
    """Refuses a state, or something else, with a leaf that is no array and no number: a function, a text.

    Raises:
        ConfigError: naming the first.
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        if not is_array_or_number(leaf):
            what = f"{jax.tree_util.keystr(path) or 'itself'}, {shorten(leaf)}"
            fix = "use arrays; what is none belongs into a field of the agent, or eqx.field(static=True)"
            raise ConfigError(field, f"{name} with {what}", fix)


def _shapes(state: Any) -> list[tuple[str, tuple[int, ...], str]]:
    """Returns path, shape and dtype of every leaf, as a program has it: 64 bits only where JAX has them."""
    return shapes(jax.eval_shape(lambda state: state, state))


def _told(leaves: Iterable[tuple[str, tuple[int, ...], str]]) -> str:
    """Returns parts of a state by name, dtype and shape, for a message."""
    parts = sorted(f"{name or 'itself'} {dtype}{list(shape)}" for name, shape, dtype in leaves)
    return ", ".join(parts[:MOST_TOLD]) + (", ..." if len(parts) > MOST_TOLD else "")


def check_metrics(metrics: Any) -> None:
    """Refuses what is no dict of real scalars: a flag, a whole number and a number of Python's are some.

    Raises:
        ConfigError: naming the metric.
    """
    if not isinstance(metrics, dict):
        raise ConfigError("metrics", kind_words(metrics), SCALARS)
    for name, value in metrics.items():
        if not isinstance(name, str) or not name.isprintable():
            raise ConfigError("name of a metric", name, "use a text, such as 'loss'")
        if not is_array_or_number(value):
            raise ConfigError(f"metric {name!r}", kind_words(value), SCALARS)
        if jnp.shape(value) != ():
            raise ConfigError(f"metric {name!r}", list(jnp.shape(value)), "an update returns scalars; take a mean")
        if not _is_real(value):
            fix = "only real numbers are recorded; return its size, or its parts under two names"
            raise ConfigError(f"metric {name!r}", str(jnp.result_type(value)), fix)


def _is_real(value: Any) -> bool:
    return any(jnp.issubdtype(jnp.result_type(value), kind) for kind in (jnp.floating, jnp.integer, jnp.bool_))


def _held(value: Any) -> Any:
    """Returns a metric as it is, but a whole number of the host's that int32 does not hold as a float."""
    return float(value) if isinstance(value, (int, np.integer)) and not -(2**31) <= value < 2**31 else value
