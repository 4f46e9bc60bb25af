"""Trajectories in three dimensions as one offline page: what moves is packed into 16 bits a number.

Poses lie around the centre of what moves together, which is kept in full precision, each frame's within a range of its
own: a walk of a hundred metres is as smooth as a step on the spot, though a ball beside it rolls away. A page holds the
player (solid.js, built from the folder `viewer` of the repository) and the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Float

from ..core.scene3d import Body3d, Contacts3d, Cord, Geom, Trajectory3d
from .encode import numbers
from .film2d import START, STYLE, check_pace
from .offline import asset, page_html
from .packing import as_text, packed, packed_readings, packed_values, smallest_three
from .style import player_palette
from .view3d import centre_of, followed_frames, moving_frames, view_of

SCRIPT = "solid.js"
MAX_CONTACTS = 1000


def page(trajectories: Sequence[Trajectory3d], title: str = "") -> str:
    """Returns a self-contained page that plays trajectories side by side.

    Args:
        trajectories: at least one; all with the same `dt`, not necessarily equally long.
        title: any text; it stays text.

    Raises:
        ConfigError: if there is nothing to show, or the time steps differ.
    """
    check_pace(trajectories)
    shown = title or trajectories[0].body.name or "Trajectory"
    sentence = f"<p>{escape(shown)}: this page needs JavaScript to draw.</p>"
    css = player_palette() + asset(STYLE)
    return page_html(shown, (SCRIPT,), START, payload(trajectories, title), sentence, css=css)


def payload(trajectories: Sequence[Trajectory3d], title: str) -> dict[str, Any]:
    """Returns everything that the player reads; equal bodies are written once."""
    bodies: list[Body3d] = []
    for trajectory in trajectories:
        if trajectory.body not in bodies:
            bodies.append(trajectory.body)
    return {
        "title": title,
        "dt": float(trajectories[0].dt),
        "bodies": [
            {"name": body.name, "geoms": [*map(_geom, body.geoms)], "cords": [*map(_cord, body.cords)]}
            for body in bodies
        ],
        "runs": [_run(trajectory, bodies.index(trajectory.body)) for trajectory in trajectories],
    }


def _geom(geom: Geom) -> dict[str, Any]:
    return {
        "kind": geom.kind,
        "size": numbers(geom.size),
        "frame": geom.frame,
        "color": numbers(geom.color),
        "name": geom.name,
        "position": numbers(geom.position),
        "quaternion": numbers(geom.quaternion),
    }


def _cord(cord: Cord) -> dict[str, Any]:
    return {
        "radius": numbers([cord.radius])[0],
        "color": numbers(cord.color),
        "name": cord.name,
        "points": [[frame, *numbers(position)] for frame, position in cord.points],
    }


def _run(trajectory: Trajectory3d, body: int) -> dict[str, Any]:
    """Returns one environment's data: frames that never move once, the others around their common centre."""
    x, q = np.asarray(trajectory.positions, np.float64), np.asarray(trajectory.quaternions, np.float64)
    moving = moving_frames(trajectory)
    followed = followed_frames(trajectory, moving)
    still = np.setdiff1d(np.arange(x.shape[1]), moving)
    centre = centre_of(trajectory, followed).astype(np.float32)
    return {
        "name": trajectory.name,
        "body": body,
        "frames": len(x),
        "view": view_of(trajectory)._asdict(),
        "still": [[int(n), *numbers(x[0, n]), *numbers(q[0, n])] for n in still],
        "moving": moving,
        "centre": as_text(centre, "<f4"),
        "positions": packed((x[:, moving] - centre[:, None]).reshape(len(x), 3 * len(moving))),
        "quaternions": as_text(smallest_three(q[:, moving]), "<u2"),
        "values": packed_values(trajectory.values),
        "contacts": None if trajectory.contacts is None else _contacts(trajectory.contacts, centre),
    }


def _contacts(contacts: Contacts3d, centre: Float[np.ndarray, "T 3"]) -> dict[str, Any] | None:
    """Returns how many contacts there are at each time, and all of them one after the other."""
    points, forces = np.asarray(contacts.points, np.float64), np.asarray(contacts.forces, np.float64)
    there = np.isfinite(points).all(axis=-1) & np.isfinite(forces).all(axis=-1)
    there &= there.cumsum(axis=1) <= MAX_CONTACTS
    if not there.any():
        return None
    return {
        "counts": as_text(there.sum(axis=1), "<u2"),
        "points": packed((points - centre[:, None])[there]),
        "forces": packed_readings(forces[there]),
    }
