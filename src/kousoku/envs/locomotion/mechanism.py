"""Environments of one mechanism: their commands, and their picture."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ...core.env import Env
from ...core.scene3d import Body3d
from ...core.spaces import Box
from ...physics import Model, forward
from ...physics.scene import body3d, contacts3d, joint_values, poses


class MechanismEnv(Env):
    """An environment of one mechanism: its states have the mechanism's state, `physics`, and its own `numbers`.

    Attributes:
        model: the mechanism.
    """

    model: eqx.AbstractVar[Model]

    @property
    def action_space(self) -> Box:
        """The ranges of the commands; no bounds where there is none."""
        limited, ranges = self.model.structure["actuator_ctrllimited"], self.model.constants["actuator_ctrlrange"]
        low, high = np.where(np.asarray(limited, bool)[:, None], ranges, [-np.inf, np.inf]).T
        return Box(tuple(low), tuple(high), (self.model.nu,))

    def body3d(self) -> Body3d:
        """Returns what the mechanism looks like."""
        return body3d(self.model, type(self).__name__)

    def poses(self, state: Any) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
        """Returns where the bodies are: positions in metres, and quaternions."""
        return poses(self.model.with_numbers(**state.numbers), state.physics.qpos)

    def contacts3d(self, state: Any, action: Array) -> tuple[Float[Array, "k 3"], Float[Array, "k 3"]]:
        """Returns where geoms touch, in metres, and with which force, in newtons."""
        model, dtype = self.model.with_numbers(**state.numbers), state.physics.qpos.dtype
        return contacts3d(forward(model, state.physics, action.reshape((model.nu,)).astype(dtype)))

    def readings(self, state: Any) -> dict[str, Array]:
        """Returns metres of slides and radians of hinges."""
        return joint_values(self.model, state.physics.qpos)
