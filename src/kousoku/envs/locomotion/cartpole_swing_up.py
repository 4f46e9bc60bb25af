"""CartPoleSwingUp: the pole hangs down at first; an example of a robot of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .options import Number, file, frames, limit, number
from .robot import Measured, Move, Robot, RobotInfo, Start, StepOutcome
from .starts import noisy
from .world import World


class CartPoleSwingUp(Robot):
    """A pole that hangs from a cart should be swung up and held upright, in the middle of the rail.

    Observation: the cart's position, cosine and sine of the pole's angle, velocities, Box [5]. Action: the force on the
    cart, in tens of newtons, Box [1] in [-1, 1]. Nothing terminates it; the rail ends at 1.8 m. With x the cart's
    position and a the pole's angle from upright, a step gives between 0 and 1:

        reward = (1 + cos a) / 2 exp(-x^2)

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step, of 5 ms each.
        reset_noise_scale: first positions and velocities are uniform within it of the pole at rest, hanging.
        time_limit: steps until an episode is truncated.

    Examples:
        >>> import jax
        >>> env = CartPoleSwingUp()
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.array([1.0], jnp.float32))
        >>> bool(timestep.reward < 0.01), bool(timestep.obs[3] > 0.0)
        (True, True)
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 2, "nv": 2}
    needs_exactly: ClassVar[bool] = True

    xml_file: str = file("cartpole_swing_up.xml")
    frame_skip: int = frames(4)
    reset_noise_scale: Number = number("reset_noise_scale", 0.01, low=0.0)
    time_limit: int | None = limit(500)

    def start(self, key: PRNGKeyArray) -> Start:
        """Lets the pole hang down."""
        start = noisy(self.model, key, self.reset_noise_scale)
        return Start(start.qpos + jnp.array([0.0, math.pi], jnp.float32), start.qvel)

    def measure(self, world: World) -> Measured:
        """Reads nothing."""
        return Measured()

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions, the angle as a direction, and velocities."""
        x, angle = physics.qpos
        return jnp.stack([x, jnp.cos(angle), jnp.sin(angle), *physics.qvel])

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards a pole upright, in the middle."""
        x, angle = move.after.qpos
        return StepOutcome(0.5 * (1.0 + jnp.cos(angle)) * jnp.exp(-x * x), never(), RobotInfo())
