"""Behaviour cloning."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import ConfigError
from ...core.timestep import ReplayBatch
from ...nn.actor_q import CRITIC_OPTIONS, ActorQ, ActorQConfig, check_policy_fits
from ...nn.batch_renorm import with_statistics
from ...ops.across import mean_over
from ...ops.distributions import Categorical, Distribution
from ...ops.schedules import counted, value_at
from .critics import Batch, acted
from .epochs import Scalars
from .gradients import apply_gradients, gradient_vector
from .offline import OfflineAgent, OfflineState, log_probs


class BC(OfflineAgent):
    """A policy that does what was done in recorded transitions: supervised learning of actions.

    Discrete actions are learned by cross-entropy, those of a Box by the likelihood of a normal distribution about
    mu(s), with one standard deviation for all observations:

        loss = -E[log pi(a | s)]

    With `policy="deterministic"` the policy gives one action of a Box, in the unit box [-1, 1]^A, and
    loss = E[mean_i (mu_i(s) - a_i)^2]. Rewards are not looked at.

    Attributes:
        dataset, batch_size, network, learning_rate, normalise_observations, observation_limit: as of `OfflineAgent`.

    Metrics, means over all gradient steps: "policy_loss", "gradient_norm", "learning_rate"; of distributions "entropy",
    of Discrete actions "accuracy" (how often the likeliest action is the recorded one).

    References:
        Pomerleau, ALVINN: an autonomous land vehicle in a neural network, NeurIPS (1988).
        Bain and Sammut, A framework for behavioural cloning, Machine Intelligence 15 (1995).
    """

    unused_options: ClassVar[tuple[str, ...]] = CRITIC_OPTIONS

    @property
    def policy(self) -> str:
        kind = self.network.policy if isinstance(self.network, ActorQConfig) else "normal"
        if kind == "stochastic":
            why = "a squashed normal has no density at the bounds, where actions lie"
            raise ConfigError("policy", kind, f"use 'normal', or for a Box 'deterministic': {why}")
        return kind

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> OfflineState:
        check_policy_fits(spec.action_space, self.policy, "'normal'")
        return super().init(spec, key)

    def beside(self, network: ActorQ, spec: EnvSpec, key: PRNGKeyArray) -> dict[str, Any]:
        return {}

    def update(
        self, state: OfflineState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[OfflineState, Scalars]:
        rate = value_at(self.learning_rate, data.steps)
        batch = self.batch(state, data)
        gradient, told = jax.grad(imitation_loss, has_aux=True)(state.actor, batch, axis)
        gradient, metrics = mean_over((gradient_vector(gradient), told[0]), axis)
        stepped, optimiser, norm = apply_gradients(
            state.actor, self.optimiser(), state.optimisers["actor"], gradient, rate, None
        )
        after = OfflineState(
            with_statistics(stepped, told[1]),
            (),
            None,
            None,
            {"actor": optimiser},
            counted(state.updates),
            state.action_space,
            state.observations,
        )
        return after, metrics | {"gradient_norm": norm, "learning_rate": rate}


def imitation_loss(actor: Any, batch: Batch, axis: str | None) -> tuple[Float[Array, ""], tuple[Scalars, Any]]:
    """Computes -E[log pi(a | s)], or E[mean_i (mu_i(s) - a_i)^2] of one action; metrics, and the actor that learns."""
    policies, actor = acted(actor, batch.obs, axis)
    if not isinstance(policies, Distribution):
        loss = jnp.mean(jnp.square(policies - batch.action))
        return loss, (jax.lax.stop_gradient({"policy_loss": loss}), actor)
    loss = -jnp.mean(log_probs(policies, batch.action))
    metrics = {"policy_loss": loss, "entropy": jnp.mean(jax.vmap(lambda policy: policy.entropy())(policies))}
    if isinstance(policies, Categorical):
        right = jax.vmap(Categorical.mode)(policies) == batch.action
        metrics["accuracy"] = jnp.mean(right.astype(jnp.float32))
    return loss, (jax.lax.stop_gradient(metrics), actor)
