"""Networks of actor and action values, for actions of a bounded Box, by a config of a few words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core.errors import ConfigError, check_choice, check_count, check_number, shorten
from ..core.spaces import Box, Space
from ..ops.distributions import TanhNormal
from .atoms import Atoms, atoms_of, check_atoms
from .boxes import bounds, check_bounded, size_of
from .gaussian import Gaussian
from .hidden import (
    ACTOR_KINDS,
    CRITIC_KINDS,
    Hidden,
    HiddenBody,
    Training,
    actor_body_for,
    check_kind_fits,
    hidden_for,
    train,
)
from .initialise import initialiser
from .layers import Dense, check_activation
from .mlp import check_sizes
from .torso import BODIES, Body, body_for

ACTORS = ("tanh_normal", "deterministic")


@dataclass(frozen=True)
class ActorQConfig:
    """The parts of an actor and its critics; called with two spaces and a key, it builds them.

    The default is the network of Haarnoja et al. (2018): two hidden layers of 256 rectified units each.

    Attributes:
        hidden: widths of the actor's dense layers (after the convolutions, where there are any).
        critic_hidden: the critics'; None for the same.
        activation: of every hidden layer, one of `layers.ACTIVATIONS`.
        num_critics: how many critics estimate the same values, each from weights of its own.
        policy: "tanh_normal", a distribution of actions, or "deterministic", one action.
        body: "mlp", "cnn", or "auto": a CNN for images [height, width, channels], else an MLP. Actor and critics have
            one each.
        actor_body: kind of the actor's dense layers: "plain"; "layer_norm", normalised before the activation; "crossq",
            by batch renormalisation; or "simba", residual blocks, one for each width.
        critic_body: that of the critics': one of these, or "droq", normalised and with dropout. "layer_norm" keeps
            values that are learned from values far from the data from growing without end. With "crossq" there is no
            target network.
        dropout: probability that a unit of "droq" is left out.
        init_std: the first standard deviation of the normal variable, before it is squashed.
        hidden_gain: gain of the weights of all hidden layers.
        policy_gain: gain of the actor's last layer.
        value_gain: gain of the critics' last layer.
        init: how weights begin, one of `initialise.INITIALISERS`.
        distribution, num_atoms, v_min, v_max, smoothing: what critics learn of the returns of an action, as of
            `QNetworkConfig`: their mean alone, or a distribution.

    Raises:
        ConfigError: for a value that cannot be used.

    References:
        Haarnoja et al., Soft actor-critic algorithms and applications, arXiv:1812.05905, appendix D.
        Ball et al., Efficient online reinforcement learning with offline data, arXiv:2302.02948 ("layer_norm").
        Bhatt et al., CrossQ, arXiv:1902.05605. Hiraoka et al., Dropout Q-functions, arXiv:2110.02034 ("droq"). Lee et
        al., SimBa, arXiv:2410.09754.

    Examples:
        >>> from kousoku.core.spaces import Box
        >>> network = ActorQConfig(hidden=(32,))(Box(-1.0, 1.0, (4,)), Box(-2.0, 2.0, (1,)), jax.random.key(0))
        >>> policy = network.actor(jnp.zeros(4))
        >>> len(network.critics), network.critics[0](jnp.zeros(4), policy.mode()).shape
        (2, ())
    """

    hidden: tuple[int, ...] = (256, 256)
    critic_hidden: tuple[int, ...] | None = None
    activation: str = "relu"
    num_critics: int = 2
    policy: str = "tanh_normal"
    body: str = "auto"
    actor_body: str = "plain"
    critic_body: str = "plain"
    dropout: float = 0.01
    init_std: float = 1.0
    hidden_gain: float = math.sqrt(2.0)
    policy_gain: float = 1.0
    value_gain: float = 1.0
    init: str = "orthogonal"
    distribution: str = "scalar"
    num_atoms: int = 101
    v_min: float = -250.0
    v_max: float = 250.0
    smoothing: float = 0.75

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", check_sizes("hidden", self.hidden))
        if self.critic_hidden is not None:
            object.__setattr__(self, "critic_hidden", check_sizes("critic_hidden", self.critic_hidden))
        check_activation("activation", self.activation)
        check_count("num_critics", self.num_critics)
        check_choice("policy", self.policy, ACTORS)
        check_choice("body", self.body, BODIES)
        check_choice("actor_body", self.actor_body, ACTOR_KINDS)
        check_choice("critic_body", self.critic_body, CRITIC_KINDS)
        check_kind_fits("hidden", self.actor_body, self.hidden)
        widths = "hidden" if self.critic_hidden is None else "critic_hidden"
        check_kind_fits(widths, self.critic_body, getattr(self, widths))
        check_number("dropout", self.dropout, low=0, high=1, open_high=True)
        check_number("init_std", self.init_std, low=0, open_low=True, open_high=True)
        for gain in ("hidden_gain", "policy_gain", "value_gain"):
            check_number(gain, getattr(self, gain), low=0, open_high=True)
        initialiser(self.init)
        check_atoms(self)

    def __call__(self, observation_space: Space, action_space: Space, key: PRNGKeyArray) -> ActorQ:
        """Builds actor and critics with new weights.

        Raises:
            ConfigError: where the config does not fit the spaces.
        """
        space = check_bounded_box(action_space)
        actor_key, critic_key = jax.random.split(key)
        sizes = self.hidden if self.critic_hidden is None else self.critic_hidden
        atoms = atoms_of(self)
        weights: dict[str, Any] = {"activation": self.activation, "gain": self.hidden_gain, "init": self.init}

        def critic(key: PRNGKeyArray) -> StateActionValue:
            body_key, hidden_key, head_key = jax.random.split(key, 3)
            body = body_for(observation_space, (), key=body_key, kind=self.body, **weights)
            in_size = body.out_size + size_of(space)
            hidden = hidden_for(self.critic_body, in_size, sizes, key=hidden_key, dropout=self.dropout, **weights)
            outputs = 1 if atoms is None else self.num_atoms
            head = Dense(hidden.out_size, outputs, key=head_key, **self._head(self.value_gain))
            return StateActionValue(body, hidden, head, atoms)

        critics = tuple(critic(jax.random.fold_in(critic_key, i)) for i in range(self.num_critics))
        return ActorQ(self._actor(observation_space, space, actor_key, weights), critics)

    def _actor(
        self, observation_space: Space, space: Box, key: PRNGKeyArray, weights: dict[str, Any]
    ) -> SquashedNormalActor | DeterministicActor:
        body_key, head_key = jax.random.split(key)
        body = actor_body_for(self.actor_body, observation_space, self.hidden, key=body_key, body=self.body, **weights)
        head: dict[str, Any] = {"key": head_key, **self._head(self.policy_gain)}
        if self.policy == "deterministic":
            return DeterministicActor(body, Dense(body.out_size, size_of(space), **head))
        gaussian = Gaussian(size_of(space), body.out_size, init_std=self.init_std, std="exp", **head)
        return SquashedNormalActor(body, gaussian)

    def _head(self, gain: float) -> dict[str, Any]:
        return {"gain": gain, "init": self.init}


class SquashedNormalActor(eqx.Module):
    """pi(. | s) over the unit box [-1, 1]^A: tanh of a normal variable.

    Attributes:
        body: from the observation to features.
        gaussian: from features to location and scale.
    """

    body: Body | HiddenBody
    gaussian: Gaussian

    def __call__(self, obs: Any) -> TanhNormal:
        return self._policy(self.body(obs))

    def train(self, obs: Any, training: Training) -> tuple[TanhNormal, SquashedNormalActor]:
        """Returns the distribution for one sample of a minibatch, and the actor with running moments after it."""
        x, body = train(self.body, obs, training)
        return self._policy(x), SquashedNormalActor(body, self.gaussian)

    def _policy(self, x: Float[Array, " F"]) -> TanhNormal:
        loc, scale = self.gaussian(x)
        return TanhNormal(loc, scale, -jnp.ones_like(loc), jnp.ones_like(loc))


class DeterministicActor(eqx.Module):
    """mu(s) in the unit box [-1, 1]^A: tanh of an affine function of the features.

    Attributes:
        body: from the observation to features.
        head: from features to one number for each component of an action.
    """

    body: Body | HiddenBody
    head: Dense

    def __call__(self, obs: Any) -> Float[Array, " A"]:
        return jnp.tanh(self.head(self.body(obs)))

    def train(self, obs: Any, training: Training) -> tuple[Float[Array, " A"], DeterministicActor]:
        """Returns the action for one sample of a minibatch, and the actor with running moments after it."""
        x, body = train(self.body, obs, training)
        return jnp.tanh(self.head(x)), DeterministicActor(body, self.head)


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
    head: Dense
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


class ActorQ(eqx.Module):
    """An actor and its critics, of one environment and without a batch axis.

    Attributes:
        actor: from an observation to a distribution over the unit box, or to one action in it.
        critics: each from (observation, action in the unit box [A]) to an estimate of the action's value.
    """

    actor: Callable[[Any], Any]
    critics: tuple[Callable[[Any, Float[Array, " A"]], Float[Array, ""]], ...]


ActorQBuilder = Callable[[Space, Space, PRNGKeyArray], ActorQ]
"""(observation space, action space, key) -> actor and critics: pytrees whose float32 arrays are their parameters."""


def to_box(space: Box, unit: Float[Array, " A"]) -> Array:
    """Returns the action of the space at a place in the unit box: -1 is the lower bound, 1 the upper one."""
    low, high = bounds(space)
    action = 0.5 * (low + high) + 0.5 * (high - low) * unit
    return jnp.clip(action, low, high).reshape(space.shape).astype(space.dtype)


def to_unit_box(space: Box, action: Array) -> Float[Array, " A"]:
    """Returns the place of an action of the space in the unit box."""
    low, high = bounds(space)
    return (action.reshape(-1).astype(jnp.float32) - 0.5 * (low + high)) / (0.5 * (high - low))


def check_bounded_box(space: Space) -> Box:
    """Returns an action space that can be stretched to from the unit box.

    Raises:
        ConfigError: for one that is no Box of floating point numbers, or has an infinite bound.
    """
    if not isinstance(space, Box) or space.dtype.kind != "f":
        fix = "it has to be a Box of floating point numbers; 'dqn' learns actions that can be counted, 'ppo' any"
        raise ConfigError("action space", shorten(space), fix)
    check_bounded("action space", space)
    return space


def check_actor_q(network: Any, observation_space: Space, action_space: Box, obs: Any, policy: str) -> None:
    """Refuses what a builder returned if it would not learn.

    Args:
        network: what the builder returned.
        observation_space, action_space: the environment's.
        obs: the shapes of an observation.
        policy: what the agent wants of the actor, one of `ACTORS`.

    Raises:
        ConfigError: for what is no `ActorQ`, a leaf that is no array of float32, observations that it does not take,
            another kind of policy, or a value that is no scalar.
    """
    if not isinstance(network, ActorQ) or not network.critics:
        raise ConfigError("network", network, "its builder has to return a kousoku.nn.ActorQ with at least one critic")
    leaves = jax.tree.leaves(network)
    if not all(eqx.is_array(leaf) and leaf.dtype == jnp.float32 for leaf in leaves):
        fix = "its parameters have to be arrays of float32; mark other fields eqx.field(static=True)"
        raise ConfigError("network", type(network.actor).__name__, fix)
    size = size_of(action_space)
    unit = jax.ShapeDtypeStruct((size,), jnp.float32)
    try:
        acted = jax.eval_shape(network.actor, obs)
        values = [jax.eval_shape(critic, obs, unit) for critic in network.critics]
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        why = str(error).strip().splitlines()[0]
        fix = f"it does not take observations of {shorten(observation_space, 80)} and actions [{size}]: {why}"
        raise ConfigError("network", "ActorQ", fix) from error
    if isinstance(acted, TanhNormal) != (policy == "tanh_normal"):
        raise ConfigError("policy", type(network.actor).__name__, f"this agent learns a policy of the kind {policy!r}")
    found = acted.loc if isinstance(acted, TanhNormal) else acted
    for told, what, shape in [(found, "action", (size,)), *((value, "value", ()) for value in values)]:
        if getattr(told, "shape", None) != shape or told.dtype != jnp.float32:
            fix = f"its {what} has to be float32{list(shape)}, not {getattr(told, 'dtype', told)}{list(told.shape)}"
            raise ConfigError("network", "ActorQ", fix)
