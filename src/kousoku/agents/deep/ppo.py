"""Proximal policy optimisation."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ...collectors.rollouts import Rollouts
from ...core.errors import ConfigError, check_number, check_size
from ...core.timestep import Rollout
from ...nn import ActorCriticConfig, Network
from ...ops import losses
from ...ops.schedules import ScalarOrSchedule, check_schedule, value_at
from .actor_critic import (
    ActorCriticAgent,
    ActorCriticState,
    Samples,
    check_actor_critic,
    evaluate_actions,
    flat_time,
    is_recurrent,
)
from .epochs import MOST_EPOCHS, Scalars, run_epochs
from .gradients import apply_gradients, gradient_of
from .minibatches import divide, minibatch_indices, num_strata, take_minibatch


class PPO(ActorCriticAgent):
    """The clipped surrogate objective, several epochs of minibatches over each rollout.

    loss = E[clipped_surrogate(log pi / pi_old, A)] + c_v E[(V - G)^2 / 2] - c_e E[entropy], A from GAE, G = A + V.

    Time limits bootstrap: the value of a truncated step's true successor counts, that of a terminated one is zero.

    Attributes:
        num_envs, num_steps, network, learning_rate, discount, gae_lambda, value_coefficient, entropy_coefficient,
            max_gradient_norm, normalise_advantages, normalise_observations, observation_limit, normalise_rewards,
            reward_limit, centre_rewards: as of `ActorCriticAgent`.
        epochs: passes over a rollout.
        minibatches: minibatches of a rollout, one gradient step each.
        clip: how far the probability ratio may move from 1 before it is clipped, a number or a schedule.
        value_clip: how far V may move from its old value in one update; None for no limit.
        target_kl: later epochs are left out once the mean approximate KL of one exceeds this; None for never.
        adam_epsilon: added to Adam's denominator.

    Metrics: "policy_loss", "value_loss", "entropy", "approx_kl", "clipfrac", "gradient_norm" (means over all gradient
    steps), "explained_variance", "learning_rate".

    Differs from the paper: minibatches are drawn from strata (see `minibatches`).

    References:
        Schulman et al., Proximal policy optimization algorithms, arXiv:1707.06347, equations 7 and 9, algorithm 1.
        Huang et al., The 37 implementation details of proximal policy optimization, ICLR blog track (2022), whose
        numbers are: orthogonal initialisation (2), Adam's epsilon (3), learning rate annealing (4), GAE (5),
        minibatches (6), advantage normalisation (7), clipped surrogate (8), value clipping (9), entropy bonus (10),
        gradient norm (11), debug variables (12), separate networks (13); for continuous actions normal distributions
        (1), state-independent standard deviations (2), separate networks (4), clipped actions (5), observation
        normalisation (6) and clipping (7), reward scaling (8) and clipping (9); LSTM, MultiDiscrete, early stopping by
        KL.
        Naik et al., Reward centering, arXiv:2405.09999; here as a potential (see `ops.centring`).
    """

    epochs: int = eqx.field(static=True, default=4)
    minibatches: int = eqx.field(static=True, default=8)
    clip: ScalarOrSchedule = 0.2
    value_clip: float | Array | None = None
    _: KW_ONLY
    target_kl: float | Array | None = None
    adam_epsilon: float | Array = 1e-5

    def __check_init__(self) -> None:
        check_actor_critic(self)
        check_size("epochs", self.epochs, high=MOST_EPOCHS)
        check_size("minibatches", self.minibatches)
        check_schedule("clip", self.clip, low=0, open_low=not callable(self.clip))
        for name in ("value_clip", "target_kl"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=0, open_low=True)
        check_number("adam_epsilon", self.adam_epsilon, low=0, open_low=True, open_high=True)
        whole = isinstance(self.network, ActorCriticConfig) and self.network.recurrent is not None
        num_strata(self.num_envs, 1 if whole else self.num_steps, self.minibatches)
        if self.normalise_advantages and self.num_envs * self.num_steps == self.minibatches:
            larger = "use fewer of larger ones" if self.minibatches > 1 else "use more steps or environments"
            fix = f"the normalised advantage of one sample is 0, nothing is learned; {larger}, or"
            raise ConfigError("minibatches", self.minibatches, f"{fix} normalise_advantages=False")

    @property
    def learns_from(self) -> Rollouts:
        """Rollouts whose environments devices share by whole strata of the minibatches."""
        strata = num_strata(self.num_envs, self.num_steps, self.minibatches)
        if self.num_envs % self.minibatches == 0:  # a recurrent network learns from whole sequences
            strata = math.gcd(strata, num_strata(self.num_envs, 1, self.minibatches))
        samples = self.num_envs * self.num_steps // self.minibatches
        discount = self.discount if self.normalise_rewards else None
        return Rollouts(self.num_envs, self.num_steps, samples, strata, discount, counts_steps=self.centre_rewards)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.scale_by_adam(eps=self.adam_epsilon)  # pyright: ignore[reportArgumentType]

    def update(
        self, state: ActorCriticState, data: Rollout, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[ActorCriticState, Scalars]:
        samples, moments = self.samples(state, data, axis)
        network, optimiser, metrics = self._learn(state, samples, data.carry, key, axis)
        fit = losses.explained_variance(samples.value, samples.target, axis_name=axis)
        metrics |= {"explained_variance": fit, "learning_rate": value_at(self.learning_rate, state.step)}
        return self.after(state, data, network, optimiser, moments, axis), metrics

    def _learn(
        self, state: ActorCriticState, samples: Samples, carry: Any, key: PRNGKeyArray, axis: str | None
    ) -> tuple[Network, Any, Scalars]:
        """Learns for all epochs; metrics are means over the gradient steps taken."""
        steps, here = samples.log_prob.shape
        whole = is_recurrent(carry)
        parts = samples if whole else flat_time(samples)
        division = divide(self.num_envs, here, 1 if whole else steps, self.minibatches, axis)
        rate = value_at(self.learning_rate, state.step)

        def batches(key: PRNGKeyArray) -> tuple[Array, Array]:
            chosen = minibatch_indices(division, key)
            return chosen, jax.vmap(
                lambda c: self.normalised_advantages(take_minibatch(parts.advantage, carry, c)[0], axis)
            )(chosen)

        def loss(network: Network, chosen: Array, advantage: Array) -> tuple[Float[Array, ""], Scalars]:
            part, before = take_minibatch(parts, carry, chosen)
            part = eqx.tree_at(lambda s: s.advantage, part, advantage)
            return self.loss(network, part, before, state)

        def step(learned: tuple[Network, Any], batch: tuple[Array, Array]) -> tuple[tuple[Network, Any], Scalars]:
            network, optimiser = learned
            gradient, metrics = gradient_of(loss)(network, *batch)
            network, optimiser, norm = apply_gradients(
                network, self.optimiser(), optimiser, gradient, rate, self.max_gradient_norm, axis
            )
            return (network, optimiser), metrics | {"gradient_norm": norm}

        keys = jax.random.split(key, self.epochs)
        learned, metrics = run_epochs(step, (state.network, state.optimiser), batches, keys, self.target_kl, axis)
        return *learned, metrics

    def loss(
        self, network: Network, samples: Samples, carry: Any, state: ActorCriticState
    ) -> tuple[Float[Array, ""], Scalars]:
        """Returns the objective of one minibatch, to be minimised, and its parts.

        Args:
            network: with the parameters that the gradient is of.
            samples: [n, ...], or [T, n, ...] with a carry; their advantages are normalised already.
            carry: of a recurrent network, [n, ...] before the first step; else `()`.
            state: before the update: schedules are read at its step.
        """
        now = evaluate_actions(network, samples, carry)
        old_log_prob, advantage, target, old_value = (
            x.reshape(-1) for x in (samples.log_prob, samples.advantage, samples.target, samples.value)
        )
        log_ratio = now.log_prob - old_log_prob
        clip = value_at(self.clip, state.step)
        policy_loss = jnp.mean(jax.vmap(losses.clipped_surrogate, (0, 0, None))(log_ratio, advantage, clip))
        if self.value_clip is None:
            value_loss = jnp.mean(jax.vmap(losses.squared)(now.value - target))
        else:
            clipped = jax.vmap(losses.clipped_value_loss, (0, 0, 0, None))
            value_loss = jnp.mean(clipped(now.value, old_value, target, jnp.asarray(self.value_clip, jnp.float32)))
        entropy = jnp.mean(now.entropy)
        bonus = value_at(self.entropy_coefficient, state.step) * entropy
        metrics = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "approx_kl": jnp.mean(jax.vmap(losses.approx_kl)(log_ratio)),
            "clipfrac": jnp.mean(jax.vmap(losses.was_clipped, (0, None))(log_ratio, clip).astype(jnp.float32)),
        }
        return policy_loss + self.value_coefficient * value_loss - bonus, jax.lax.stop_gradient(metrics)
