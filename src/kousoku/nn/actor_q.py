"""Networks of actor and action values, for actions of a bounded Box or Discrete ones, by a config of a few words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core.errors import ConfigError, check_choice, check_number, check_size, shorten
from ..core.leaves import kind_words
from ..core.plain_number import hold_plain_numbers
from ..core.spaces import Box, Discrete, Space, element_like
from ..ops.distributions import Categorical, Distribution, Normal, TanhNormal
from .actors import CategoricalActor, DeterministicActor, NormalActor, SquashedNormalActor
from .atoms import ATOMS_OPTIONS, Atoms, atoms_of, check_atoms
from .boxes import bounds, centre_and_reach, check_bounded, size_of
from .critics import StateActionValue, StateActionValues
from .gaussian import Gaussian
from .hidden import ACTOR_KINDS, CRITIC_KINDS, HiddenBody, actor_body_for, check_kind_fits, hidden_for
from .hyperspherical import UnitGaussian, UnitHead
from .initialise import initialiser
from .layers import Dense, check_activation
from .mlp import check_sizes
from .torso import BODIES, body_for

ACTORS = ("stochastic", "deterministic", "normal")
CRITIC_OPTIONS = ("critic_hidden", "num_critics", "critic_body", "dropout", "value_gain", *ATOMS_OPTIONS)
"""The fields of `ActorQConfig` that are of critics."""

MOST_CRITICS = 100
"""Critics at most: a program has the operations of each one, and takes as much longer to trace and to compile."""

BOUNDED = "use finite bounds with low < high"
"""What is advised where actions cannot be learned in the unit box."""


@dataclass(frozen=True)
class ActorQConfig:
    """The parts of an actor and its critics; called with two spaces and a key, it builds them.

    The default is the network of Haarnoja et al. (2018): two hidden layers of 256 rectified units each.

    Attributes:
        hidden: widths of the actor's dense layers (after the convolutions, where there are any).
        critic_hidden: widths of the critics' hidden layers; None for the actor's.
        activation: activation of every hidden layer, one of `layers.ACTIVATIONS`.
        num_critics: how many critics estimate the same values, each from weights of its own.
        policy: "stochastic", a distribution of actions (over a Box, that of the tanh of a normal variable);
            "deterministic", one action of a Box; or "normal", as "stochastic" but of a Box a normal distribution about
            a tanh, for recorded actions.
        body: "mlp", "cnn", or "auto": a CNN for images [height, width, channels], else an MLP. Actor and critics have
            one each.
        actor_body: kind of the actor's dense layers: "plain"; "layer_norm", normalised before the activation; "crossq",
            by batch renormalisation; "simba", residual blocks, one for each width; or "simba_v2", blocks on the unit
            sphere. The last has a last layer of its own kind, for which `init_std` and gains have no meaning.
        critic_body: kind of the critics' dense layers: one of those of `actor_body`, or "droq", normalised and with
            dropout. "layer_norm" keeps values that are learned from values far from the data from growing without end.
            With "crossq" there is no target network.
        dropout: probability that a unit of "droq" is left out.
        init_std: the first standard deviation of the normal variable, before it is squashed.
        hidden_gain: gain of the weights of all hidden layers.
        policy_gain: gain of the actor's last layer.
        value_gain: gain of the critics' last layer.
        init: how weights begin, one of `initialise.INITIALISERS`.
        distribution: what critics learn of the returns of an action: "scalar" for their mean alone, "categorical" for
            the probabilities of fixed atoms (C51), "hl_gauss" for those of bins about the mean (HL-Gauss), "quantile"
            for quantiles (QR).
        num_atoms: atoms, bins or quantiles of each critic.
        v_min: the smallest of the fixed atoms, or the lower edge of the bins: no return counts for less.
        v_max: the largest of the fixed atoms, or the upper edge of the bins: no return counts for more.
        smoothing: standard deviation of what bins learn, in widths of a bin.

    Raises:
        ConfigError: for a value that cannot be used.

    References:
        Haarnoja et al., Soft actor-critic algorithms and applications, arXiv:1812.05905, appendix D.
        Ball et al., Efficient online reinforcement learning with offline data, arXiv:2302.02948 ("layer_norm").
        Bhatt et al., CrossQ, arXiv:1902.05605. Hiraoka et al., Dropout Q-functions, arXiv:2110.02034 ("droq"). Lee et
        al., SimBa, arXiv:2410.09754; SimBaV2, arXiv:2502.15280.

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
    policy: str = "stochastic"
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
        hold_plain_numbers(self)
        object.__setattr__(self, "hidden", check_sizes("hidden", self.hidden))
        if self.critic_hidden is not None:
            object.__setattr__(self, "critic_hidden", check_sizes("critic_hidden", self.critic_hidden))
        check_activation("activation", self.activation)
        check_size("num_critics", self.num_critics, high=MOST_CRITICS)
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
        check_policy_fits(action_space, self.policy, "'stochastic' or 'normal'")
        space = check_learnable(action_space, self.policy)
        atoms = atoms_of(self)
        if atoms is not None and isinstance(space, Discrete):
            fix = "use 'scalar' where actions can be counted; 'dqn' learns distributions of their returns"
            raise ConfigError("distribution", self.distribution, fix)
        actor_key, critic_key = jax.random.split(key)
        weights: dict[str, Any] = {"activation": self.activation, "gain": self.hidden_gain, "init": self.init}
        keys = [jax.random.fold_in(critic_key, i) for i in range(self.num_critics)]
        critics = tuple(self._critic(observation_space, space, atoms, key, weights) for key in keys)
        return ActorQ(self._actor(observation_space, space, actor_key, weights), critics)

    def _critic(
        self, observation_space: Space, space: Box | Discrete, atoms: Atoms | None, key: PRNGKeyArray, weights: Any
    ) -> StateActionValue | StateActionValues:
        body_key, hidden_key, head_key = jax.random.split(key, 3)
        sizes = self.hidden if self.critic_hidden is None else self.critic_hidden
        body = body_for(observation_space, (), key=body_key, kind=self.body, **weights)
        in_size = body.out_size + (size_of(space) if isinstance(space, Box) else 0)
        hidden = hidden_for(self.critic_body, in_size, sizes, key=hidden_key, dropout=self.dropout, **weights)
        head = self._head(self.critic_body, head_key, self.value_gain)
        if isinstance(space, Discrete):
            return StateActionValues(HiddenBody(body, hidden), head(hidden.out_size, space.n))
        outputs = 1 if atoms is None else self.num_atoms
        return StateActionValue(body, hidden, head(hidden.out_size, outputs), atoms)

    def _head(self, body: str, key: PRNGKeyArray, gain: float) -> Callable[[int, int], Dense | UnitHead]:
        """Returns what makes the last layer behind hidden layers of a kind, of two sizes."""
        if body == "simba_v2":
            return partial(UnitHead, key=key, init=self.init)
        return partial(Dense, key=key, gain=gain, init=self.init)

    def _actor(
        self, observation_space: Space, space: Box | Discrete, key: PRNGKeyArray, weights: dict[str, Any]
    ) -> SquashedNormalActor | DeterministicActor | NormalActor | CategoricalActor:
        body_key, head_key = jax.random.split(key)
        body = actor_body_for(self.actor_body, observation_space, self.hidden, key=body_key, body=self.body, **weights)
        head = self._head(self.actor_body, head_key, self.policy_gain)
        if isinstance(space, Discrete):
            return CategoricalActor(body, head(body.out_size, space.n))
        if self.policy == "deterministic":
            return DeterministicActor(body, head(body.out_size, size_of(space)))
        kind = NormalActor if self.policy == "normal" else SquashedNormalActor
        return kind(body, self._gaussian(size_of(space), body.out_size, head_key))

    def _gaussian(self, size: int, in_size: int, key: PRNGKeyArray) -> Gaussian | UnitGaussian:
        if self.actor_body == "simba_v2":
            return UnitGaussian(size, in_size, key=key, init=self.init)
        std = "constant" if self.policy == "normal" else "exp"
        options: dict[str, Any] = {"gain": self.policy_gain, "init": self.init, "init_std": self.init_std}
        return Gaussian(size, in_size, key=key, std=std, **options)


class ActorQ(eqx.Module):
    """An actor and its critics, of one environment and without a batch axis.

    Attributes:
        actor: from an observation to a distribution over the unit box or Discrete actions, or to one action in the box.
        critics: each from (observation, action in the unit box [A]) to an estimate of the action's value; of Discrete
            actions from an observation to estimates of them all, [A].
    """

    actor: Callable[[Any], Any]
    critics: tuple[Callable[..., Float[Array, "*A"]], ...]


ActorQBuilder = Callable[[Space, Space, PRNGKeyArray], ActorQ]
"""(observation space, action space, key) -> actor and critics: pytrees whose float32 arrays are their parameters."""


def to_action(space: Box | Discrete, learned: Array) -> Array:
    """Returns the action of the space: for a Box that at a place in the unit box, where -1 is the lower bound and 1 the
    upper one; a Discrete one itself.
    """
    if isinstance(space, Discrete):
        return learned
    centre, reach = centre_and_reach(space)
    return jnp.clip(centre + reach * learned, *bounds(space)).reshape(space.shape).astype(space.dtype)


def learned_action(space: Box | Discrete, action: Array) -> Array:
    """Returns what is learned of an action of the space: its place in the unit box, [A]; of a Discrete one itself."""
    if isinstance(space, Discrete):
        return action
    centre, reach = centre_and_reach(space)
    return (action.reshape(-1).astype(jnp.float32) - centre) / reach


def like_learned(space: Box | Discrete) -> jax.ShapeDtypeStruct:
    """Returns the shape and dtype of what is learned of an action."""
    return jax.eval_shape(partial(learned_action, space), element_like(space))


def check_learnable(space: Space, policy: str, recorded: bool = False) -> Box | Discrete:
    """Returns an action space that a policy of this kind can act in.

    Args:
        space: where actions lie.
        policy: one of `ACTORS`.
        recorded: whether it is learned from recorded transitions, which decides what is advised.

    Raises:
        ConfigError: for another one: a Box of whole numbers or with an infinite bound, or Discrete actions for a policy
            that gives one without a probability.
    """
    if isinstance(space, Discrete) and policy != "deterministic":
        return space
    if not isinstance(space, Box) or space.dtype.kind != "f":
        discrete = "of one Discrete action 'sac' and 'dqn' learn, and 'bc' and 'iql' from data"
        others = "no agent learns others from data" if recorded else "'ppo' learns any"
        fix = f"it has to be a Box of floating point numbers; {discrete}; {others}"
        raise ConfigError("action space", shorten(space), fix)
    instead = f"{BOUNDED} in the environment and the data" if recorded else f"{BOUNDED}, or 'ppo'"
    check_bounded("action space", shorten(space), instead, space)
    return space


def check_policy_fits(space: Space, policy: str, others: str) -> None:
    """Refuses a policy that was asked for and gives one action, where that is Discrete.

    Args:
        space: where actions lie.
        policy: one of `ACTORS`.
        others: what is advised.

    Raises:
        ConfigError: naming the policy.
    """
    if isinstance(space, Discrete) and policy == "deterministic":
        raise ConfigError("policy", policy, f"use {others}; one action without a probability is for a Box")


def check_actor_q(
    network: Any, observation_space: Space, action_space: Box | Discrete, obs: Any, policy: str, builder: Any = None
) -> None:
    """Refuses what a builder returned if it would not learn.

    Args:
        network: what the builder returned.
        observation_space, action_space, obs: the environment's, and the shapes of an observation.
        policy: what the agent wants of the actor, one of `ACTORS`.
        builder: what built it, for the message.

    Raises:
        ConfigError: for what is no `ActorQ`, a leaf that is no array of float32, observations that it does not take,
            another kind of policy, or values of another shape.
    """
    if not isinstance(network, ActorQ) or not network.critics:
        raise ConfigError("network", network, "its builder has to return a kousoku.nn.ActorQ with at least one critic")
    leaves = jax.tree.leaves(network)
    if not all(eqx.is_array(leaf) and leaf.dtype == jnp.float32 for leaf in leaves):
        fix = "its parameters have to be arrays of float32; mark other fields eqx.field(static=True)"
        raise ConfigError("network", type(network.actor).__name__, fix)
    discrete, action = isinstance(action_space, Discrete), like_learned(action_space)
    size = (action_space.n,) if isinstance(action_space, Discrete) else action.shape
    try:
        acted = jax.eval_shape(network.actor, obs)
        values = [jax.eval_shape(critic, obs, *(() if discrete else (action,))) for critic in network.critics]
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        why = str(error).strip().splitlines()[0]
        fix = f"it does not take observations of {shorten(observation_space, 80)} and actions {list(size)}: {why}"
        raise ConfigError("network", "ActorQ", fix) from error
    kind = Categorical if discrete else {"stochastic": TanhNormal, "normal": Normal}.get(policy)
    if isinstance(acted, Distribution) if kind is None else not isinstance(acted, kind):
        fix = f"this agent learns a policy of the kind {policy!r}; leave `policy` out, or build an actor that gives one"
        raise ConfigError("policy", getattr(builder, "policy", type(network.actor).__name__), fix)
    found = acted.logits if isinstance(acted, Categorical) else getattr(acted, "loc", acted)
    of_value = size if discrete else ()
    for told, what, shape in [(found, "action", size), *((value, "value", of_value) for value in values)]:
        if getattr(told, "shape", None) != shape or told.dtype != jnp.float32:
            fix = f"its {what} has to be float32{list(shape)}, not {kind_words(told)}"
            raise ConfigError("network", "ActorQ", fix)
