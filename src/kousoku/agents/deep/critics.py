"""Actors and critics over minibatches: what they return as they are and while they learn, and the critics' loss."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray, PyTree

from ...nn.actor_q import StateActionValue
from ...nn.atoms import Atoms
from ...nn.batch_renorm import has_statistics
from ...nn.hidden import Training, differs_in_training, drops
from ...ops import losses
from .distributional import atoms_loss, target_atoms
from .epochs import Scalars

SAMPLES = "samples"
"""The name of the axis of a minibatch."""

Values = tuple[Float[Array, " n"], ...]
"""Each critic's values of n actions."""

Outputs = tuple[Float[Array, "n *N"], ...]
"""Each critic's values of n actions, or what stands for the distributions of their returns."""


Keys = Key[Array, " n"]


class Batch(NamedTuple):
    """A minibatch of n transitions, with actions in the unit box.

    Attributes:
        obs, next_obs: [n, ...].
        action: [n, A].
        reward: [n]; of several steps, their discounted sum.
        terminated: [n].
        discount: [n] what the values of `next_obs` are multiplied by.
        weights: [n] what each counts in the critics' loss; None for all the same.
    """

    obs: PyTree[Array]
    action: Float[Array, "n A"]
    reward: Float[Array, " n"]
    terminated: Bool[Array, " n"]
    next_obs: PyTree[Array]
    discount: Float[Array, " n"]
    weights: Float[Array, " n"] | None = None


class Follows(NamedTuple):
    """The actions of an agent in the successors of a minibatch.

    Attributes:
        action: [n, A] in the unit box.
        bonus: [n] added to the value of each; None for nothing.
    """

    action: Float[Array, "n A"]
    bonus: Float[Array, " n"] | None


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


def outputs_of(critics: Any, obs: PyTree[Array], action: Float[Array, "n A"], key: PRNGKeyArray) -> Outputs:
    """Returns each critic's outputs for n actions in the unit box, by running moments; with dropout, where it is."""

    def of_one(critic: Any, keys: Keys | None) -> Float[Array, "n *N"]:
        if keys is None:
            return jax.vmap(_outputs(critic))(obs, action)
        return jax.vmap(lambda obs, action, key: critic.train(obs, action, Training(key))[0])(obs, action, keys)

    return tuple(of_one(critic, keys) for critic, keys in _with_keys(critics, action.shape[0], key))


def values(critics: Any, obs: PyTree[Array], action: Float[Array, "n A"], key: PRNGKeyArray) -> Values:
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
    critics: Any, obs: PyTree[Array], action: Float[Array, "n A"], key: PRNGKeyArray, axis: str | None
) -> tuple[Outputs, tuple[Any, ...]]:
    """Returns each critic's outputs while it learns from them, and the critics with their running moments after them.

    Args:
        critics: each from one observation and one action.
        obs, action: [n, ...], [n, A].
        key: of dropout.
        axis: of devices that share the minibatch.
    """

    def of_one(critic: Any, keys: Keys | None) -> tuple[Float[Array, "n *N"], Any]:
        if not differs_in_training(critic):
            return jax.vmap(_outputs(critic))(obs, action), critic
        of_sample = lambda obs, action, key: critic.train(obs, action, Training(key, _axes(axis)))  # noqa: E731
        return jax.vmap(of_sample, axis_name=SAMPLES, out_axes=(0, None))(obs, action, keys)

    each, moved = zip(*(of_one(*pair) for pair in _with_keys(critics, action.shape[0], key)), strict=True)
    return each, moved


def _with_keys(critics: Any, n: int, key: PRNGKeyArray) -> list[tuple[Any, Keys | None]]:
    """Returns each critic with a key for each of n samples; with None, if it drops nothing."""
    return [
        (critic, jax.random.split(jax.random.fold_in(key, i), n) if drops(critic) else None)
        for i, critic in enumerate(critics)
    ]


def _axes(axis: str | None) -> tuple[str, ...]:
    return (SAMPLES,) if axis is None else (SAMPLES, axis)


def least(estimates: Values) -> Float[Array, " n"]:
    """Returns the least of the critics' values: of estimates that err, the largest is too high more often.

    References:
        Fujimoto, van Hoof and Meger, Addressing function approximation error in actor-critic methods,
        arXiv:1802.09477, equation 10.
    """
    return functools.reduce(jnp.minimum, estimates)


sum_of = functools.partial(functools.reduce, jnp.add)


def targets_of(
    critics: Any, batch: Batch, following: Outputs, bonus: Float[Array, " n"] | None
) -> Float[Array, "n *N"]:
    """Returns r + gamma (min_i Q_i(s', a') + bonus), by the critics' outputs for what follows; r after a termination.

    Of critics of distributions it is the distribution to be learned, see `target_atoms`: that of
    r + gamma (Z(s', a') + bonus) by the critic whose mean is the least.
    """
    atoms = atoms_of(critics)
    if atoms is None:
        value = least(following) if bonus is None else least(following) + bonus
        return batch.reward + batch.discount * jnp.where(batch.terminated, 0.0, value)
    lowest = jnp.argmin(jnp.stack(means(critics, following)), axis=0)
    chosen = jax.vmap(lambda each, i: each[i], (1, 0))(jnp.stack(following), lowest)
    reward = batch.reward
    if bonus is not None:
        reward = reward + batch.discount * jnp.where(batch.terminated, 0.0, bonus)
    of_each = lambda *row: target_atoms(atoms, *row)  # noqa: E731
    return jax.vmap(of_each)(chosen, reward, batch.terminated, batch.discount)


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
    critics: Any, batch: Batch, targets: Float[Array, "n *N"], key: PRNGKeyArray, axis: str | None
) -> tuple[Float[Array, ""], CriticLoss]:
    """Computes the sum over critics of E[w (Q(s, a) - y)^2 / 2], and the rest.

    w are the importance weights of a minibatch that is not drawn uniformly, else 1. Of critics of distributions the
    loss is that of `atoms_loss`.
    """
    outputs, moved = learned_outputs(critics, batch.obs, batch.action, key, axis)
    return _loss_of(critics, outputs, targets, batch, moved)


def joint_critic_loss(
    critics: Any, batch: Batch, follows: Follows, key: PRNGKeyArray, axis: str | None
) -> tuple[Float[Array, ""], CriticLoss]:
    """Computes the same where y is by the critics that learn themselves, in one pass over (s, a) and (s', a').

    Batch statistics are then those of both together: s' and a' are of another distribution, and moments of s and a
    alone would not fit them.

    References:
        Bhatt et al., CrossQ, arXiv:1902.05605, equation 2 and figure 2.
    """
    join = lambda a, b: jnp.concatenate([a, b])  # noqa: E731
    obs = jax.tree.map(join, batch.obs, batch.next_obs)
    both, moved = learned_outputs(critics, obs, join(batch.action, follows.action), key, axis)
    n = batch.reward.shape[0]
    targets = jax.lax.stop_gradient(targets_of(critics, batch, tuple(each[n:] for each in both), follows.bonus))
    return _loss_of(critics, tuple(each[:n] for each in both), targets, batch, moved)


def _loss_of(
    critics: Any, outputs: Outputs, targets: Float[Array, "n *N"], batch: Batch, moved: Any
) -> tuple[Float[Array, ""], CriticLoss]:
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
    """Tells whether targets are by an older copy of the critics; by themselves, where they have batch statistics."""
    return not has_statistics(critics)
