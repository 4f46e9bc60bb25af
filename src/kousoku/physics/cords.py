"""Spatial tendons as cords, for `kousoku.core.scene3d`, where MuJoCo draws them.

From site to site a cord is straight. On its way round a geom, and where it hangs slack, it goes through points that
have frames of their own, behind those of the bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core.scene3d import WORLD, Cord, Vector
from .algebra.scalar import ONE, ZERO, clip, maximum, to_array, where
from .mjcf.bounds import LARGEST
from .model import Model
from .stages.actuation import actuators_of
from .stages.kinematics import Kinematics, geom_frame, site_frame
from .stages.tendon import Leg, legs, path, way_round

Point = tuple[int, Vector]

ORIGIN = (0.0, 0.0, 0.0)
SHOWN_GROUPS = 3
"""How many groups, of geoms and of tendons, MuJoCo shows."""
BETWEEN = 3
"""Points along a geom's surface, beside both ends of the way round."""
HANGING = 15
"""Points of a slack cord, beside both of its ends."""
NEWTON_STEPS = 6
TAUT, UPRIGHT = 1e-5, 1e-4
"""By what share of its length a cord is slack at least, and how far its ends are apart sideways at least."""


def cords(
    model: Any, colors: Float[np.ndarray, "ntendon 4"], names: Sequence[str], own: int | None
) -> tuple[Cord, ...]:
    """Returns the spatial tendons that MuJoCo shows: groups 0 to 2, unless they are transparent or have no width.

    A tendon is more than one cord where a pulley ends a part of it.

    Args:
        model: ours as in its file, or MuJoCo's.
        colors: of all tendons.
        names: of all tendons.
        own: the first of the frames of their own; None if there are none: then nothing is drawn between two sites with
            a geom between them, and what hangs slack is straight.

    References:
        MuJoCo documentation, XML reference, tendon/spatial: group, width, rgba.
    """
    found: list[Cord] = []
    frames = None if own is None else count(own)
    for i in _drawn(model, colors):
        parts: list[list[Point]] = []
        for leg in legs(model, path(model, i)):
            if frames is None and leg.around is not None:
                continue
            free = [] if frames is None else list(islice(frames, _free_points(model, i, leg)))
            start, end = (_site(model, site) for site in (leg.start, leg.end))
            if not parts or parts[-1][-1] != start:
                parts.append([start])
            parts[-1] += [*((frame, ORIGIN) for frame in free), end]
        color = tuple(np.clip(colors[i], 0.0, 1.0).tolist())
        found += [Cord(float(model.tendon_width[i]), tuple(part), color, names[i]) for part in parts]
    return tuple(found)


def num_free_points(model: Model) -> int:
    """Returns how many points of cords have frames of their own."""
    file = model.of_file()
    return sum(_free_points(file, i, leg) for i in _drawn(file, file.tendon_rgba) for leg in legs(file, path(file, i)))


def free_points(model: Model, k: Kinematics, dtype: Any) -> Float[Array, "n 3"]:
    """Returns where the points of cords are that have frames of their own, in their order; can be traced."""
    file, found = model.of_file(), []
    for i in _drawn(file, file.tendon_rgba):
        for leg in legs(file, path(file, i)):
            if leg.around is not None:
                found.append(_points_round(model, k, leg, leg.around, dtype))
            elif _free_points(file, i, leg):
                start, end = (to_array([*site_frame(model, k, site).pos], dtype) for site in (leg.start, leg.end))
                slack = jnp.asarray(model.tendon_range if file.tendon_stiffness[i] == 0 else model.tendon_lengthspring)
                found.append(hanging(start, end, slack[i, 1].astype(dtype), jnp.asarray(model.gravity, dtype)))
    return jnp.concatenate(found) if found else jnp.zeros((0, 3), dtype)


def hanging(
    start: Float[Array, "3"], end: Float[Array, "3"], length: Float[Array, ""], gravity: Float[Array, "3"]
) -> Float[Array, "n 3"]:
    """Returns points of a cord that hangs between two places, equally far from one another along it: a catenary.

    One that is stretched is straight.

    References:
        https://en.wikipedia.org/wiki/Catenary, "Determining parameters".
    """
    up = -gravity / jnp.maximum(jnp.linalg.norm(gravity), 1e-9)
    way = end - start
    high = way @ up
    across = way - high * up
    length = jnp.maximum(jnp.maximum(length, (1.0 + TAUT) * jnp.linalg.norm(way)), 1e-9)
    wide = jnp.maximum(jnp.linalg.norm(across), UPRIGHT * length)
    half = _half_width(jnp.sqrt((length - high) * (length + high)) / wide)
    scale = 0.5 * wide / half
    left = jnp.arctanh(high / length) - half
    shares = jnp.arange(1, HANGING + 1, dtype=start.dtype) / (HANGING + 1)
    slope = jnp.sinh(left) + shares * length / scale
    x, z = scale * (jnp.arcsinh(slope) - left), scale * (jnp.sqrt(1.0 + slope * slope) - jnp.cosh(left))
    return start[None] + jnp.outer(x, across / wide) + jnp.outer(z, up)


def _half_width(ratio: Float[Array, ""]) -> Float[Array, ""]:
    """Returns the x for which sinh(x) / x is a ratio above 1."""
    ratio = jnp.maximum(ratio, 1.0 + TAUT)
    large = jnp.log(2.0 * ratio)
    x = jnp.where(ratio < 3.0, jnp.sqrt(6.0 * (ratio - 1.0)), large + jnp.log(large))
    for _ in range(NEWTON_STEPS):
        x = x - (jnp.log(jnp.sinh(x) / x) - jnp.log(ratio)) / (1.0 / jnp.tanh(x) - 1.0 / x)
    return x


def _points_round(model: Model, k: Kinematics, leg: Leg, around: int, dtype: Any) -> Float[Array, "n 3"]:
    """Returns points of a way round a geom; where the cord passes it, all of them where the geom is nearest."""
    start, end = (site_frame(model, k, site).pos for site in (leg.start, leg.end))
    way = way_round(model, k, start, end, around, BETWEEN)
    straight, centre = end - start, geom_frame(model, k, int(model.wrap_objid[around])).pos
    share = clip(straight.dot(centre - start) / maximum(straight.dot(straight), 1e-12), ZERO, ONE)
    passing = start + straight * share
    points = (way.first, *way.between, way.last)
    numbers = [where(way.touches, a, b) for point in points for a, b in zip(point, passing, strict=True)]
    return to_array(numbers, dtype).reshape(len(points), 3)


def _drawn(model: Any, colors: Float[np.ndarray, "ntendon 4"]) -> Iterator[int]:
    """Yields the tendons that are drawn; fixed ones have nothing to draw."""
    for i in range(model.ntendon):
        if model.tendon_group[i] < SHOWN_GROUPS and model.tendon_width[i] > 0.0 and colors[i, 3] > 0.0:
            yield i


def _free_points(model: Model, tendon: int, leg: Leg) -> int:
    """Returns how many points of a leg have frames of their own."""
    if leg.around is not None:
        return BETWEEN + 2
    return HANGING if _is_string(model, tendon) else 0


def _is_string(model: Model, tendon: int) -> bool:
    """Returns whether a tendon hangs where it is slack: two sites, and nothing but its longest length holds it.

    References:
        MuJoCo documentation, XML reference, tendon/spatial; its visualizer (engine_vis_visualize.c) says which.
    """
    falls = not model.no_gravity and np.any(model.gravity)
    stiff, (low, high) = model.tendon_stiffness[tendon] != 0, model.tendon_range[tendon]
    if stiff:
        low, high = model.tendon_lengthspring[tendon]
    bounded = low == 0.0 < high < LARGEST and (stiff or bool(model.tendon_limited[tendon]))
    damped = model.tendon_damping[tendon] != 0 or model.tendon_frictionloss[tendon] != 0
    return bool(falls and model.tendon_num[tendon] == 2 and bounded and not damped and not actuators_of(model, tendon))


def _site(model: Any, site: int) -> Point:
    body = int(model.site_bodyid[site])
    x, y, z = np.asarray(model.site_pos[site], np.float64).tolist()
    return (body - 1 if body else WORLD), (x, y, z)
