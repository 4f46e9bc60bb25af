"""Critics: values of an action in the unit box, or of every action that can be counted."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .atoms import Atoms
from .hidden import Hidden, HiddenBody, Training, train
from .hyperspherical import UnitHead
from .layers import Dense
from .torso import Body


class StateActionValue(eqx.Module):
    """Q(s, a): hidden layers over the observation, or what a CNN makes of it, and the action in the unit box.

    Attributes:
        body: from the observation to numbers: flattened, or what the convolutions of an image give.
        hidden: the hidden layers, of these numbers and the action.
        head: the last layer.
        atoms: what its N outputs stand for; None where there is one, the value.
    """

    body: Body
    hidden: Hidden
    head: Dense | UnitHead
    atoms: Atoms | None = None

    def __call__(self, obs: Any, action: Float[Array, " A"]) -> Float[Array, ""]:
        outputs = self.outputs(obs, action)
        return outputs if self.atoms is None else self.atoms.mean(outputs)

    def outputs(self, obs: Any, action: Float[Array, " A"]) -> Float[Array, "*N"]:
        """Returns the value, or what stands for the distribution of returns."""
        return self._outputs(self.hidden(self._both(obs, action)))

    def train(
        self, obs: Any, action: Float[Array, " A"], training: Training
    ) -> tuple[Float[Array, "*N"], StateActionValue]:
        """Returns the outputs for one sample of a minibatch, and the critic with running moments after it."""
        x, hidden = train(self.hidden, self._both(obs, action), training)
        return self._outputs(x), StateActionValue(self.body, hidden, self.head, self.atoms)

    def _both(self, obs: Any, action: Float[Array, " A"]) -> Float[Array, " F"]:
        return jnp.concatenate([self.body(obs), action])

    def _outputs(self, x: Float[Array, " F"]) -> Float[Array, "*N"]:
        y = self.head(x)
        return y[0] if self.atoms is None else y


class StateActionValues(eqx.Module):
    """Q(s, .): the values of every action that can be counted.

    Attributes:
        body: from the observation to numbers, with the hidden layers.
        head: the last layer.
    """

    body: HiddenBody
    head: Dense | UnitHead

    def __call__(self, obs: Any) -> Float[Array, " A"]:
        return self.head(self.body(obs))

    def train(self, obs: Any, training: Training) -> tuple[Float[Array, " A"], StateActionValues]:
        """Returns the values for one sample of a minibatch, and the critic with running moments after it."""
        x, body = train(self.body, obs, training)
        return self.head(x), StateActionValues(body, self.head)
