"""The quantities that a task may read of a mechanism, by the names of MuJoCo's `mjData`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...core.errors import ConfigError
from ...physics import Forward, Model, State, forward
from ...physics.algebra.scalar import ZERO, Num, nums, row, to_array, total
from ...physics.algebra.spatial import ZERO6, SpatialVec
from ...physics.algebra.vector import Vec
from ...physics.constraint.solver import Solution
from ...physics.energy import subtree_vel
from ...physics.sensors.touch import touch
from ...physics.stages.actuation import Actuation, actuation
from ...physics.stages.com_pos import ComPos, com_pos
from ...physics.stages.com_vel import ComVel, com_vel, motion_at
from ...physics.stages.kinematics import Kinematics, geom_frame, kinematics, site_frame
from ...physics.stages.tendon import Tendon, tendons


class World:
    """The dynamics as they were last evaluated.

    That is where a time step began, with the Euler integrator, or its last stage, with RK4: as in MuJoCo, whatever is
    derived from positions and velocities is a little older than these.

    Attributes:
        model: the mechanism.
        dtype: of the arrays that are made of it.
    """

    def __init__(self, model: Model, stages: Forward | Still, dtype: Any) -> None:
        self.model, self.dtype = model, dtype
        self._stages: Any = stages

    @property
    def forward(self) -> Forward:
        """What `kousoku.physics.forward` gives; where nothing has moved yet, without commands, it runs when asked."""
        return self._stages.forward if isinstance(self._stages, Still) else self._stages

    def xpos(self, body: int | str) -> Float[Array, "3"]:
        """Returns where a body's frame is."""
        return self._array(self._stages.smooth.kinematics.bodies[self._id("body", body)].pos)

    def site_xpos(self, site: int | str) -> Float[Array, "3"]:
        """Returns where a site is."""
        return self._array(site_frame(self.model, self._stages.smooth.kinematics, self._id("site", site)).pos)

    def site_xmat(self, site: int | str) -> Float[Array, "3 3"]:
        """Returns how a site is turned: a matrix whose columns are its axes."""
        return self._rows(site_frame(self.model, self._stages.smooth.kinematics, self._id("site", site)).mat)

    def xmat(self, body: int | str) -> Float[Array, "3 3"]:
        """Returns how a body's frame is turned: a matrix whose columns are its axes."""
        return self._rows(self._stages.smooth.kinematics.bodies[self._id("body", body)].mat)

    def xquat(self, body: int | str) -> Float[Array, "4"]:
        """Returns how a body's frame is turned: a quaternion (w, x, y, z)."""
        return self._array(self._stages.smooth.kinematics.bodies[self._id("body", body)].quat)

    def xipos(self, body: int | str) -> Float[Array, "3"]:
        """Returns where a body's own centre of mass is."""
        return self._array(self._stages.smooth.kinematics.inertial[self._id("body", body)].pos)

    def geom_xpos(self, geom: int | str) -> Float[Array, "3"]:
        """Returns where a geom's centre is."""
        return self._array(geom_frame(self.model, self._stages.smooth.kinematics, self._id("geom", geom)).pos)

    def geom_xmat(self, geom: int | str) -> Float[Array, "3 3"]:
        """Returns how a geom is turned: a matrix whose columns are its axes."""
        return self._rows(geom_frame(self.model, self._stages.smooth.kinematics, self._id("geom", geom)).mat)

    def subtree_linvel(self, body: int | str) -> Float[Array, "3"]:
        """Returns the velocity of the centre of mass of a body and all that hangs on it."""
        s = self._stages.smooth
        return self._array(subtree_vel(self.model, s.com_pos, s.com_vel)[self._id("body", body)][0])

    def site_velocity(self, site: int | str) -> Float[Array, "6"]:
        """Returns a site's linear and angular velocity, in its own axes: a velocimeter's and a gyroscope's readings."""
        s, number = self._stages.smooth, self._id("site", site)
        frame, body = site_frame(self.model, s.kinematics, number), int(self.model.site_bodyid[number])
        v, to_local = motion_at(self.model, s.com_pos, frame.pos, body, s.com_vel.cvel), frame.mat.transpose()
        return self._array([*(to_local @ v.lin), *(to_local @ v.rot)])

    def touch(self, site: int | str) -> Float[Array, ""]:
        """Returns the sum of the normal forces of contacts within a site: a touch sensor's reading.

        It is 0 where nothing has moved yet.
        """
        model, number = self.model, self._id("site", site)
        if isinstance(self._stages, Still):
            return self._array([ZERO])[0]
        frame = site_frame(model, self._stages.smooth.kinematics, number)
        shape, size, body = int(model.site_type[number]), row(model.site_size, number), int(model.site_bodyid[number])
        return self._array([touch(self._stages, frame, shape, size, body)])[0]

    @property
    def mass_center(self) -> Float[Array, "3"]:
        """The centre of mass of everything."""
        masses, frames = nums(self.model.body_mass), self._stages.smooth.kinematics.inertial
        share = 1.0 / total(masses)
        return self._array([total(m * f.pos[i] for m, f in zip(masses, frames, strict=True)) * share for i in range(3)])

    @property
    def cinert(self) -> Float[Array, "nbody 10"]:
        """Inertia of each body about the centre of mass of its tree.

        Columns are xx, yy, zz, xy, xz, yz, mass times offset, mass.
        """
        return self._rows([*i[:6], *i.h, i.mass] for i in self._stages.smooth.com_pos.cinert)

    @property
    def cvel(self) -> Float[Array, "nbody 6"]:
        """The velocity of each body about the centre of mass of its tree: angular, linear."""
        return self._sixes(self._stages.smooth.com_vel.cvel)

    @property
    def cfrc_ext(self) -> Float[Array, "nbody 6"]:
        """What contacts do to each body, about the centre of mass of its tree: torque, force; 0 before it moves."""
        return self._sixes(self._stages.cfrc_ext_moving)

    @property
    def qfrc_actuator(self) -> Float[Array, " nv"]:
        """Generalised forces of the actuators."""
        return self._array(self._stages.smooth.actuation.qfrc_actuator)

    @property
    def qfrc_constraint(self) -> Float[Array, " nv"]:
        """Generalised forces of limits, dry friction and contacts."""
        return self._array(self._stages.solution.qfrc_constraint)

    @property
    def ten_length(self) -> Float[Array, " ntendon"]:
        """How long each tendon is."""
        return self._array([tendon.length for tendon in self._stages.smooth.tendons])

    @property
    def ten_velocity(self) -> Float[Array, " ntendon"]:
        """How fast each tendon lengthens."""
        qvel = nums(self._stages.state.qvel)
        return self._array([tendon.velocity(qvel) for tendon in self._stages.smooth.tendons])

    def _id(self, kind: str, which: int | str) -> int:
        if isinstance(which, str):
            return self.model.id(kind, which)
        last = len(dict(self.model.names)[kind]) - 1
        if not 0 <= which <= last:
            fix = f"give a number from 0 to {last}, or a name" if last >= 0 else "the model has none"
            raise ConfigError(kind, which, fix)
        return which

    def _array(self, values: Iterable[Num] | Vec) -> Array:
        return to_array(list(values), self.dtype)

    def _rows(self, rows: Iterable[Iterable[Num]]) -> Array:
        listed = [list(row) for row in rows]
        return self._array(value for row in listed for value in row).reshape(len(listed), len(listed[0]))

    def _sixes(self, sixes: Iterable[SpatialVec]) -> Array:
        return self._rows([*six.rot, *six.lin] for six in sixes)


class Still:
    """A mechanism that nothing has moved yet, without commands: stages are computed when they are asked for.

    It takes the place of what `kousoku.physics.forward` gives, and of its `smooth`: a first observation needs few of
    the stages, and seldom the solver. Nothing has been touched so far, as in MuJoCo.
    """

    def __init__(self, model: Model, state: State) -> None:
        self.model, self.state = model, state
        self._qpos, self._qvel, self._act = (nums(x) for x in (state.qpos, state.qvel, state.act))

    @property
    def smooth(self) -> Still:
        """The smooth dynamics, whose stages it has itself."""
        return self

    @cached_property
    def kinematics(self) -> Kinematics:
        return kinematics(self.model, self._qpos)

    @cached_property
    def com_pos(self) -> ComPos:
        return com_pos(self.model, self.kinematics)

    @cached_property
    def tendons(self) -> list[Tendon]:
        return tendons(self.model, self.kinematics, self.com_pos, self._qpos)

    @cached_property
    def com_vel(self) -> ComVel:
        return com_vel(self.model, self.com_pos, self._qvel)

    @cached_property
    def actuation(self) -> Actuation:
        given = nums(np.zeros(self.model.nu))
        k, com, all_tendons = self.kinematics, self.com_pos, self.tendons
        return actuation(self.model, k, com, all_tendons, self._qpos, self._qvel, self._act, given)

    @property
    def cfrc_ext_moving(self) -> list[SpatialVec]:
        return [ZERO6] * self.model.nbody

    @cached_property
    def forward(self) -> Forward:
        """All that these stages are parts of, the solver's too."""
        return forward(self.model, self.state, jnp.zeros((self.model.nu,), self.state.qpos.dtype))

    @property
    def solution(self) -> Solution:
        return self.forward.solution
