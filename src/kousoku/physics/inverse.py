"""Inverse dynamics (mj_inverse): the forces that would bring about given accelerations.

References:
    MuJoCo documentation, Computation, "Inverse dynamics".
"""

from __future__ import annotations

from jaxtyping import Array, Float

from .algebra.scalar import ZERO, nums, to_array
from .algebra.sparse import mul_sym_vec
from .constraint.problem import PrimalProblem
from .forward import make_constraints
from .model import Model, State, check_state, check_vector
from .stages.smooth import smooth


def inverse(model: Model, state: State, qacc: Float[Array, " nv"]) -> Float[Array, " nv"]:
    """Returns the forces [nv] of actuators, and others from outside, under which the accelerations are `qacc` [nv].

        qfrc_inverse = M qacc + qfrc_bias - qfrc_passive - J^T f(J qacc - aref)

    Nothing is solved: constraints' forces f follow from the accelerations. These are those of an instant, before an
    integrator foresees anything.

    Example:
        >>> import jax.numpy as jnp
        >>> from kousoku.physics import initial_state, load
        >>> model = load("<mujoco><worldbody><body><joint type='slide' axis='0 0 1'/><geom size='.1' mass='2'/></body>"
        ...     "</worldbody></mujoco>")
        >>> print(f"{float(inverse(model, initial_state(model), jnp.array([1.0]))[0]):.2f}")  # 2 (9.81 + 1)
        21.62

    Raises:
        ConfigError: for a state or accelerations of other shapes than the model's.
    """
    check_state(model, state)
    check_vector("qacc", qacc, model.nv)
    qpos, qvel, act, a = map(nums, (state.qpos, state.qvel, state.act, qacc))
    s = smooth(model, qpos, qvel, act, [ZERO] * model.nu)
    problem = PrimalProblem(model, s, *make_constraints(model, s, qpos, qvel, state.qpos.dtype))
    qfrc_constraint = problem.qfrc_constraint(problem.forces(problem.jaref(a)), a)
    parts = zip(mul_sym_vec(s.qM, a), s.qfrc_bias, s.qfrc_passive, qfrc_constraint, strict=True)
    return to_array([ma + bias - passive - force for ma, bias, passive, force in parts], state.qpos.dtype)
