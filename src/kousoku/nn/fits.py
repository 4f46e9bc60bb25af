"""Checks whether a network of one's own fits an environment: by shapes alone, before anything is computed."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..core.env import EnvSpec
from ..core.errors import ConfigError, check_takes, shorten
from ..core.leaves import key_like, kind_words, words
from ..core.spaces import Box, Discrete, MultiDiscrete, Space, element_like
from ..ops.distributions import Categorical, Distribution, MultiCategorical
from .network import Network

SCALARS = ("value", "log-probability", "entropy")


def check_has_numbers(spec: EnvSpec) -> None:
    """Refuses an environment whose observations or actions are empty arrays.

    Raises:
        ConfigError: naming the space.
    """
    for name, space in (("observation space", spec.observation_space), ("action space", spec.action_space)):
        if isinstance(space, Box) and 0 in space.shape:
            raise ConfigError(name, space, "it has no numbers, so that there is nothing to learn")


def check_builder(network: Any, config: str, builds: str) -> None:
    """Refuses what builds no network.

    Args:
        network: an agent's field: a config, or a function of two spaces and a key.
        config: such a config, with its article, for the message.
        builds: what a function has to return, likewise.

    Raises:
        ConfigError: naming the network.
    """
    if not callable(network):
        raise ConfigError("network", network, f"use {config} or a function that builds {builds}")
    check_takes("network", network, ("observation_space", "action_space", "key"))


def check_network(
    network: Any, observation_space: Space, action_space: Space, obs: Any, field: str = "network", part: Any = None
) -> None:
    """Refuses a network that would not learn, or would learn something else than it seems to.

    Args:
        network: what a builder returned.
        observation_space, action_space: the environment's.
        obs: an observation as the network sees it, or its shapes.
        field: what a refusal names.
        part: the part of the network that the user wrote; None for all of it.

    Raises:
        ConfigError: for what is no `Network`, a leaf that is no array of float32, observations that it does not take,
            a value that is no scalar, a policy that is no `Distribution` or over other actions, or a carry that
            changes its shape.
    """
    if not isinstance(network, Network):
        raise ConfigError(field, network, "its builder has to return a kousoku.nn.Network")
    part = network if part is None else part
    for leaf in jax.tree.leaves(part):
        if not eqx.is_array(leaf) or leaf.dtype != jnp.float32:
            fix = "each leaf has to be an array of float32; mark other fields eqx.field(static=True)"
            raise ConfigError(field, words(leaf), fix)
    name = getattr(part, "__qualname__", type(part).__name__)
    try:
        said = jax.eval_shape(lambda obs, key: _said(network, obs, key, field, name), obs, key_like())
    except ConfigError:
        raise
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        why = str(error).strip().splitlines()[0]
        fix = f"it does not take observations of {shorten(observation_space, 80)}: {why}"
        raise ConfigError(field, name, fix) from error
    for what in SCALARS:
        for shape in (leaf.shape for leaf in jax.tree.leaves(said[what])):
            if shape != ():
                raise ConfigError(field, name, f"its {what} has the shape {list(shape)}; make it a scalar")
    _check_actions(field, name, said, action_space)
    if _shapes(said["after"]) != _shapes(said["before"]):
        raise ConfigError(field, name, "the carry that it returns has to have the shapes of that of `initial_carry`")


def _said(network: Network, obs: Any, key: PRNGKeyArray, field: str, name: str) -> dict[str, Any]:
    """Returns everything that an agent asks a network for."""
    before = network.initial_carry()
    policy, value, after = network(obs, before)
    alone, _ = network.policy(obs, before)
    for one in (policy, alone):
        if not isinstance(one, Distribution):
            fix = f"its policy is {kind_words(one)}; make it a kousoku.ops.distributions.Distribution"
            raise ConfigError(field, name, fix)
    action = policy.sample(key)
    return {
        "value": (value, network.value(obs, before)),
        "action": (action, alone.mode()),
        "log-probability": policy.log_prob(action),
        "entropy": policy.entropy(),
        "policy": policy,
        "before": before,
        "after": after,
    }


def _check_actions(field: str, name: str, said: dict[str, Any], space: Space) -> None:
    """Refuses a policy whose actions are not those of the space."""
    wanted = element_like(space)
    for action in said["action"]:
        if _shapes(action) != _shapes(wanted):
            found = ", ".join(map(words, jax.tree.leaves(action)))
            raise ConfigError(field, name, f"its policy draws {found}, which is no action of {shorten(space, 80)}")
    choices = _choices(said["policy"])
    if isinstance(space, Discrete | MultiDiscrete) and choices not in (None, _counts(space)):
        raise ConfigError(field, name, f"its policy is over {list(choices or ())} actions; this is {space}")


def _choices(policy: Distribution) -> tuple[int, ...] | None:
    """Returns how many values each component of an action has; None where the distribution does not say."""
    if isinstance(policy, Categorical):
        return policy.logits.shape
    return policy.sizes if isinstance(policy, MultiCategorical) else None


def _counts(space: Discrete | MultiDiscrete) -> tuple[int, ...]:
    return (space.n,) if isinstance(space, Discrete) else space.nvec


def _shapes(tree: Any) -> Any:
    """Returns structure, shapes and dtypes."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(leaf.shape, leaf.dtype) for leaf in leaves]
