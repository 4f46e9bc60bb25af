"""Common ground of SAC, TD3 and DDPG: an actor and its critics, learned from a replay buffer."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ...collectors.replay import Replay
from ...compiler import kernel
from ...core.agent import Agent, Estimate
from ...core.env import EnvSpec
from ...core.errors import check_flag, check_number, check_size
from ...core.leaves import key_like
from ...core.spaces import Box, Discrete, element_like
from ...core.timestep import ReplayBatch
from ...nn.actor_q import (
    ActorQ,
    ActorQBuilder,
    ActorQConfig,
    check_actor_q,
    check_learnable,
    learned_action,
    like_learned,
    to_action,
)
from ...nn.batch_renorm import with_statistics
from ...nn.boxes import size_of
from ...nn.fits import check_builder, check_has_numbers
from ...nn.hidden import drops
from ...nn.observation_stats import Statistics, init_obs_stats, normalise_obs, update_obs_stats
from ...ops.across import mean_over
from ...ops.schedules import Linear, ScalarOrSchedule, check_learning_rate, counted, value_at
from ...ops.td_targets import action_value
from .critics import (
    Batch,
    CriticLoss,
    NextActions,
    critic_loss,
    has_target,
    is_counted,
    joint_critic_loss,
    outputs_of,
    sum_of,
    targets_of,
)
from .epochs import Scalars
from .gradients import apply_gradients, gradient_vector, gradient_when_due, init_optimiser
from .replay_of import OF_VALUES, check_priorities, replay_of


class ActorQState(eqx.Module):
    """The state of an agent with an actor and critics: what it has learned.

    Attributes:
        network: the parameters of actor and critics.
        target: an average of them over updates, which targets are computed with; None where there is none.
        log_temperature: log alpha; None where there is none to learn.
        actor_optimiser, critic_optimiser: optax's states; the first is of the temperature, too.
        actor_metrics: of the last step of the actor.
        updates: gradient steps so far.
        step: environment steps at the last update, of all environments: the count that schedules are read at.
        action_space: where actions lie.
        observations: running moments of what was observed; None for parts that are not scaled.
    """

    network: ActorQ
    target: Any
    log_temperature: Float[Array, ""] | None
    actor_optimiser: Any
    critic_optimiser: Any
    actor_metrics: Scalars
    updates: Int[Array, ""]
    step: Int[Array, ""]
    action_space: Box | Discrete
    observations: Statistics = None


class Learned(NamedTuple):
    """The parameters that the actor's step changes: the actor, and the logarithm of a temperature that is learned."""

    actor: Any
    log_temperature: Float[Array, ""] | None


class ActorQAgent(Agent):
    """An actor, and critics that learn the values of what it would do, from minibatches of a replay buffer.

    A subclass says what targets the critics have and what the actor's loss is. Actions of a Box are learned in the unit
    box, whatever its bounds. All gradients of a step are taken at the parameters before it.

    Attributes:
        num_envs: environments that act at once.
        capacity: transitions that the replay buffer keeps; rounded up to whole rounds of acting.
        batch_size: transitions of one gradient step.
        update_ratio: gradient steps per environment step, 1/512 to 20.
        learning_starts: environment steps before the first gradient step; until then actions are uniformly random.
        n_step: steps whose rewards are added up before the value of what follows, fewer where an episode ends sooner.
            From 2 on a target depends on actions of older policies.
        network: builds the network: an `ActorQConfig`, or a function (observation space, action space, key).
        learning_rate: learning rate of Adam, a number or a schedule of the environment steps taken.
        critic_learning_rate: learning rate of the critics' Adam; None for the actor's.
        discount: discount factor gamma, in [0, 1].
        tau: how far a gradient step moves the target network, target <- (1 - tau) target + tau network.
        policy_delay: gradient steps of the critics for each of the actor's.
        adam_beta1: Adam's decay of the mean of gradients.
        adam_epsilon: added to Adam's denominator.
        weight_decay: share of parameters, times the learning rate, that each step takes away from them; None for none.
        normalise_observations: whether floating point observations are centred and scaled by their running moments,
            which are those of all minibatches so far.
        observation_limit: scaled observations are clipped to +- this.
        normalise_rewards: whether rewards are divided by max(sqrt(Var[R]), max |R| / return_limit), R the discounted
            returns so far.
        return_limit: largest scaled return where `normalise_rewards` is on; what `v_max` of a distribution should be.
        prioritised: whether transitions are drawn in proportion to |y - Q(s, a)|^alpha, mean over the critics, as it
            was when they were learned from last, and count in the critics' loss by importance weights.
        priority_alpha: exponent alpha of the priorities in the draws, in [0, 1]; 0 for uniform ones.
        priority_beta: exponent beta of the importance weights, a number in [0, 1] or a schedule.
    """

    num_envs: int = eqx.field(static=True, default=8)
    capacity: int = eqx.field(static=True, default=1_000_000)
    batch_size: int = eqx.field(static=True, default=256)
    update_ratio: float | str = eqx.field(static=True, default=1.0)
    learning_starts: int = eqx.field(static=True, default=5_000)
    n_step: int = eqx.field(static=True, default=1)
    network: ActorQBuilder = eqx.field(static=True, default=ActorQConfig())
    learning_rate: ScalarOrSchedule = 3e-4
    critic_learning_rate: ScalarOrSchedule | None = None
    discount: float | Array = 0.99
    tau: float | Array = 0.005
    policy_delay: int = eqx.field(static=True, default=1)
    adam_beta1: float | Array = 0.9
    adam_epsilon: float | Array = 1e-8
    weight_decay: float | Array | None = None
    normalise_observations: bool = eqx.field(static=True, default=False)
    observation_limit: float | Array = 10.0
    normalise_rewards: bool = eqx.field(static=True, default=False)
    return_limit: float | Array = 5.0
    prioritised: bool = eqx.field(static=True, default=False)
    priority_alpha: float | Array = 0.6
    priority_beta: ScalarOrSchedule = Linear(0.4, 1.0, "100%")

    def __check_init__(self) -> None:
        _ = self.learns_from  # checks what it is made of
        check_builder(self.network, "an ActorQConfig", "a kousoku.nn.ActorQ")
        check_learning_rate("learning_rate", self.learning_rate)
        if self.critic_learning_rate is not None:
            check_learning_rate("critic_learning_rate", self.critic_learning_rate)
        check_number("discount", self.discount, low=0, high=1)
        check_number("tau", self.tau, low=0, high=1, open_low=True)
        check_size("policy_delay", self.policy_delay)
        check_number("adam_beta1", self.adam_beta1, low=0, high=1, open_high=True)
        check_number("adam_epsilon", self.adam_epsilon, low=0, open_low=True, open_high=True)
        if self.weight_decay is not None:
            check_number("weight_decay", self.weight_decay, low=0, open_high=True)
        check_flag("normalise_observations", self.normalise_observations)
        check_number("observation_limit", self.observation_limit, low=0, open_low=True)
        check_number("return_limit", self.return_limit, low=0, open_low=True, open_high=True)
        check_priorities(self)

    @property
    @abstractmethod
    def policy(self) -> str:
        """The kind of policy that it learns, one of `nn.actor_q.ACTORS`."""

    @abstractmethod
    def explore(self, state: ActorQState, obs: PyTree[Array], carry: Any, key: PRNGKeyArray) -> tuple[Array, Any]:
        """Returns an action, in the unit box or a Discrete one, that is not always the same; and what is carried on."""

    @abstractmethod
    def most_likely(self, state: ActorQState, obs: PyTree[Array]) -> Array:
        """Returns the action that has been learned."""

    @abstractmethod
    def copied(self, network: ActorQ) -> Any:
        """Returns the part of a network that the target network is a copy of."""

    @abstractmethod
    def target_critics(self, target: Any) -> tuple:
        """Returns the critics of a target network."""

    @abstractmethod
    def next_actions(self, state: ActorQState, batch: Batch, key: PRNGKeyArray) -> NextActions:
        """Returns what it would do in the successors of a minibatch."""

    @abstractmethod
    def actor_loss(
        self, learned: Learned, critics: Any, batch: Batch, key: PRNGKeyArray, axis: str | None = None
    ) -> tuple[Float[Array, ""], tuple[Scalars, Any]]:
        """Computes the objective of the actor (and of the temperature), to be minimised; its parts, and the actor with
        its running moments after the minibatch.
        """

    @property
    def learns_from(self) -> Replay:
        return replay_of(self, (*OF_VALUES, "normalise_rewards", "return_limit"))

    def optimiser(self) -> optax.GradientTransformation:
        """Returns the optax transformation of the gradients."""
        return optax.scale_by_adam(b1=self.adam_beta1, eps=self.adam_epsilon)  # pyright: ignore[reportArgumentType]

    def first_log_temperature(self) -> Float[Array, ""] | None:
        """Returns log alpha before the first update; None where there is none to learn."""
        return None

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> ActorQState:
        check_has_numbers(spec)
        actions, observations = check_learnable(spec.action_space, self.policy), spec.observation_space
        network = self.network(observations, actions, key)
        obs = element_like(observations)
        check_actor_q(network, observations, actions, obs, self.policy, self.network)
        learned = Learned(network.actor, self.first_log_temperature())
        state = ActorQState(
            network=network,
            target=self._target_of(network),
            log_temperature=learned.log_temperature,
            actor_optimiser=init_optimiser(learned, self.optimiser()),
            critic_optimiser=init_optimiser(network.critics, self.optimiser()),
            actor_metrics={},
            updates=jnp.int32(0),
            step=jnp.int32(0),
            action_space=actions,
            observations=init_obs_stats(observations) if self.normalise_observations else None,
        )
        return dataclasses.replace(state, actor_metrics=self._no_actor_metrics(state, obs))

    def _no_actor_metrics(self, state: ActorQState, obs: Any) -> Scalars:
        """Returns zeros for each metric of the actor's step."""

        def metrics(obs: Any, action: Array, key: PRNGKeyArray) -> Scalars:
            obs, action = jax.tree.map(lambda x: x[None], (obs, action))
            batch = Batch(obs, action, jnp.zeros(1), jnp.zeros(1, bool), obs, jnp.zeros(1))
            learned = Learned(state.network.actor, state.log_temperature)
            return self.actor_loss(learned, state.network.critics, batch, key)[1][0]

        shapes = jax.eval_shape(metrics, obs, like_learned(state.action_space), key_like())
        return {name: jnp.float32(0.0) for name in shapes}

    def adopt(self, fresh: ActorQState, trained: ActorQState) -> ActorQState:
        """Takes over the network, the target network, the temperature, and the moments that scale observations."""
        names = ("network", "target", "log_temperature", "observations")
        return dataclasses.replace(fresh, **{name: getattr(trained, name) for name in names})

    def act(
        self, state: ActorQState, obs: PyTree[Array], carry: Any, key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Array, Any, None]:
        """Chooses an action: the learned one, one near it, or until learning starts any."""
        obs = normalise_obs(state.observations, obs, self.observation_limit)
        if greedy:
            return to_action(state.action_space, self.most_likely(state, obs)), carry, None
        chosen_key, any_key = jax.random.split(key)
        chosen, carry = self.explore(state, obs, carry, chosen_key)
        if self.learning_starts:
            chosen = jnp.where(state.step >= self.learning_starts, chosen, any_action(state.action_space, any_key))
        return to_action(state.action_space, chosen), carry, None

    def estimate(self, state: ActorQState, obs: PyTree[Array], action: Array) -> Estimate:
        """Returns the mean over the critics of Q(s, a), and what the policy's randomness adds to rewards."""
        obs = normalise_obs(state.observations, obs, self.observation_limit)
        learned = learned_action(state.action_space, action)
        return Estimate(mean_value(state.network.critics, obs, learned), self.bonus(state, obs))

    def bonus(self, state: ActorQState, obs: PyTree[Array]) -> Float[Array, ""] | None:
        """Returns what the policy's randomness in a state adds to the rewards of other steps; None for nothing."""
        del state, obs
        return None

    def update(
        self, state: ActorQState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[ActorQState, Scalars]:
        state, metrics, _ = self.update_with_errors(state, data, key, axis=axis)
        return state, metrics

    def update_with_errors(
        self, state: ActorQState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[ActorQState, Scalars, Float[Array, " n"]]:
        rate = value_at(self.learning_rate, data.steps)
        batch, observations = self._scaled(
            state.observations, learned_batch(state.action_space, data, self.discount), axis
        )
        critic_key, actor_key = jax.random.split(key)
        if axis is not None:
            critic_key, actor_key = (jax.random.fold_in(k, jax.lax.axis_index(axis)) for k in (critic_key, actor_key))
        critic_gradient, beside = self._critic_gradient(state, batch, critic_key, axis)
        due = state.updates % self.policy_delay == 0
        actor_gradient, (actor_metrics, actor) = self._actor_gradient(state, batch, actor_key, due, axis)
        critic_gradient, actor_gradient, critic_metrics, actor_metrics = mean_over(
            (gradient_vector(critic_gradient), gradient_vector(actor_gradient), beside.metrics, actor_metrics), axis
        )
        critics, critic_optimiser, norm = apply_gradients(
            state.network.critics,
            self.optimiser(),
            state.critic_optimiser,
            critic_gradient,
            rate if self.critic_learning_rate is None else value_at(self.critic_learning_rate, data.steps),
            None,
            weight_decay=self.weight_decay,
        )
        before = Learned(state.network.actor, state.log_temperature)
        learned, actor_optimiser, _ = apply_gradients(
            before, self.optimiser(), state.actor_optimiser, actor_gradient, rate, None, weight_decay=self.weight_decay
        )
        if self.policy_delay > 1:
            old = (before, state.actor_optimiser)
            learned, actor_optimiser = jax.tree.map(
                lambda new, old: jnp.where(due, new, old), (learned, actor_optimiser), old
            )
        network = ActorQ(with_statistics(learned.actor, actor), with_statistics(critics, beside.moved))
        moved = ActorQState(
            network,
            optax.incremental_update(self._target_of(network), state.target, self.target_step(due)),  # pyright: ignore
            learned.log_temperature,
            actor_optimiser,
            critic_optimiser,
            actor_metrics,
            counted(state.updates),
            data.steps,
            state.action_space,
            observations,
        )
        metrics = critic_metrics | actor_metrics | {"gradient_norm": norm, "learning_rate": rate}
        return moved, metrics, beside.errors

    def _scaled(self, observations: Statistics, batch: Batch, axis: str | None) -> tuple[Batch, Statistics]:
        """Returns a minibatch with scaled observations, and their moments with those of the minibatch in them."""
        if observations is None:
            return batch, None
        observations = update_obs_stats(observations, batch.obs, axis)
        scale = jax.vmap(lambda obs: normalise_obs(observations, obs, self.observation_limit))
        return batch._replace(obs=scale(batch.obs), next_obs=scale(batch.next_obs)), observations

    def targets(self, state: ActorQState, batch: Batch, key: PRNGKeyArray) -> Float[Array, "n *N"]:
        """Computes what values of the actions taken, or their distributions, should become, by the target network."""
        critics = self.target_critics(state.target)
        acting_key, critic_key = jax.random.split(key) if drops(critics) else (key, key)
        next_actions = self.next_actions(state, batch, acting_key)
        following = outputs_of(critics, batch.next_obs, next_actions.action, critic_key)
        return targets_of(critics, batch, following, next_actions)

    def _target_of(self, network: ActorQ) -> Any:
        """Returns what the target network is a copy of; None where there is none."""
        return self.copied(network) if has_target(network.critics) else None

    def _critic_gradient(
        self, state: ActorQState, batch: Batch, key: PRNGKeyArray, axis: str | None
    ) -> tuple[Any, CriticLoss]:
        """Returns the gradient of the critics' loss, and what comes beside it."""
        critics = state.network.critics
        target_key, critic_key = jax.random.split(key) if drops(critics) else (key, key)
        if not has_target(critics):
            next_actions = jax.lax.stop_gradient(self.next_actions(state, batch, target_key))
            return jax.grad(joint_critic_loss, has_aux=True)(critics, batch, next_actions, critic_key, axis)
        targets = jax.lax.stop_gradient(self.targets(state, batch, target_key))
        return jax.grad(critic_loss, has_aux=True)(critics, batch, targets, critic_key, axis)

    def _actor_gradient(
        self, state: ActorQState, batch: Batch, key: PRNGKeyArray, due: Bool[Array, ""], axis: str | None
    ) -> tuple[Learned, tuple[Scalars, Any]]:
        """Returns the gradient of the actor's loss, its metrics, and the actor with its running moments; where no step
        is due, zeros and the last ones.
        """
        learned = Learned(state.network.actor, state.log_temperature)

        def gradient() -> tuple[Learned, tuple[Scalars, Any]]:
            return jax.grad(self.actor_loss, has_aux=True)(learned, state.network.critics, batch, key, axis)

        kept = (state.actor_metrics, learned.actor)
        return gradient_when_due(gradient, learned, kept, due, self.policy_delay)

    def target_step(self, due: Bool[Array, ""]) -> float | Array:
        """Returns how far the target network moves in a step in which the actor's is due or not: tau, or 0."""
        del due
        return self.tau


def mean_value(critics: tuple, obs: PyTree[Array], action: Array) -> Float[Array, ""]:
    """Returns the mean over critics of the value of one action, in the unit box or a Discrete one."""
    if is_counted(action):
        return sum_of(action_value(critic(obs), action) for critic in critics) / len(critics)
    return sum_of(critic(obs, action) for critic in critics) / len(critics)


def learned_batch(space: Box | Discrete, data: ReplayBatch, discount: float | Array) -> Batch:
    """Returns a minibatch with what is learned of its actions."""
    of = data.transitions
    action = jax.vmap(lambda action: learned_action(space, action))(of.action)
    return Batch(of.obs, action, of.reward, of.terminated, of.next_obs, data.discounts(discount), data.weights)


def noise_like(key: PRNGKeyArray, action: Float[Array, "n A"]) -> Float[Array, "n A"]:
    """Draws standard normal numbers, by the kernel: as many by XLA take a third of an update's time."""
    rows = jnp.arange(action.shape[0], dtype=jnp.int32)
    return jax.vmap(kernel(_normal), (None, 0, None))(key, rows, jnp.zeros(action.shape[1], jnp.float32))


def _normal(key: PRNGKeyArray, row: Int[Array, ""], like: Float[Array, " A"]) -> Float[Array, " A"]:
    return jax.random.normal(jax.random.fold_in(key, row), like.shape, like.dtype)


def any_action(space: Box | Discrete, key: PRNGKeyArray) -> Array:
    """Draws from the unit box, or from Discrete actions, uniformly."""
    if isinstance(space, Discrete):
        return kernel(_any_of)(key, jnp.int32(space.n))
    return kernel(_anywhere)(key, jnp.zeros(size_of(space), jnp.float32))


def _any_of(key: PRNGKeyArray, n: Int[Array, ""]) -> Int[Array, ""]:
    return jax.random.randint(key, (), 0, n)


def _anywhere(key: PRNGKeyArray, like: Float[Array, " A"]) -> Float[Array, " A"]:
    return jax.random.uniform(key, like.shape, like.dtype, -1.0, 1.0)
