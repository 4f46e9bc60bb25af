"""RandomAnt: another ant in every episode; an example of numbers that differ between environments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import ConfigError
from ...physics import State
from .ant import Ant
from .options import Span, file, frames, limit, span
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import between
from .world import World


class RandomAnt(Robot):
    """The task of `Ant` for a robot that is another one in every episode; nothing is compiled anew.

    At reset, all its masses, all its friction and the gear of each of its motors are multiplied by numbers that are
    uniform in their ranges. What MuJoCo's compiler derives from masses to weigh constraints stays that of the file.

    Attributes:
        ant: whose task it is.
        mass_range: range of the factor of masses and inertia.
        friction_range: range of the factor of friction.
        gear_range: range of the factors of gears.
        xml_file, frame_skip, time_limit: the ant's.
    """

    ant: Ant
    mass_range: Span = span("mass_range", (0.7, 1.3), low=0.0)
    friction_range: Span = span("friction_range", (0.5, 1.5), low=0.0)
    gear_range: Span = span("gear_range", (0.7, 1.3), low=0.0)
    xml_file: str = file("ant.xml")
    frame_skip: int = frames(5)
    time_limit: int | None = limit(1000)

    def start(self, key: PRNGKeyArray) -> Start:
        """Begins as the ant does, with other numbers."""
        ant_key, mass_key, friction_key, gear_key = jax.random.split(key, 4)
        start, robot = self.ant.start(ant_key), self.model
        mass, friction = between(mass_key, 1, *self.mass_range), between(friction_key, 1, *self.friction_range)
        gears = between(gear_key, robot.nu, *self.gear_range)
        numbers = {
            "body_mass": times(robot.body_mass, mass),
            "body_inertia": times(robot.body_inertia, mass[:, None]),
            "geom_friction": times(robot.geom_friction, friction[:, None]),
            "actuator_gear": times(robot.actuator_gear, gears[:, None]),
        }
        return Start(start.qpos, start.qvel, numbers)

    def measure(self, world: World) -> Measured:
        """Reads what the ant measures."""
        return self.ant.measure(world)

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns what the ant observes."""
        return self.ant.observe(physics, measured)

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards what would be rewarded of an ant."""
        return self.ant.outcome(move)


def times(numbers: Any, factor: Float[Array, "..."]) -> Float[Array, "..."]:
    """Multiplies numbers of a model, in float32, by factors of as many axes."""
    return jnp.asarray(numbers, jnp.float32) * jnp.broadcast_to(factor, numbers.shape)


def random_ant(
    mass_range: Any = (0.7, 1.3),
    friction_range: Any = (0.5, 1.5),
    gear_range: Any = (0.7, 1.3),
    ant: Ant | None = None,
) -> RandomAnt:
    """Makes an ant that is another one in every episode.

    Args:
        mass_range: range of the factor of masses and inertia.
        friction_range: range of the factor of friction.
        gear_range: range of the factors of gears.
        ant: the `Ant` whose robot is varied; None for it as it comes.

    Raises:
        ConfigError: for a bad value.
    """
    if not isinstance(ant, Ant | None):
        raise ConfigError("ant", ant, 'give ks.make("Ant-v5", ...), or None')
    ant = Ant() if ant is None else ant
    its = {"xml_file": ant.xml_file, "frame_skip": ant.frame_skip, "time_limit": ant.time_limit}
    return RandomAnt(ant=ant, mass_range=mass_range, friction_range=friction_range, gear_range=gear_range, **its)
