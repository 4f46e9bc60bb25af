"""Random first positions, as dm_control's `suite.utils.randomizers` draws them."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...ops.exploration import unit_interval
from ...physics import Model, any_contact
from ...physics.stages.joints import JointType, joints
from .rewards import norm
from .suite import Beginning


def randomize_joints(model: Model, key: PRNGKeyArray) -> Float[Array, " nq"]:
    """Draws positions: hinges and slides with limits uniform within them, hinges without uniform in [-pi, pi).

    The quaternion of a free joint has parts uniform in [0, 1) and is then made one of length one, as in the package.
    All else stays as in the file.
    """
    draws = iter(unit_interval(jax.random.bits(key, (model.nq,), jnp.uint32)))
    qpos = [jnp.float32(q) for q in model.qpos0]
    for j in joints(model):
        if j.type == JointType.FREE:
            quat = jnp.stack([next(draws) for _ in range(4)])
            qpos[j.qposadr + 3 : j.qposadr + 7] = list(unit(quat))
        elif model.jnt_limited[j.id]:
            low, high = model.jnt_range[j.id]
            qpos[j.qposadr] = jnp.float32(low) + jnp.float32(high - low) * next(draws)
        elif j.type == JointType.HINGE:
            qpos[j.qposadr] = math.pi * (2.0 * next(draws) - 1.0)
    return jnp.stack(qpos)


def unit(x: Float[Array, " n"]) -> Float[Array, " n"]:
    """Returns a vector of length one in its direction."""
    return x / norm(x)


def draw_without_contact(
    model: Model, draw: Callable[[PRNGKeyArray, Float[Array, " nv"] | None], Beginning], key: PRNGKeyArray
) -> Beginning:
    """Draws how an episode begins until nothing touches.

    Args:
        model: the mechanism.
        draw: takes a key and the velocities of the draw before, None at first; the package does not clear these.
        key: of all draws.
    """

    def again(tried: tuple[PRNGKeyArray, Beginning | None]) -> tuple[PRNGKeyArray, Beginning]:
        next_key, draw_key = jax.random.split(tried[0])
        return next_key, draw(draw_key, None if tried[1] is None else tried[1].qvel)

    def touches(tried: tuple[PRNGKeyArray, Beginning]) -> Bool[Array, ""]:
        return any_contact(model.with_numbers(**tried[1].numbers), tried[1].qpos)

    return lax.while_loop(touches, again, again((key, None)))[1]
