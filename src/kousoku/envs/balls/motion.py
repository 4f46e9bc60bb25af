"""The motion of balls along one axis: a step of semi-implicit Euler, and a bounce at the moment of the contact."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..fields import Number

Balls = Float[Array, "*balls"]

TINY = 1e-12


def move(place: Balls, speed: Balls, pull: Number, drag: Number, dt: Number) -> tuple[Balls, Balls]:
    """Returns places and speeds after a step of semi-implicit Euler: the speed first, the place from the new speed.

        speed  = (speed + pull dt) / (1 + drag dt)
        place  = place + speed dt

    The drag is taken at the new speed, so that no drag, however strong, turns a ball around.

    Args:
        place: in m.
        speed: in m/s.
        pull: an acceleration, in m/s^2.
        drag: in 1/s.
        dt: in s.

    Examples:
        >>> place, speed = move(jnp.zeros(1), jnp.ones(1), -10.0, 0.0, 0.01)
        >>> round(float(place[0]), 6), round(float(speed[0]), 6)
        (0.009, 0.9)
    """
    speed = (speed + pull * dt) / (1.0 + drag * dt)
    return place + speed * dt, speed


def bounce(
    place: Balls, speed: Balls, kick: Balls, dt: Number, wall: Number | Balls, side: Number | Balls, restitution: Number
) -> tuple[Balls, Balls]:
    """Brings back from a wall, exactly, what a step took beyond it.

    The places of semi-implicit Euler lie on a parabola: on that of a ball whose speed at the end of the step is
    w = speed + kick / 2, with the acceleration a = kick / dt. With d the depth, it met the wall t ago, at speed v:

        v^2    = w^2 - 2 a d                  t      = 2 d / (w + v)
        place  = wall - e v t + a t^2 / 2     speed  = -e v + a t - kick / 2

    So heights, energy and derivatives of a ball that bounces are those of the true motion, at any step size; without
    the moment of the contact, derivatives are wrong at every step size. A ball that would be back at the wall within
    the same step stays there, at rest.

    Args:
        place: after the step.
        speed: after the step.
        kick: by how much the step changed the speed.
        dt: of the step.
        wall: where it is.
        side: -1 for a wall that ends the room below or on the left, 1 for the others.
        restitution: e, the share of its speed that a ball keeps.

    References:
        Hu, Anderson, Li, Sun, Carr, Ragan-Kelley and Durand, DiffTaichi: differentiable programming for physical
        simulation, ICLR (2020), on the time of impact.

    Examples:
        >>> place, speed = bounce(jnp.array([-0.02]), jnp.array([-3.0]), jnp.zeros(1), 0.01, 0.0, -1.0, 0.5)
        >>> round(float(place[0]), 6), round(float(speed[0]), 6)
        (0.01, 1.5)
    """
    pull, depth = kick / dt, place - wall
    beyond = side * depth > 0.0
    end = speed + 0.5 * kick
    met = side * jnp.sqrt(jnp.maximum(end * end - 2.0 * pull * depth, TINY))
    ago = 2.0 * depth / jnp.where(beyond, end + met, 1.0)
    off = (0.5 * pull * ago - restitution * met) * ago
    rests = side * off > 0.0
    back = pull * ago - restitution * met - 0.5 * kick
    place = jnp.where(beyond, wall + jnp.where(rests, 0.0, off), place)
    return place, jnp.where(beyond, jnp.where(rests, 0.0, back), speed)
