"""Inverse dynamics: the forces that would bring about given accelerations.

References:
    MuJoCo documentation, Computation, "Inverse dynamics".
"""

from __future__ import annotations

from jaxtyping import Array, Float

from .algebra.scalar import ZERO, nums, stacked
from .algebra.sparse import multiplied
from .constraint.problem import Problem
from .forward import constrained
from .model import Model, State
from .stages.smooth import smooth
from .validate import check_state, check_vector


def inverse(model: Model, state: State, qacc: Float[Array, " nv"]) -> Float[Array, " nv"]:
    """Forces [nv] of actuators, and others from outside, under which the accelerations are `qacc` [nv].

        M qacc + bias - passive - J^T f(J qacc - reference)

    Nothing is solved: constraints' forces f follow from the accelerations. These are those of an instant, before an
    integrator foresees anything.

    Example:
        >>> import jax.numpy as jnp
        >>> from kousoku.physics import initial_state, load
        >>> model = load("<mujoco><worldbody><body><joint type='slide' axis='0 0 1'/><geom size='.1' mass='2'/></body>"
        ...     "</worldbody></mujoco>")
        >>> print(f"{float(inverse(model, initial_state(model), jnp.array([1.0]))[0]):.2f}")  # 2 (9.81 + 1)
        21.62
    """
    check_state(model, state)
    check_vector("qacc", qacc, model.nv)
    qpos, qvel, act, x = map(nums, (state.qpos, state.qvel, state.act, qacc))
    s = smooth(model, qpos, qvel, act, [ZERO] * model.nu)
    problem = Problem(model, s, *constrained(model, s, qpos, qvel, state.qpos.dtype))
    pulled = problem.pulled(problem.forces(problem.residuals(x)), x)
    parts = zip(multiplied(s.tree.mass_matrix, x), s.bias, s.passive, pulled, strict=True)
    return stacked([a + b - c - d for a, b, c, d in parts], state.qpos.dtype)
