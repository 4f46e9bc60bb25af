"""Observations of the two tasks of the humanoid: positions, velocities, inertia, and forces."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...physics import State
from .robot import Measured
from .world import World

ROOT = 6  # degrees of freedom of the free joint, which no actuator drives


@runtime_checkable
class Humanlike(Protocol):
    """Flags that say which parts are observed."""

    exclude_current_positions_from_observation: bool
    include_cinert_in_observation: bool
    include_cvel_in_observation: bool
    include_qfrc_actuator_in_observation: bool
    include_cfrc_ext_in_observation: bool


class Anatomy(eqx.Module):
    """Numbers that were measured: see `World`. What is not observed is None."""

    cfrc_ext: Float[Array, "nbody 6"]
    ten_length: Float[Array, " ntendon"]
    ten_velocity: Float[Array, " ntendon"]
    cinert: Float[Array, "nbody 10"] | None
    cvel: Float[Array, "nbody 6"] | None
    qfrc_actuator: Float[Array, " nv"] | None


def anatomy(env: Humanlike, world: World) -> Anatomy:
    """Reads all that is observed."""
    return Anatomy(
        world.cfrc_ext,
        world.ten_length,
        world.ten_velocity,
        world.cinert if env.include_cinert_in_observation else None,
        world.cvel if env.include_cvel_in_observation else None,
        world.qfrc_actuator if env.include_qfrc_actuator_in_observation else None,
    )


def observed(env: Humanlike, physics: State, measured: Measured) -> Float[Array, " n"]:
    """Returns positions, velocities, and those of inertia, velocities and forces of bodies that the task wants."""
    now: Anatomy = measured.now
    parts: list[Any] = [physics.qpos[2:] if env.exclude_current_positions_from_observation else physics.qpos]
    parts.append(physics.qvel)
    parts += [part[1:].reshape(-1) for part in (now.cinert, now.cvel) if part is not None]
    if now.qfrc_actuator is not None:
        parts.append(now.qfrc_actuator[ROOT:])
    if env.include_cfrc_ext_in_observation:
        parts.append(now.cfrc_ext[1:].reshape(-1))
    return jnp.concatenate(parts)


def squared(x: Array) -> Float[Array, ""]:
    """Returns the sum of squares."""
    return jnp.sum(x * x)
