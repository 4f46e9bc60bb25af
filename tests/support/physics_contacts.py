"""Contacts as rows of numbers, ours beside C MuJoCo's: distance, point, normal and first tangent."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from kousoku.physics.collision.geom import GeomType

EXACT = 1e-9
LYING = (GeomType.CAPSULE, GeomType.CYLINDER)
BY_ELLIPSOIDS = ((GeomType.CAPSULE, GeomType.ELLIPSOID), (GeomType.ELLIPSOID, GeomType.ELLIPSOID))
# C finds these by iteration: how far its points and normals, and distances, are from the true ones, at its smallest
# tolerance. Where a capsule lies on a cylinder's end, distances follow the normal.
ITERATED = {
    (GeomType.SPHERE, GeomType.ELLIPSOID): (5e-5, EXACT),
    **dict.fromkeys(BY_ELLIPSOIDS, (1e-4, EXACT)),
    LYING: (1e-4, 5e-7),
}


def rows_of(contact: Any) -> np.ndarray:
    """C's contacts, one a row."""
    return np.column_stack([contact.dist, contact.pos, contact.frame.reshape(-1, 9)[:, :6]])


def completed(rows: np.ndarray) -> np.ndarray:
    """Contacts with a first tangent at a right angle to the normal, as C has it where it does not matter."""
    for row in rows:
        normal, along = row[4:7], row[7:]
        if not along.any():
            along = np.array([0, 1, 0] if abs(normal[1]) < 0.5 else [0, 0, 1])
        along = along - normal * normal.dot(along)
        length = np.linalg.norm(along)
        row[7:] = along / length if length > 1e-6 else along * np.nan
    return rows


def agree(mine: np.ndarray, wanted: np.ndarray, margin: float, tolerance: float, distance: float = 1e-4) -> bool:
    """As many within the margin, the same ones in any order; those at the margin itself may be there or not."""
    mine, wanted = (rows[rows[:, 0] < margin - 1e-9] for rows in (mine, wanted))
    if len(mine) != len(wanted):
        return False
    left = list(wanted)
    for row in mine:
        errors = [np.nanmax(np.abs(row - other)) for other in left]
        best = int(np.argmin(errors))
        if errors[best] > tolerance or abs(row[0] - left[best][0]) > distance:
            return False
        left.pop(best)
    return True


def anywhere(pair: tuple[GeomType, GeomType], data: mujoco.MjData, rows: np.ndarray) -> np.ndarray:
    """Where any place along a line is as good as another, points are moved to the one nearest to the second shape."""
    axes = data.geom_xmat[:, 2::3]
    if pair != LYING or np.linalg.norm(np.cross(*axes)) > 1e-12:
        return rows
    moved = rows.copy()
    moved[:, 1:4] -= np.outer((rows[:, 1:4] - data.geom_xpos[1]) @ axes[1], axes[1])
    return moved
