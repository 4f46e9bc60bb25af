"""One step of one slot where another library drives it: three rules for the end of an episode."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree, UInt32

from ...collectors.slot import EnvSlot, begin_next, take_step
from ...compiler.frontend.keys import is_key
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.leaves import key_like
from ...core.timestep import has_divergence_flag, named_parts
from ...nn import clip_to
from ...ops.trees import select

IMPL = "threefry2x32"


class ResetRule(Enum):
    """Rules for what follows the end of an episode; the names are Gymnasium's.

    Attributes:
        NEXT_STEP: the next step begins the next episode, whatever its action.
        SAME_STEP: the step that ends an episode begins the next one, too.
        DISABLED: nothing, until a reset.
    """

    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


class HostSlot(eqx.Module):
    """One slot that is driven from the host.

    Attributes:
        slot: the environment.
        words: of the key that its next randomness comes from.
        over: whether its episode has ended, so that a reset is due.
    """

    slot: EnvSlot
    words: UInt32[Array, "2"]
    over: Bool[Array, ""]


class StepResult(NamedTuple):
    """The result of a reset or a step, of one slot or of all, [N, ...]; arrays of JAX's, or of NumPy's on the host.

    Attributes:
        obs: what to act on next: of a new episode where one has begun.
        reward: of the step.
        terminated, truncated: whether the task ended, whether the clock ended the episode.
        begun: whether an episode began.
        info: by name: of the reset where an episode began and a reset has the same info, else of the step.
        final_obs, final_info: what the step led to; None but for `ResetRule.SAME_STEP`.
    """

    obs: Any
    reward: Any
    terminated: Any
    truncated: Any
    begun: Any
    info: dict[str, Any]
    final_obs: Any = None
    final_info: dict[str, Any] | None = None


def first_reset(env: Env, words: UInt32[Array, "2"]) -> tuple[HostSlot, StepResult]:
    """Begins a slot's first episode: all that is random in it comes from these words of a key."""
    key, rest = _split(words)
    env_state, timestep = env.reset(key)
    slot = EnvSlot(env_state, timestep.obs, jnp.int32(0), jnp.float32(0.0))
    return HostSlot(slot, rest, jnp.array(False)), _begun(timestep.obs, infos(timestep.info))


def reset_again(
    env: Env, host: HostSlot, chosen: Bool[Array, ""], seeded: Bool[Array, ""], words: UInt32[Array, "2"]
) -> tuple[HostSlot, StepResult]:
    """Begins the next episode of a slot that is `chosen`, or its first one again where new words are given.

    A slot that is not chosen stays as it is; its result has its last observation.
    """
    key, rest = _split(jnp.where(seeded, words, host.words))
    first, result = first_reset(env, words)
    following, timestep = begin_next(env, host.slot, key)
    again = HostSlot(select(seeded, first.slot, following), rest, jnp.array(False))
    made = select(chosen, again, host)
    info = infos(timestep.info)
    return made, _begun(made.slot.obs, select(seeded, result.info, info) if result.info.keys() == info.keys() else {})


def step_disabled(env: Env, host: HostSlot, action: PyTree[Array]) -> tuple[HostSlot, StepResult]:
    """Takes one action; an episode that ends has ended."""
    key, rest = _split(host.words)
    after, result, ended = _taken(env, host.slot, action, key)
    return HostSlot(after, rest, ended), result


def step_next(env: Env, host: HostSlot, action: PyTree[Array]) -> tuple[HostSlot, StepResult]:
    """Takes one action, or begins the next episode if the last step ended one: with reward 0, nothing ended."""
    key, rest = _split(host.words)
    after, result, ended = _taken(env, host.slot, action, key)
    fresh, timestep = begin_next(env, host.slot, key)
    begun = _begun(timestep.obs, _matching(infos(timestep.info), result.info))
    slot = select(host.over, fresh, after)
    return HostSlot(slot, rest, ended & ~host.over), select(host.over, begun, result)


def step_same(env: Env, host: HostSlot, action: PyTree[Array]) -> tuple[HostSlot, StepResult]:
    """Takes one action; if that ends the episode, begins the next one, with what a reset of its own would draw."""
    key, rest = _split(host.words)
    after, result, ended = _taken(env, host.slot, action, key)
    reset_key, after_reset = _split(rest)
    fresh, timestep = begin_next(env, after, reset_key)
    info = select(ended, _matching(infos(timestep.info), result.info), result.info)
    slot = select(ended, fresh, after)
    result = result._replace(obs=slot.obs, begun=ended, info=info, final_obs=result.obs, final_info=result.info)
    return HostSlot(slot, select(ended, after_reset, rest), jnp.array(False)), result


STEPS = {ResetRule.NEXT_STEP: step_next, ResetRule.SAME_STEP: step_same, ResetRule.DISABLED: step_disabled}


def infos(info: Any) -> dict[str, Array]:
    """Returns an environment's info as arrays by name; a nested name has dots."""
    return {name: jnp.asarray(leaf) for name, leaf in named_parts(info)}


def told_infos(env: Env) -> tuple[bool, bool]:
    """Returns whether a reset tells the same info as a step, rather than none, and whether steps tell a divergence."""

    def both(key: PRNGKeyArray) -> tuple[Any, Any]:
        state, first = env.reset(key)
        return first.info, env.step(key, state, env.action_space.sample(key))[1].info

    first, then = jax.eval_shape(both, key_like())
    return jax.eval_shape(infos, first) == jax.eval_shape(infos, then), has_divergence_flag(then)


def as_key(field: str, key: Any) -> PRNGKeyArray:
    """Returns a key, also of the two words that other libraries have for one.

    Raises:
        ConfigError: for what is no key, or several.
    """
    shape = getattr(key, "shape", None)
    typed = shape is not None and is_key(key)
    if typed and shape == ():
        return key
    if shape == (2,) and key.dtype == np.uint32:
        return jax.random.wrap_key_data(key, impl=IMPL)
    several = typed or (shape is not None and shape[1:] == (2,))
    raise ConfigError(field, key, "use one key, or jax.vmap for several" if several else "use jax.random.key(0)")


def _split(words: UInt32[Array, "2"]) -> tuple[PRNGKeyArray, UInt32[Array, "2"]]:
    """Returns a key to use and the words of the one that comes next."""
    now, following = jax.random.split(jax.random.wrap_key_data(words, impl=IMPL))
    return now, jax.random.key_data(following)


def _taken(env: Env, slot: EnvSlot, action: PyTree[Array], key: PRNGKeyArray) -> tuple[EnvSlot, StepResult, Array]:
    """Takes one action, clipped to its bounds; tells also whether that ended the episode."""
    after, made, end = take_step(env, slot, clip_to(env.action_space, action), key)
    result = StepResult(made.next_obs, made.reward, made.terminated, made.truncated, jnp.array(False), infos(made.info))
    return after, result, end.ended


def _begun(obs: PyTree[Array], info: dict[str, Array]) -> StepResult:
    """Returns what the beginning of an episode tells."""
    no = jnp.array(False)
    return StepResult(obs, jnp.float32(0.0), no, no, jnp.array(True), info)


def _matching(info: dict[str, Array], like: dict[str, Array]) -> dict[str, Array]:
    """Returns a reset's info if it is of the same form as a step's; else the step's, which is masked."""
    same = jax.tree.structure(info) == jax.tree.structure(like)
    return info if same and jax.tree.all(jax.tree.map(lambda a, b: a.shape == b.shape, info, like)) else like
