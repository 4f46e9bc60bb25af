"""Trajectories in three dimensions as pixels, without a display: rays, one sun, shadows, a floor with a grid.

It shows what the player shows at first, in the light scheme. Edges are smoothed where the solid, its face or the
shadow changes from pixel to pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from ..core.scene3d import Geom, Trajectory3d
from .camera import Camera, Stage, stage_of
from .solids import MEET, Rays, Times, bound
from .style import SCENE, to_rgb
from .view3d import is_floor, placed, rods

SUN = np.array([-0.45, -0.5, 1.0], np.float32) / np.float32(np.sqrt(0.45**2 + 0.5**2 + 1.0))
ACROSS = np.linalg.svd(SUN[None])[2][1:].T  # two directions across the sun's
SUNLIGHT, SKYLIGHT, GLOSS = 0.62, 0.525, 0.05
SHADOW = 0.24
CAMERA = np.zeros((1, 3), np.float32)
HORIZON = 0.62
CORNERS = ((0.125, 0.375), (-0.375, 0.125), (0.375, -0.125), (-0.125, -0.375))
SKY, EARTH = np.array([1.0, 1.0, 1.0]), np.array([0.4, 0.42, 0.48])
TOP, LOW, GROUND, LINE = (
    np.array(to_rgb(SCENE["light"][n]), np.float32) for n in ("skytop", "skylow", "ground", "gridline")
)


@dataclass(frozen=True)
class _Solid:
    """A geom at a time, seen from the camera, in a capsule that holds it."""

    geom: Geom
    place: Float[np.ndarray, "3"]
    turn: Float[np.ndarray, "3 3"]
    radius: float
    half: float

    def seen_along(self, direction: Rays) -> Int[np.ndarray, " n"]:
        """Tells which rays from the camera, of length one, may meet it."""
        reach = self.radius + self.half
        if not np.isfinite(reach):
            return np.arange(len(direction))
        along = direction[:, 0] * self.place[0] + direction[:, 1] * self.place[1] + direction[:, 2] * self.place[2]
        return np.flatnonzero((self.place @ self.place - along * along < reach * reach) & (along > -reach))

    def sunward_of(self, flat: Float[np.ndarray, "N 2"]) -> Int[np.ndarray, " n"]:
        """Tells which places, as the sun sees them, it may hide or be hidden by."""
        away = flat - self.place @ ACROSS
        axis = self.half * (self.turn[:, 2] @ ACROSS)
        along = np.clip((away[:, 0] * axis[0] + away[:, 1] * axis[1]) / max(float(axis @ axis), 1e-12), -1.0, 1.0)
        x, y = away[:, 0] - along * axis[0], away[:, 1] - along * axis[1]
        return np.flatnonzero(x * x + y * y < self.radius * self.radius)

    def meet(self, origin: Float[np.ndarray, "#N 3"], direction: Float[np.ndarray, "#N 3"]) -> tuple[Times, Rays]:
        """Returns when rays meet it, and its normals there."""
        o, d = np.broadcast_arrays((origin - self.place) @ self.turn, direction @ self.turn)
        t, normal = MEET[self.geom.kind](o, d, self.geom.size)
        normal = normal @ self.turn.T
        return t, normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)


class _Seen(NamedTuple):
    """The picture that rays see: colours, and a number that changes where a smoothed edge is due."""

    color: Float[np.ndarray, "N 3"]
    key: Int[np.ndarray, " N"]


class Renderer:
    """A painter of trajectories' frames, side by side.

    Args:
        trajectories: at least one.
        size: pixels of the picture's width.
    """

    def __init__(self, trajectories: Sequence[Trajectory3d], size: int) -> None:
        self.trajectories = trajectories
        self.stage: Stage = stage_of(trajectories)
        share = 3 / 4 if len(trajectories) == 1 else 9 / 16
        self.width, self.height = size - size % 2, round(size * share / 2) * 2

    def draw(self, time: int) -> UInt8[np.ndarray, "H W 3"]:
        """Draws one frame; who has ended stays as it is."""
        camera = self.stage.camera(time, self.width / self.height)
        solids = self._solids(time, camera)
        y, x = (part.reshape(-1).astype(np.float32) for part in np.mgrid[: self.height, : self.width])
        seen = self._see(camera, solids, x, y)
        edges = self._edges(seen.key)
        dx, dy = np.array(CORNERS, np.float32).T[:, :, None]
        more = self._see(camera, solids, (x[edges] + dx).reshape(-1), (y[edges] + dy).reshape(-1)).color
        seen.color[edges] = more.reshape(len(CORNERS), -1, 3).mean(axis=0)
        pixels = np.rint(255.0 * np.clip(seen.color, 0.0, 1.0)).astype(np.uint8)
        return pixels.reshape(self.height, self.width, 3)

    def _solids(self, time: int, camera: Camera) -> list[_Solid]:
        found = []
        for trajectory, offset in zip(self.trajectories, self.stage.offsets, strict=True):
            now = min(time, len(trajectory) - 1)
            parts = [*trajectory.body.geoms, *rods(trajectory, now)]
            geoms = [geom for geom in parts if geom.color[3] > 0.0 and not self._is_the_floor(geom)]
            if not geoms:
                continue
            places, turns = placed(geoms, trajectory, now)
            near = (places + offset - camera.place).astype(np.float32)
            solids = zip(geoms, near, turns.astype(np.float32), strict=True)
            found += [_Solid(geom, place, turn, *bound(geom.kind, geom.size)) for geom, place, turn in solids]
        return found

    def _is_the_floor(self, geom: Geom) -> bool:
        """Returns whether it is the lowest plane; others, such as a platform's top, are solids."""
        return is_floor(geom) and geom.position[2] == self.stage.floor

    def _edges(self, key: Int[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
        grid = key.reshape(self.height, self.width)
        edges = np.zeros(grid.shape, bool)
        across, down = grid[:, 1:] != grid[:, :-1], grid[1:] != grid[:-1]
        edges[:, 1:] |= across
        edges[:, :-1] |= across
        edges[1:] |= down
        edges[:-1] |= down
        return edges.reshape(-1)

    def _see(self, camera: Camera, solids: list[_Solid], x: Times, y: Times) -> _Seen:
        u, v = 2 * (x + 0.5) / self.width - 1, 1 - 2 * (y + 0.5) / self.height
        ray = camera.rays(u, v)
        direction = ray / np.linalg.norm(ray, axis=1, keepdims=True)
        color, key, nearest = self._ground(camera, solids, ray, direction, v)
        through = [i for i, solid in enumerate(solids) if solid.geom.color[3] < 1.0]
        opaque = [i for i in range(len(solids)) if i not in through]
        far_first = sorted(through, key=lambda i: -float(np.linalg.norm(solids[i].place)))
        for i in [*opaque, *far_first]:
            solid = solids[i]
            some = solid.seen_along(direction)
            t, normal = solid.meet(CAMERA, direction[some])
            front = t < nearest[some]
            some, t, normal = some[front], t[front], normal[front]
            alpha = solid.geom.color[3]
            lit, face = self._lit(solids, solid, t[:, None] * direction[some], normal, direction[some])
            color[some] = alpha * lit + (1.0 - alpha) * color[some]
            key[some] = 8 * (i + 1) + face
            if alpha == 1.0:
                nearest[some] = t
        return _Seen(color, key)

    def _ground(
        self, camera: Camera, solids: list[_Solid], ray: Rays, direction: Rays, v: Times
    ) -> tuple[Rays, Int[np.ndarray, " N"], Times]:
        """Draws the sky, the floor with its lines, and shadows on it."""
        share = np.clip((0.5 - 0.5 * v) / HORIZON, 0.0, 1.0)[:, None]
        color = TOP + (LOW - TOP) * share
        key = np.zeros(len(v), np.int64)
        depth = np.float32(self.stage.floor - camera.place[2])
        down = np.flatnonzero(ray[:, 2] * depth > 1e-9)
        time = np.full(len(v), np.inf, np.float32)
        if not len(down):
            return color, key, time
        t = depth / ray[down, 2]
        place = t[:, None] * ray[down]
        fade = self._fade(camera, place)
        strength = self._lines(camera, place, ray[down], t)[:, None]
        shadow = np.zeros(len(down), bool)
        close = fade > 0.02
        shadow[close] = self._in_shadow(solids, None, place[close])
        base = (GROUND + (LINE - GROUND) * strength) * fade[:, None] + color[down] * (1 - fade[:, None])
        color[down] = base * (1.0 - SHADOW * shadow[:, None])
        key[down] = shadow + 2
        time[down] = t * np.linalg.norm(ray[down], axis=1)
        return color.astype(np.float32), key, np.where(time > 0.0, time, np.inf)

    def _fade(self, camera: Camera, place: Rays) -> Times:
        away = np.linalg.norm(place[:, :2] + (camera.place - camera.target)[:2].astype(np.float32), axis=1)
        return 1.0 - _smooth(0.1, 1.0, away / (22.0 * self.stage.size))

    def _lines(self, camera: Camera, place: Rays, ray: Rays, t: Times) -> Times:
        """Returns how strong the grid is: lines as wide as a pixel and a half, fainter where they run together."""
        steps = camera.steps(self.width, self.height)
        slope: Any = sum(np.abs(t[:, None] * (step[:2] - ray[:, :2] * (step[2] / ray[:, 2:]))) for step in steps)
        cell = self.stage.cell
        world = place[:, :2] + np.mod(camera.place[:2], 5.0 * cell).astype(np.float32)

        def lines(cell: float, width: float) -> Times:
            p, pixel = world / cell, slope / cell
            away = np.abs(p - np.rint(p)) / np.maximum(pixel, 1e-9)
            one = (1.0 - _smooth(width - 0.5, width + 0.5, away)) * (1.0 - _smooth(0.15, 0.6, pixel))
            return one.max(axis=1)

        return np.maximum(0.5 * lines(cell, 0.6), lines(5.0 * cell, 0.9))

    def _lit(
        self, solids: list[_Solid], solid: _Solid, place: Rays, normal: Rays, direction: Rays
    ) -> tuple[Rays, Int[np.ndarray, " N"]]:
        """Returns a surface's colours, and the number of the face and whether it lies in shadow."""
        facing = normal @ SUN
        dark = facing <= 0.0
        light = np.flatnonzero(~dark)
        dark[light] = self._in_shadow(solids, solid, place[light] + 1e-3 * self.stage.size * normal[light])
        sun = np.where(dark, 0.0, facing)[:, None]
        sky = EARTH + (SKY - EARTH) * (0.5 + 0.5 * normal[:, 2:])
        half = SUN - direction
        half = half / np.linalg.norm(half, axis=1, keepdims=True)
        gloss = np.where(dark, 0.0, np.maximum(np.einsum("ni,ni->n", normal, half), 0.0) ** 24)[:, None]
        albedo = np.array(solid.geom.color[:3]) ** 2.2
        lit = albedo * (SKYLIGHT * sky + SUNLIGHT * sun) + GLOSS * gloss
        face = np.abs(normal @ solid.turn).argmax(axis=1) if solid.geom.kind in ("box", "cylinder") else 0
        return np.clip(lit, 0.0, 1.0).astype(np.float32) ** np.float32(1 / 2.2), 2 * face + dark

    def _in_shadow(self, solids: list[_Solid], own: _Solid | None, place: Rays) -> Bool[np.ndarray, " N"]:
        """Returns whether something opaque stands between places and the sun."""
        shadow, flat = np.zeros(len(place), bool), place @ ACROSS
        for solid in solids:
            if solid is own or solid.geom.kind == "plane" or solid.geom.color[3] <= 0.5:
                continue  # what is convex casts no shadow on itself where it faces the sun
            some = solid.sunward_of(flat)
            some = some[~shadow[some]]
            if len(some):
                shadow[some] = np.isfinite(solid.meet(place[some], SUN[None])[0])
        return shadow


def _smooth(low: float, high: float, x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Returns 0 below one edge, 1 above the other, smooth between them."""
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)
