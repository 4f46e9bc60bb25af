"""Actors and critics over minibatches: what they return as they are and while they learn, and the critics' loss."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from ...nn.atoms import Atoms
from ...nn.batch_renorm import has_statistics
from ...nn.critics import StateActionValue
from ...nn.hidden import Training, differs_in_training, drops
from ...ops import losses
from ...ops.td_targets import action_value
from .distributional import atoms_loss, target_atoms
from .epochs import Scalars

SAMPLES = "samples"
"""The name of the axis of a minibatch."""

Values = tuple[Float[Array, "n *A"], ...]
"""Each critic's values of n actions; or of every Discrete action in n observations."""

Outputs = tuple[Float[Array, "n *N"], ...]
"""Each critic's values of n actions, or what stands for the distributions of their returns."""


Keys = Key[Array, " n"]


class Batch(NamedTuple):
    """A minibatch of n transitions, with what is learned of their actions.

    Attributes:
        obs, next_obs: [n, ...].
        action: [n, A] in the unit box; [n] of Discrete ones.
        reward: [n]; of several steps, their discounted sum.
        terminated: [n].
        discount: [n] what the values of `next_obs` are multiplied by.
        weights: [n] what each counts in the critics' loss; None for all the same.
    """

    obs: PyTree[Array]
    action: Float[Array, "n A"] | Int[Array, " n"]
    reward: Float[Array, " n"]
    terminated: Bool[Array, " n"]
    next_obs: PyTree[Array]
    discount: Float[Array, " n"]
    weights: Float[Array, " n"] | None = None


class NextActions(NamedTuple):
    """The actions of an agent in the successors of a minibatch.

    Attributes:
        action: [n, A] in the unit box; None for all of Discrete ones.
        bonus: [n], or of all actions [n, A]: added to the value of each; None for nothing.
        probabilities: [n, A] of all actions; None where there is one.
    """

    action: Float[Array, "n A"] | None
    bonus: Float[Array, "n *A"] | None
    probabilities: Float[Array, "n A"] | None = None


def acted(actor: Any, obs: PyTree[Array], axis: str | None) -> tuple[Any, Any]:
    """Returns what an actor that learns does in n observations, and the actor with its running moments after them.

    Args:
        actor: from one observation.
        obs: [n, ...].
        axis: of devices that share the minibatch.
    """
    if not differs_in_training(actor):
        return jax.vmap(actor)(obs), actor
    training = Training(None, _axes(axis))
    return jax.vmap(lambda obs: actor.train(obs, training), axis_name=SAMPLES, out_axes=(0, None))(obs)


def outputs_of(critics: Any, obs: PyTree[Array], action: Float[Array, "n A"] | None, key: PRNGKeyArray) -> Outputs:
    """Returns each critic's outputs for n actions in the unit box, by running moments; with dropout, where it is.

    Without actions they are those of every Discrete action, [n, A].
    """

    def of_one(critic: Any, keys: Keys | None) -> Float[Array, "n *N"]:
        if keys is None:
            return jax.vmap(_outputs(critic))(*inputs)
        return jax.vmap(lambda key, *inputs: critic.train(*inputs, Training(key))[0])(keys, *inputs)

    inputs = _inputs(obs, action)
    return tuple(of_one(critic, keys) for critic, keys in _with_keys(critics, obs, key))


def values(critics: Any, obs: PyTree[Array], action: Float[Array, "n A"] | None, key: PRNGKeyArray) -> Values:
    """Returns each critic's values of n actions: the means of its outputs."""
    return means(critics, outputs_of(critics, obs, action, key))


def atoms_of(critics: Any) -> Atoms | None:
    """Returns what the outputs of critics stand for; None where they are values."""
    return critics[0].atoms if isinstance(critics[0], StateActionValue) else None


def means(critics: Any, outputs: Outputs) -> Values:
    """Returns the values that outputs of critics stand for."""
    atoms = atoms_of(critics)
    return outputs if atoms is None else tuple(atoms.mean(each) for each in outputs)


def _outputs(critic: Any) -> Any:
    return critic.outputs if isinstance(critic, StateActionValue) else critic


def learned_outputs(
    critics: Any, obs: PyTree[Array], action: Float[Array, "n A"] | None, key: PRNGKeyArray, axis: str | None
) -> tuple[Outputs, tuple[Any, ...]]:
    """Returns each critic's outputs while it learns from them, and the critics with their running moments after them.

    Args:
        critics: each from one observation and one action.
        obs, action: [n, ...], and [n, A], or None for every Discrete action.
        key: of dropout.
        axis: of devices that share the minibatch.
    """

    def of_one(critic: Any, keys: Keys | None) -> tuple[Float[Array, "n *N"], Any]:
        if not differs_in_training(critic):
            return jax.vmap(_outputs(critic))(*inputs), critic
        of_sample = lambda key, *inputs: critic.train(*inputs, Training(key, _axes(axis)))  # noqa: E731
        return jax.vmap(of_sample, axis_name=SAMPLES, out_axes=(0, None))(keys, *inputs)

    inputs = _inputs(obs, action)
    each, moved = zip(*(of_one(*pair) for pair in _with_keys(critics, obs, key)), strict=True)
    return each, moved


def _inputs(obs: PyTree[Array], action: Array | None) -> tuple[Any, ...]:
    return (obs,) if action is None else (obs, action)


def _with_keys(critics: Any, obs: PyTree[Array], key: PRNGKeyArray) -> list[tuple[Any, Keys | None]]:
    """Returns each critic with a key for each of n observations; with None, if it drops nothing."""
    n = jax.tree.leaves(obs)[0].shape[0]
    return [
        (critic, jax.random.split(jax.random.fold_in(key, i), n) if drops(critic) else None)
        for i, critic in enumerate(critics)
    ]


def _axes(axis: str | None) -> tuple[str, ...]:
    return (SAMPLES,) if axis is None else (SAMPLES, axis)


def minimum(estimates: Values) -> Float[Array, "n *A"]:
    """Returns the minimum of the critics' values: of estimates that err, the largest is too high more often.

    References:
        Fujimoto, van Hoof and Meger, Addressing function approximation error in actor-critic methods,
        arXiv:1802.09477, equation 10.
    """
    return functools.reduce(jnp.minimum, estimates)


sum_of = functools.partial(functools.reduce, jnp.add)


def targets_of(critics: Any, batch: Batch, following: Outputs, next_actions: NextActions) -> Float[Array, "n *T"]:
    """Returns r + gamma (min_i Q_i(s', a') + bonus), by the critics' outputs for what follows; r after a termination.

    Where all actions follow it is their mean, by their probabilities. Of critics of distributions it is what is to be
    learned of r + gamma (Z(s', a') + bonus), see `target_atoms`, Z that of the critic whose mean is the minimum.
    """
    atoms, bonus = atoms_of(critics), next_actions.bonus
    if atoms is None:
        value = minimum(following) if bonus is None else minimum(following) + bonus
        if next_actions.probabilities is not None:
            value = jnp.sum(next_actions.probabilities * value, axis=1)
        return batch.reward + batch.discount * jnp.where(batch.terminated, 0.0, value)
    lowest = jnp.argmin(jnp.stack(means(critics, following)), axis=0)
    chosen = jax.vmap(lambda each, i: each[i], (1, 0))(jnp.stack(following), lowest)
    reward = batch.reward
    if bonus is not None:
        reward = reward + batch.discount * jnp.where(batch.terminated, 0.0, bonus)
    of_each = lambda *row: target_atoms(atoms, *row)  # noqa: E731
    return jax.vmap(of_each)(chosen, reward, batch.terminated, batch.discount)


def is_counted(action: Array) -> bool:
    """Returns whether actions are Discrete ones, of which critics value all at once."""
    return jnp.issubdtype(action.dtype, jnp.integer)


class CriticLoss(NamedTuple):
    """The rest of what the critics' loss gives: metrics, the size of each error, the critics' running moments.

    Attributes:
        metrics: "qf_loss" and "qf_values", means over the critics.
        errors: [n] the mean over critics of |Q(s, a) - y|; of distributions, of their losses.
        moved: the critics, with their running moments after the minibatch.
    """

    metrics: Scalars
    errors: Float[Array, " n"]
    moved: Any


def critic_loss(
    critics: Any, batch: Batch, targets: Float[Array, "n *T"], key: PRNGKeyArray, axis: str | None
) -> tuple[Float[Array, ""], CriticLoss]:
    """Computes the sum over critics of E[w (Q(s, a) - y)^2 / 2], and the rest.

    w are the importance weights of a minibatch that is not drawn uniformly, else 1. Of critics of distributions the
    loss is that of `atoms_loss`.
    """
    action = None if is_counted(batch.action) else batch.action
    outputs, moved = learned_outputs(critics, batch.obs, action, key, axis)
    return _loss_of(critics, outputs, targets, batch, moved)


def joint_critic_loss(
    critics: Any, batch: Batch, next_actions: NextActions, key: PRNGKeyArray, axis: str | None
) -> tuple[Float[Array, ""], CriticLoss]:
    """Computes the same where y is by the critics that learn themselves, in one pass over (s, a) and (s', a').

    Batch statistics are then those of both together: s' and a' are of another distribution, and moments of s and a
    alone would not fit them.

    References:
        Bhatt et al., CrossQ, arXiv:1902.05605, equation 2 and figure 2.
    """
    join = lambda a, b: jnp.concatenate([a, b])  # noqa: E731
    obs = jax.tree.map(join, batch.obs, batch.next_obs)
    action = None if next_actions.action is None else join(batch.action, next_actions.action)
    both, moved = learned_outputs(critics, obs, action, key, axis)
    n = batch.reward.shape[0]
    targets = jax.lax.stop_gradient(targets_of(critics, batch, tuple(each[n:] for each in both), next_actions))
    return _loss_of(critics, tuple(each[:n] for each in both), targets, batch, moved)


def _loss_of(
    critics: Any, outputs: Outputs, targets: Float[Array, "n *T"], batch: Batch, moved: Any
) -> tuple[Float[Array, ""], CriticLoss]:
    if is_counted(batch.action):
        outputs = tuple(jax.vmap(action_value)(each, batch.action) for each in outputs)
    atoms, number, estimates = atoms_of(critics), len(outputs), means(critics, outputs)
    if atoms is None:
        errors = [q - targets for q in outputs]
        each = sum_of(jax.vmap(losses.squared)(error) for error in errors)
        size = sum_of(jnp.abs(error) for error in errors) / number
    else:
        of_each = lambda one, target: atoms_loss(atoms, one, target, 1.0)  # noqa: E731
        each = sum_of(jax.vmap(of_each)(one, targets) for one in outputs)
        size = each / number
    loss = jnp.mean(each if batch.weights is None else batch.weights * each)
    metrics = {"qf_loss": loss / number, "qf_values": jnp.mean(sum_of(estimates)) / number}
    return loss, CriticLoss(*jax.lax.stop_gradient((metrics, size)), moved)


def has_target(critics: Any) -> bool:
    """Returns whether targets are by an older copy of the critics; by themselves, where they have batch statistics."""
    return not has_statistics(critics)
