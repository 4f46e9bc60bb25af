"""LQR: masses in a row, on springs from one to the next, that should come to rest at little effort."""

from __future__ import annotations

from typing import ClassVar
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...core.errors import ConfigError
from ...physics import Model
from ..fields import count, limit
from .models import suite_model
from .randomizers import unit
from .rewards import norm
from .suite import Beginning, Look, SuiteEnv

CONTROL_COST = 0.1
STIFFNESS = 15.0, 25.0
AT_REST = 1e-6
"""The norm of positions and velocities below which an episode is over."""


class SuiteLqr(SuiteEnv):
    """dm_control's lqr, tasks lqr_2_1 and lqr_6_2: a linear system with quadratic costs.

    Observation: position, velocity, Box [2 num_bodies]. Action: forces on the first masses, without bounds, Box
    [num_actuators]. With x for the positions and u for the action:

        reward = 1 - (|x|^2 / 2 + 0.1 |u|^2 / 2)

    The positions begin anywhere on a sphere of radius sqrt(2), at rest. An episode is over when |(x, v)| < 1e-6; it has
    no time limit, as in the package.

    Attributes:
        num_bodies: how many bodies, of which each hangs on the one before.
        num_actuators: how many bodies are pushed, at most all.
        seed: seed of the springs, whose stiffness is uniform in [15, 25) N/m: the package's of the same seed.
        time_limit: steps until an episode is truncated; None for no limit.

    Raises:
        ConfigError: for more actuators than bodies.
    """

    n_sub_steps: ClassVar[int] = 1

    num_bodies: int = count("num_bodies", 2, low=1, high=50)
    num_actuators: int = count("num_actuators", 1, low=1, high=50)
    seed: int = count("seed", 0, low=0, high=2**32 - 1)
    time_limit: int | None = limit(None)

    def mechanism(self) -> Model:
        """Returns the masses and their springs.

        Raises:
            ConfigError: for more actuators than bodies.
        """
        most = self.num_bodies
        if self.num_actuators > most:
            raise ConfigError("num_actuators", self.num_actuators, f"use at most num_bodies, which is {most}")
        return suite_model("lqr", self._with_bodies)

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Draws the masses' places."""
        return Beginning(jnp.sqrt(jnp.float32(2.0)) * unit(jax.random.normal(key, (self.num_bodies,), jnp.float32)))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns positions and velocities."""
        return {"position": look.physics.qpos, "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards rest and little effort."""
        x, u = look.physics.qpos, look.control
        return 1.0 - (0.5 * jnp.dot(x, x) + CONTROL_COST * 0.5 * jnp.dot(u, u))

    def is_over(self, look: Look) -> Bool[Array, ""]:
        """Returns whether everything is at rest."""
        return norm(jnp.concatenate([look.physics.qpos, look.physics.qvel])) < AT_REST

    def _with_bodies(self, root: ElementTree.Element) -> None:
        """Hangs masses on each other, each on a spring, with motors on the first; a string shows the way."""
        # The package draws a damping, which is always 0, after each stiffness.
        draws = np.random.RandomState(self.seed).uniform(size=(self.num_bodies, 2))
        low, high = STIFFNESS
        parent, actuators, tendons = (ElementTree.SubElement(root, tag) for tag in ("worldbody", "actuator", "tendon"))
        for i, draw in enumerate(draws[:, 0]):
            parent = ElementTree.SubElement(parent, "body", name=f"body_{i}", pos=".25 0 0" if i else ".25 0 .1")
            ElementTree.SubElement(parent, "joint", name=f"joint_{i}", stiffness=repr(float(low + (high - low) * draw)))
            ElementTree.SubElement(parent, "geom", name=f"geom_{i}")
            ElementTree.SubElement(parent, "site", name=f"site_{i}")
            if i < self.num_actuators:
                ElementTree.SubElement(actuators, "motor", name=f"motor_{i}", joint=f"joint_{i}")
            if i:
                string = ElementTree.SubElement(tendons, "spatial", name=f"tendon_{i - 1}")
                for end in (i - 1, i):
                    ElementTree.SubElement(string, "site", site=f"site_{end}")
