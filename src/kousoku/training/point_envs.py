"""The environments of a sweep: one for each of its points, alike in all but numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..collectors.env_kernel import partition_env
from ..core.env import Env
from ..core.errors import ConfigError
from ..core.point_names import point_texts
from ..core.sweep_names import env_name, is_of_env
from ..ops.trees import rows
from .config import TrainConfig
from .env_numbers import env_maker, reader
from .io import tree_io
from .population import PointEnvs


def point_envs(env: Env, env_config: Mapping[str, Any], config: TrainConfig) -> PointEnvs:
    """Makes the environment of every point of a sweep.

    Args:
        env: as it was given, or made by its id.
        env_config: the same as JSON, see `io.env_config`.
        config: what is swept.

    Raises:
        ConfigError: for a name that is no number of the environment, a value that it refuses, or values that change
            more than numbers.
    """
    names = [name for name in config.sweep if is_of_env(name)]
    if not names:
        arrays, _ = partition_env(env)
        return PointEnvs((env,) * len(config.points), jax.tree.map(lambda _: None, arrays), arrays)
    maker = env_maker(env, env_config, names[0])
    readers = {name: reader(maker, name, list(config.sweep[name])) for name in names}
    points = [tuple(point[name] for name in names) for point in config.points]
    place = {values: i for i, values in enumerate(dict.fromkeys(points))}
    distinct = [dict(zip(names, values, strict=True)) for values in place]
    made = [maker.make(**{env_name(n): readers[n](v) for n, v in point.items()}) for point in distinct]
    parts = [partition_env(each) for each in made]
    for point, part in zip(distinct, parts, strict=True):
        _check_alike((distinct[0], parts[0]), (point, part))
    index = np.array([place[values] for values in points])
    own, arrays = _split([arrays for arrays, _ in parts])
    return PointEnvs(tuple(made[i] for i in index), rows(own, index), arrays)


def _check_alike(first: tuple[dict[str, float], Any], other: tuple[dict[str, float], Any]) -> None:
    """Refuses the numbers of a sweep point if with them there is more than numbers that differs from the first one's.

    Sweep points come in an order in which the first one that differs does so in the name that is to blame.
    """
    (before, (arrays, structure)), (after, (other_arrays, other_structure)) = first, other
    changed = [name for name in after if after[name] != before[name]]
    texts = point_texts([{name: point[name] for name in changed} for point in (before, after)])
    values = " and ".join(", ".join(each.values()) for each in texts)
    if tree_io.shapes(arrays) != tree_io.shapes(other_arrays):
        near = ", or write 1e-9 for 0" if 0 in (before[changed[0]], after[changed[0]]) else ""
        fix = f"{values} make arrays of other shapes, which one program cannot hold; give each a run of its own{near}"
        raise ConfigError("sweep", ", ".join(changed), fix)
    if structure != other_structure:
        fix = f"{values} change structure, for which programs are compiled; give each of them a run of its own"
        raise ConfigError("sweep", ", ".join(changed), fix)


def _split(trees: list[Any]) -> tuple[Any, Any]:
    """Returns (the leaves in which the trees differ, stacked, all others of the first tree), None for what is not."""
    tree = jax.tree.structure(trees[0])
    columns = list(zip(*(jax.tree.leaves(each) for each in trees), strict=True))
    differ = [len({array.tobytes() for array in tree_io.to_arrays(column)}) > 1 for column in columns]
    own = [jnp.stack(column) if yes else None for yes, column in zip(differ, columns, strict=True)]
    shared = [None if yes else column[0] for yes, column in zip(differ, columns, strict=True)]
    return jax.tree.unflatten(tree, own), jax.tree.unflatten(tree, shared)
