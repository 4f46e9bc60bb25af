"""Deep Q-networks."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ...collectors.replay import Replay
from ...core.agent import Agent, Estimate
from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_flag, check_number, check_size
from ...core.timestep import ReplayBatch, Transition
from ...nn.atoms import DistributionalQNetwork
from ...nn.noisy import is_noisy, with_noise
from ...nn.q_network import FORGETFUL, QNetworkBuilder, QNetworkConfig
from ...nn.torso import RECURRENT_OPTIONS
from ...ops import losses
from ...ops.across import mean_over
from ...ops.munchausen import munchausen_target
from ...ops.schedules import Linear, ScalarOrSchedule, value_at
from ...ops.td_targets import action_value, double_q_learning_target, q_learning_target
from .distributional import atoms_loss, target_atoms, target_mean
from .epochs import Scalars
from .gradients import apply_gradients, gradient_of, init_optimiser
from .q_values import build_q_network, check_q_settings, choose
from .replay_of import OF_VALUES, check_priorities, replay_of


class DQNState(eqx.Module):
    """The state of DQN: what it has learned.

    Attributes:
        network: the parameters of the action values.
        target: an older copy of them, which the targets are computed with.
        optimiser: optax's state.
        updates: gradient steps so far.
        step: environment steps at the last update, of all environments: the count that schedules are read at.
    """

    network: Any
    target: Any
    optimiser: Any
    updates: Int[Array, ""]
    step: Int[Array, ""]


class DQN(Agent):
    """Q-learning with a network, from minibatches of a replay buffer and towards targets of an older network.

    loss = E[(y - Q(s, a))^2 / 2], or Huber's loss in the place of the square; Q' is the target network in
    y = r + gamma Q'(s', argmax_a Q(s', a)) with `double`, else y = r + gamma max_a Q'(s', a).

    Of a network with a `distribution`, Q is the mean of what it learns: the distribution of r + gamma Z'(s', a'), a' as
    above, projected to its atoms (C51), by its quantiles (QR), or of its mean by bins around it (HL-Gauss).

    Of a `noisy` network the noise is drawn anew for each action, and in a gradient step once each for the loss, the
    targets, and the choice of their actions. Evaluation is without it. With `epsilon=0` it is all that explores.

    Time limits bootstrap: the value of a truncated step's true successor counts, that of a terminated one is zero.

    Attributes:
        num_envs: environments that act at once.
        num_steps: steps of each environment between two rounds of learning.
        capacity: transitions that the replay buffer keeps; rounded up to whole rounds of acting.
        batch_size: transitions of one gradient step.
        gradient_steps: gradient steps of one round of learning.
        update_ratio: gradient steps per environment step, 1/512 to 20: in the place of `num_steps` and
            `gradient_steps`, which it sets; None to leave them alone.
        learning_starts: environment steps before the first gradient step; until then epsilon is that of step 0.
        n_step: steps whose rewards are added up before the value of what follows: y = r_1 + gamma r_2 + ... +
            gamma^n Q'(s_n, .); fewer where an episode ends sooner. From 2 on y depends on actions of older policies.
        network: builds the network: a `QNetworkConfig`, or a function (observation space, action space, key).
        learning_rate: learning rate of Adam, a number or a schedule of the environment steps taken.
        discount: discount factor gamma, in [0, 1].
        epsilon: probability of a random action, a number or a schedule.
        double: whether the network that learns chooses the action that the target network values.
        target_period: gradient steps between two updates of the target network.
        tau: how far each update moves the target network, target <- (1 - tau) target + tau network: 1 copies.
        huber_delta: the error from which on the loss is linear; None for the square everywhere, and of quantiles 1.
        max_gradient_norm: the global norm of the gradient is scaled down to this; None for no limit.
        adam_epsilon: added to Adam's denominator.
        prioritised: whether transitions are drawn in proportion to |y - Q(s, a)|^alpha as it was when they were learned
            from last, and count in the loss by the importance weights w_i.
        priority_alpha: exponent alpha of the priorities in the draws, in [0, 1]; 0 for uniform ones.
        priority_beta: exponent beta of the importance weights, a number in [0, 1] or a schedule.
        munchausen: whether the log-policy is added to rewards and the entropy to values: y = r + alpha [t log
            pi(a|s)]_l0^0 + gamma t log sum_a' exp(Q'(s', a') / t), of the policy pi = softmax(Q' / t); there is no
            maximum then that `double` could choose.
        munchausen_alpha: weight alpha of the log-policy that is added to the reward; 0 for soft Q-learning.
        munchausen_temperature: temperature t of the policy softmax(Q' / t).
        munchausen_floor: floor l0 of the log-policy times t: what lies below counts as this much.

    Metrics: "td_loss", "td_error" (mean absolute value), "q_values" (mean over actions taken), "gradient_norm" (means
    over all gradient steps), "learning_rate", "epsilon".

    Differs from the paper: Adam instead of RMSProp, the square of all errors unless `huber_delta` is 1, layer
    normalisation, and environments act side by side.

    References:
        Mnih et al., Human-level control through deep reinforcement learning, Nature 518 (2015), algorithm 1.
        Van Hasselt, Guez and Silver, Deep reinforcement learning with double Q-learning, arXiv:1509.06461, equation 4.
        Wang et al., Dueling network architectures for deep reinforcement learning, arXiv:1511.06581, equation 9.
        Lillicrap et al., Continuous control with deep reinforcement learning, arXiv:1509.02971, algorithm 1 (tau).
        Hessel et al., Rainbow, arXiv:1710.02298, "Extensions to DQN" (n_step).
        Schaul et al., Prioritized experience replay, arXiv:1511.05952, algorithm 1 (prioritised).
        Bellemare, Dabney and Munos, A distributional perspective on reinforcement learning, arXiv:1707.06887,
        algorithm 1 (distribution="categorical").
        Dabney et al., Distributional reinforcement learning with quantile regression, arXiv:1710.10044, algorithm 1
        (distribution="quantile").
        Farebrother et al., Stop regressing, arXiv:2403.03950, section 3.1 (distribution="hl_gauss").
        Fortunato et al., Noisy networks for exploration, arXiv:1706.10295, section 3.1 (noisy).
        Vieillard, Pietquin and Geist, Munchausen reinforcement learning, arXiv:2007.14430, equation 2 (munchausen).
        Obando-Ceron and Castro, Revisiting Rainbow, arXiv:2011.14826 (Adam with the square).
    """

    unused_options: ClassVar[tuple[str, ...]] = RECURRENT_OPTIONS

    num_envs: int = eqx.field(static=True, default=8)
    num_steps: int = eqx.field(static=True, default=1)
    capacity: int = eqx.field(static=True, default=100_000)
    batch_size: int = eqx.field(static=True, default=128)
    gradient_steps: int = eqx.field(static=True, default=1)
    update_ratio: float | str | None = eqx.field(static=True, default=None)
    learning_starts: int = eqx.field(static=True, default=1_000)
    n_step: int = eqx.field(static=True, default=1)
    network: QNetworkBuilder = eqx.field(static=True, default=QNetworkConfig())
    learning_rate: ScalarOrSchedule = 5e-4
    discount: float | Array = 0.99
    epsilon: ScalarOrSchedule = Linear(1.0, 0.05, "20%")
    double: bool = eqx.field(static=True, default=True)
    target_period: int = eqx.field(static=True, default=200)
    tau: float | Array = 1.0
    huber_delta: float | Array | None = None
    max_gradient_norm: float | Array | None = 10.0
    adam_epsilon: float | Array = 1e-8
    prioritised: bool = eqx.field(static=True, default=False)
    priority_alpha: float | Array = 0.6
    priority_beta: ScalarOrSchedule = Linear(0.4, 1.0, "100%")
    munchausen: bool = eqx.field(static=True, default=False)
    munchausen_alpha: float | Array = 0.9
    munchausen_temperature: float | Array = 0.03
    munchausen_floor: float | Array = -1.0

    def __check_init__(self) -> None:
        _ = self.learns_from  # checks what it is made of
        check_q_settings(self)
        if isinstance(self.network, QNetworkConfig) and self.network.recurrent is not None:
            raise ConfigError("recurrent", self.network.recurrent, FORGETFUL)
        check_flag("double", self.double)
        check_size("target_period", self.target_period)
        check_number("tau", self.tau, low=0, high=1, open_low=True)
        if self.huber_delta is not None:
            check_number("huber_delta", self.huber_delta, low=0, open_low=True)
        check_priorities(self)
        self._check_munchausen()

    def _check_munchausen(self) -> None:
        check_flag("munchausen", self.munchausen)
        check_number("munchausen_alpha", self.munchausen_alpha, low=0, high=1)
        check_number("munchausen_temperature", self.munchausen_temperature, low=0, open_low=True, open_high=True)
        check_number("munchausen_floor", self.munchausen_floor, high=0)
        if self.munchausen and self.n_step > 1:
            raise ConfigError("munchausen", True, f"it adds to every step's reward; use n_step=1, not {self.n_step}")
        if self.munchausen and isinstance(self.network, QNetworkConfig) and self.network.distribution != "scalar":
            fix = f"its targets are of values; use distribution='scalar', not {self.network.distribution!r}"
            raise ConfigError("munchausen", True, fix)

    @property
    def learns_from(self) -> Replay:
        steps = self.num_steps, self.gradient_steps
        if self.update_ratio is None:
            return replay_of(self, OF_VALUES, steps)
        if steps != (1, 1):
            fix = "it sets num_steps and gradient_steps; leave those out, or leave it out"
            raise ConfigError("update_ratio", self.update_ratio, fix)
        return replay_of(self, OF_VALUES)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.scale_by_adam(eps=self.adam_epsilon)  # pyright: ignore[reportArgumentType]

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> DQNState:
        network = build_q_network(self.network, spec, key)
        if self.munchausen and isinstance(network, DistributionalQNetwork):
            raise ConfigError("munchausen", True, "its targets are of values; use a network that learns nothing more")
        return DQNState(network, network, init_optimiser(network, self.optimiser()), jnp.int32(0), jnp.int32(0))

    def act(
        self, state: DQNState, obs: PyTree[Array], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        """Chooses an action of the highest value, ties at random; with probability epsilon any."""
        network = state.network
        if is_noisy(network) and not greedy:
            noise_key, key = jax.random.split(key)
            network = with_noise(network, noise_key)
        return choose(network(obs), value_at(self.epsilon, state.step), key, greedy=greedy), carry, None

    def estimate(self, state: DQNState, obs: PyTree[Array], action: Int[Array, ""]) -> Estimate | None:
        """Returns Q(s, a), without noise; None with `munchausen`, whose values are not those of rewards alone."""
        return None if self.munchausen else Estimate(action_value(state.network(obs), action))

    def update(
        self, state: DQNState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[DQNState, Scalars]:
        state, metrics, _ = self.update_with_errors(state, data, key, axis=axis)
        return state, metrics

    def update_with_errors(
        self, state: DQNState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[DQNState, Scalars, Float[Array, " n"]]:
        rate = value_at(self.learning_rate, data.steps)
        loss_key, target_key, choice_key = jax.random.split(key, 3)  # the same on all devices, as the noise has to be
        disturbed = with_noise(state.network, choice_key), with_noise(state.target, target_key)
        targets = self.targets(dataclasses.replace(state, network=disturbed[0], target=disturbed[1]), data)

        def loss(network: Any) -> tuple[Float[Array, ""], tuple[Scalars, Float[Array, " n"]]]:
            return self.loss(with_noise(network, loss_key), data, targets)

        gradient, (metrics, errors) = gradient_of(loss)(state.network)
        network, optimiser, norm = apply_gradients(
            state.network, self.optimiser(), state.optimiser, gradient, rate, self.max_gradient_norm, axis
        )
        metrics = mean_over(metrics, axis) | {
            "gradient_norm": norm,
            "learning_rate": rate,
            "epsilon": value_at(self.epsilon, data.steps),
        }
        updates = state.updates + 1
        target = self._moved_target(state.target, network, updates)
        return DQNState(network, target, optimiser, updates, data.steps), metrics, errors

    def adopt(self, fresh: DQNState, trained: DQNState) -> DQNState:
        """Takes over the network and the target network."""
        return DQNState(trained.network, trained.target, fresh.optimiser, fresh.updates, fresh.step)

    def targets(self, state: DQNState, data: ReplayBatch) -> Float[Array, "n *N"]:
        """Computes what the values of the actions taken should become; or their distributions, see `target_atoms`."""
        batch, discounts = data.transitions, data.discounts(self.discount)
        if isinstance(state.target, DistributionalQNetwork):
            return self._distributions(state, batch, discounts)
        next_q = jax.vmap(state.target)(batch.next_obs)
        if self.munchausen:
            q = jax.vmap(state.target)(batch.obs)
            of_each = jax.vmap(munchausen_target, (0, 0, 0, 0, 0, 0, None, None, None))
            numbers = self.munchausen_alpha, self.munchausen_temperature, self.munchausen_floor
            return of_each(batch.reward, batch.terminated, q, batch.action, next_q, discounts, *numbers)
        if not self.double:
            return jax.vmap(q_learning_target)(batch.reward, batch.terminated, next_q, discounts)
        selector_q = jax.vmap(state.network)(batch.next_obs)
        return jax.vmap(double_q_learning_target)(batch.reward, batch.terminated, next_q, selector_q, discounts)

    def _distributions(self, state: DQNState, batch: Transition, discounts: Float[Array, " n"]) -> Float[Array, "n N"]:
        """Computes the targets of distributions, of the successor's action with the highest mean."""

        def of_one(next_obs: Any, reward: Array, terminated: Array, discount: Array) -> Array:
            outputs = state.target.outputs(next_obs)
            q = state.network(next_obs) if self.double else state.target.values(outputs, next_obs)
            return target_atoms(state.target.atoms, outputs[jnp.argmax(q)], reward, terminated, discount)

        return jax.vmap(of_one)(batch.next_obs, batch.reward, batch.terminated, discounts)

    def loss(
        self, network: Any, data: ReplayBatch, targets: Float[Array, "n *N"]
    ) -> tuple[Float[Array, ""], tuple[Scalars, Float[Array, " n"]]]:
        """Computes the objective of one minibatch, to be minimised; its parts; and the error of each transition.

        Args:
            network: with the parameters that the gradient is of.
            data: transitions [n, ...].
            targets: of their action values, or of their distributions.
        """
        of_each = self._distribution_losses if isinstance(network, DistributionalQNetwork) else self._value_losses
        each, error, td_error, q = of_each(network, data.transitions, targets)
        loss = jnp.mean(each if data.weights is None else data.weights * each)
        metrics = {"td_loss": loss, "td_error": jnp.mean(jnp.abs(td_error)), "q_values": jnp.mean(q)}
        return loss, jax.lax.stop_gradient((metrics, error))

    def _value_losses(self, network: Any, batch: Transition, targets: Float[Array, " n"]) -> tuple[Array, ...]:
        """Returns (loss, error, TD error, value) of each transition; the second is what priorities are made of."""
        q = jax.vmap(action_value)(jax.vmap(network)(batch.obs), batch.action)
        error = targets - q
        if self.huber_delta is None:
            return jax.vmap(losses.squared)(error), error, error, q
        return jax.vmap(losses.huber, (0, None))(error, self.huber_delta), error, error, q

    def _distribution_losses(
        self, network: DistributionalQNetwork, batch: Transition, targets: Float[Array, "n N"]
    ) -> tuple[Array, ...]:
        """Returns the same of distributions, whose error is their loss."""
        delta, atoms = 1.0 if self.huber_delta is None else self.huber_delta, network.atoms

        def of_one(obs: Any, action: Array, target: Array) -> tuple[Array, ...]:
            outputs = network.outputs(obs)[action]
            loss, q = atoms_loss(atoms, outputs, target, delta), atoms.mean(outputs)
            return loss, loss, target_mean(atoms, target) - q, q

        return jax.vmap(of_one)(batch.obs, batch.action, targets)

    def _moved_target(self, target: Any, network: Any, updates: Int[Array, ""]) -> Any:
        """Moves the target network if it is time to."""
        due = updates % self.target_period == 0

        def moved(old: Array, new: Array) -> Array:
            return jnp.where(due, (1.0 - self.tau) * old + self.tau * new, old)

        return jax.tree.map(moved, target, network)
