"""Whether memory holds what is asked for: told before anything is allocated, with the estimate and what would fit."""

from __future__ import annotations

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..core.agent import AnyAgent, RolloutAgent
from ..core.env import Env
from ..core.errors import ConfigError
from .config import MAX_SEED
from .interaction import start
from .on_policy import begin_all, collect
from .tally import Record

MOST_SAMPLES = 2**31 - 1
"""Of a rollout: their places are numbers of 32 bits."""


def check_memory(agent: AnyAgent, env: Env, num_lanes: int, record: Record) -> None:
    """Refuse more lanes, or larger ones, than memory holds, before anything is allocated.

    Raises:
        ConfigError: with the estimate and the number of lanes that would fit.
    """
    total = _memory()
    if isinstance(agent, RolloutAgent):
        _check_rollout_fits(agent, env, total)
    bytes_each = 2 * _lane_bytes(agent, env, record) + 256
    if num_lanes > MAX_SEED or num_lanes * bytes_each > 0.8 * total:
        fits = min(int(0.8 * total / bytes_each), MAX_SEED)
        if not fits and isinstance(agent, RolloutAgent):
            raise _too_large(agent, env, bytes_each, total)
        need = f"about {num_lanes * bytes_each / 2**30:.3g} GiB of {total / 2**30:.3g} GiB"
        raise ConfigError("seeds x sweep", f"{num_lanes} lanes", f"they need {need}; use at most {fits}")


def check_episodes(field: str, env: Env, num_lanes: int, episodes: int) -> None:
    """Refuse more episodes at once than memory holds, before anything is allocated.

    Args:
        field: what the number of episodes is called, for the message.
        env: where they are played.
        num_lanes: how many agents play them.
        episodes: of each.

    Raises:
        ConfigError: with the estimate and the number that would fit.
    """
    total, begun = _memory(), jax.eval_shape(env.reset, jax.eval_shape(lambda: jax.random.key(0)))
    bytes_each = num_lanes * (4 * sum(_bytes(leaf) for leaf in jax.tree.leaves(begun)) + 128)
    if episodes * bytes_each > 0.8 * total:
        need = f"about {episodes * bytes_each / 2**30:.3g} GiB of {total / 2**30:.3g} GiB"
        fix = f"of {num_lanes} agents they need {need}; use at most {int(0.8 * total / bytes_each)}"
        raise ConfigError(field, episodes, fix)


def _check_rollout_fits(agent: RolloutAgent, env: Env, total: int) -> None:
    """Refuse a rollout whose observations alone are too many, and whose shapes could not even be traced."""
    seen = jax.eval_shape(env.observation_space.sample, jax.eval_shape(lambda: jax.random.key(0)))
    samples = agent.num_envs * agent.num_steps
    least = 2 * samples * sum(_bytes(leaf) for leaf in jax.tree.leaves(seen))
    if samples > MOST_SAMPLES or least > 0.8 * total:
        raise _too_many(agent, f"more than {least / 2**30:.3g} GiB")


def _too_large(agent: RolloutAgent, env: Env, need: int, total: int) -> ConfigError:
    """The agent itself, where memory does not hold even that; else its rollout."""
    state = jax.eval_shape(lambda key: agent.init(env.spec, key), jax.eval_shape(lambda: jax.random.key(0)))
    alone = 2 * sum(_bytes(leaf) for leaf in jax.tree.leaves(state))
    if alone > 0.5 * total:
        fix = f"learning it needs about {alone / 2**30:.3g} GiB of {total / 2**30:.3g} GiB; use a smaller network"
        return ConfigError("agent", type(agent).__name__, fix)
    return _too_many(agent, f"about {need / 2**30:.3g} GiB")


def _too_many(agent: RolloutAgent, need: str) -> ConfigError:
    size = f"{agent.num_envs} environments x {agent.num_steps} steps"
    return ConfigError("num_envs", size, f"a rollout needs {need}; use fewer")


def _lane_bytes(agent: AnyAgent, env: Env, record: Record) -> int:
    """What one lane carries, and for a learner from rollouts the rollout and what is computed from it."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    if not isinstance(agent, RolloutAgent):
        learner = jax.eval_shape(lambda key: start(agent, env, key, record), key)
        return sum(_bytes(leaf) for leaf in jax.tree.leaves(learner))

    def begin_and_collect(key: PRNGKeyArray) -> Any:
        learner = begin_all(agent, env, key, record)
        return learner, collect(agent, env, learner, key, jnp.int32(0))

    return sum(_bytes(leaf) for leaf in jax.tree.leaves(jax.eval_shape(begin_and_collect, key)))


def _bytes(leaf: Any) -> int:
    itemsize = 8 if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf.dtype.itemsize
    return int(np.prod(leaf.shape)) * itemsize


def _memory() -> int:
    """Bytes of physical memory; 64 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 64 * 2**30
