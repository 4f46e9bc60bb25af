"""Frames of bodies, geoms and sites, as arrays.

References:
    MuJoCo documentation, Computation, "Simulation pipeline"; API reference, mjData. Metres.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from .algebra.scalar import nums, to_array
from .model import Model, check_vector
from .stages.com_pos import subtree_com
from .stages.kinematics import Frame, geom_frame, site_frame
from .stages.kinematics import kinematics as body_frames


class Frames(eqx.Module):
    """Positions and orientations in the world, by the names of MuJoCo's mjData.

    Attributes:
        xpos, xquat: bodies' frames, the world first.
        xipos, xiquat: frames of bodies' centres of mass, along their principal axes.
        subtree_com: centre of mass of each body and all that hangs on it.
        geom_xpos, geom_xquat: geoms' frames.
        site_xpos, site_xquat: sites' frames.
    """

    xpos: Float[Array, "nbody 3"]
    xquat: Float[Array, "nbody 4"]
    xipos: Float[Array, "nbody 3"]
    xiquat: Float[Array, "nbody 4"]
    subtree_com: Float[Array, "nbody 3"]
    geom_xpos: Float[Array, "ngeom 3"]
    geom_xquat: Float[Array, "ngeom 4"]
    site_xpos: Float[Array, "nsite 3"]
    site_xquat: Float[Array, "nsite 4"]


def kinematics(model: Model, qpos: Float[Array, " nq"]) -> Frames:
    """Returns the frames of bodies, geoms and sites at the joint positions `qpos` [nq].

    Example:
        >>> import jax.numpy as jnp
        >>> from kousoku.physics import load
        >>> model = load("<mujoco><worldbody><body pos='0 0 1'><joint axis='0 1 0'/><geom size='.1' pos='.5 0 0'/>"
        ...     "</body></worldbody></mujoco>")
        >>> x, y, z = kinematics(model, jnp.array([jnp.pi / 2])).geom_xpos[0]
        >>> round(float(z), 3)
        0.5

    Raises:
        ConfigError: for positions of another shape than the model's.
    """
    check_vector("qpos", qpos, model.nq)
    k = body_frames(model, nums(qpos))
    coms = subtree_com(model, k)
    geoms = [geom_frame(model, k, i) for i in range(model.ngeom)]
    sites = [site_frame(model, k, i) for i in range(model.nsite)]
    com = to_array([x for c in coms for x in c], qpos.dtype).reshape(-1, 3)
    pairs = [_arrays(frames, qpos.dtype) for frames in (k.bodies, k.inertial, geoms, sites)]
    return Frames(*pairs[0], *pairs[1], com, *pairs[2], *pairs[3])


def _arrays(frames: Sequence[Frame], dtype: Any) -> tuple[Array, Array]:
    """Returns positions [n, 3] and quaternions [n, 4]."""
    positions = to_array([x for frame in frames for x in frame.pos], dtype)
    quats = to_array([x for frame in frames for x in frame.quat], dtype)
    return positions.reshape(len(frames), 3), quats.reshape(len(frames), 4)
