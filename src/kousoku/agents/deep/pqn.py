"""Parallelised Q-networks: Q-learning with a network, without a replay buffer and without a target network."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ...collectors.rollouts import Rollouts
from ...core.agent import Agent
from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_number, check_size
from ...core.timestep import Rollout
from ...nn.atoms import ATOMS_OPTIONS
from ...nn.q_network import QNetworkBuilder, QNetworkConfig, RecurrentQNetwork
from ...ops import losses
from ...ops.advantages import lambda_returns
from ...ops.schedules import Linear, ScalarOrSchedule, counted, value_at
from ...ops.td_targets import action_value
from ...ops.trees import select
from .actor_critic import flat_time, is_recurrent
from .epochs import MOST_EPOCHS, Scalars, run_epochs
from .gradients import apply_gradients, gradient_of, init_optimiser
from .minibatches import divide, minibatch_indices, num_strata, take_minibatch
from .q_values import build_q_network, check_q_settings, choose


class PQNState(eqx.Module):
    """The state of PQN: what it has learned.

    Attributes:
        network: the parameters of the action values.
        optimiser: optax's state.
        step: environment steps so far, of all environments: the count that schedules are read at.
    """

    network: Any
    optimiser: Any
    step: Int[Array, ""]


class QSamples(eqx.Module):
    """Samples of a rollout, [n, ...], of a recurrent network [T, n, ...].

    Attributes:
        obs: the observation.
        is_first: whether an episode began with it, so that the carry begins anew.
        action: what was done.
        target: what its value should become.
    """

    obs: PyTree[Array]
    is_first: Bool[Array, "*n"]
    action: Int[Array, "*n"]
    target: Float[Array, "*n"]


class PQN(Agent):
    """Q-learning with lambda returns from rollouts of many environments, several epochs of minibatches over each.

    The targets are computed once for a rollout, by the network before it learns from it:

        G_t = r_t + gamma [(1 - lambda) max_a Q(s_(t+1), a) + lambda G_(t+1)]

        loss = E[(G - Q(s, a))^2 / 2]

    Layer normalisation, on by default, keeps the values from running away; elsewhere a target network does. Time limits
    bootstrap: the value of a truncated step's true successor counts, that of a terminated one is zero.

    Attributes:
        num_envs: environments that act at once.
        num_steps: steps of each environment between two updates.
        network: builds the network: a `QNetworkConfig`, or a function (observation space, action space, key).
        learning_rate: learning rate of RAdam, a number or a schedule of the environment steps taken.
        discount: discount factor gamma, in [0, 1].
        lambda_: lambda of the returns that values are learned from, in [0, 1]; 0 for targets of one step.
        epsilon: probability of a random action, a number or a schedule.
        epochs: passes over a rollout.
        minibatches: minibatches of a rollout, one gradient step each.
        max_gradient_norm: the global norm of the gradient is scaled down to this; None for no limit.
        adam_epsilon: added to RAdam's denominator.

    Metrics: "td_loss", "td_error" (mean absolute value), "q_values" (mean over actions taken), "gradient_norm" (means
    over all gradient steps), "learning_rate", "epsilon".

    A recurrent network remembers what it observed since an episode began; minibatches are then whole sequences of some
    environments, which begin with what was remembered when the rollout did.

    Differs from the paper: minibatches are drawn from strata (see `minibatches`); sequences begin with what the network
    remembered then, without steps before them to warm up on.

    References:
        Gallici et al., Simplifying deep temporal difference learning, arXiv:2407.04811, algorithm 1 and section 4.
        Peng and Williams, Incremental multi-step Q-learning, Machine Learning 22 (1996): its lambda returns.
        Liu et al., On the variance of the adaptive learning rate and beyond, arXiv:1908.03265: RAdam.
    """

    unused_options: ClassVar[tuple[str, ...]] = ("noisy", "noisy_std", *ATOMS_OPTIONS)

    num_envs: int = eqx.field(static=True, default=32)
    num_steps: int = eqx.field(static=True, default=64)
    network: QNetworkBuilder = eqx.field(static=True, default=QNetworkConfig())
    learning_rate: ScalarOrSchedule = 1e-3
    discount: float | Array = 0.99
    lambda_: float | Array = 0.95
    epsilon: ScalarOrSchedule = Linear(1.0, 0.05, "20%")
    epochs: int = eqx.field(static=True, default=4)
    minibatches: int = eqx.field(static=True, default=4)
    max_gradient_norm: float | Array | None = 10.0
    adam_epsilon: float | Array = 1e-8

    def __check_init__(self) -> None:
        _ = self.learns_from  # checks what it is made of
        check_q_settings(self)
        if isinstance(self.network, QNetworkConfig) and self.network.distribution != "scalar":
            raise ConfigError("distribution", self.network.distribution, "use 'scalar', or 'dqn': PQN learns means")
        if isinstance(self.network, QNetworkConfig) and self.network.noisy:
            raise ConfigError("noisy", True, "use False, or 'dqn': PQN explores by epsilon alone")
        check_number("lambda_", self.lambda_, low=0, high=1)
        check_size("epochs", self.epochs, high=MOST_EPOCHS)
        check_size("minibatches", self.minibatches)

    @property
    def learns_from(self) -> Rollouts:
        """Rollouts whose environments devices share by whole strata of the minibatches."""
        for name in ("num_envs", "num_steps", "minibatches"):
            check_size(name, getattr(self, name))
        strata = num_strata(self.num_envs, 1 if self._is_recurrent() else self.num_steps, self.minibatches)
        if not isinstance(self.network, QNetworkConfig) and self.num_envs % self.minibatches == 0:
            strata = math.gcd(strata, num_strata(self.num_envs, 1, self.minibatches))  # one's own may remember, too
        return Rollouts(self.num_envs, self.num_steps, self.num_envs * self.num_steps // self.minibatches, strata)

    def _is_recurrent(self) -> bool:
        """Returns whether its network remembers, and so learns from whole sequences."""
        return isinstance(self.network, QNetworkConfig) and self.network.recurrent is not None

    def optimiser(self) -> optax.GradientTransformation:
        """Returns the optax transformation of the gradients."""
        return optax.scale_by_radam(eps=self.adam_epsilon)  # pyright: ignore[reportArgumentType]

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> PQNState:
        network = build_q_network(self.network, spec, key, remembers=True)
        return PQNState(network, init_optimiser(network, self.optimiser()), jnp.int32(0))

    def adopt(self, fresh: PQNState, trained: PQNState) -> PQNState:
        """Takes over the network."""
        return PQNState(trained.network, fresh.optimiser, fresh.step)

    def initial_carry(self, state: PQNState) -> PyTree[Array]:
        return state.network.initial_carry() if isinstance(state.network, RecurrentQNetwork) else ()

    def act(
        self, state: PQNState, obs: PyTree[Array], carry: PyTree[Array], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], PyTree[Array], None]:
        """Chooses an action of the highest value, ties at random; with probability epsilon any."""
        q, carry = q_and_carry(state.network, obs, carry)
        return choose(q, value_at(self.epsilon, state.step), key, greedy=greedy), carry, None

    def update(
        self, state: PQNState, data: Rollout, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[PQNState, Scalars]:
        whole, (steps, here) = is_recurrent(data.carry), data.reward.shape
        samples = QSamples(data.obs, is_first(data), data.action, self.targets(state.network, data))
        samples = samples if whole else flat_time(samples)
        division = divide(self.num_envs, here, 1 if whole else steps, self.minibatches, axis)
        rate = value_at(self.learning_rate, state.step)

        def step(learned: tuple[Any, Any], chosen: Int[Array, " n"]) -> tuple[tuple[Any, Any], Scalars]:
            network, optimiser = learned
            batch, carry = take_minibatch(samples, data.carry, chosen)
            gradient, metrics = gradient_of(q_loss)(network, batch, carry)
            network, optimiser, norm = apply_gradients(
                network, self.optimiser(), optimiser, gradient, rate, self.max_gradient_norm, axis
            )
            return (network, optimiser), metrics | {"gradient_norm": norm}

        batches, keys = partial(minibatch_indices, division), jax.random.split(key, self.epochs)
        (network, optimiser), metrics = run_epochs(step, (state.network, state.optimiser), batches, keys, None, axis)
        metrics |= {"learning_rate": rate, "epsilon": value_at(self.epsilon, state.step)}
        after = counted(state.step, jnp.int32(self.num_steps * self.num_envs))
        return PQNState(network, optimiser, after), metrics

    def targets(self, network: Any, rollout: Rollout) -> Float[Array, "T B"]:
        """Computes what the values of a rollout's actions should become."""
        return jax.vmap(lambda_returns, (1, 1, 1, 1, None, None), 1)(
            rollout.reward,
            best_next(network, rollout),
            rollout.terminated,
            rollout.truncated,
            self.discount,
            self.lambda_,
        )


def is_first(rollout: Rollout) -> Bool[Array, "T B"]:
    """Returns where a recurrent network's carry begins anew: after a step that ended an episode."""
    ended = rollout.terminated | rollout.truncated
    return jnp.concatenate([jnp.zeros_like(ended[:1]), ended[:-1]])


def q_and_carry(network: Any, obs: PyTree[Array], carry: PyTree[Array]) -> tuple[Float[Array, " A"], PyTree[Array]]:
    """Returns every action's value, and the carry after the observation; `()` stays as it is."""
    return network(obs, carry) if isinstance(network, RecurrentQNetwork) else (network(obs), carry)


def best_next(network: Any, rollout: Rollout) -> Float[Array, "T B"]:
    """Returns the largest value of every true successor, by what is remembered there."""
    if not is_recurrent(rollout.carry):
        next_q = jax.vmap(lambda obs: jnp.max(network(obs)))(flat_time(rollout.next_obs))
        return next_q.reshape(rollout.reward.shape)

    def step(carry: Any, now: tuple[Any, Any, Array]) -> tuple[Any, Array]:
        obs, next_obs, first = now
        _, after = network(obs, select(first, network.initial_carry(), carry))
        return after, jnp.max(network(next_obs, after)[0])

    of_one = lambda carry, *steps: jax.lax.scan(step, carry, steps)[1]  # noqa: E731
    return jax.vmap(of_one, (0, 1, 1, 1), 1)(rollout.carry, rollout.obs, rollout.next_obs, is_first(rollout))


def taken_values(network: Any, batch: QSamples, carry: PyTree[Array]) -> Float[Array, "*n"]:
    """Returns the values of the actions taken; with a carry [n, ...] of whole sequences, one step after the other."""
    if not is_recurrent(carry):
        return jax.vmap(action_value)(jax.vmap(network)(batch.obs), batch.action)

    def step(carry: Any, now: tuple[Any, Array, Array]) -> tuple[Any, Array]:
        obs, first, action = now
        q, after = network(obs, select(first, network.initial_carry(), carry))
        return after, action_value(q, action)

    of_one = lambda carry, *steps: jax.lax.scan(step, carry, steps)[1]  # noqa: E731
    return jax.vmap(of_one, (0, 1, 1, 1), 1)(carry, batch.obs, batch.is_first, batch.action)


def q_loss(network: Any, batch: QSamples, carry: PyTree[Array]) -> tuple[Float[Array, ""], Scalars]:
    """Computes the objective of one minibatch, to be minimised, and its parts."""
    q = taken_values(network, batch, carry).reshape(-1)
    error = batch.target.reshape(-1) - q
    loss = jnp.mean(jax.vmap(losses.squared)(error))
    metrics = {"td_loss": loss, "td_error": jnp.mean(jnp.abs(error)), "q_values": jnp.mean(q)}
    return loss, jax.lax.stop_gradient(metrics)
