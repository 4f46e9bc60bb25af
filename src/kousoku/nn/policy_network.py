"""Deterministic policies: from one observation to one action, without a distribution and without a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core.errors import ConfigError, check_choice, check_flag, check_number
from ..core.flat import flat_size
from ..core.plain_number import hold_plain_numbers
from ..core.spaces import Box, Discrete, MultiDiscrete, Space
from .initialise import initialiser
from .layers import Dense, check_activation
from .mlp import check_sizes
from .torso import BODIES, Body, VectorBody, body_for

PolicyBuilder = Callable[[Space, Space, PRNGKeyArray], Callable[[Any], Any]]
"""(observation space, action space, key) -> policy: a pytree, whose float32 arrays are its parameters, to be called."""


@dataclass(frozen=True)
class PolicyConfig:
    """The parts of a deterministic policy; called with two spaces and a key, it builds one.

    The default is the linear policy of Mania et al. (2018): every component of an action is a weighted sum of the
    observation's, with weights that begin at 0.

    Attributes:
        hidden: widths of the dense layers (after the convolutions, where there are any); none for a linear policy.
        activation: activation of every hidden layer, one of `layers.ACTIVATIONS`.
        bias: whether the last layer has a bias; hidden layers always have one.
        body: "mlp", "cnn", or "auto": a CNN for images [height, width, channels] where there are hidden layers.
        layer_norm: whether hidden layers are normalised before the activation.
        hidden_gain: gain of the hidden layers' weights.
        head_gain: gain of the last layer's weights; at 0 all policies begin with the action 0.
        init: how weights begin, one of `initialise.INITIALISERS`.

    Raises:
        ConfigError: for a value that cannot be used.

    References:
        Mania, Guy and Recht, Simple random search provides a competitive approach to reinforcement learning,
        arXiv:1803.07055, section 3.

    Examples:
        >>> policy = PolicyConfig()(Box(-1.0, 1.0, (4,)), Discrete(2), jax.random.key(0))
        >>> policy.head.weight.shape, int(policy(jnp.ones(4)))
        ((4, 2), 0)
    """

    hidden: tuple[int, ...] = ()
    activation: str = "tanh"
    bias: bool = False
    body: str = "auto"
    layer_norm: bool = False
    hidden_gain: float = 1.0
    head_gain: float = 0.0
    init: str = "orthogonal"

    def __post_init__(self) -> None:
        hold_plain_numbers(self)
        object.__setattr__(self, "hidden", check_sizes("hidden", self.hidden))
        check_activation("activation", self.activation)
        check_flag("bias", self.bias)
        check_flag("layer_norm", self.layer_norm)
        check_choice("body", self.body, BODIES)
        for gain in ("hidden_gain", "head_gain"):
            check_number(gain, getattr(self, gain), low=0, open_high=True)
        initialiser(self.init)

    def __call__(self, observation_space: Space, action_space: Space, key: PRNGKeyArray) -> PolicyNetwork:
        """Builds the policy with new weights.

        Raises:
            ConfigError: where the config does not fit the spaces.
        """
        body_key, head_key = jax.random.split(key)
        kind = "mlp" if self.body == "auto" and not self.hidden else self.body
        body = body_for(
            observation_space,
            self.hidden,
            key=body_key,
            kind=kind,
            activation=self.activation,
            gain=self.hidden_gain,
            layer_norm=self.layer_norm,
            init=self.init,
        )
        init = self.init if self.head_gain else "zeros"
        head = Dense(
            body.out_size, outputs(action_space), key=head_key, gain=self.head_gain, init=init, use_bias=self.bias
        )
        return PolicyNetwork(body, head, action_space)


class PolicyNetwork(eqx.Module):
    """An action for each observation, without a batch axis.

    Of a Box it is what the last layer gives, whatever the bounds; of Discrete, the number of the largest output, the
    first of equal ones; of MultiDiscrete, one such number of each group of outputs.

    Attributes:
        body: from the observation to features.
        head: from features to outputs.
        action_space: where actions lie.
    """

    body: Body
    head: Dense
    action_space: Space

    def __call__(self, obs: Any) -> Array:
        return action_of(self.action_space, self._output(obs))

    def _output(self, obs: Any) -> Float[Array, " o"]:
        """Returns the last layer's output; of a Discrete observation without a product with its one-hot vector."""
        if isinstance(self.body, VectorBody) and isinstance(self.body.space, Discrete):
            mlp = self.body.mlp
            return self.head(mlp.of_index(obs)) if mlp.layers else self.head.of_index(obs)
        return self.head(self.body(obs))


def outputs(space: Space) -> int:
    """Returns how many outputs tell an action.

    Raises:
        ConfigError: for a Dict, or a Box that is not of floating point numbers.
    """
    if isinstance(space, (Discrete, MultiDiscrete)) or (isinstance(space, Box) and space.dtype.kind == "f"):
        return flat_size(space)
    raise ConfigError("action space", space, "use Discrete, MultiDiscrete, or a Box of floating point numbers")


def action_of(space: Space, output: Float[Array, " o"]) -> Array:
    """Returns the action that outputs tell."""
    if isinstance(space, Discrete):
        return _largest(output)
    if isinstance(space, MultiDiscrete):
        ends = [sum(space.nvec[: i + 1]) for i in range(len(space.nvec))]
        return jnp.stack([_largest(output[end - n : end]) for end, n in zip(ends, space.nvec, strict=True)])
    assert isinstance(space, Box)
    return output.reshape(space.shape)


def _largest(output: Float[Array, " n"]) -> Array:
    return jnp.argmax(output).astype(jnp.int32)
