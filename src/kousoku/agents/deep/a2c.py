"""Advantage actor-critic."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ...collectors.rollouts import Rollouts
from ...core.errors import ConfigError, check_number
from ...core.timestep import Rollout
from ...nn import Network
from ...ops import losses
from ...ops.across import mean_over
from ...ops.schedules import ScalarOrSchedule, value_at
from .actor_critic import (
    ActorCriticAgent,
    ActorCriticState,
    Samples,
    check_actor_critic,
    evaluate_actions,
    flat_time,
    is_recurrent,
)
from .epochs import Scalars
from .gradients import apply_gradients, gradient_of


class A2C(ActorCriticAgent):
    """The policy gradient with a learned baseline: one gradient step for each rollout.

    loss = E[-A log pi(a|s)] + c_v E[(V - G)^2 / 2] - c_e E[entropy], with GAE for A (lambda = 1: the n-step advantage
    of the paper, n up to the end of the rollout) and G = A + V.

    Attributes:
        num_envs, num_steps, network, learning_rate, discount, gae_lambda, value_coefficient, entropy_coefficient,
            max_gradient_norm, normalise_advantages, normalise_observations, observation_limit, normalise_rewards,
            reward_limit, centre_rewards: as of `ActorCriticAgent`.
        rmsprop_decay: decay of the running mean of squared gradients.
        rmsprop_epsilon: added to the mean of squared gradients, under the root.

    Metrics: "policy_loss", "value_loss", "entropy", "gradient_norm", "explained_variance", "learning_rate".

    Differs from the paper: environments act side by side, and the gradient waits for all of them.

    References:
        Mnih et al., Asynchronous methods for deep reinforcement learning, arXiv:1602.01783, algorithm S3.
    """

    num_steps: int = eqx.field(static=True, default=8)
    learning_rate: ScalarOrSchedule = 7e-4
    gae_lambda: float | Array = 1.0
    _: KW_ONLY
    normalise_advantages: bool = eqx.field(static=True, default=False)
    rmsprop_decay: float | Array = 0.99
    rmsprop_epsilon: float | Array = 1e-5

    def __check_init__(self) -> None:
        check_actor_critic(self)
        check_number("rmsprop_decay", self.rmsprop_decay, low=0, high=1, open_high=True)
        check_number("rmsprop_epsilon", self.rmsprop_epsilon, low=0, open_low=True, open_high=True)
        if self.normalise_advantages and self.num_envs * self.num_steps == 1:
            fix = "the normalised advantage of one sample is 0, nothing is learned; use more num_envs or num_steps"
            raise ConfigError("normalise_advantages", True, fix)

    @property
    def learns_from(self) -> Rollouts:
        discount = self.discount if self.normalise_rewards else None
        return Rollouts(self.num_envs, self.num_steps, return_discount=discount, counts_steps=self.centre_rewards)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.scale_by_rms(decay=self.rmsprop_decay, eps=self.rmsprop_epsilon)  # pyright: ignore[reportArgumentType]

    def update(
        self, state: ActorCriticState, data: Rollout, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[ActorCriticState, Scalars]:
        samples, moments = self.samples(state, data, axis)
        before = data.carry
        batch = samples if is_recurrent(before) else flat_time(samples)
        batch = eqx.tree_at(lambda s: s.advantage, batch, self.normalised_advantages(batch.advantage, axis))
        gradient, metrics = gradient_of(self.loss)(state.network, batch, before, state)
        rate = value_at(self.learning_rate, state.step)
        network, optimiser, norm = apply_gradients(
            state.network, self.optimiser(), state.optimiser, gradient, rate, self.max_gradient_norm, axis
        )
        metrics = mean_over(metrics, axis) | {
            "gradient_norm": norm,
            "explained_variance": losses.explained_variance(samples.value, samples.target, axis_name=axis),
            "learning_rate": rate,
        }
        return self.after(state, data, network, optimiser, moments, axis), metrics

    def loss(
        self, network: Network, samples: Samples, carry: Any, state: ActorCriticState
    ) -> tuple[Float[Array, ""], Scalars]:
        """Returns the objective, to be minimised, and its parts; arguments as of `PPO.loss`."""
        now = evaluate_actions(network, samples, carry)
        advantage, target = samples.advantage.reshape(-1), samples.target.reshape(-1)
        policy_loss = -jnp.mean(advantage * now.log_prob)
        value_loss = jnp.mean(jax.vmap(losses.squared)(now.value - target))
        entropy = jnp.mean(now.entropy)
        bonus = value_at(self.entropy_coefficient, state.step) * entropy
        metrics = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
        return policy_loss + self.value_coefficient * value_loss - bonus, jax.lax.stop_gradient(metrics)
