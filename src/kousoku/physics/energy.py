"""Energy and momentum of a mechanism.

References:
    MuJoCo documentation, API reference: mj_energyPos, mj_energyVel, mj_subtreeVel. Featherstone (2008), section 2.10:
    momentum as a vector of the dual space.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Array, Float

from .algebra.scalar import ZERO, Num, nums, to_array, total
from .algebra.sparse import SparseMatrix, mul_sym_vec
from .algebra.spatial import SpatialVec
from .algebra.vector import ZERO3, Vec, vec
from .model import Model, State, check_state
from .stages.com_pos import ComPos, com_pos, divide_by_mass
from .stages.com_vel import ComVel
from .stages.crb import crb
from .stages.kinematics import Kinematics, kinematics
from .stages.passive import spring_displacements, way_to_rest
from .stages.tendon import Tendon, tendons


def energy(model: Model, state: State) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Returns potential energy, of gravity and springs, and kinetic energy, in joules: mjData's `energy`.

    Gravity's is zero at the world's origin.

    Example:
        >>> import jax.numpy as jnp
        >>> from kousoku.physics import State, initial_state, load
        >>> model = load("<mujoco><worldbody><body pos='0 0 2'><joint type='slide' axis='0 0 1'/>"
        ...     "<geom size='.1' mass='3'/></body></worldbody></mujoco>")
        >>> state = initial_state(model)
        >>> potential, kinetic = energy(model, State(state.qpos, jnp.array([4.0]), state.act, state.warmstart))
        >>> round(float(potential), 2), round(float(kinetic), 2)
        (58.86, 24.0)

    Raises:
        ConfigError: for a state of other shapes than the model's.
    """
    check_state(model, state)
    qpos, qvel = nums(state.qpos), nums(state.qvel)
    k = kinematics(model, qpos)
    com = com_pos(model, k)
    both = [potential(model, k, tendons(model, k, com, qpos), qpos), kinetic(crb(model, com), qvel)]
    values = to_array(both, state.qpos.dtype)
    return values[0], values[1]


def potential(model: Model, k: Kinematics, tendons: Sequence[Tendon], qpos: Sequence[Num]) -> Num:
    """Returns -sum m g x + 1/2 sum k d^2 [J], d how far springs are from rest; MuJoCo's mj_energyPos."""
    found = ZERO
    if not model.no_gravity:
        gravity, masses = vec(nums(model.gravity)), nums(model.body_mass)
        found = -total(m * gravity.dot(frame.pos) for m, frame in zip(masses[1:], k.inertial[1:], strict=True))
    if model.no_spring:
        return found
    for j, displacement in spring_displacements(model, qpos):
        found = found + 0.5 * nums(model.jnt_stiffness)[j.id] * total(d * d for d in displacement)
    for i, tendon in enumerate(tendons):
        d = way_to_rest(model, i, tendon.length)
        found = found + 0.5 * nums(model.tendon_stiffness)[i] * d * d
    return found


def kinetic(qM: SparseMatrix, qvel: Sequence[Num]) -> Num:
    """Returns 1/2 qvel^T M qvel [J]; MuJoCo's mj_energyVel."""
    return 0.5 * total(p * v for p, v in zip(mul_sym_vec(qM, qvel), qvel, strict=True))


def subtree_vel(model: Model, com: ComPos, vel: ComVel) -> list[tuple[Vec, Vec]]:
    """Returns mjData's subtree_linvel and subtree_angmom; MuJoCo's mj_subtreeVel.

    For each body and all that hangs on it the velocity of the centre of mass [m/s], and the angular momentum about it
    [kg m^2/s].
    """
    subtree_mass = list(nums(model.body_mass))
    momentum = [i @ v for i, v in zip(com.cinert, vel.cvel, strict=True)]
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        subtree_mass[parent] = subtree_mass[parent] + subtree_mass[i]
        # Trees are seen from their own centres of mass, the world from its own.
        moved = momentum[i] if parent else _momentum_about(momentum[i], com.subtree_com[0] - com.subtree_com[i])
        momentum[parent] = momentum[parent] + moved
    found = []
    for i, p in enumerate(momentum):
        arm = com.subtree_com[i] - com.subtree_com[int(model.body_rootid[i])]
        found.append((divide_by_mass(p.lin, subtree_mass[i], ZERO3), _momentum_about(p, arm).rot))
    return found


def _momentum_about(p: SpatialVec, arm: Vec) -> SpatialVec:
    """Returns a momentum about a point that lies at `arm`."""
    return SpatialVec(p.rot - arm.cross(p.lin), p.lin)
