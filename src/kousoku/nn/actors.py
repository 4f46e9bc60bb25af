"""Actors: from an observation to a distribution of actions, or to one action, as they are learned off policy."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..ops.distributions import Categorical, Normal, TanhNormal
from .gaussian import Gaussian
from .hidden import HiddenBody, Training, train
from .hyperspherical import UnitGaussian, UnitHead
from .layers import Dense
from .torso import Body

LEAST_SCALE, LARGEST_SCALE = math.exp(-5.0), math.exp(2.0)


class SquashedNormalActor(eqx.Module):
    """pi(. | s) over the unit box [-1, 1]^A: tanh of a normal variable.

    Attributes:
        body: from the observation to features.
        gaussian: from features to location and scale.
    """

    body: Body | HiddenBody
    gaussian: Gaussian | UnitGaussian

    def __call__(self, obs: Any) -> TanhNormal:
        return self._policy(self.body(obs))

    def train(self, obs: Any, training: Training) -> tuple[TanhNormal, SquashedNormalActor]:
        """Returns the distribution for one sample of a minibatch, and the actor with running moments after it."""
        x, body = train(self.body, obs, training)
        return self._policy(x), SquashedNormalActor(body, self.gaussian)

    def _policy(self, x: Float[Array, " F"]) -> TanhNormal:
        loc, scale = self.gaussian(x)
        return TanhNormal(loc, scale, -jnp.ones_like(loc), jnp.ones_like(loc))


class NormalActor(eqx.Module):
    """pi(. | s): a normal distribution about a place in the unit box [-1, 1]^A, with one scale for all observations.

    Its density is finite at the bounds of the box, where recorded actions often lie; that of `SquashedNormalActor` is
    not. Actions that it draws beyond them are clipped.

    Attributes:
        body: from the observation to features.
        gaussian: from features to a location, of which the tanh is the mean; its scale is clipped to [e^-5, e^2].

    References:
        Kostrikov, Nair and Levine, arXiv:2110.06169, and their code.
    """

    body: Body | HiddenBody
    gaussian: Gaussian | UnitGaussian

    def __call__(self, obs: Any) -> Normal:
        return self._policy(self.body(obs))

    def train(self, obs: Any, training: Training) -> tuple[Normal, NormalActor]:
        """Returns the distribution for one sample of a minibatch, and the actor with running moments after it."""
        x, body = train(self.body, obs, training)
        return self._policy(x), NormalActor(body, self.gaussian)

    def _policy(self, x: Float[Array, " F"]) -> Normal:
        loc, scale = self.gaussian(x)
        return Normal(jnp.tanh(loc), jnp.clip(scale, LEAST_SCALE, LARGEST_SCALE))


class DeterministicActor(eqx.Module):
    """mu(s) in the unit box [-1, 1]^A: tanh of an affine function of the features.

    Attributes:
        body: from the observation to features.
        head: from features to one number for each component of an action.
    """

    body: Body | HiddenBody
    head: Dense | UnitHead

    def __call__(self, obs: Any) -> Float[Array, " A"]:
        return jnp.tanh(self.head(self.body(obs)))

    def train(self, obs: Any, training: Training) -> tuple[Float[Array, " A"], DeterministicActor]:
        """Returns the action for one sample of a minibatch, and the actor with running moments after it."""
        x, body = train(self.body, obs, training)
        return jnp.tanh(self.head(x)), DeterministicActor(body, self.head)


class CategoricalActor(eqx.Module):
    """pi(. | s) over actions that can be counted: the softmax of an affine function of the features.

    Attributes:
        body: from the observation to features.
        head: from features to one logit for each action.
    """

    body: Body | HiddenBody
    head: Dense | UnitHead

    def __call__(self, obs: Any) -> Categorical:
        return Categorical(self.head(self.body(obs)))

    def train(self, obs: Any, training: Training) -> tuple[Categorical, CategoricalActor]:
        """Returns the distribution for one sample of a minibatch, and the actor with running moments after it."""
        x, body = train(self.body, obs, training)
        return Categorical(self.head(x)), CategoricalActor(body, self.head)
