"""SAC, TD3 and DDPG in NumPy and float64, gradients by central differences: what their updates are compared with."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
import returns_reference as returns

from kousoku.agents.deep.sac import SAC
from kousoku.core.timestep import ReplayBatch
from kousoku.nn import SimBaV2, UnitDense, UnitGaussian, UnitHead
from kousoku.nn.batch_renorm import EPSILON, WARM_UP
from kousoku.nn.hidden import DropoutMLP, HiddenBody, RenormMLP, SimBa


def dense(layer: Any, x: np.ndarray) -> np.ndarray:
    if isinstance(layer, UnitHead):
        return scaled(layer.scaler, x @ layer.wide.weight) @ layer.narrow.weight + layer.bias
    return x @ layer.weight + layer.bias


def unit(x: np.ndarray, axis: int = 1) -> np.ndarray:
    return x / np.linalg.norm(x, axis=axis, keepdims=True)


def scaled(scaler: Any, x: np.ndarray) -> np.ndarray:
    return scaler.parameter * scaler.ratio * x


def projected(tree: Any) -> Any:
    """Parameters with the weights of each output of their unit layers scaled to length 1."""

    def of(node: Any) -> Any:
        return eqx.tree_at(lambda n: n.weight, node, unit(node.weight, 0)) if isinstance(node, UnitDense) else node

    return jax.tree.map(of, tree, is_leaf=lambda node: isinstance(node, UnitDense))


def layer_norm(norm: Any, x: np.ndarray) -> np.ndarray:
    return norm.scale * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) + norm.shift


class Pass:
    """One way through layers.

    `batch`: moments of the minibatch count, and running ones are moved (into `moved`); r and d are found in a first
    pass and held in those that follow, as nothing is differentiated through them. `kept`: which units are not dropped.
    """

    def __init__(self, batch: bool = False, kept: np.ndarray | None = None, rate: float = 0.0) -> None:
        self.batch, self.kept, self.rate = batch, kept, rate
        self.held: list[Any] = []
        self.moved: list[Any] = []
        self.at = 0

    def again(self) -> Pass:
        other = Pass(self.batch, self.kept, self.rate)
        other.held = self.held
        return other

    def renorm(self, norm: Any, x: np.ndarray) -> np.ndarray:
        if not self.batch:
            return norm.scale * (x - norm.mean) / np.sqrt(norm.variance + EPSILON) + norm.shift
        mean, variance = x.mean(0), x.var(0)
        std, running = np.sqrt(variance + EPSILON), np.sqrt(norm.variance + EPSILON)
        if self.at == len(self.held):
            on = norm.seen >= WARM_UP
            d = np.clip((mean - norm.mean) / running, -5, 5)
            self.held.append((np.clip(std / running, 1 / 3, 3), d) if on else (1.0, 0.0))
        r, d = self.held[self.at]
        self.at += 1
        seen = min(norm.seen + 1, float(WARM_UP))
        self.moved.append((0.99 * norm.mean + 0.01 * mean, 0.99 * norm.variance + 0.01 * variance, seen))
        return norm.scale * ((x - mean) / std * r + d) + norm.shift


def features(hidden: Any, x: np.ndarray, how: Pass) -> np.ndarray:
    """What hidden layers with tanh make of n inputs."""
    if isinstance(hidden, SimBaV2):
        x = unit(np.concatenate([x, np.full((len(x), 1), 3.0)], 1))
        x = unit(scaled(hidden.scaler, x @ hidden.first.weight))
        for block in hidden.blocks:
            towards = unit((np.tanh(scaled(block.scaler, x @ block.wide.weight)) + 1e-8) @ block.narrow.weight)
            x = unit(x + scaled(block.step, towards - x))
        return x
    if isinstance(hidden, SimBa):
        x = dense(hidden.first, x)
        for norm, wide, narrow in zip(hidden.norms[:-1], hidden.wide, hidden.narrow, strict=True):
            x = x + dense(narrow, np.tanh(dense(wide, layer_norm(norm, x))))
        return layer_norm(hidden.norms[-1], x)
    if isinstance(hidden, RenormMLP):
        x = how.renorm(hidden.norms[0], x)
        for layer, norm in zip(hidden.layers, hidden.norms[1:], strict=True):
            x = how.renorm(norm, np.tanh(dense(layer, x)))
        return x
    dropped = isinstance(hidden, DropoutMLP) and how.kept is not None
    mlp = hidden.mlp if isinstance(hidden, DropoutMLP) else hidden
    for k, layer in enumerate(mlp.layers):
        x = dense(layer, x)
        if dropped:
            x = x * how.kept / (1 - how.rate)
        x = np.tanh(layer_norm(mlp.norms[k], x) if mlp.norms else x)
    return x


def critic_outputs(critic: Any, obs: np.ndarray, action: np.ndarray, how: Pass | None = None) -> np.ndarray:
    y = dense(critic.head, features(critic.hidden, np.concatenate([obs, action], 1), how or Pass()))
    return y[:, 0] if critic.atoms is None else y


def critic_value(critic: Any, obs: np.ndarray, action: np.ndarray, how: Pass | None = None) -> np.ndarray:
    return value_of(critic.atoms, critic_outputs(critic, obs, action, how))


def value_of(atoms: Any, outputs: np.ndarray) -> np.ndarray:
    return outputs if atoms is None else returns.mean(atoms, outputs)


def actor_features(actor: Any, obs: np.ndarray, how: Pass | None) -> np.ndarray:
    return features(actor.body.hidden if isinstance(actor.body, HiddenBody) else actor.body.mlp, obs, how or Pass())


def squashed(actor: Any, obs: np.ndarray, noise: np.ndarray, how: Pass | None = None) -> tuple[np.ndarray, np.ndarray]:
    y, size = actor_features(actor, obs, how), noise.shape[1]
    if isinstance(actor.gaussian, UnitGaussian):
        loc, log_std = dense(actor.gaussian.loc, y), -4.0 + 6.0 * np.tanh(dense(actor.gaussian.log_scale, y))
    else:
        y = dense(actor.gaussian.linear, y)
        loc, log_std = y[:, :size], np.clip(y[:, size:], -20, 2)
    x = loc + np.exp(log_std) * noise
    log_prob = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi) - np.log(1 - np.tanh(x) ** 2)
    return np.tanh(x), log_prob.sum(1)


def deterministic(actor: Any, obs: np.ndarray, how: Pass | None = None) -> np.ndarray:
    return np.tanh(dense(actor.head, actor_features(actor, obs, how)))


def with_moved(tree: Any, norms: Any, moved: list[Any]) -> Any:
    """The tree with the running moments of its normalisations, in their order."""
    if not moved:
        return tree
    of = lambda t: [x for norm in norms(t) for x in (norm.mean, norm.variance, norm.seen)]  # noqa: E731
    return eqx.tree_at(of, tree, [x for one in moved for x in one])


def gradient_of(loss: Any, parameters: Any) -> np.ndarray:
    flat, unravel = ravel(parameters)
    steps = np.eye(flat.size) * 1e-6
    return np.array([(loss(unravel(flat + h)) - loss(unravel(flat - h))) / 2e-6 for h in steps])


def ravel(tree: Any) -> tuple[np.ndarray, Any]:
    leaves, structure = jax.tree.flatten(tree)
    ends = np.cumsum([np.size(leaf) for leaf in leaves])[:-1]

    def unravel(flat: np.ndarray) -> Any:
        parts = np.split(flat, ends)
        return jax.tree.unflatten(structure, [p.reshape(np.shape(x)) for p, x in zip(parts, leaves, strict=True)])

    return np.concatenate([np.ravel(leaf) for leaf in leaves]), unravel


class Adam:
    def __init__(self) -> None:
        self.m, self.v, self.t = 0.0, 0.0, 0

    def step(self, parameters: Any, gradient: np.ndarray, rate: float, epsilon: float, beta: float = 0.9) -> Any:
        flat, unravel = ravel(parameters)
        self.t += 1
        self.m = beta * self.m + (1 - beta) * gradient
        self.v = 0.999 * self.v + 0.001 * gradient**2
        moved = flat - rate * (self.m / (1 - beta**self.t)) / (np.sqrt(self.v / (1 - 0.999**self.t)) + epsilon)
        return projected(unravel(moved))


def in_float64(tree: Any) -> Any:
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


class Reference:
    """The algorithms of the papers, gradients at the parameters before a step.

    `noise` [n, A] is that of every action; `kept` says which units of every layer are not dropped.
    """

    def __init__(self, agent: Any, state: Any, noise: np.ndarray, kept: np.ndarray | None = None) -> None:
        self.agent, self.soft = agent, isinstance(agent, SAC)
        self.noise, self.kept = noise.astype(np.float64), kept
        self.actor, self.critics = in_float64(state.network.actor), in_float64(state.network.critics)
        self.atoms = state.network.critics[0].atoms
        self.joint = agent.network.critic_body == "crossq"
        self.target_actor, self.target_critics = self.actor, self.critics
        self.log_temperature = None if state.log_temperature is None else np.float64(state.log_temperature)
        self.actor_adam, self.critic_adam, self.updates = Adam(), Adam(), 0
        self.seen: list[np.ndarray] = []

    def alpha(self, log_temperature: Any) -> Any:
        return self.agent.temperature if log_temperature is None else np.exp(log_temperature)

    def dropping(self, batch: bool = False) -> Pass:
        return Pass(batch, self.kept, self.agent.network.dropout)

    def follows(self, batch: Any) -> tuple[np.ndarray, Any]:
        if self.soft:
            action, log_prob = squashed(self.actor, batch.next_obs, self.noise)
            return action, -self.alpha(self.log_temperature) * log_prob
        most = self.agent.target_noise_clip
        noise = np.clip(self.agent.target_noise * self.noise, -most, most)
        return np.clip(deterministic(self.target_actor, batch.next_obs) + noise, -1, 1), 0.0

    def target(self, batch: Any, following: Any, bonus: Any) -> np.ndarray:
        goes_on = self.discount * (1.0 - batch.terminated)
        if self.atoms is None:
            return batch.reward + goes_on * (np.min(following, 0) + bonus)
        lowest = np.argmin([returns.mean(self.atoms, each) for each in following], 0)
        chosen = np.stack(following)[lowest, np.arange(len(lowest))]
        return returns.target(self.atoms, chosen, batch.reward + goes_on * bonus, goes_on)

    def losses(self, outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 0.5 * (outputs - y) ** 2 if self.atoms is None else returns.loss(self.atoms, outputs, y)

    def actor_loss(self, learned: Any, batch: Any, critics: Any, fixed: Any, how: Pass) -> float:
        actor, log_temperature = learned
        if not self.soft:
            return float(
                -np.mean(critic_value(critics[0], batch.obs, deterministic(actor, batch.obs, how), self.dropping()))
            )
        action, log_prob = squashed(actor, batch.obs, self.noise, how)
        least = np.min([critic_value(c, batch.obs, action, self.dropping()) for c in critics], 0)
        loss = float(np.mean(fixed[0] * log_prob - least))
        return loss if log_temperature is None else loss - np.exp(log_temperature) * (fixed[1] - 2.0)

    def learn_critics(self, batch: Any, action: np.ndarray, weights: Any) -> None:
        follow, bonus = self.follows(batch)
        n = len(action)
        obs = np.concatenate([batch.obs, batch.next_obs]) if self.joint else batch.obs
        actions = np.concatenate([action, follow]) if self.joint else action
        passes = [self.dropping(True) for _ in self.critics]
        outputs = [critic_outputs(c, obs, actions, p) for c, p in zip(self.critics, passes, strict=True)]
        if self.joint:
            following = [each[n:] for each in outputs]
        else:
            following = [critic_outputs(c, batch.next_obs, follow, self.dropping()) for c in self.target_critics]
        y = self.target(batch, following, bonus)
        size = (lambda q: np.abs(q - y)) if self.atoms is None else (lambda x: self.losses(x, y))
        self.errors = np.mean([size(each[:n]) for each in outputs], 0)
        self.values = np.mean([value_of(self.atoms, each[:n]) for each in outputs])

        def loss(critics: Any) -> float:
            each = [critic_outputs(c, obs, actions, p.again())[:n] for c, p in zip(critics, passes, strict=True)]
            return float(sum(np.mean(weights * self.losses(one, y)) for one in each))

        rate = self.agent.critic_learning_rate or self.agent.learning_rate
        numbers = rate, self.agent.adam_epsilon, self.agent.adam_beta1
        stepped = self.critic_adam.step(self.critics, gradient_of(loss, self.critics), *numbers)
        norms = lambda critic: critic.hidden.norms  # noqa: E731
        self.critics = tuple(with_moved(c, norms, p.moved) for c, p in zip(stepped, passes, strict=True))

    def learn_actor(self, batch: Any, critics: Any) -> None:
        how, fixed = Pass(batch=True), None
        if self.soft:
            fixed = self.alpha(self.log_temperature), np.mean(squashed(self.actor, batch.obs, self.noise, how)[1])
        else:
            deterministic(self.actor, batch.obs, how)
        learned = (self.actor, self.log_temperature)
        gradient = gradient_of(lambda p: self.actor_loss(p, batch, critics, fixed, how.again()), learned)
        numbers = self.agent.learning_rate, self.agent.adam_epsilon, self.agent.adam_beta1
        stepped, self.log_temperature = self.actor_adam.step(learned, gradient, *numbers)
        self.actor = with_moved(stepped, lambda actor: actor.body.hidden.norms, how.moved)

    def scaled(self, batch: Any) -> Any:
        """By the moments of all that has been seen, this minibatch included."""
        if not self.agent.normalise_observations:
            return batch
        self.seen.append(batch.obs)
        seen, most = np.concatenate(self.seen), self.agent.observation_limit
        scale = lambda x: np.clip((x - seen.mean(0)) / np.sqrt(seen.var(0) + 1e-8), -most, most)  # noqa: E731
        both = scale(batch.obs), scale(batch.next_obs)
        return eqx.tree_at(lambda b: (b.obs, b.next_obs), batch, both)

    def update(self, data: ReplayBatch, low: np.ndarray, high: np.ndarray) -> None:
        """Learns from a minibatch with actions of the box [low, high]."""
        batch = self.scaled(in_float64(data.transitions))
        action = 2 * (batch.action - low) / (high - low) - 1
        self.discount = self.agent.discount if data.discount is None else np.asarray(data.discount, np.float64)
        before = self.critics
        self.learn_critics(batch, action, 1.0 if data.weights is None else np.asarray(data.weights, np.float64))
        due = self.updates % self.agent.policy_delay == 0
        if due:
            self.learn_actor(batch, before)
        if self.soft or due:
            tau = self.agent.tau
            mix = partial(jax.tree.map, lambda old, new: (1 - tau) * old + tau * new)
            self.target_critics = mix(self.target_critics, self.critics)
            self.target_actor = self.actor if self.joint else mix(self.target_actor, self.actor)
        self.updates += 1


def same(ours: Any, theirs: Any, tolerance: float = 3e-4) -> None:
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
