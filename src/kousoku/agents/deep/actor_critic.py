"""What PPO and A2C share: a network that acts and values, and what it learns from in a rollout."""

from abc import abstractmethod
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ...compiler import kernel
from ...core.agent import RolloutAgent
from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_count, check_flag, check_number, check_takes
from ...core.spaces import Box
from ...core.timestep import Rollout
from ...nn import ActorCriticConfig, Network, NetworkBuilder, check_network
from ...ops import losses
from ...ops.advantages import gae
from ...ops.distributions import Distribution
from ...ops.normalisation import RewardScale, RunningMoments, no_moments, scale_rewards
from ...ops.schedules import ScalarOrSchedule, check_schedule
from ...ops.trees import select
from .descent import begin
from .seen import Statistics, no_statistics, observed, seen

LEAST_PART = 256
"""Samples of a gradient step that are worth a device of their own: fewer are learnt from in the time that a mean over
devices takes (two cores, two layers of 64 units)."""


class State(eqx.Module):
    """What an actor-critic agent has learned.

    Attributes:
        network: its parameters.
        optimiser: optax's state.
        observations: running moments of what was observed; None for parts that are not scaled.
        rewards: running moments of the discounted return, which rewards are scaled by; None if they are not.
        step: environment steps so far, of all environments: the count that schedules are read at.
    """

    network: Network
    optimiser: Any
    observations: Statistics
    rewards: RunningMoments | None
    step: Int[Array, ""]


class Memory(eqx.Module):
    """What is kept for one environment.

    Attributes:
        network: a recurrent network's memory; `()` for one without.
        discounted_return: of the present episode up to the last update, for the scale of rewards.
    """

    network: Any
    discounted_return: Float[Array, "*b"]


class Samples(eqx.Module):
    """A rollout as a network learns from it, [T, B, ...].

    Attributes:
        obs: as the network sees it.
        action, log_prob: what was done, and how likely it was.
        fresh: whether an episode began with this step, so that a recurrent memory begins anew.
        value, advantage, target: V before the update, GAE, and their sum, which V should become.
    """

    obs: PyTree[Array]
    action: PyTree[Array]
    log_prob: Float[Array, "T B"]
    fresh: Bool[Array, "T B"]
    value: Float[Array, "T B"]
    advantage: Float[Array, "T B"]
    target: Float[Array, "T B"]


class Judged(eqx.Module):
    """What a network says of samples, [n], or of one: the action's log-probability, the policy's entropy, the value."""

    log_prob: Float[Array, "*n"]
    entropy: Float[Array, "*n"]
    value: Float[Array, "*n"]


class ActorCriticAgent(RolloutAgent):
    """An agent with a policy and a value function that learns from rollouts.

    Attributes:
        network: builds the network from two spaces and a key: an `ActorCriticConfig`, or a function of one's own.
        learning_rate: of the optimiser, a number or a schedule of the environment steps taken.
        discount: gamma in [0, 1].
        gae_lambda: lambda in [0, 1].
        value_coefficient, entropy_coefficient: weights in the objective.
        max_gradient_norm: None for no limit.
        normalise_advantages: whether the advantages of a gradient step get mean 0 and deviation 1.
        normalise_observations: whether floating point observations are centred and scaled by their running moments.
        observation_limit: scaled observations are clipped to +- this.
        normalise_rewards: whether rewards are divided by the running deviation of the discounted return.
        reward_limit: scaled rewards are clipped to +- this.
    """

    network: eqx.AbstractVar[NetworkBuilder]
    learning_rate: eqx.AbstractVar[ScalarOrSchedule]
    discount: eqx.AbstractVar[float | Array]
    gae_lambda: eqx.AbstractVar[float | Array]
    value_coefficient: eqx.AbstractVar[float | Array]
    entropy_coefficient: eqx.AbstractVar[ScalarOrSchedule]
    max_gradient_norm: eqx.AbstractVar[float | Array | None]
    normalise_advantages: eqx.AbstractVar[bool]
    normalise_observations: eqx.AbstractVar[bool]
    observation_limit: eqx.AbstractVar[float | Array]
    normalise_rewards: eqx.AbstractVar[bool]
    reward_limit: eqx.AbstractVar[float | Array]

    @abstractmethod
    def optimiser(self) -> Any:
        """The optax transformation of gradients; its updates are scaled by the learning rate afterwards."""

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> State:
        for name, space in (("observation space", spec.observation_space), ("action space", spec.action_space)):
            if isinstance(space, Box) and 0 in space.shape:
                raise ConfigError(name, space, "it has no numbers, so that there is nothing to learn")
        network = self.network(spec.observation_space, spec.action_space, key)
        observations = no_statistics(spec.observation_space) if self.normalise_observations else None
        self._check_own(network, observations, spec, key)
        return State(
            network=network,
            optimiser=begin(network, self.optimiser()),
            observations=observations,
            rewards=no_moments() if self.normalise_rewards else None,
            step=jnp.int32(0),
        )

    def _check_own(self, network: Any, observations: Statistics, spec: EnvSpec, key: PRNGKeyArray) -> None:
        """Refuse a network or a policy that a user wrote if it does not fit."""
        config = self.network
        if isinstance(config, ActorCriticConfig) and isinstance(config.policy, str):
            return
        own = ("policy", network.policy_head) if isinstance(config, ActorCriticConfig) else ("network", network)
        sees = partial(seen, observations, limit=self.observation_limit)
        obs = jax.eval_shape(lambda key: sees(spec.observation_space.sample(key)), key)
        check_network(network, spec.observation_space, spec.action_space, obs, *own)

    def start(self, state: State) -> Memory:
        return Memory(state.network.start(), jnp.float32(0.0))

    def act(
        self, state: State, obs: PyTree[Array], memory: Memory, key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[PyTree[Array], Memory, Float[Array, ""]]:
        """An action of the policy, or its mode; the extras are the action's log-probability.

        It comes from `log_prob`, outside the kernel, as it does when the action is judged later: one formula and one
        rounding, so that the first ratio of probabilities is 1.
        """
        obs = self.sees(state, obs)
        if has_memory(memory.network):
            policy, _, after = state.network(obs, memory.network)
        else:
            policy, after = state.network.policy(obs, memory.network)
        memory = Memory(after, memory.discounted_return)
        action = policy.mode() if greedy else kernel(_draw)(policy, key)
        return action, memory, policy.log_prob(action)

    def sees(self, state: State, obs: PyTree[Array]) -> PyTree[Array]:
        """One observation as the network sees it."""
        return seen(state.observations, obs, self.observation_limit)

    def samples(
        self, state: State, rollout: Rollout, axis: str | None
    ) -> tuple[Samples, RunningMoments | None, Float[Array, " B"]]:
        """What to learn from a rollout; the moments that scale rewards after it, and the running returns."""
        both = jax.vmap(jax.vmap(lambda obs: self.sees(state, obs)))
        obs, next_obs = both(rollout.obs), both(rollout.next_obs)
        ended = rollout.terminated | rollout.truncated
        fresh = jnp.concatenate([jnp.zeros_like(ended[:1]), ended[:-1]])
        rewards, moments, returns = self._scaled_rewards(state, rollout, ended, axis)
        value, next_value = values(state.network, obs, next_obs, rollout.memory.network, fresh)
        advantage = jax.vmap(gae, (1, 1, 1, 1, 1, None, None), 1)(
            rewards, value, next_value, rollout.terminated, rollout.truncated, self.discount, self.gae_lambda
        )
        return (
            Samples(obs, rollout.action, rollout.extras, fresh, value, advantage, advantage + value),
            moments,
            returns,
        )

    def _scaled_rewards(
        self, state: State, rollout: Rollout, ended: Bool[Array, "T B"], axis: str | None
    ) -> tuple[Float[Array, "T B"], RunningMoments | None, Float[Array, " B"]]:
        returns = rollout.memory.discounted_return
        if state.rewards is None:
            return rollout.reward, None, returns
        scale = RewardScale(returns, state.rewards)
        scale, rewards = scale_rewards(scale, rollout.reward, ended, self.discount, axis_name=axis)
        return jnp.clip(rewards, -self.reward_limit, self.reward_limit), scale.moments, scale.returns

    def weighed(self, advantage: Float[Array, "*n"], axis: str | None = None) -> Float[Array, "*n"]:
        """The advantages of one gradient step, as its objective weighs them."""
        return losses.standardised(advantage, axis_name=axis) if self.normalise_advantages else advantage

    def after(
        self, state: State, memory: Memory, rollout: Rollout, learned: tuple[Network, Any, Any, Array], axis: str | None
    ) -> tuple[State, Memory]:
        """State and memory after an update.

        The statistics of observations move on only here: all through a rollout and the epochs that learn from it the
        network sees through the same ones, so the first ratio of probabilities is 1.

        Args:
            learned: the network, the optimiser's state, the rewards' moments, and the running returns [B].
        """
        network, optimiser, moments, returns = learned
        seen_now = flat_time(rollout.obs)
        observations = None if state.observations is None else observed(state.observations, seen_now, axis)
        steps = self.num_steps * self.num_envs
        return (
            State(network, optimiser, observations, moments, state.step + jnp.int32(steps)),
            Memory(memory.network, returns),
        )


def check_actor_critic(agent: ActorCriticAgent) -> None:
    """Refuse settings that cannot work.

    Raises:
        ConfigError: naming the field.
    """
    check_count("num_envs", agent.num_envs)
    check_count("num_steps", agent.num_steps)
    if not callable(agent.network):
        raise ConfigError("network", agent.network, "use an ActorCriticConfig or a function that builds a network")
    check_takes("network", agent.network, ("observation_space", "action_space", "key"))
    rate = agent.learning_rate
    check_schedule("learning_rate", rate, low=0, open_low=not callable(rate), open_high=True)
    check_schedule("entropy_coefficient", agent.entropy_coefficient, low=0, open_high=True)
    check_number("value_coefficient", agent.value_coefficient, low=0, open_high=True)
    check_number("discount", agent.discount, low=0, high=1)
    check_number("gae_lambda", agent.gae_lambda, low=0, high=1)
    if agent.max_gradient_norm is not None:
        check_number("max_gradient_norm", agent.max_gradient_norm, low=0, open_low=True)
    for name in ("observation_limit", "reward_limit"):
        check_number(name, getattr(agent, name), low=0, open_low=True)
    for name in ("normalise_advantages", "normalise_observations", "normalise_rewards"):
        check_flag(name, getattr(agent, name))


def worthwhile(samples: int, available: int) -> int:
    """How many of the available devices are worth sharing the samples of one gradient step."""
    return max(1, min(samples // LEAST_PART, available))


def has_memory(memory: Any) -> bool:
    """Whether a network keeps anything from step to step."""
    return bool(jax.tree.leaves(memory))


def _draw(policy: Distribution, key: PRNGKeyArray) -> PyTree[Array]:
    return policy.sample(key)


def values(
    network: Network, obs: PyTree[Array], next_obs: PyTree[Array], memory: Any, fresh: Bool[Array, "T B"]
) -> tuple[Float[Array, "T B"], Float[Array, "T B"]]:
    """V of every observation and of every true successor, [T, B] each; memory [B, ...] before the first step."""
    if not has_memory(memory):
        every = jax.vmap(lambda obs: network.value(obs, ()))
        shape = fresh.shape
        return every(flat_time(obs)).reshape(shape), every(flat_time(next_obs)).reshape(shape)

    def step(memory: Any, now: tuple[Any, Any, Array]) -> tuple[Any, tuple[Array, Array]]:
        obs, next_obs, fresh = now
        _, value, after = network(obs, _renewed(network, memory, fresh))
        return after, (value, network.value(next_obs, after))

    def one(memory: Any, obs: Any, next_obs: Any, fresh: Array) -> tuple[Array, Array]:
        return jax.lax.scan(step, memory, (obs, next_obs, fresh))[1]

    return jax.vmap(one, (0, 1, 1, 1), 1)(memory, obs, next_obs, fresh)


def judged(network: Network, samples: Samples, memory: Any) -> Judged:
    """What a network says of samples: [n, ...] without a memory; [T, n, ...], as [T * n], from `memory` [n, ...]."""
    if not has_memory(memory):
        return jax.vmap(lambda obs, action: _judge(network, obs, action, ())[0])(samples.obs, samples.action)

    def step(memory: Any, now: tuple[Any, Any, Array]) -> tuple[Any, Judged]:
        obs, action, fresh = now
        judged, after = _judge(network, obs, action, _renewed(network, memory, fresh))
        return after, judged

    def one(memory: Any, obs: Any, action: Any, fresh: Array) -> Judged:
        return jax.lax.scan(step, memory, (obs, action, fresh))[1]

    every = jax.vmap(one, (0, 1, 1, 1), 1)(memory, samples.obs, samples.action, samples.fresh)
    return jax.tree.map(lambda x: x.reshape(-1), every)


def _judge(network: Network, obs: Any, action: Any, memory: Any) -> tuple[Judged, Any]:
    policy, value, after = network(obs, memory)
    return Judged(policy.log_prob(action), policy.entropy(), value), after


def _renewed(network: Network, memory: Any, fresh: Bool[Array, ""]) -> Any:
    """The memory, or that of an episode's beginning."""
    return select(fresh, network.start(), memory)


def flat_time(tree: PyTree[Array]) -> PyTree[Array]:
    """[T, B, ...] as [T * B, ...]."""
    return jax.tree.map(lambda x: x.reshape((-1, *x.shape[2:])), tree)
