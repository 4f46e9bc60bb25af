"""Networks of action values, and the usual one by a config of a few words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..core.action_mask import only_legal
from ..core.errors import ConfigError, check_choice, check_flag, check_number, check_size, shorten
from ..core.leaves import kind_words
from ..core.plain_number import hold_plain_numbers
from ..core.spaces import Discrete, Space
from .atoms import AtomsHead, DistributionalQNetwork, atoms_of, check_atoms
from .initialise import initialiser
from .layers import Dense, check_activation
from .mlp import MLP, check_sizes
from .noisy import noisy
from .torso import BODIES, RECURRENT, Body, Torso, body_for, torso_for

QFunction = Callable[[Any], Float[Array, " A"]]
"""From one observation to every action's value: a pytree whose float32 arrays are its parameters."""

FORGETFUL = "leave it out, or use 'pqn': the buffer keeps single steps, not what was remembered before them"
"""What is advised where a network remembers, and its agent learns from single steps."""

QNetworkBuilder = Callable[[Space, Space, PRNGKeyArray], QFunction]
"""(observation space, action space, key) -> network of action values."""


@dataclass(frozen=True)
class QNetworkConfig:
    """The parts of a network of action values; called with two spaces and a key, it builds one.

    Attributes:
        hidden: widths of the dense layers (after the convolutions, where there are any).
        activation: activation of every hidden layer, one of `layers.ACTIVATIONS`.
        dueling: whether the value of a state and the advantages of its actions have streams of their own.
        stream_hidden: widths of the dense layers of each of the two streams.
        body: "mlp", "cnn", or "auto": a CNN for images [height, width, channels], else an MLP.
        layer_norm: whether dense layers are normalised before the activation. Values that are learned from values far
            from the data grow without end less often with it.
        hidden_gain: gain of the weights of all hidden layers.
        head_gain: gain of the last layer's weights.
        init: how weights begin, one of `initialise.INITIALISERS`.
        distribution: what is learned of the returns of an action: "scalar" for their mean alone, "categorical" for the
            probabilities of fixed atoms (C51), "hl_gauss" for those of bins about the mean (HL-Gauss), "quantile" for
            quantiles (QR).
        num_atoms: atoms, bins or quantiles of each action.
        v_min: the smallest of the fixed atoms, or the lower edge of the bins: no return counts for less.
        v_max: the largest of the fixed atoms, or the upper edge of the bins: no return counts for more.
        smoothing: standard deviation of what bins learn, in widths of a bin.
        noisy: whether dense layers and heads have noise of a size that is learned, by which an agent explores.
        noisy_std: initial scale of the noise, divided by the square root of a layer's inputs.
        recurrent: None, "gru" or "lstm": a cell between body and head, which remembers what was observed before.
        recurrent_size: units of the recurrent cell.

    Raises:
        ConfigError: for a value that cannot be used.

    References:
        Gallici et al., Simplifying deep temporal difference learning, arXiv:2407.04811 (`layer_norm`).
        Wang et al., Dueling network architectures for deep reinforcement learning, arXiv:1511.06581 (`dueling`).
        Bellemare, Dabney and Munos, A distributional perspective on reinforcement learning, arXiv:1707.06887
        ("categorical"). Dabney et al., arXiv:1710.10044 ("quantile"). Farebrother et al., Stop regressing,
        arXiv:2403.03950 ("hl_gauss"). Fortunato et al., Noisy networks for exploration, arXiv:1706.10295 (`noisy`).

    Examples:
        >>> from kousoku.core.spaces import Box, Discrete
        >>> config = QNetworkConfig(hidden=(32,), dueling=True)
        >>> network = config(Box(-1.0, 1.0, (4,)), Discrete(2), jax.random.key(0))
        >>> network(jnp.zeros(4)).shape
        (2,)
    """

    hidden: tuple[int, ...] = (64, 64)
    activation: str = "relu"
    dueling: bool = False
    stream_hidden: tuple[int, ...] = ()
    body: str = "auto"
    layer_norm: bool = True
    hidden_gain: float = math.sqrt(2.0)
    head_gain: float = 1.0
    init: str = "orthogonal"
    distribution: str = "scalar"
    num_atoms: int = 51
    v_min: float = -10.0
    v_max: float = 10.0
    smoothing: float = 0.75
    noisy: bool = False
    noisy_std: float = 0.5
    recurrent: str | None = None
    recurrent_size: int = 128

    def __post_init__(self) -> None:
        hold_plain_numbers(self)
        for name in ("hidden", "stream_hidden"):
            object.__setattr__(self, name, check_sizes(name, getattr(self, name)))
        check_activation("activation", self.activation)
        check_flag("dueling", self.dueling)
        check_flag("layer_norm", self.layer_norm)
        if self.stream_hidden and not self.dueling:
            raise ConfigError("stream_hidden", self.stream_hidden, "leave it out, or use dueling=True")
        check_choice("body", self.body, BODIES)
        for gain in ("hidden_gain", "head_gain"):
            check_number(gain, getattr(self, gain), low=0, open_high=True)
        initialiser(self.init)
        check_atoms(self)
        check_flag("noisy", self.noisy)
        check_number("noisy_std", self.noisy_std, low=0, open_low=True, open_high=True)
        if self.recurrent is not None:
            check_choice("recurrent", self.recurrent, RECURRENT)
            if self.distribution != "scalar":
                raise ConfigError("recurrent", self.recurrent, "leave it out, or use distribution='scalar'")
        check_size("recurrent_size", self.recurrent_size)

    def __call__(
        self, observation_space: Space, action_space: Space, key: PRNGKeyArray
    ) -> QNetwork | DistributionalQNetwork | RecurrentQNetwork:
        """Builds the network with fresh weights.

        Raises:
            ConfigError: where the config does not fit the spaces.
        """
        network = self._without_noise(observation_space, action_space, key)
        return noisy(network, self.noisy_std) if self.noisy else network

    def _without_noise(
        self, observation_space: Space, action_space: Space, key: PRNGKeyArray
    ) -> QNetwork | DistributionalQNetwork | RecurrentQNetwork:
        body_key, head_key = jax.random.split(key)
        num_actions = check_discrete(action_space).n
        hidden: dict[str, Any] = {
            "activation": self.activation,
            "gain": self.hidden_gain,
            "layer_norm": self.layer_norm,
            "init": self.init,
        }
        head: dict[str, Any] = {"key": head_key, "gain": self.head_gain, "init": self.init}
        if self.recurrent is not None:
            cell = {"recurrent": self.recurrent, "recurrent_size": self.recurrent_size}
            torso = torso_for(observation_space, self.hidden, key=body_key, kind=self.body, **cell, **hidden)
            return RecurrentQNetwork(torso, self._values(torso.out_size, num_actions, hidden, head))
        body = body_for(observation_space, self.hidden, key=body_key, kind=self.body, **hidden)
        atoms = atoms_of(self)
        if atoms is None:
            return QNetwork(body, self._values(body.out_size, num_actions, hidden, head))
        sizes = {"dueling": self.dueling, "sizes": self.stream_hidden}
        outputs = AtomsHead(body.out_size, num_actions, self.num_atoms, hidden=hidden, **sizes, **head)
        return DistributionalQNetwork(body, outputs, atoms)

    def _values(
        self, in_size: int, num_actions: int, hidden: dict[str, Any], head: dict[str, Any]
    ) -> Dense | DuelingHead:
        if self.dueling:
            return DuelingHead(in_size, self.stream_hidden, num_actions, hidden=hidden, **head)
        return Dense(in_size, num_actions, **head)


class DuelingHead(eqx.Module):
    """Q(s, a) = V(s) + A(s, a) - mean over a' of A(s, a').

    Attributes:
        value_stream, advantage_stream: dense layers of their own for V and for A; without any, the identity.
        value, advantage: the last layer of each.

    References:
        Wang et al., Dueling network architectures for deep reinforcement learning, arXiv:1511.06581, equation 9.
    """

    value_stream: MLP
    advantage_stream: MLP
    value: Dense
    advantage: Dense

    def __init__(
        self,
        in_size: int,
        sizes: Sequence[int],
        num_actions: int,
        *,
        key: PRNGKeyArray,
        gain: float,
        init: str,
        hidden: dict[str, Any],
    ) -> None:
        keys = jax.random.split(key, 4)
        self.value_stream = MLP(in_size, sizes, key=keys[0], **hidden)
        self.advantage_stream = MLP(in_size, sizes, key=keys[1], **hidden)
        self.value = Dense(self.value_stream.out_size, 1, key=keys[2], gain=gain, init=init)
        self.advantage = Dense(self.advantage_stream.out_size, num_actions, key=keys[3], gain=gain, init=init)

    def __call__(self, x: Float[Array, " F"]) -> Float[Array, " A"]:
        value = self.value(self.value_stream(x))
        advantage = self.advantage(self.advantage_stream(x))
        return value + (advantage - jnp.mean(advantage))


class QNetwork(eqx.Module):
    """Every action's value of one observation, without a batch axis; -inf of one that an action mask forbids.

    Attributes:
        body: from the observation to features.
        head: from features to one value for each action.
    """

    body: Body
    head: Dense | DuelingHead

    def __call__(self, obs: Any) -> Float[Array, " A"]:
        return only_legal(self.head(self.body(obs)), obs)


class RecurrentQNetwork(eqx.Module):
    """Every action's value of one observation and of what is remembered of those before, without a batch axis.

    Attributes:
        torso: from the observation and the carry to features and the carry after.
        head: from features to one value for each action.
    """

    torso: Torso
    head: Dense | DuelingHead

    def initial_carry(self) -> PyTree[Array]:
        """Returns the carry at the beginning of an episode."""
        return self.torso.initial_carry()

    def __call__(self, obs: Any, carry: PyTree[Array]) -> tuple[Float[Array, " A"], PyTree[Array]]:
        features, carry = self.torso(obs, carry)
        return only_legal(self.head(features), obs), carry


def check_discrete(space: Space) -> Discrete:
    """Returns an action space whose actions can be counted.

    Raises:
        ConfigError: for another.
    """
    if not isinstance(space, Discrete):
        fix = "it has to be Discrete: one value for each action; 'ppo' and 'a2c' learn actions of any space"
        raise ConfigError("action space", shorten(space), fix)
    return space


def check_q_network(
    network: Any, observation_space: Space, action_space: Discrete, obs: Any, remembers: bool = False
) -> None:
    """Refuses what a builder of one's own returned if it would not learn.

    Args:
        network: what the builder returned.
        observation_space, action_space: the environment's.
        obs: the shapes of an observation.
        remembers: whether the agent keeps what a `RecurrentQNetwork` remembers.

    Raises:
        ConfigError: for what is no function, a leaf that is no array of float32, observations that it does not take,
            a network that remembers where the agent does not keep it, another carry than it began with, or values that
            are not one float32 for each action.
    """
    name = getattr(network, "__qualname__", type(network).__name__)
    if not callable(network):
        raise ConfigError("network", name, "its builder has to return a function of an observation")
    leaves = jax.tree.leaves(network)
    if not leaves or not all(eqx.is_array(leaf) and leaf.dtype == jnp.float32 for leaf in leaves):
        fix = "it needs parameters, arrays of float32 all of them; mark other fields eqx.field(static=True)"
        raise ConfigError("network", name, fix)
    if isinstance(network, RecurrentQNetwork) and not remembers:
        raise ConfigError("network", name, FORGETFUL)
    try:
        q = _values_of(network, obs)
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        why = str(error).strip().splitlines()[0]
        fix = f"it does not take observations of {shorten(observation_space, 80)}: {why}"
        raise ConfigError("network", name, fix) from error
    if isinstance(network, RecurrentQNetwork):
        (q, after), before = q, jax.eval_shape(network.initial_carry)
        if not eqx.tree_equal(after, before):
            fix = f"its carry begins as {shorten(before)} and is {shorten(after)} after a step; it has to stay alike"
            raise ConfigError("network", name, fix)
    if getattr(q, "shape", None) != (action_space.n,) or q.dtype != jnp.float32:
        fix = f"it returns {kind_words(q)}; a value for each action is float32[{action_space.n}]"
        raise ConfigError("network", name, fix)


def _values_of(network: Any, obs: Any) -> Any:
    """Returns the shapes of what a network makes of an observation; of one that remembers, with the carry after it."""
    if not isinstance(network, RecurrentQNetwork):
        return jax.eval_shape(network, obs)
    return jax.eval_shape(lambda obs: network(obs, network.initial_carry()), obs)
