"""Swimmer: links in a plane, in a thick fluid, that should bring their nose to a target."""

from __future__ import annotations

from typing import ClassVar
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import count, limit
from ..locomotion.starts import between
from .models import named, suite_model
from .randomizers import randomize_joints
from .rewards import norm, tolerance
from .suite import Beginning, Look, SuiteEnv

HEIGHT = 0.05
"""Of the target's centre, in metres."""


class SuiteSwimmer(SuiteEnv):
    """dm_control's swimmer, tasks swimmer6 and swimmer15.

    Observation: joints (angles between links), to_target (from the nose, in the head's axes, x and y), body_velocities
    (of each link in its own axes: x, y, and about z), Box [4 num_links + 1]. Action: torques of the joints, Box
    [num_links - 1] in [-1, 1]. A step gives 1 while the nose is in the target, and less the further away it is, with a
    long tail. The joints begin anywhere within their limits, the head at any angle; the target is uniform in a square
    of 4 m, or with probability 0.2 of 0.6 m.

    Attributes:
        num_links: how many links, with a joint between each two; at least three.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 15
    marker: ClassVar[str | None] = "target"

    num_links: int = count("num_links", 6, low=3, high=50)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns a chain of links."""
        return suite_model("swimmer", self._with_links)

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Bends the chain anyhow and puts the target near or far."""
        joint_key, target_key = jax.random.split(key)
        close, x, y = between(target_key, 3, 0.0, 1.0)
        reach = jnp.where(close < 0.2, 0.3, 2.0)
        goal = jnp.stack([reach * (2.0 * x - 1.0), reach * (2.0 * y - 1.0), jnp.float32(HEIGHT)])
        return Beginning(randomize_joints(self.model, joint_key), goal=goal)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns angles, the way to the target, and how the links move."""
        sites = ["head", *(f"site_{i}" for i in range(self.num_links - 1))]
        moving = [look.world.site_velocity(site) for site in sites]
        velocities = jnp.stack([part for v in moving for part in (v[0], v[1], v[5])])
        return {"joints": look.physics.qpos[3:], "to_target": _to_target(look), "body_velocities": velocities}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards a nose near the target."""
        radius = self.radius("target")
        return tolerance(norm(_to_target(look)), (0.0, radius), 5.0 * radius, sigmoid="long_tail")

    def _with_links(self, root: ElementTree.Element) -> None:
        """Hangs links behind the head, each with a joint and its motor."""
        parent = named(root, "body", "head")
        actuators, half_range = ElementTree.SubElement(root, "actuator"), 360.0 / self.num_links
        for i in range(self.num_links - 1):
            parent = ElementTree.SubElement(parent, "body", name=f"segment_{i}", pos="0 .1 0")
            for kind in ("visual", "inertial"):
                ElementTree.SubElement(parent, "geom", {"class": kind, "name": f"{kind}_{i}"})
            ElementTree.SubElement(parent, "site", name=f"site_{i}")
            ElementTree.SubElement(parent, "joint", name=f"joint_{i}", range=f"{-half_range} {half_range}")
            ElementTree.SubElement(actuators, "motor", name=f"motor_{i}", joint=f"joint_{i}")


def _to_target(look: Look) -> Float[Array, "2"]:
    way = look.goal - look.world.geom_xpos("nose")
    return (look.world.xmat("head").T @ way)[:2]
