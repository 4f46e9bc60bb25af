"""Contacts at some positions without the dynamics: whether there are any, as random first states are tried by."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from .algebra.scalar import Num, nums, to_array
from .collision.candidates import candidates, geom_types
from .collision.geom import GeomInfo
from .collision.narrow_phase import COLLISION_FUNCTIONS
from .model import Model, check_vector
from .stages.kinematics import geom_frame, kinematics, pack_frame, unpack_frame


def any_contact(model: Model, qpos: Float[Array, " nq"]) -> Bool[Array, ""]:
    """Returns whether mjData would have contacts at the joint positions `qpos` [nq]: two geoms within their margin.

    Pairs of the same types of geoms share one loop, so that the program of a body with many stays small.

    Example:
        >>> from kousoku.physics import load
        >>> model = load("<mujoco><worldbody><geom type='plane' size='1 1 1'/><body><joint type='slide' axis='0 0 1'/>"
        ...     "<geom size='.1'/></body></worldbody></mujoco>")
        >>> [bool(any_contact(model, jnp.array([height]))) for height in (0.05, 0.15)]
        [True, False]

    Raises:
        ConfigError: for positions of another shape than the model's.
    """
    check_vector("qpos", qpos, model.nq)
    pairs = sorted(candidates(model), key=lambda c: geom_types(model, c))
    found = jnp.zeros((), bool)
    if not pairs:
        return found
    k, dtype = kinematics(model, nums(qpos)), qpos.dtype
    geoms = sorted({g for c in pairs for g in (c.geom1, c.geom2)})
    frames = jnp.stack([pack_frame(geom_frame(model, k, g), dtype) for g in geoms])
    sizes = to_array([x for g in geoms for x in nums(model.geom_size[g])], dtype).reshape(len(geoms), 3)
    for types, group in groupby(pairs, key=lambda c: geom_types(model, c)):
        same = list(group)
        ends = np.array([[geoms.index(c.geom1), geoms.index(c.geom2)] for c in same], np.int32)
        margins = to_array([c.margin for c in same], dtype)

        def look(found: jax.Array, pair: Any, collide: Any = COLLISION_FUNCTIONS[types]) -> tuple[jax.Array, None]:
            (first, second), margin = pair
            one, other = (GeomInfo(unpack_frame(frames[g]), nums(sizes[g]), Num(margin)) for g in (first, second))
            distances = to_array([point.dist for point in collide(one, other)], dtype)
            return found | jnp.any(jnp.less(distances, margin)), None

        found = lax.scan(look, found, (jnp.asarray(ends), margins))[0]
    return found
