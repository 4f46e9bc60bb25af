"""Trajectories in three dimensions as one offline page: what moves is packed into 16 bits a number.

Poses lie around the centre of what moves, which is kept in full precision: a walk of a hundred metres is as smooth as
a step on the spot. A page holds the player (viewer.js, built from the folder `viewer` of the repository) and the data.

References:
    Glenn Fiedler, Snapshot Compression (2015), on sending the smallest three of a quaternion's components.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt16

from ..core.errors import ConfigError
from ..core.scene3d import Body3d, Contacts3d, Geom, Trajectory3d
from .encode import numbers
from .offline import asset, page_html
from .style import COLORS, SERIES, Scheme

SCRIPT = "viewer.js"
STYLE = "viewer.css"
LEVELS = 65534
MISSING = 65535
QUATERNION_LEVELS = 32767
MAX_CONTACTS = 1000
SCENE: dict[Scheme, dict[str, str]] = {
    "light": {"skytop": "#cfdbea", "skylow": "#f3f6fa", "ground": "#e3e8ef", "gridline": "#b9c2d0"},
    "dark": {"skytop": "#0b0e14", "skylow": "#1b212c", "ground": "#1a1f29", "gridline": "#3d4757"},
}


def page(trajectories: Sequence[Trajectory3d], title: str = "") -> str:
    """A self-contained page that plays trajectories side by side.

    Args:
        trajectories: at least one; all with the same `dt`, not necessarily equally long.
        title: any text; it stays text.

    Raises:
        ConfigError: if there is nothing to show, or the time steps differ.
    """
    if not trajectories:
        raise ConfigError("trajectories", [], "give at least one")
    steps = sorted({float(one.dt) for one in trajectories})
    if len(steps) > 1:
        raise ConfigError("dt", steps, "give all trajectories of a page the same")
    shown = title or trajectories[0].body.name or "Trajectory"
    sentence = f"<p>{escape(shown)}: this page needs JavaScript to draw.</p>"
    return page_html(shown, (SCRIPT,), payload(trajectories, title), sentence, css=palette() + asset(STYLE))


def write(path: str | Path, trajectories: Sequence[Trajectory3d], title: str = "") -> Path:
    """Write `page` to a file; returns its path."""
    target = Path(path)
    target.write_text(page(trajectories, title), encoding="utf-8")
    return target


def palette() -> str:
    """The colours as CSS variables: the system's scheme, or the one that the reader chose."""
    light, dark = (_variables(scheme) for scheme in ("light", "dark"))
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
    )


def payload(trajectories: Sequence[Trajectory3d], title: str) -> dict[str, Any]:
    """Everything that the player reads; equal bodies are written once."""
    bodies: list[Body3d] = []
    for trajectory in trajectories:
        if trajectory.body not in bodies:
            bodies.append(trajectory.body)
    return {
        "title": title,
        "dt": float(trajectories[0].dt),
        "bodies": [{"name": body.name, "geoms": [_geom(geom) for geom in body.geoms]} for body in bodies],
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


def _run(trajectory: Trajectory3d, body: int) -> dict[str, Any]:
    """One environment's data: frames that never move once, the others around their common centre."""
    x, q = np.asarray(trajectory.positions, np.float64), np.asarray(trajectory.quaternions, np.float64)
    moving = ((x != x[:1]).any(axis=(0, 2)) | (q != q[:1]).any(axis=(0, 2))).nonzero()[0]
    still = np.setdiff1d(np.arange(x.shape[1]), moving)
    centre = (x[:, moving].mean(axis=1) if len(moving) else np.zeros((len(x), 3))).astype(np.float32)
    return {
        "name": trajectory.name,
        "body": body,
        "frames": len(x),
        "still": [[int(n), *numbers(x[0, n]), *numbers(q[0, n])] for n in still],
        "moving": moving.tolist(),
        "centre": _text(centre, "<f4"),
        "positions": packed(x[:, moving] - centre[:, None]),
        "quaternions": _text(smallest_three(q[:, moving]), "<u2"),
        "values": [
            {"name": str(name), **packed(np.asarray(v, np.float64)[:, None])} for name, v in trajectory.values.items()
        ],
        "contacts": None if trajectory.contacts is None else _contacts(trajectory.contacts, centre),
    }


def _contacts(contacts: Contacts3d, centre: Float[np.ndarray, "T 3"]) -> dict[str, Any] | None:
    """How many there are at each time, and all of them one after the other."""
    points, forces = np.asarray(contacts.points, np.float64), np.asarray(contacts.forces, np.float64)
    there = np.isfinite(points).all(axis=-1) & np.isfinite(forces).all(axis=-1)
    there &= there.cumsum(axis=1) <= MAX_CONTACTS
    if not there.any():
        return None
    return {
        "counts": _text(there.sum(axis=1), "<u2"),
        "points": packed((points - centre[:, None])[there]),
        "forces": packed(forces[there]),
    }


def packed(array: Float[np.ndarray, "... d"]) -> dict[str, Any]:
    """Numbers as steps between the lowest and the highest of each component: x = low + step (high - low) / 65534.

    Numbers that are not finite become a step of their own. The error is half a step at most.

    Examples:
        >>> packed(np.array([[0.0], [1.0], [np.nan]]))
        {'low': [0.0], 'high': [1.0], 'data': 'AAD+////'}
    """
    x = np.asarray(array, np.float64).reshape(-1, np.shape(array)[-1])
    finite = np.isfinite(x)
    low = np.where(finite, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, x, -np.inf).max(axis=0, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    span = np.where(high > low, high - low, 1.0)
    step = np.rint((np.where(finite, x, low) - low) / span * LEVELS)
    return {"low": low.tolist(), "high": high.tolist(), "data": _text(np.where(finite, step, MISSING), "<u2")}


def smallest_three(quaternions: Float[np.ndarray, "... 4"]) -> UInt16[np.ndarray, "... 3"]:
    """Rotations in 3 x 16 bits: the three smaller components of a unit quaternion, in 15 bits each.

    Their sizes are at most 1 / sqrt(2); the largest is positive (q and -q turn alike) and follows from length one.
    Which it is stands in the top bits of the first two numbers.
    """
    q = quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)
    largest = np.abs(q).argmax(axis=-1, keepdims=True)
    q = q * np.where(np.take_along_axis(q, largest, axis=-1) < 0, -1.0, 1.0)
    others = np.arange(3) + (np.arange(3) >= largest)
    small = np.take_along_axis(q, others, axis=-1)
    step = np.rint(np.clip(small * np.sqrt(0.5) + 0.5, 0.0, 1.0) * QUATERNION_LEVELS).astype(np.uint16)
    top = np.concatenate([largest >> 1, largest & 1, np.zeros_like(largest)], axis=-1).astype(np.uint16)
    return step | top << np.uint16(15)


def _text(array: np.ndarray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(dtype).tobytes()).decode()


def _variables(scheme: Scheme) -> str:
    series = {f"series{i}": color for i, color in enumerate(SERIES[scheme])}
    return "".join(f"--{key}:{value};" for key, value in {**COLORS[scheme], **SCENE[scheme], **series}.items())
