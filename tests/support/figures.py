"""A made-up figure that walks and turns, for tests of the player in three dimensions."""

from __future__ import annotations

import numpy as np

from kousoku.core.scene3d import Body3d, Contacts3d, Geom, Trajectory3d

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "\"'><img src=x onerror=alert(3)>",
    "\u2028</title><!-- \u7dd1\u306e\u866b \U0001f41c \u202e",
)
FRAMES = 6


def body(names: tuple[str, ...] = ("head",), title: str = "figure") -> Body3d:
    """A red head, and one solid of each other kind."""
    kinds = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "sphere")
    sizes = ((0.3, 0, 0), (0.1, 0.3, 0), (0.2, 0.1, 0.1), (0.1, 0.2, 0), (0.1, 0.2, 0.15), (0.1, 0, 0))
    colors = ((1, 0, 0, 1), (0, 0.6, 0, 1), (0, 0, 1, 1), (0.8, 0.8, 0, 1), (0, 0.8, 0.8, 0.5), (1, 1, 1, 1))
    solids = tuple(
        Geom(kind, size, n, color, names[n % len(names)])
        for n, (kind, size, color) in enumerate(zip(kinds, sizes, colors, strict=True))
    )
    return Body3d((Geom("plane", (0.0, 0.0, 1.0), name=names[0]), *solids), title)


def walk(count: int = 40, dt: float = 0.05, name: str = "", speed: float = 0.5, **options) -> Trajectory3d:
    """Forward along x at so many metres a frame, each part turning in its own way; the last frame never moves."""
    t = np.arange(count, dtype=float)
    place = np.array([[0, 0, 1.2], [0, 0.3, 0.6], [0.3, 0, 0.7], [-0.3, 0, 0.7], [0, -0.4, 0.5], [2, 2, 0.1]])
    positions = place + np.zeros((count, FRAMES, 3))
    positions[:, :-1, 0] += speed * t[:, None]
    angle = 0.1 * t[:, None] * np.arange(1, FRAMES + 1)
    quaternions = np.stack([np.cos(angle / 2), np.sin(angle / 2), np.zeros_like(angle), np.zeros_like(angle)], axis=-1)
    quaternions[:, -1] = (1, 0, 0, 0)
    values = {"reward": np.sin(0.3 * t), "height": np.where(t == 3, np.nan, 1.0 + 0 * t)}
    return Trajectory3d(
        options.pop("body", None) or body(), positions, quaternions, dt, values, touches(t, speed), name
    )


def touches(t: np.ndarray, speed: float) -> Contacts3d:
    """None in the first frame, one in the odd, two in the other even ones."""
    points, forces = np.full((len(t), 3, 3), np.nan), np.full((len(t), 3, 3), np.nan)
    points[1:, 0] = np.stack([speed * t[1:], 0 * t[1:], 0 * t[1:]], axis=-1)
    forces[1:, 0] = (0.0, 3.0, 40.0)
    points[2::2, 2] = points[2::2, 0] + (0.2, 0, 0)
    forces[2::2, 2] = (0.0, 0.0, 20.0)
    return Contacts3d(points, forces)
