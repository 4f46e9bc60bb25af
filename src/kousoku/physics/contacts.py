"""Contacts, and what geoms do to each other there, as arrays.

References:
    MuJoCo documentation, Computation, "Contact"; API reference, mjContact and mj_contactForce.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .algebra.scalar import ZERO, Num, to_array
from .algebra.vector import ZERO3, Vec
from .collision.candidates import Candidate, candidates
from .constraint.contact import Contact, contacts_at_rest
from .constraint.contact import contacts as contact_constraints
from .constraint.problem import PrimalProblem
from .constraint.self_contacts import split_candidates
from .forward import Forward, forward
from .model import Model, State


class Contacts(eqx.Module):
    """All points at which geoms may touch, those that do not touch included: how many there are never changes.

    Attributes:
        position: the point in the world, metres.
        distance: between the surfaces, metres, negative where they overlap.
        frame: the normal, from the first geom to the second, and two tangents, by rows.
        active: whether the distance is below the margin: then the constraint acts, unless the two geoms move as one.
        force: force of the first geom on the second along the frame's axes [N], then torque about them [N m].
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
    """Returns all contacts for the commands `ctrl` [nu].

    Raises:
        ConfigError: for a state or commands of other shapes than the model's.
    """
    return contacts_of(forward(model, state, ctrl))


def contacts_of(f: Forward) -> Contacts:
    """Returns all contacts of what `forward` has computed."""
    found, dtype = contact_forces(f), f.state.qpos.dtype

    def array(parts: Sequence[Sequence[Num]], *shape: int) -> Array:
        return to_array([x for part in parts for x in part], dtype).reshape(len(found), *shape)

    distance = array([[c.point.dist] for c, _ in found])
    return Contacts(
        position=array([c.point.pos for c, _ in found], 3),
        distance=distance,
        frame=array([[x for axis in c.frame for x in axis] for c, _ in found], 3, 3),
        active=jnp.less(distance, array([[c.candidate.margin] for c, _ in found])),
        force=array([force for _, force in found], 6),
        world_force=array([along_axes(c.frame, force[:3]) for c, force in found], 3),
        world_torque=array([along_axes(c.frame, force[3:]) for c, force in found], 3),
        geoms=tuple((c.candidate.geom1, c.candidate.geom2) for c, _ in found),
    )


def contact_forces(f: Forward, wanted: Callable[[Candidate], bool] = lambda c: True) -> list[tuple[Contact, list[Num]]]:
    """Returns contacts of the wanted pairs, each with force and torque in its frame [6]; MuJoCo's mj_contactForce.

    Those that the solver keeps in a list are written out.
    """
    many = [c for c in split_candidates(f.model)[1] if wanted(c)]
    listed = contact_constraints(f.model, f.smooth, many) if many else []
    problem, qacc = PrimalProblem(f.model, f.smooth, listed), f.solution.qacc
    rows = [*zip(f.constraints, f.solution.efc_force, strict=True)]
    rows += zip(listed, problem.all_forces(problem.jaref(qacc), qacc), strict=True)
    found = [(c.source, forces) for c, forces in rows if isinstance(c.source, Contact)]
    found += [(contact, []) for contact in contacts_at_rest(f.model, f.smooth, candidates(f.model))]
    return [(contact, _all_rows(contact, forces)) for contact, forces in found if wanted(contact.candidate)]


def _all_rows(contact: Contact, forces: Sequence[Num]) -> list[Num]:
    """Returns force and torque along the frame's axes [6]; zero along those that were left out."""
    found = [ZERO] * 6
    for i, size in zip(contact.used, forces, strict=True):
        found[i] = size
    return found


def along_axes(axes: Sequence[Vec], sizes: Sequence[Num]) -> Vec:
    """Returns the sum of axes times sizes: a vector of the axes' frame, in the world."""
    result = ZERO3
    for axis, size in zip(axes, sizes, strict=True):
        result = result + axis * size
    return result
