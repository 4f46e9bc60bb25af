"""Environments of Jumanji."""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ...core.action_mask import ACTION_MASK, mask_shapes
from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_flag
from ...core.promotion import their_promotion
from ...core.scene import Scene
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space
from .foreign import (
    NEVER,
    Foreign,
    ForeignEnv,
    call,
    check_id,
    check_layers,
    checked_limit,
    imported,
    inner_name,
    recipe,
    shapes_of,
)
from .pictures.figures import figure_pixels, new_axes
from .spaces import acted, observed, parts_of

LIBRARY, LOWEST = "jumanji", "1.1.0"
CLOCKS = ("step_count", "step")
"""Parts of observations that count the steps of the episode."""


class JumanjiEnv(ForeignEnv):
    """An environment of Jumanji.

    An episode that Jumanji ends with the discount 0 has terminated, with another one it was truncated. Its own time
    limit, for which most of its environments say 0, is ours: the task has ended if a step without the limit says so.

    A mask over combinations of several choices goes with one choice among all combinations, as agents use it. Where
    choices are apart, it is left out if it could pass for a mask of each choice by itself. The rewards of several
    agents are added up, as by Jumanji's `MultiToSingleWrapper`.

    Attributes:
        theirs: the environment.
        unlimited: the same without its time limit; None where it has none.
        their_spec, time_limit: see `ForeignEnv`.
        nvec: of which choices an action is a combination; None where it is as Jumanji takes it, but for its axes.
    """

    theirs: Foreign = eqx.field(static=True)
    their_spec: EnvSpec
    time_limit: int | None = eqx.field(static=True)
    unlimited: Foreign | None = eqx.field(static=True)
    nvec: tuple[int, ...] | None = eqx.field(static=True)

    def begin(self, key: Array) -> tuple[Any, PyTree[Array]]:
        state, timestep = self.theirs.it.reset(key)
        return state, self._seen(timestep.observation)

    def take(self, key: Array, state: Any, action: Any) -> tuple[Any, PyTree[Array], Array, Any, Any]:
        del key  # its steps draw from the key in the state
        action = self._as_theirs(action)
        after, timestep = (self.unlimited or self.theirs).it.step(state, action)
        ended = timestep.last() & jnp.all(timestep.discount == 0), timestep.last() & jnp.any(timestep.discount != 0)
        if self.unlimited is not None:
            timestep = self.theirs.it.step(state, action)[1]
        return after, self._seen(timestep.observation), jnp.sum(timestep.reward), *ended

    def _seen(self, obs: Any) -> Any:
        """Returns an observation; the mask of combinations as one over them."""
        parts = parts_of(obs)
        if self.nvec is None or parts is None:
            return obs
        return {**parts, ACTION_MASK: parts[ACTION_MASK].reshape(-1)}

    def _as_theirs(self, action: Any) -> Array:
        """Returns an action as Jumanji takes it."""
        spec = self.theirs.it.action_spec
        if self.nvec is not None:
            action = jnp.stack(jnp.unravel_index(action, self.nvec))
        return jnp.reshape(action, spec.shape).astype(spec.dtype)


class DrawnJumanjiEnv(JumanjiEnv):
    """One that Jumanji has a viewer for."""

    kind_name: ClassVar[str] = "JumanjiEnv"

    def scene(self, state: Any) -> Scene:
        """Draws a state by Jumanji's viewer, in a figure that no window shows.

        Its code goes from number to number, for which NumPy's are many times as fast; some of it takes only JAX's.
        """
        with their_promotion():
            try:
                return _drawn(self.theirs.it, state)
            except (AttributeError, TypeError):
                return _drawn(self.theirs.it, jax.tree.map(jnp.asarray, state))


def _drawn(env: Any, state: Any) -> Scene:
    """Draws a state by the viewer of an environment that has one."""
    from matplotlib import pyplot

    env, name, drawn = copy.copy(env), _viewer_name(env), []
    assert name is not None  # `_wrapped`
    viewer = copy.copy(getattr(env, name))
    viewer._clear_display, viewer._display, viewer._get_fig_ax = (lambda: None), drawn.append, _unseen(viewer)
    setattr(env, name, viewer)
    before = set(pyplot.get_fignums())
    try:
        env.render(state)
        return Scene.of_pixels(figure_pixels(drawn[-1]))
    finally:
        for number in set(pyplot.get_fignums()) - before:
            pyplot.close(number)


def _unseen(viewer: Any) -> Any:
    """Returns what makes a viewer's axes without showing them: plain ones, or its own, which may be in space."""
    own = viewer._get_fig_ax
    if type(viewer)._get_fig_ax is _viewers().MatplotlibViewer._get_fig_ax:
        return new_axes
    return lambda *args, **options: own(*args, **{**options, "show": False})


def _viewer_name(env: Any) -> str | None:
    """Returns the name under which an environment has a viewer that draws by Matplotlib; None if it has none."""
    parts = ("_clear_display", "_display", "_get_fig_ax")
    return next((name for name, value in vars(env).items() if all(hasattr(value, part) for part in parts)), None)


def _viewers() -> Any:
    return imported(LIBRARY, "jumanji.viewer", "jumanji", LOWEST)


def from_jumanji(env: Any, *, time_limit: int | None = None, flat_actions: bool = True) -> JumanjiEnv:
    """Makes an environment of one of Jumanji's.

    Args:
        env: Jumanji's, without a wrapper that resets it.
        time_limit: steps after which an episode is truncated; by default its own `time_limit`, if it has one.
        flat_actions: whether several choices with a mask over their combinations are made one.

    Raises:
        ConfigError: for what has no specs of Jumanji's.
    """
    return _wrapped(env, time_limit, flat_actions, None)


@their_promotion()
def _wrapped(env: Any, time_limit: int | None, flat_actions: bool, made_from: str | None) -> JumanjiEnv:
    check_layers(env)
    if any(not hasattr(env, spec) or callable(getattr(env, spec)) for spec in ("observation_spec", "action_spec")):
        raise ConfigError(
            "env", type(env).__name__, "give an environment with Jumanji's observation_spec and action_spec"
        )
    own = getattr(env, "time_limit", None)
    unlimited = _unlimited(env) if isinstance(own, int) else None
    limit = checked_limit(own if time_limit is None else time_limit)
    actions = acted(env.action_spec)
    obs = shapes_of(env, env.reset)[1].observation
    combined = _combined(actions, obs)
    nvec = combined if check_flag("flat_actions", flat_actions) else None
    if nvec is not None:
        actions = Discrete(math.prod(nvec))
        mask = parts_of(obs) or {}
        obs = {**mask, ACTION_MASK: _flat(mask[ACTION_MASK])}
    elif combined is not None and combined in mask_shapes(combined):
        obs = {name: part for name, part in (parts_of(obs) or {}).items() if name != ACTION_MASK}
    elif combined is None:
        actions = _masked(actions, obs)
    spec = EnvSpec(_without_clocks(observed(obs, env.observation_spec)), actions, limit)
    without = None if unlimited is None else Foreign(unlimited, None if made_from is None else f"{made_from} unlimited")
    kind = DrawnJumanjiEnv if _viewer_name(env) else JumanjiEnv
    return kind(theirs=Foreign(env, made_from), their_spec=spec, time_limit=limit, unlimited=without, nvec=nvec)


def _unlimited(env: Any) -> Any:
    """Returns a copy of an environment that has a time limit without it; in wrappers, of the one that is inside."""
    alone, name = copy.copy(env), inner_name(env)
    if name is None or "time_limit" in vars(env):
        alone.time_limit = NEVER
    if name is not None:
        setattr(alone, name, _unlimited(vars(env)[name]))
    return alone


def _without_clocks(space: Space) -> Space:
    """Returns a space in which counted steps are a number without an end, as the limit that ended them is ours."""
    if not isinstance(space, Dict):
        return space
    clock = Box(0.0, math.inf, (), jnp.float32)
    return Dict({name: clock if name in CLOCKS else part for name, part in space.spaces.items()})


def _combined(actions: Space, obs: Any) -> tuple[int, ...] | None:
    """Returns the choices that a mask is over all combinations of; None if there is no such mask."""
    mask = (parts_of(obs) or {}).get(ACTION_MASK)
    if isinstance(actions, MultiDiscrete) and mask is not None and tuple(mask.shape) == actions.nvec:
        return actions.nvec
    return None


def _masked(actions: Space, obs: Any) -> Space:
    """Returns the space of choices as far as a mask of each by itself has numbers for them.

    MultiCVRP's has one fewer than its actions, of which the last is no place.
    """
    shape = getattr((parts_of(obs) or {}).get(ACTION_MASK), "shape", ())
    if isinstance(actions, MultiDiscrete) and len(shape) == 2 and shape[0] == len(actions.nvec):
        return MultiDiscrete(tuple(min(n, shape[1]) for n in actions.nvec))
    return actions


def _flat(leaf: Any) -> Any:
    """Returns the shape of an array's entries in a row."""

    return jax.ShapeDtypeStruct((math.prod(leaf.shape),), leaf.dtype)


def ids() -> list[str]:
    """Returns the ids of all environments of the installed Jumanji."""
    return sorted(_jumanji().registered_environments())


@their_promotion()
def make(id: str, *, time_limit: int | None = None, flat_actions: bool = True, **options: Any) -> JumanjiEnv:
    """Makes one of Jumanji's environments by its id.

    Args:
        id: as of `jumanji.make`.
        time_limit: steps after which an episode is truncated; by default Jumanji's.
        flat_actions: whether several choices with a mask over their combinations are made one.
        options: arguments of the environment's class.

    Raises:
        ConfigError: for an unknown id or option, or if Jumanji is not installed.
    """
    check_id(LIBRARY, id, ids())
    env = call(LIBRARY, id, lambda **options: _jumanji().make(id, **options), options)
    return _wrapped(env, time_limit, flat_actions, recipe(LIBRARY, id, options))


def _jumanji() -> Any:
    return imported(LIBRARY, "jumanji", "jumanji", LOWEST)
