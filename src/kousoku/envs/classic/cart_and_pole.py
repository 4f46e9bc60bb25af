"""The mechanics of a cart and a pole on it, which several problems share."""

from __future__ import annotations

import jax.numpy as jnp

from ..fields import Number, Scalar


def accelerations(
    theta: Scalar,
    theta_dot: Scalar,
    force: Scalar,
    gravity: Number,
    masscart: Number,
    masspole: Number,
    length: Number,
) -> tuple[Scalar, Scalar]:
    """Returns the accelerations of the cart, in m/s^2, and of the pole, in rad/s^2.

    Args:
        theta: of the pole, 0 upright, in radians.
        theta_dot: in rad/s.
        force: on the cart, in N.
        gravity: gravity, in m/s^2.
        masscart: mass of the cart, in kg.
        masspole: in kg.
        length: half of the pole's, in m.

    References:
        Florian, Correct equations for the dynamics of the cart-pole system (2005), equations 23 and 24 without
        friction.
    """
    share = 1.0 / (masscart + masspole)
    moment = masspole * length
    sin, cos = jnp.sin(theta), jnp.cos(theta)
    temp = (force + moment * theta_dot * theta_dot * sin) * share
    inertia = length * (4.0 / 3.0 - masspole * share * cos * cos)
    theta_acc = (gravity * sin - cos * temp) / inertia
    return temp - moment * share * theta_acc * cos, theta_acc
