"""Parts that PPO and A2C share: a network that acts and values, and what it learns from in a rollout."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ...compiler import kernel
from ...core.action_mask import check_mask
from ...core.agent import Agent
from ...core.env import EnvSpec
from ...core.errors import check_flag, check_number, check_size
from ...core.former import FORMERLY
from ...core.spaces import element_like
from ...core.timestep import Rollout
from ...nn import ActorCriticConfig, Network, NetworkBuilder, check_network
from ...nn.fits import check_builder, check_has_numbers
from ...nn.observation_stats import Statistics, init_obs_stats, normalise_obs, update_obs_stats
from ...ops import losses
from ...ops.advantages import gae
from ...ops.centring import centred, dwarfing_value, observe_steps
from ...ops.distributions import Distribution
from ...ops.normalisation import RunningMoments, no_moments, scale_rewards
from ...ops.schedules import ScalarOrSchedule, check_learning_rate, check_schedule, counted
from ...ops.trees import select
from .gradients import init_optimiser


class ActorCriticState(eqx.Module):
    """The state of an actor-critic agent: what it has learned.

    Attributes:
        network: its parameters.
        optimiser: optax's state.
        observations: running moments of what was observed; None for parts that are not scaled.
        rewards: running moments of the discounted return, which rewards are scaled by; None if they are not.
        step: environment steps so far, of all environments: the count that schedules are read at.
        centre: running moments of (reward, terminated), [2], which rewards are centred by; None if they are not.
    """

    network: Network
    optimiser: Any
    observations: Statistics
    rewards: RunningMoments | None
    step: Int[Array, ""]
    centre: RunningMoments | None = None


class RewardMoments(NamedTuple):
    """Moments by which rewards are scaled and centred: `rewards` and `centre` of the agent's state."""

    scale: RunningMoments | None
    centre: RunningMoments | None


class Samples(eqx.Module):
    """A rollout as a network learns from it, [T, B, ...].

    Attributes:
        obs: as the network sees it.
        action, log_prob: what was done, and how likely it was.
        is_first: whether an episode began with this step, so that a recurrent network's carry begins anew.
        value, advantage, target: V before the update, GAE, and their sum, which V should become.
    """

    obs: PyTree[Array]
    action: PyTree[Array]
    log_prob: Float[Array, "T B"]
    is_first: Bool[Array, "T B"]
    value: Float[Array, "T B"]
    advantage: Float[Array, "T B"]
    target: Float[Array, "T B"]


class ActionEvaluation(eqx.Module):
    """An evaluation of samples, [n], or of one: log-probability of the action, entropy of the policy, value."""

    log_prob: Float[Array, "*n"]
    entropy: Float[Array, "*n"]
    value: Float[Array, "*n"]


class ActorCriticAgent(Agent):
    """An agent with a policy and a value function that learns from rollouts.

    Attributes:
        num_envs: environments that act at once.
        num_steps: steps of each environment between two updates.
        network: builds the network: an `ActorCriticConfig`, or a function (observation space, action space, key).
        learning_rate: learning rate of the optimiser, a number or a schedule of the environment steps taken.
        discount: discount factor gamma, in [0, 1].
        gae_lambda: lambda of generalised advantage estimation, in [0, 1].
        value_coefficient: weight c_v of the value loss.
        entropy_coefficient: weight c_e of the entropy bonus, a number or a schedule.
        max_gradient_norm: the global norm of the gradient is scaled down to this; None for no limit.
        normalise_advantages: whether the advantages of a gradient step are normalised to mean 0 and standard deviation
            1.
        normalise_observations: whether floating point observations are centred and scaled by their running moments.
        observation_limit: scaled observations are clipped to +- this.
        normalise_rewards: whether rewards are divided by the running standard deviation of the discounted return.
        reward_limit: scaled rewards are clipped to +- this.
        centre_rewards: whether a constant is kept out of the values where it dwarfs what rewards differ by.
    """

    num_envs: int = eqx.field(static=True, default=64)
    num_steps: int = eqx.field(static=True, default=128)
    network: NetworkBuilder = eqx.field(static=True, default=ActorCriticConfig())
    learning_rate: ScalarOrSchedule = 1e-3
    discount: float | Array = 0.99
    gae_lambda: float | Array = 0.99
    _: KW_ONLY
    value_coefficient: float | Array = 0.5
    entropy_coefficient: ScalarOrSchedule = 0.0
    max_gradient_norm: float | Array | None = 0.5
    normalise_advantages: bool = eqx.field(static=True, default=True)
    normalise_observations: bool = eqx.field(static=True, default=True)
    observation_limit: float | Array = 10.0
    normalise_rewards: bool = eqx.field(static=True, default=True)
    reward_limit: float | Array = 10.0
    centre_rewards: bool = eqx.field(static=True, default=True, metadata={FORMERLY: False})

    @abstractmethod
    def optimiser(self) -> Any:
        """Returns the optax transformation of gradients; its updates are scaled by the learning rate afterwards."""

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> ActorCriticState:
        check_has_numbers(spec)
        check_mask(spec.observation_space, spec.action_space)
        network = self.network(spec.observation_space, spec.action_space, key)
        observations = init_obs_stats(spec.observation_space) if self.normalise_observations else None
        sees = partial(normalise_obs, observations, limit=self.observation_limit)
        check_own_network(self.network, network, spec, sees)
        return ActorCriticState(
            network=network,
            optimiser=init_optimiser(network, self.optimiser()),
            observations=observations,
            rewards=no_moments() if self.normalise_rewards else None,
            step=jnp.int32(0),
            centre=no_moments((2,)) if self.centre_rewards else None,
        )

    def adopt(self, fresh: ActorCriticState, trained: ActorCriticState) -> ActorCriticState:
        """Takes over the network, and the moments that scale and centre its observations and rewards."""
        return ActorCriticState(
            trained.network, fresh.optimiser, trained.observations, trained.rewards, fresh.step, trained.centre
        )

    def initial_carry(self, state: ActorCriticState) -> PyTree[Array]:
        return state.network.initial_carry()

    def act(
        self,
        state: ActorCriticState,
        obs: PyTree[Array],
        carry: PyTree[Array],
        key: PRNGKeyArray,
        *,
        greedy: bool = False,
    ) -> tuple[PyTree[Array], PyTree[Array], Float[Array, ""]]:
        """Draws an action of the policy, or takes its mode; the extras are the action's log-probability.

        It comes from `log_prob`, outside the kernel, as it does when the action is evaluated later: one formula and one
        rounding, so that the first ratio of probabilities is 1.
        """
        obs = self.normalise(state, obs)
        if is_recurrent(carry):
            policy, _, carry = state.network(obs, carry)
        else:
            policy, carry = state.network.policy(obs, carry)
        action = policy.mode() if greedy else kernel(draw)(policy, key)
        return action, carry, policy.log_prob(action)

    def normalise(self, state: ActorCriticState, obs: PyTree[Array]) -> PyTree[Array]:
        """Scales one observation as the network sees it."""
        return normalise_obs(state.observations, obs, self.observation_limit)

    def samples(self, state: ActorCriticState, rollout: Rollout, axis: str | None) -> tuple[Samples, RewardMoments]:
        """Returns what to learn from a rollout, and the moments of rewards after it."""
        both = jax.vmap(jax.vmap(lambda obs: self.normalise(state, obs)))
        obs, next_obs = both(rollout.obs), both(rollout.next_obs)
        ended = rollout.terminated | rollout.truncated
        is_first = jnp.concatenate([jnp.zeros_like(ended[:1]), ended[:-1]])
        rollout, centre = self.centred(state.centre, rollout, axis)
        rewards, scale = scaled_rewards(state.rewards, rollout, axis)
        if scale is not None:
            rewards = jnp.clip(rewards, -self.reward_limit, self.reward_limit)
        value, next_value = values(state.network, obs, next_obs, rollout.carry, is_first)
        advantage = jax.vmap(gae, (1, 1, 1, 1, 1, None, None), 1)(
            rewards, value, next_value, rollout.terminated, rollout.truncated, self.discount, self.gae_lambda
        )
        samples = Samples(obs, rollout.action, rollout.extras, is_first, value, advantage, advantage + value)
        return samples, RewardMoments(scale, centre)

    def centred(
        self, centre: RunningMoments | None, rollout: Rollout, axis: str | None
    ) -> tuple[Rollout, RunningMoments | None]:
        """Centres rewards and returns by the moments of (reward, terminated) after the rollout; without, they stay."""
        if centre is None:
            return rollout, None
        centre = observe_steps(centre, rollout.reward, rollout.terminated, axis_name=axis)
        by = rollout.terminated, dwarfing_value(centre, self.discount), self.discount
        rollout = eqx.tree_at(lambda r: r.reward, rollout, centred(rollout.reward, 1.0, *by))
        if rollout.discounted_return is not None:
            assert rollout.discounted_steps is not None  # `learns_from` asks for both
            returns = centred(rollout.discounted_return, rollout.discounted_steps, *by)
            rollout = eqx.tree_at(lambda r: r.discounted_return, rollout, returns)
        return rollout, centre

    def normalised_advantages(self, advantage: Float[Array, "*n"], axis: str | None = None) -> Float[Array, "*n"]:
        """Returns the advantages of one gradient step: normalised, if the agent does so."""
        return losses.standardised(advantage, axis_name=axis) if self.normalise_advantages else advantage

    def after(
        self,
        state: ActorCriticState,
        rollout: Rollout,
        network: Network,
        optimiser: Any,
        moments: RewardMoments,
        axis: str | None,
    ) -> ActorCriticState:
        """Makes the state after an update.

        The statistics of observations move on only here: all through a rollout and the epochs that learn from it the
        network sees through the same ones, so the first ratio of probabilities is 1.

        Args:
            state, rollout: before the update, and what it learned from.
            network, optimiser, moments: after it; the moments are the rewards'.
            axis: of the devices that share the environments.
        """
        observations = state.observations
        if observations is not None:
            observations = update_obs_stats(observations, flat_time(rollout.obs), axis)
        steps = jnp.int32(self.num_steps * self.num_envs)
        return ActorCriticState(
            network, optimiser, observations, moments.scale, counted(state.step, steps), moments.centre
        )


def check_actor_critic(agent: ActorCriticAgent) -> None:
    """Refuses settings that cannot work.

    Raises:
        ConfigError: naming the field.
    """
    check_size("num_envs", agent.num_envs)
    check_size("num_steps", agent.num_steps)
    check_builder(agent.network, "an ActorCriticConfig", "a network")
    check_learning_rate("learning_rate", agent.learning_rate)
    check_schedule("entropy_coefficient", agent.entropy_coefficient, low=0, open_high=True)
    check_number("value_coefficient", agent.value_coefficient, low=0, open_high=True)
    check_number("discount", agent.discount, low=0, high=1)
    check_number("gae_lambda", agent.gae_lambda, low=0, high=1)
    if agent.max_gradient_norm is not None:
        check_number("max_gradient_norm", agent.max_gradient_norm, low=0, open_low=True)
    for name in ("observation_limit", "reward_limit"):
        check_number(name, getattr(agent, name), low=0, open_low=True)
    for name in ("normalise_advantages", "normalise_observations", "normalise_rewards", "centre_rewards"):
        check_flag(name, getattr(agent, name))


def scaled_rewards(
    moments: RunningMoments | None, rollout: Rollout, axis: str | None
) -> tuple[Float[Array, "T B"], RunningMoments | None]:
    """Returns rewards divided by the standard deviation of the discounted return, and its new moments.

    The divisor counts as given: no gradient flows through it. Without moments they are the rewards as they are.
    """
    if moments is None:
        return rollout.reward, None
    assert rollout.discounted_return is not None  # `learns_from` asks for it
    returns = jax.lax.stop_gradient(rollout.discounted_return)
    moments, rewards = scale_rewards(moments, rollout.reward, returns, axis_name=axis)
    return rewards, moments


def is_recurrent(carry: Any) -> bool:
    """Returns whether a network carries anything from step to step."""
    return bool(jax.tree.leaves(carry))


def draw(policy: Distribution, key: PRNGKeyArray) -> PyTree[Array]:
    """Draws an action: a function for the kernel."""
    return policy.sample(key)


def check_own_network(
    builder: NetworkBuilder, network: Any, spec: EnvSpec, sees: Callable[[PyTree[Array]], PyTree[Array]]
) -> None:
    """Refuses a network or a policy that a user wrote if it does not fit.

    Args:
        builder: what built it.
        network: what it built.
        spec: of the environment.
        sees: from an observation to what the network gets.
    """
    if isinstance(builder, ActorCriticConfig) and isinstance(builder.policy, str):
        return
    own = ("policy", network.policy_head) if isinstance(builder, ActorCriticConfig) else ("network", network)
    obs = jax.eval_shape(sees, element_like(spec.observation_space))
    check_network(network, spec.observation_space, spec.action_space, obs, *own)


def values(
    network: Network, obs: PyTree[Array], next_obs: PyTree[Array], carry: Any, is_first: Bool[Array, "T B"]
) -> tuple[Float[Array, "T B"], Float[Array, "T B"]]:
    """Returns V of every observation and of every true successor, [T, B] each; carry [B, ...] before the first step."""
    if not is_recurrent(carry):
        every = jax.vmap(lambda obs: network.value(obs, ()))
        shape = is_first.shape
        return every(flat_time(obs)).reshape(shape), every(flat_time(next_obs)).reshape(shape)

    def step(carry: Any, now: tuple[Any, Any, Array]) -> tuple[Any, tuple[Array, Array]]:
        obs, next_obs, is_first = now
        _, value, after = network(obs, _carry_at(network, carry, is_first))
        return after, (value, network.value(next_obs, after))

    def one(carry: Any, obs: Any, next_obs: Any, is_first: Array) -> tuple[Array, Array]:
        return jax.lax.scan(step, carry, (obs, next_obs, is_first))[1]

    return jax.vmap(one, (0, 1, 1, 1), 1)(carry, obs, next_obs, is_first)


def evaluate_actions(network: Network, samples: Samples, carry: Any) -> ActionEvaluation:
    """Evaluates samples with a network: [n, ...] without a carry; [T, n, ...], as [T * n], from `carry` [n, ...]."""
    if not is_recurrent(carry):
        return jax.vmap(lambda obs, action: _evaluate(network, obs, action, ())[0])(samples.obs, samples.action)

    def step(carry: Any, now: tuple[Any, Any, Array]) -> tuple[Any, ActionEvaluation]:
        obs, action, is_first = now
        evaluated, after = _evaluate(network, obs, action, _carry_at(network, carry, is_first))
        return after, evaluated

    def one(carry: Any, obs: Any, action: Any, is_first: Array) -> ActionEvaluation:
        return jax.lax.scan(step, carry, (obs, action, is_first))[1]

    every = jax.vmap(one, (0, 1, 1, 1), 1)(carry, samples.obs, samples.action, samples.is_first)
    return jax.tree.map(lambda x: x.reshape(-1), every)


def _evaluate(network: Network, obs: Any, action: Any, carry: Any) -> tuple[ActionEvaluation, Any]:
    """Evaluates one action after one observation; also returns the carry after it."""
    policy, value, after = network(obs, carry)
    return ActionEvaluation(policy.log_prob(action), policy.entropy(), value), after


def _carry_at(network: Network, carry: Any, is_first: Bool[Array, ""]) -> Any:
    """Returns the carry; where an episode begins, the one that a network begins with."""
    return select(is_first, network.initial_carry(), carry)


def flat_time(tree: PyTree[Array]) -> PyTree[Array]:
    """Reshapes [T, B, ...] to [T * B, ...]."""
    return jax.tree.map(lambda x: x.reshape((x.shape[0] * x.shape[1], *x.shape[2:])), tree)  # also of no numbers
