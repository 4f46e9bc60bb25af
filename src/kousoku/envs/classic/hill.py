"""The hill of both mountain cars: how a car rolls on it, and how it looks."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...core.scene import Circle, Line, Polygon, Polyline, Scene
from ...core.spaces import Box
from ..drawing import AGENT, GOAL, GROUND, INK, STEEL, Point, block, paper, turned
from ..fields import Number, Scalar, bound

MARGIN, HEADROOM, FOOT, POINTS = 0.06, 0.24, 0.12, 121


class MountainCarState(eqx.Module):
    """Place of the car, and how far it moves in a step."""

    position: Scalar
    velocity: Scalar


class Hill(eqx.Module):
    """Numbers of the ground, whose height is 0.45 sin(3 position) + 0.55; see the environments for the rest."""

    min_position: Number
    max_position: Number
    max_speed: Number
    gravity: Number
    goal_position: Number
    goal_velocity: Number


def roll(hill: Hill, state: MountainCarState, thrust: Scalar) -> tuple[MountainCarState, Bool[Array, ""]]:
    """Takes one step with a thrust: returns the next state, and whether the car has arrived."""
    velocity = state.velocity + thrust - hill.gravity * jnp.cos(3.0 * state.position)
    velocity = jnp.clip(velocity, -hill.max_speed, hill.max_speed)
    position = jnp.clip(state.position + velocity, hill.min_position, hill.max_position)
    velocity = jnp.where((position <= hill.min_position) & (velocity < 0.0), 0.0, velocity)
    arrived = (position >= hill.goal_position) & (velocity >= hill.goal_velocity)
    return MountainCarState(position, velocity), arrived


def hill_space(hill: Hill) -> Box:
    """Returns the space where observations lie."""
    speed = bound(hill.max_speed, math.inf)
    low, high = bound(hill.min_position, -math.inf), bound(hill.max_position, math.inf)
    return Box((low, -speed), (high, speed), (2,))


def observe(state: MountainCarState) -> Float[Array, "2"]:
    """Returns position and velocity."""
    return jnp.stack([state.position, state.velocity])


def hill_scene(hill: Hill, position: float) -> Scene:
    """Draws the car on the hill, with a flag at the goal."""
    left, right = float(hill.min_position), float(hill.max_position)
    width, height = right - left + 2.0 * MARGIN, 1.0 + HEADROOM + FOOT

    def place(x: float) -> Point:
        return x - left + MARGIN, HEADROOM + 1.0 - (0.45 * math.sin(3.0 * x) + 0.55)

    xs = [left - MARGIN + width * i / (POINTS - 1) for i in range(POINTS)]
    curve = tuple(place(x) for x in xs)
    goal_x, goal_y = place(float(hill.goal_position))
    mast = goal_y - 0.19
    background = (
        paper(width, height, corner=0.0),
        Polygon((*curve, (width, height), (0.0, height)), GROUND),
        Polyline(curve, 0.014, INK),
        Line(MARGIN - 0.02, place(left)[1], MARGIN - 0.02, place(left)[1] - 0.12, 0.014, AGENT),
        Line(goal_x, goal_y, goal_x, mast, 0.012, INK),
        Polygon(((goal_x, mast), (goal_x + 0.1, mast + 0.035), (goal_x, mast + 0.07)), GOAL),
    )
    x, y = place(position)
    slope = math.atan(0.45 * 3.0 * math.cos(3.0 * position))
    wheels = turned(((-0.052, -0.03), (0.052, -0.03)), x, y, slope)
    (roof,) = turned(((0.0, -0.088),), x, y, slope)
    (floor,) = turned(((0.0, -0.04),), x, y, slope)
    foreground = (
        block(0.106, 0.044, *roof, slope, AGENT),
        block(0.188, 0.052, *floor, slope, AGENT),
        *(Circle(*wheel, 0.03, INK) for wheel in wheels),
        *(Circle(*wheel, 0.012, STEEL) for wheel in wheels),
    )
    return Scene(width, height, background, foreground)
