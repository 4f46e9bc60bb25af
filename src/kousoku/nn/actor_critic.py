"""The usual actor-critic network, by a config of a few words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ..core.action_mask import only_legal
from ..core.errors import ConfigError, check_choice, check_flag, check_number, check_size
from ..core.former import FORMERLY
from ..core.plain_number import hold_plain_numbers
from ..core.spaces import Space
from ..ops.distributions import Categorical, Distribution, MultiCategorical
from .gaussian import STDS
from .heads import HeadBuilder, PolicyHead, ValueHead, check_policy, head_for
from .initialise import initialiser
from .layers import check_activation
from .mlp import check_sizes
from .network import Carry, Network
from .torso import BODIES, RECURRENT, Torso, torso_for


@dataclass(frozen=True)
class ActorCriticConfig:
    """The parts of an actor-critic network; called with two spaces and a key, it builds one.

    The default is that of PPO for control from vectors: two hidden layers of 64 tanh units each for the actor and for
    the critic, orthogonal weights with gains sqrt(2) (hidden), 0.01 (policy) and 1 (value), biases of 0.

    Attributes:
        hidden: widths of the actor's dense layers (after the convolutions, where there are any).
        critic_hidden: widths of the critic's hidden layers; None for the actor's.
        activation: activation of every hidden layer, one of `layers.ACTIVATIONS`.
        shared: whether actor and critic share their body and carry, so that only the heads differ.
        recurrent: None, "gru" or "lstm": a cell between body and head.
        recurrent_size: units of the recurrent cell.
        body: "mlp", "cnn", or "auto": a CNN for images [height, width, channels], else an MLP.
        policy: the distribution of actions, one of `heads.KINDS`; in Python also a `HeadBuilder` of one's own.
        init_std: the first standard deviation of normal policies.
        policy_gain: gain of the policy head's weights.
        value_gain: gain of the value head's weights.
        layer_norm: whether dense layers are normalised before the activation.
        std: the standard deviation of normal policies, one of `gaussian.STDS`.
        hidden_gain: gain of the weights of all bodies.
        init: how weights begin, one of `initialise.INITIALISERS`; cells are always orthogonal with gain 1.
        normalise_actions: whether normal policies count from the middle of the bounds of actions, in halves of their
            distance, so that a Box of [-50, 50] is explored as one of [-1, 1]; older runs go on without.

    Raises:
        ConfigError: for a value that cannot be used.

    References:
        Huang et al., "The 37 implementation details of proximal policy optimization", ICLR blog track (2022), details
        2 (initialisation) and 13 (separate networks).

    Examples:
        >>> from kousoku.core.spaces import Box, Discrete
        >>> config = ActorCriticConfig(hidden=(32,), activation="relu", shared=True)
        >>> network = config(Box(-1.0, 1.0, (4,)), Discrete(2), jax.random.key(0))
        >>> distribution, value, carry = network(jax.numpy.zeros(4), network.initial_carry())
        >>> distribution.logits.shape, value.shape, carry
        ((2,), (), ())
    """

    hidden: tuple[int, ...] = (64, 64)
    critic_hidden: tuple[int, ...] | None = None
    activation: str = "tanh"
    shared: bool = False
    recurrent: str | None = None
    recurrent_size: int = 128
    body: str = "auto"
    policy: str | HeadBuilder = "auto"
    init_std: float = 1.0
    policy_gain: float = 0.01
    value_gain: float = 1.0
    layer_norm: bool = False
    std: str = "constant"
    hidden_gain: float = math.sqrt(2.0)
    init: str = "orthogonal"
    normalise_actions: bool = field(default=True, metadata={FORMERLY: False})

    def __post_init__(self) -> None:
        hold_plain_numbers(self)
        object.__setattr__(self, "hidden", check_sizes("hidden", self.hidden))
        if self.critic_hidden is not None:
            object.__setattr__(self, "critic_hidden", check_sizes("critic_hidden", self.critic_hidden))
        check_activation("activation", self.activation)
        check_flag("shared", self.shared)
        check_flag("layer_norm", self.layer_norm)
        check_flag("normalise_actions", self.normalise_actions)
        if self.shared and self.critic_hidden is not None:
            raise ConfigError("critic_hidden", self.critic_hidden, "leave it out, or use shared=False")
        if self.recurrent is not None:
            check_choice("recurrent", self.recurrent, RECURRENT)
        check_size("recurrent_size", self.recurrent_size)
        check_choice("body", self.body, BODIES)
        check_policy(self.policy)
        check_choice("std", self.std, STDS)
        check_number("init_std", self.init_std, low=0, open_low=True, open_high=True)
        for gain in ("policy_gain", "value_gain", "hidden_gain"):
            check_number(gain, getattr(self, gain), low=0, open_high=True)
        initialiser(self.init)

    def __call__(self, observation_space: Space, action_space: Space, key: PRNGKeyArray) -> ActorCritic:
        """Builds the network with new weights: `build`."""
        return build(self, observation_space, action_space, key)


class ActorCritic(Network):
    """A policy head and a value head, each on a torso of its own or both on one.

    Discrete and MultiDiscrete actions that an action mask in the observation forbids have probability 0.

    The carry is `()` without cells, the cell's where the torso is shared, and otherwise the pair of the actor's and
    the critic's.

    Attributes:
        actor: the actor's torso, or both's.
        critic: the critic's torso; None where it is shared.
        policy_head: from features to the distribution of actions.
        value_head: from features to the value.
    """

    actor: Torso
    critic: Torso | None
    policy_head: PolicyHead
    value_head: ValueHead

    def initial_carry(self) -> Carry:
        if self.critic is None or self.actor.cell is None:
            return self.actor.initial_carry()
        return self.actor.initial_carry(), self.critic.initial_carry()

    def policy(self, obs: Any, carry: Carry) -> tuple[Distribution, Carry]:
        """Returns pi(. | obs, carry); of a pair of carries only the actor's has moved on."""
        before, other = self._parts(carry)
        x, after = self.actor(obs, before)
        return legal_only(self.policy_head(x), obs), self._joined(after, other)

    def value(self, obs: Any, carry: Carry) -> Float[Array, ""]:
        actors, critics = self._parts(carry)
        x, _ = self.actor(obs, actors) if self.critic is None else self.critic(obs, critics)
        return self.value_head(x)

    def __call__(self, obs: Any, carry: Carry) -> tuple[Distribution, Float[Array, ""], Carry]:
        actors, critics = self._parts(carry)
        x, actors = self.actor(obs, actors)
        y = x
        if self.critic is not None:
            y, critics = self.critic(obs, critics)
        return legal_only(self.policy_head(x), obs), self.value_head(y), self._joined(actors, critics)

    def _parts(self, carry: Carry) -> tuple[Carry, Carry]:
        """Returns the actor's carry and the critic's."""
        return (carry, ()) if self.critic is None or self.actor.cell is None else carry

    def _joined(self, actors: Carry, critics: Carry) -> Carry:
        return actors if self.critic is None or self.actor.cell is None else (actors, critics)


def legal_only(policy: Distribution, obs: Any) -> Distribution:
    """Returns a policy without the actions that the observation says must not be taken; see `only_legal`.

    References:
        Huang and Ontanon, A closer look at invalid action masking in policy gradient algorithms, arXiv:2006.14171.
    """
    if isinstance(policy, MultiCategorical):
        return MultiCategorical(only_legal(policy.logits, obs, policy.sizes), policy.sizes)
    return Categorical(only_legal(policy.logits, obs)) if isinstance(policy, Categorical) else policy


def build(config: ActorCriticConfig, observation_space: Space, action_space: Space, key: PRNGKeyArray) -> ActorCritic:
    """Builds a network with new weights.

    Raises:
        ConfigError: where the config does not fit the spaces.
    """
    actor_key, critic_key, policy_key, value_key = jax.random.split(key, 4)
    options: dict[str, Any] = {
        "recurrent": config.recurrent,
        "recurrent_size": config.recurrent_size,
        "kind": config.body,
        "activation": config.activation,
        "gain": config.hidden_gain,
        "layer_norm": config.layer_norm,
        "init": config.init,
    }
    actor = torso_for(observation_space, config.hidden, key=actor_key, **options)
    critic = None
    if not config.shared:
        sizes = config.hidden if config.critic_hidden is None else config.critic_hidden
        critic = torso_for(observation_space, sizes, key=critic_key, **options)
    policy_head = head_for(
        action_space,
        actor.out_size,
        key=policy_key,
        kind=config.policy,
        gain=config.policy_gain,
        init=config.init,
        init_std=config.init_std,
        std=config.std,
        normalise_actions=config.normalise_actions,
    )
    value_in = (actor if critic is None else critic).out_size
    value_head = ValueHead(value_in, key=value_key, gain=config.value_gain, init=config.init)
    return ActorCritic(actor, critic, policy_head, value_head)
