"""Capsules against capsules: two spheres, where their axes come nearest to each other; if parallel, two pairs."""

from __future__ import annotations

from ..algebra.scalar import ONE, Num, absolute, clip, where
from .geom import ABSENT, ContactPoint, GeomInfo
from .spheres import sphere_pair

PARALLEL = 1e-8
"""Square of the angle below which axes count as parallel."""


def capsule_capsule(first: GeomInfo, second: GeomInfo) -> list[ContactPoint]:
    """Returns two points: the nearest ones, or the ends of where parallel capsules lie side by side.

    Places on the axes, from -1 to 1, are x and y; the second axis is turned round if need be to go the first one's way.
    """
    aligned = first.axis.dot(second.axis)
    a, b = first.axis * first.size[1], second.axis * (second.size[1] * where(aligned < 0.0, -1.0, 1.0))
    across = first.axis.cross(second.axis)
    square = across.dot(across)
    parallel = square < PARALLEL
    between = second.frame.pos - first.frame.pos
    aa, ab, bb = first.size[1] * first.size[1], a.dot(b), second.size[1] * second.size[1]
    u, v = a.dot(between), b.dot(between)

    def on_first(y: Num) -> Num:
        return (u + y * ab) / aa

    def on_second(x: Num) -> Num:
        return clip((x * ab - v) / bb, -1.0, 1.0)

    def end(y: Num) -> tuple[Num, Num]:
        x = on_first(y)
        beside = absolute(x) < 1.0
        x = clip(x, -1.0, 1.0)
        return x, where(beside, y, on_second(x))

    x = clip((u * bb - v * ab) / (aa * bb * where(parallel, 1.0, square)), -1.0, 1.0)
    x = clip(on_first(on_second(x)), -1.0, 1.0)
    first_end = end(-ONE)
    nearest = where(parallel, first_end[0], x), where(parallel, first_end[1], on_second(x))
    otherwise = across.norm_and_unit()[1]
    touches = []
    for x, y in (nearest, end(ONE)):
        one, other = first.frame.pos + a * x, second.frame.pos + b * y
        touches.append(sphere_pair(one, first.size[0], other, second.size[0], otherwise))
    far = where(parallel, touches[1].dist, ABSENT)
    return [touches[0], ContactPoint(far, touches[1].pos, touches[1].normal)]
