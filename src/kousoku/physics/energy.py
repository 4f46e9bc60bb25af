"""Energy and momentum of a mechanism.

References:
    MuJoCo documentation, API reference: mj_energyPos, mj_energyVel, mj_subtreeVel. Featherstone (2008), section 2.10:
    momentum as a vector of the dual space.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Array, Float

from .algebra.scalar import ZERO, Num, maximum, minimum, nums, stacked, total
from .algebra.sparse import multiplied
from .algebra.vector import NOWHERE, Six, Vec, vec
from .model import Model, State
from .stages.dynamics import Tree, per_mass, tree
from .stages.kinematics import Kinematics, kinematics, row
from .stages.passive import stretched
from .stages.smooth import Smooth
from .stages.tendon import Tendon, tendons
from .validate import check_state


def energy(model: Model, state: State) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Potential energy, of gravity and springs, and kinetic energy, in joules: mjData's `energy`.

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
    """
    check_state(model, state)
    qpos, qvel = nums(state.qpos), nums(state.qvel)
    k = kinematics(model, qpos)
    both = [potential(model, k, tendons(model, qpos), qpos), kinetic(tree(model, k), qvel)]
    values = stacked(both, state.qpos.dtype)
    return values[0], values[1]


def potential(model: Model, k: Kinematics, ropes: Sequence[Tendon], qpos: Sequence[Num]) -> Num:
    """-sum m g x + 1/2 sum k d^2, d how far springs are from their rest."""
    found = ZERO
    if not model.no_gravity:
        gravity, masses = vec(nums(model.gravity)), nums(model.body_mass)
        found = -total(m * gravity.dot(frame.pos) for m, frame in zip(masses[1:], k.inertial[1:], strict=True))
    if model.no_spring:
        return found
    for j, away in stretched(model, qpos):
        found = found + 0.5 * nums(model.jnt_stiffness)[j.id] * total(d * d for d in away)
    for i, tendon in enumerate(ropes):
        low, high = row(model.tendon_lengthspring, i)
        away = minimum(high - tendon.length, ZERO) + maximum(low - tendon.length, ZERO)
        found = found + 0.5 * nums(model.tendon_stiffness)[i] * away * away
    return found


def kinetic(t: Tree, qvel: Sequence[Num]) -> Num:
    """1/2 qvel^T M qvel."""
    return 0.5 * total(p * v for p, v in zip(multiplied(t.mass_matrix, qvel), qvel, strict=True))


def momentum_of_subtrees(model: Model, s: Smooth) -> list[tuple[Vec, Vec]]:
    """Velocity of the centre of mass of each body and all that hangs on it, and angular momentum about it."""
    t, masses = s.tree, nums(model.body_mass)
    weight = list(masses)
    momentum = [i @ v for i, v in zip(t.inertia, s.motion.body, strict=True)]
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        weight[parent] = weight[parent] + weight[i]
        # Trees are seen from their own centres of mass, the world from its own.
        moved = momentum[i] if parent else _about(momentum[i], t.subtree_com[0] - t.subtree_com[i])
        momentum[parent] = momentum[parent] + moved
    found = []
    for i, p in enumerate(momentum):
        arm = t.subtree_com[i] - t.subtree_com[int(model.body_rootid[i])]
        found.append((per_mass(p.lin, weight[i], NOWHERE), _about(p, arm).rot))
    return found


def _about(p: Six, arm: Vec) -> Six:
    """A momentum about a point that lies at `arm`."""
    return Six(p.rot - arm.cross(p.lin), p.lin)
