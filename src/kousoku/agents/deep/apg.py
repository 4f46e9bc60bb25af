"""Analytic policy gradients."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ...collectors.differentiated import DifferentiatedRollout, DifferentiatedRollouts, check_gradient
from ...compiler import kernel
from ...core.agent import Agent
from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_flag, check_number, check_size
from ...core.spaces import Box
from ...core.timestep import Rollout
from ...nn import ActorCriticConfig, Network, NetworkBuilder
from ...nn.fits import check_builder, check_has_numbers
from ...nn.observation_stats import Statistics, init_obs_stats, normalise_obs, update_obs_stats
from ...nn.torso import RECURRENT_OPTIONS
from ...ops import losses
from ...ops.across import mean_over
from ...ops.advantages import lambda_returns
from ...ops.normalisation import RunningMoments, no_moments
from ...ops.schedules import ScalarOrSchedule, check_learning_rate, check_schedule, counted, value_at
from .actor_critic import check_own_network, draw, flat_time, is_recurrent, scaled_rewards
from .epochs import MOST_EPOCHS, Scalars, run_epochs
from .gradients import apply_gradients, init_optimiser
from .minibatches import divide, minibatch_indices, num_strata


class APGState(eqx.Module):
    """The state of the agent: what it has learned.

    Attributes:
        network: parameters of the policy and of the critic.
        target: an average of them over updates, whose values returns are bootstrapped with; None without a critic.
        optimiser, critic_optimiser: optax's states; None of the second without a critic.
        observations: running moments of what was observed; None for parts that are not scaled.
        rewards: running moments of the discounted return, which rewards are scaled by; None if they are not.
        step: environment steps so far, of all environments: the count that schedules are read at.
    """

    network: Network
    target: Network | None
    optimiser: Any
    critic_optimiser: Any
    observations: Statistics
    rewards: RunningMoments | None
    step: Int[Array, ""]


class CriticSamples(eqx.Module):
    """Observations as the network sees them, [n, ...], and the values that they should have, [n]."""

    obs: PyTree[Array]
    target: Float[Array, "*n"]


class LossExtras(NamedTuple):
    """Numbers of a rollout beside its loss.

    Attributes:
        samples: what the critic learns from, [T, B, ...]; None without one.
        rewards: moments that scale rewards after it.
        policy_loss, entropy: terms of the loss.
    """

    samples: CriticSamples | None
    rewards: RunningMoments | None
    policy_loss: Float[Array, ""]
    entropy: Float[Array, ""]


class APG(Agent):
    """Gradient ascent on the return itself, through policy and simulator; with a critic, short-horizon actor-critic.

    A rollout of T steps is a computation, and so is its return. With J the sum of the discounted returns of the
    stretches of episodes that it holds, each up to the end of the episode or of the rollout,

        J = sum over stretches of [r_0 + gamma r_1 + ... + gamma^(m-1) r_(m-1) + gamma^m V'(s_m)],

        loss = -J / (T B) - c_e E[entropy]

    is differentiated by the policy's parameters. Actions are location + scale * noise, squashed or not, so that they
    depend on the parameters smoothly. A terminated stretch is worth nothing afterwards. V' is the target critic's
    value of the true successor, for a stretch that was truncated and for one that goes on after the rollout; without a
    critic it is 0.

    The critic learns targets of TD(lambda) from the same rollout, y_t = r_t + gamma [(1 - lambda) V'(s_(t+1)) + lambda
    y_(t+1)], and the target critic follows it.

    Attributes:
        num_envs: environments that act at once.
        num_steps: steps T of each environment that gradients go back through.
        network: builds the network: an `ActorCriticConfig`, or a function (observation space, action space, key).
        learning_rate: learning rate of the policy's Adam, a number or a schedule of the environment steps taken.
        discount: discount factor gamma, in [0, 1].
        entropy_coefficient: weight c_e of the entropy bonus, a number or a schedule. The bonus keeps a squashed policy
            from the bounds, where no gradient comes through.
        critic: whether there is a critic.
        critic_learning_rate: learning rate of the critic's Adam, a number or a schedule.
        critic_epochs: passes of the critic over a rollout.
        critic_minibatches: minibatches of a rollout, one gradient step of the critic each.
        td_lambda: lambda of the critic's targets, in [0, 1].
        tau: how far an update moves the target critic, target <- (1 - tau) target + tau network: 1 copies.
        max_gradient_norm: the global norm of either gradient is scaled down to this; None for no limit.
        normalise_observations: whether floating point observations are scaled by their running moments.
        observation_limit: scaled observations are clipped to +- this.
        normalise_rewards: whether rewards are divided by the running standard deviation of the discounted return.
        adam_epsilon: added to Adam's denominators.

    Metrics: "policy_loss" (-J / (T B), in scaled rewards), "entropy", "gradient_norm" (the policy's), "learning_rate";
    with a critic "value_loss" (mean over the gradient steps), "explained_variance".

    Differs from the paper: rewards and observations are scaled by their running moments; the policy has no layer
    normalisation by default.

    References:
        Xu et al., Accelerated policy learning with parallel differentiable simulation, arXiv:2204.07137, equations 5 to
        9 and algorithm 1.
        Freeman et al., Brax, arXiv:2106.13281, section 5 (analytic policy gradients).
        Kingma and Welling, Auto-encoding variational Bayes, arXiv:1312.6114, section 2.4 (the noise).
    """

    unused_options: ClassVar[tuple[str, ...]] = RECURRENT_OPTIONS

    num_envs: int = eqx.field(static=True, default=64)
    num_steps: int = eqx.field(static=True, default=32)
    network: NetworkBuilder = eqx.field(static=True, default=ActorCriticConfig(policy="tanh_normal", activation="elu"))
    learning_rate: ScalarOrSchedule = 2e-3
    discount: float | Array = 0.99
    entropy_coefficient: ScalarOrSchedule = 0.0
    critic: bool = eqx.field(static=True, default=True)
    critic_learning_rate: ScalarOrSchedule = 1e-3
    critic_epochs: int = eqx.field(static=True, default=8)
    critic_minibatches: int = eqx.field(static=True, default=4)
    td_lambda: float | Array = 0.95
    tau: float | Array = 0.5
    max_gradient_norm: float | Array | None = 1.0
    normalise_observations: bool = eqx.field(static=True, default=True)
    observation_limit: float | Array = 10.0
    normalise_rewards: bool = eqx.field(static=True, default=True)
    adam_epsilon: float | Array = 1e-8

    def __check_init__(self) -> None:
        for name in ("num_envs", "num_steps", "critic_minibatches"):
            check_size(name, getattr(self, name))
        check_size("critic_epochs", self.critic_epochs, high=MOST_EPOCHS)
        check_builder(self.network, "an ActorCriticConfig", "a network")
        for name in ("learning_rate", "critic_learning_rate"):
            check_learning_rate(name, getattr(self, name))
        check_schedule("entropy_coefficient", self.entropy_coefficient, low=0, open_high=True)
        for name in ("discount", "td_lambda"):
            check_number(name, getattr(self, name), low=0, high=1)
        check_number("tau", self.tau, low=0, high=1, open_low=True)
        for name in ("critic", "normalise_observations", "normalise_rewards"):
            check_flag(name, getattr(self, name))
        if self.max_gradient_norm is not None:
            check_number("max_gradient_norm", self.max_gradient_norm, low=0, open_low=True)
        check_number("observation_limit", self.observation_limit, low=0, open_low=True)
        check_number("adam_epsilon", self.adam_epsilon, low=0, open_low=True, open_high=True)
        _ = self.learns_from  # checks what it is made of

    @property
    def learns_from(self) -> DifferentiatedRollouts:
        """Differentiated rollouts whose environments devices share by whole strata of the critic's minibatches."""
        shares = None
        if self.critic:
            shares = num_strata(self.num_envs, self.num_steps, self.critic_minibatches, "critic_minibatches")
        discount = self.discount if self.normalise_rewards else None
        return DifferentiatedRollouts(self.num_envs, self.num_steps, shares=shares, return_discount=discount)

    def optimiser(self) -> optax.GradientTransformation:
        """Returns the optax transformation of the gradients of policy and critic."""
        return optax.scale_by_adam(eps=self.adam_epsilon)  # pyright: ignore[reportArgumentType]

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> APGState:
        check_has_numbers(spec)
        actions = spec.action_space
        if not isinstance(actions, Box) or actions.dtype.kind != "f":
            fix = "a gradient goes back through actions that are real numbers, of a Box; use 'ppo' for others"
            raise ConfigError("action space", actions, fix)
        network = self.network(spec.observation_space, actions, key)
        observations = init_obs_stats(spec.observation_space) if self.normalise_observations else None
        sees = partial(normalise_obs, observations, limit=self.observation_limit)
        check_own_network(self.network, network, spec, sees)
        if is_recurrent(network.initial_carry()):
            kind = getattr(self.network, "recurrent", "a network with a carry")
            raise ConfigError("recurrent", kind, "the critic learns from single steps; use a network without, or 'ppo'")
        optimiser = init_optimiser(network, self.optimiser())
        return APGState(
            network=network,
            target=network if self.critic else None,
            optimiser=optimiser,
            critic_optimiser=optimiser if self.critic else None,
            observations=observations,
            rewards=no_moments() if self.normalise_rewards else None,
            step=jnp.int32(0),
        )

    def adopt(self, fresh: APGState, trained: APGState) -> APGState:
        """Takes over both networks, and the moments that scale observations and rewards."""
        return APGState(
            trained.network,
            trained.target,
            fresh.optimiser,
            fresh.critic_optimiser,
            trained.observations,
            trained.rewards,
            fresh.step,
        )

    def act(
        self, state: APGState, obs: PyTree[Array], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[PyTree[Array], tuple[()], Float[Array, ""]]:
        """Draws an action of the policy, or takes its mode; the extras are the policy's entropy."""
        policy, _ = state.network.policy(self.normalise(state, obs), ())
        return policy.mode() if greedy else kernel(draw)(policy, key), carry, policy.entropy()

    def normalise(self, state: APGState, obs: PyTree[Array]) -> PyTree[Array]:
        """Scales one observation as the network sees it."""
        return normalise_obs(state.observations, obs, self.observation_limit)

    def parameters(self, state: APGState) -> Network:
        """Returns what a rollout is differentiated by; of the critic's part the derivative is zero."""
        return state.network

    def with_parameters(self, state: APGState, parameters: Network) -> APGState:
        """Returns the state with other parameters."""
        return eqx.tree_at(lambda s: s.network, state, parameters)

    def rollout_loss(self, state: APGState, rollout: Rollout, axis: str | None) -> tuple[Float[Array, ""], LossExtras]:
        """Computes the loss of a rollout, and what else is to be learned from it."""
        rewards, moments = scaled_rewards(state.rewards, rollout, axis)
        next_value = jnp.zeros_like(rewards)
        if state.target is not None:
            next_value = self._values(state, state.target, rollout.next_obs)

        def returns(trace_decay: float | Array) -> Float[Array, "T B"]:
            return jax.vmap(lambda_returns, (1, 1, 1, 1, None, None), 1)(
                rewards, next_value, rollout.terminated, rollout.truncated, self.discount, trace_decay
            )

        policy_loss = -jnp.mean(jnp.where(first_steps(rollout), returns(1.0), 0.0))
        policy_loss = check_gradient(type(self), policy_loss, state.network)  # the entropy always has one
        entropy = jnp.mean(rollout.extras)
        samples = None
        if self.critic:
            obs = jax.vmap(jax.vmap(partial(self.normalise, state)))(rollout.obs)
            samples = CriticSamples(obs, returns(self.td_lambda))
        loss = policy_loss - value_at(self.entropy_coefficient, state.step) * entropy
        return loss, jax.lax.stop_gradient(LossExtras(samples, moments, policy_loss, entropy))

    def _values(self, state: APGState, network: Network, obs: PyTree[Array]) -> Float[Array, "T B"]:
        return jax.vmap(jax.vmap(lambda each: network.value(self.normalise(state, each), ())))(obs)

    def update(
        self, state: APGState, data: DifferentiatedRollout, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[APGState, Scalars]:
        aux: LossExtras = data.aux
        rate = value_at(self.learning_rate, state.step)
        network, optimiser, norm = apply_gradients(
            state.network, self.optimiser(), state.optimiser, data.gradient, rate, self.max_gradient_norm, axis
        )
        metrics = mean_over({"policy_loss": aux.policy_loss, "entropy": aux.entropy}, axis)
        metrics |= {"gradient_norm": norm, "learning_rate": rate}
        target, critic_optimiser = state.target, state.critic_optimiser
        if aux.samples is not None and target is not None:
            network, critic_optimiser, learned = self._learn_values(state, network, aux.samples, key, axis)
            target = jax.tree.map(lambda old, new: (1.0 - self.tau) * old + self.tau * new, target, network)
            metrics |= learned
        observations = state.observations
        if observations is not None:
            observations = update_obs_stats(observations, flat_time(data.rollout.obs), axis)
        step = counted(state.step, jnp.int32(self.num_steps * self.num_envs))
        return APGState(network, target, optimiser, critic_optimiser, observations, aux.rewards, step), metrics

    def _learn_values(
        self, state: APGState, network: Network, samples: CriticSamples, key: PRNGKeyArray, axis: str | None
    ) -> tuple[Network, Any, Scalars]:
        """Learns the critic's targets [T, B]: the network after it, the optimiser, and metrics."""
        steps, here = samples.target.shape
        division = divide(self.num_envs, here, steps, self.critic_minibatches, axis)
        rate = value_at(self.critic_learning_rate, state.step)
        flat = flat_time(samples)
        before = jax.vmap(lambda obs: state.network.value(obs, ()))(flat.obs)

        def loss(network: Network, batch: CriticSamples) -> Float[Array, ""]:
            value = jax.vmap(lambda obs: network.value(obs, ()))(batch.obs)
            return jnp.mean(jax.vmap(losses.squared)(value - batch.target))

        def step(learned: tuple[Network, Any], chosen: Int[Array, " n"]) -> tuple[tuple[Network, Any], Scalars]:
            network, optimiser = learned
            batch = jax.tree.map(lambda x: x.at[chosen].get(mode="promise_in_bounds"), flat)
            value_loss, gradient = jax.value_and_grad(loss)(network, batch)
            network, optimiser, _ = apply_gradients(
                network, self.optimiser(), optimiser, gradient, rate, self.max_gradient_norm, axis
            )
            return (network, optimiser), {"value_loss": value_loss}

        keys = jax.random.split(key, self.critic_epochs)
        batches = partial(minibatch_indices, division)
        learned, metrics = run_epochs(step, (network, state.critic_optimiser), batches, keys, None, axis)
        fit = losses.explained_variance(before, flat.target, axis_name=axis)
        return *learned, metrics | {"explained_variance": fit}


def first_steps(rollout: Rollout) -> Bool[Array, "T B"]:
    """Tells which steps of a rollout are the first that it holds of their episode."""
    ended = rollout.terminated | rollout.truncated
    return jnp.concatenate([jnp.ones_like(ended[:1]), ended[:-1]])
