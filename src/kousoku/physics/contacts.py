"""Where geoms touch, and what they do to each other, as arrays.

References:
    MuJoCo documentation, Computation, "Contact"; API reference, mjContact and mj_contactForce.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .algebra.scalar import ZERO, Num, stacked
from .algebra.vector import NOWHERE, Vec
from .collision.candidates import Candidate
from .constraint.contact import Contact
from .constraint.contact import contacts as constraints_of
from .constraint.problem import Problem
from .constraint.self_contacts import divided
from .forward import Forward, forward
from .model import Model, State


class Contacts(eqx.Module):
    """All points at which geoms may touch, those that do not touch included: how many there are never changes.

    Attributes:
        position: in the world.
        distance: between the surfaces, negative where they overlap.
        frame: the normal, from the first geom to the second, and two tangents, by rows.
        active: whether the constraint acts: the distance is below the margin.
        force: of the first geom on the second along the axes of the frame, then torque about them.
        world_force, world_torque: the same in the world's axes.
        geoms: the two geoms of each.
    """

    position: Float[Array, "k 3"]
    distance: Float[Array, " k"]
    frame: Float[Array, "k 3 3"]
    active: Bool[Array, " k"]
    force: Float[Array, "k 6"]
    world_force: Float[Array, "k 3"]
    world_torque: Float[Array, "k 3"]
    geoms: tuple[tuple[int, int], ...] = eqx.field(static=True)


def contacts(model: Model, state: State, ctrl: Float[Array, " nu"]) -> Contacts:
    """All contacts for the commands `ctrl` [nu]."""
    return contacts_of(forward(model, state, ctrl))


def contacts_of(f: Forward) -> Contacts:
    """All contacts of what was computed."""
    found, dtype = met(f), f.state.qpos.dtype

    def array(parts: Sequence[Sequence[Num]], *shape: int) -> Array:
        return stacked([x for part in parts for x in part], dtype).reshape(len(found), *shape)

    distance = array([[c.touch.distance] for c, _ in found])
    return Contacts(
        position=array([c.touch.point for c, _ in found], 3),
        distance=distance,
        frame=array([[x for axis in c.axes for x in axis] for c, _ in found], 3, 3),
        active=jnp.less(distance, array([[c.candidate.margin] for c, _ in found])),
        force=array([force for _, force in found], 6),
        world_force=array([in_world(c.axes, force[:3]) for c, force in found], 3),
        world_torque=array([in_world(c.axes, force[3:]) for c, force in found], 3),
        geoms=tuple((c.candidate.first, c.candidate.second) for c, _ in found),
    )


def met(f: Forward, wanted: Callable[[Candidate], bool] = lambda c: True) -> list[tuple[Contact, list[Num]]]:
    """Contacts of the pairs of geoms that are wanted, each with force and torque along its axes.

    Those that the solver keeps in a list are written out.
    """
    crowd = [c for c in divided(f.model)[1] if wanted(c)]
    held = constraints_of(f.model, f.smooth, crowd) if crowd else []
    problem, x = Problem(f.model, f.smooth, held), f.solution.acceleration
    rows = [*zip(f.constraints, f.solution.forces, strict=True)]
    rows += zip(held, problem.every_force(problem.residuals(x), x), strict=True)
    touching = [(c.of, sizes) for c, sizes in rows if isinstance(c.of, Contact)]
    return [(contact, _six(contact, sizes)) for contact, sizes in touching if wanted(contact.candidate)]


def _six(contact: Contact, sizes: Sequence[Num]) -> list[Num]:
    """Force and torque along the axes; nothing along those that were left out."""
    found = [ZERO] * 6
    for i, size in zip(contact.used, sizes, strict=True):
        found[i] = size
    return found


def in_world(axes: Sequence[Vec], sizes: Sequence[Num]) -> Vec:
    """A vector of the world that has these sizes along these axes."""
    result = NOWHERE
    for axis, size in zip(axes, sizes, strict=True):
        result = result + axis * size
    return result
