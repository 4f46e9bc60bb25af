"""The first stage of an environment's contract: spaces, shapes and dtypes, of which nothing has to run to be known."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .env import Drawable, Env, EnvSpec, Finite
from .env_leaves import DECIDES, deciding_numbers, is_traced, large_numbers, shaping_numbers, unhashable_leaves
from .error_meanings import error_meaning
from .errors import ConfigError, shorten
from .known_step import with_known_step
from .leaves import dtype_of, is_array_or_number, key_like, kind_words, shapes, words
from .ours import is_ours
from .overridden import overridden, untyped_fields
from .panel import check_panels
from .spaces import LARGEST, Box, Dict, Discrete, MultiDiscrete, Space
from .timestep import Timestep, named_parts
from .wrapper import Wrapper, all_ours, kind_of, unwrapped, wrappers_of

SPACES = (Discrete, MultiDiscrete, Box, Dict)
SPACE_NAMES = ("observation_space", "action_space")
METHOD = "is a method: write @property above it"
FIELDS = {"reward": jnp.float32, "terminated": jnp.bool_, "truncated": jnp.bool_}


def check_shapes(env: Any) -> None:
    """Refuses what is no environment, or one whose spaces, shapes or dtypes no loop can use.

    It is traced, which takes milliseconds, and neither compiled nor run. What the library's own `step` gives is known,
    and what its wrappers make of it.

    Raises:
        ConfigError: with the first rule that it breaks, in the words of `kousoku.check_env`.
    """
    if not isinstance(env, Env):
        raise ConfigError("env", env.__name__ if isinstance(env, type) else env, _instead_of(env))
    if all_ours(env):
        return
    quick = with_known_step(env)
    if quick is not env and not any(shape_problems(quick)):
        return
    for problem in shape_problems(env):  # as it steps itself: a wrapper may ask for more than shapes
        raise ConfigError("env", kind_of(env), f"{problem}; kousoku.check_env tells all")


def shape_problems(env: Env) -> Iterator[str]:
    """Gives one line for each rule about spaces, shapes and dtypes that the environment breaks.

    Raises:
        ConfigError: as the environment itself does.
    """
    found = False
    for problem in (*space_problems(env), *_method_problems(env)):
        found = True
        yield problem
    if found:
        return
    yield from _told_problems(env)
    key = key_like()
    try:
        begun = _traced("reset", env, _reset, key)
        yield from _first_problems("reset", env, begun, begun)
        yield from _first_problems("restart", env, _traced("restart", env, _restart, key, begun[0]), begun)
        action = _traced("action_space", env, _sample, key)
        after = _traced("step", env, _step, key, begun[0], action)
    except _Broken as broken:
        yield str(broken)
        return
    yield from timestep_problems("step", env, after[1])
    if shapes(after[0]) != shapes(begun[0]):
        yield state_change(shapes(begun[0]), after[0])
    elif shapes(after[1].obs) != shapes(begun[1].obs):
        before, now = words(begun[1].obs), words(after[1].obs)
        yield f"step: its observations have other shapes or dtypes than a reset's: {before} became {now}"
    yield from _inner_problems(env, begun[0])
    yield from _panel_problems(env)
    yield from _world_problems(env)


def _inner_problems(env: Env, state: Any) -> Iterator[str]:
    """Gives a line for a wrapper of one's own that does not say where the state of what is inside lies."""
    if not isinstance(env, Wrapper) or is_ours(type(env)):
        return
    key = key_like()
    try:
        inside, found = _traced("reset", env.env, _reset, key)[0], _traced("inner_state", env, _inner, state)
    except _Broken as broken:
        yield str(broken)
        return
    if shapes(inside) != shapes(found):
        inner = kind_of(env.env)
        yield f"inner_state: it has to give the state of {inner}, which is a part of this wrapper's: got {words(found)}"


def _inner(env: Any, state: Any) -> Any:
    return env.inner_state(state)


def _panel_problems(env: Env) -> Iterator[str]:
    """Gives a line for panels of a finite environment that cannot be drawn."""
    if isinstance(env, Finite) and isinstance(env.observation_space, Discrete):
        try:
            check_panels(env.panels(), env.observation_space.n)
        except Exception as error:  # the user's code makes them
            yield f"panels: {error_meaning(error)}"


def _world_problems(env: Env) -> Iterator[str]:
    """Gives a line for a `world_at` of one's own that gives no environment, the innermost one's first."""
    for each in (unwrapped(env), *reversed(wrappers_of(env))):
        if is_ours(type(each).world_at):
            continue
        try:
            world = each.world_at(None)
        except Exception as error:  # the user's code
            yield f"world_at: {error_meaning(error)}"
            return
        if not isinstance(world, Env):
            yield f"world_at: it has to return an environment, for None too, got {_in_words(world)}"
            return


def space_problems(env: Env) -> Iterator[str]:
    """Gives one line for each field that no program can take, space that is not ours, and limit that is no count."""
    too_large = list(large_numbers(env))
    yield from too_large
    if too_large:  # where they are traced, all else would fail
        return
    for name in SPACE_NAMES:
        try:
            foreign = list(_foreign(name, getattr(env, name)))
            yield from foreign or shaping_numbers(env, name)
        except ConfigError:
            raise
        except Exception as error:  # a property is the user's code
            yield f"{name}: {error_meaning(error)}"
    yield from unhashable_leaves(env)
    try:
        limit = env.time_limit
    except Exception as error:  # likewise
        yield f"time_limit: {error_meaning(error)}"
        return
    if _is_method(limit):
        yield f"time_limit {METHOD}"
    elif limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LARGEST):
        yield f"time_limit is {limit!r}: use None or a whole number from 1 to {LARGEST}"
    else:
        yield from shaping_numbers(env, "time_limit")


def _told_problems(env: Env) -> Iterator[str]:
    """Gives a line for a spec of one's own that is none or tells something else, and for a flag that is none."""
    try:
        flag, spec = env.records_info, env.spec
    except Exception as error:  # a property is the user's code
        yield f"spec, or records_info: {error_meaning(error)}"
        return
    if not isinstance(flag, bool | np.bool_):
        yield f"records_info is {_in_words(flag)}: use True or False"
    if not isinstance(spec, EnvSpec):
        yield f"spec is {_in_words(spec)}: leave it out, or give a kousoku.EnvSpec"
        return
    for name in (*SPACE_NAMES, "time_limit"):
        told, own = getattr(spec, name), getattr(env, name)
        if type(told) is not type(own) or not eqx.tree_equal(told, own):
            theirs, ours = (shorten(each) if isinstance(each, SPACES) else _in_words(each) for each in (told, own))
            yield f"spec: its {name} is {theirs}, and the environment's own is {ours}: leave spec out"


def _method_problems(env: Env) -> Iterator[str]:
    """Gives one line for each method that cannot be called as loops call it, each property that is a method, and each
    field that is none.

    Arguments of the right names in another order count as such.
    """
    for each in (*wrappers_of(env), unwrapped(env)):
        kind = type(each)
        where = "" if each is env else f"{kind.__name__}."
        protocols = [protocol for protocol in (Finite, Drawable) if isinstance(each, protocol)]
        for name, arguments in overridden(kind, Wrapper if isinstance(each, Wrapper) else Env, *protocols):
            if arguments is None:
                if name not in (*SPACE_NAMES, "time_limit") and inspect.isroutine(getattr(kind, name, None)):
                    yield f"{where}{name} {METHOD}"
            elif (theirs := _other_arguments(getattr(each, name), arguments)) is not None:
                yield f"{where}{name}: its arguments are {theirs}; write them as ({', '.join(arguments)})"
        yield from (f"{where}{name} = {shorten(value)}: {fix}" for name, value, fix in untyped_fields(each))


def _other_arguments(method: Any, arguments: tuple[str, ...]) -> str | None:
    """Returns what a method takes where it cannot be called with so many arguments by place, or has these names in
    another order; None where it can, and of what does not tell.
    """
    try:
        given = inspect.signature(method)
    except (TypeError, ValueError):
        return None
    told = [each.replace(annotation=each.empty) for each in given.parameters.values()]
    names = tuple(given.parameters)
    try:
        given.bind(*arguments)
    except TypeError:
        return str(inspect.Signature(told))
    return str(inspect.Signature(told)) if names != arguments and sorted(names) == sorted(arguments) else None


def timestep_problems(where: str, env: Env, timestep: Timestep) -> Iterator[str]:
    """Gives one line for each field of a timestep, of arrays or of their shapes, that has another shape or dtype."""
    for name, dtype in FIELDS.items():
        value = getattr(timestep, name)
        if value is None or jnp.shape(value) != () or dtype_of(value) != dtype:
            yield f"{where}: {name} must be a {jnp.dtype(dtype).name} scalar, got {words(value)}"
    if not _fits(env.observation_space, timestep.obs):
        yield f"{where}: observation {words(timestep.obs)} is outside {env.observation_space}"
    names = [name for name, _ in named_parts(timestep.info)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        yield f"{where}: info has two parts of the name {twice!r}, as a key has a dot: use other keys"


def is_pair(result: Any) -> bool:
    """Returns whether a reset or a step gave (state, Timestep)."""
    return isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Timestep)


def state_change(before: Any, after: Any) -> str:
    """Returns the line for a step after which the state is of another form than before."""
    return f"step: the state's structure, shapes or dtypes change: {before} became {shapes(after)}"


class _Broken(Exception):
    """The end of the checks: what comes after needs what could not be traced."""


def _reset(env: Env, key: Any) -> Any:
    return _pair("reset", env.reset(key))


def _restart(env: Env, key: Any, state: Any) -> Any:
    return _pair("restart", env.restart(key, state))


def _sample(env: Env, key: Any) -> Any:
    return env.action_space.sample(key)


def _step(env: Env, key: Any, state: Any, action: Any) -> Any:
    return _pair("step", env.step(key, state, action))


def _pair(where: str, result: Any) -> Any:
    """Returns what a reset, a restart or a step gave.

    Raises:
        _Broken: if it is not (state, Timestep).
    """
    if is_pair(result):
        for path, leaf in jax.tree_util.tree_flatten_with_path(result)[0]:
            if not is_array_or_number(leaf):
                of_state = path[0] == jax.tree_util.SequenceKey(0)
                part = "state" if of_state else "timestep"
                fix = "; a static field of the environment may hold it" if of_state else ""
                raise _Broken(f"{where}: {part}{jax.tree_util.keystr(path[1:])} is {leaf!r}, which is no array{fix}")
        return result
    raise _Broken(f"{where} must return (state, Timestep), got {kind_words(result)}")


def _traced(where: str, env: Env, method: Callable[..., Any], *args: Any) -> Any:
    """Returns the shapes of what a method returns, where the numbers of the environment are not known.

    Raises:
        ConfigError: as the method does.
        _Broken: if it raises anything else, or returns something else.
    """
    numbers, structure = eqx.partition(env, is_traced)
    try:
        return jax.eval_shape(lambda numbers, *args: method(eqx.combine(numbers, structure), *args), numbers, *args)
    except (_Broken, ConfigError):
        raise
    except Exception as error:  # a method is the user's code
        raise _Broken(f"{where}: {_needed(env, method, *args) or error_meaning(error)}") from error


def _needed(env: Env, method: Callable[..., Any], *args: Any) -> str:
    """Returns the line for numbers that a method has to know; "" where it cannot be traced even if it knows all."""
    try:
        jax.eval_shape(partial(method, env), *args)
    except Exception:  # said by the caller
        return ""
    fields = ", ".join(deciding_numbers(env, method, *args))
    return f"{fields} {DECIDES}"


def _first_problems(where: str, env: Env, result: Any, begun: Any) -> Iterator[str]:
    yield from timestep_problems(where, env, result[1])
    if shapes(result) != shapes(begun):
        yield f"{where}: it gives other shapes or dtypes than reset: {shapes(begun)} became {shapes(result)}"


def _foreign(name: str, space: Any) -> Iterator[str]:
    if isinstance(space, Dict):
        for key, part in space.spaces.items():
            yield from _foreign(f"{name}[{key!r}]", part)
    elif _is_method(space):
        yield f"{name} {METHOD}"
    elif isinstance(space, type) and issubclass(space, SPACES):
        yield f"{name}: {class_of(space)}"
    elif not isinstance(space, SPACES):
        yield f"{name} is {_in_words(space)}: use Discrete, MultiDiscrete, Box or Dict of kousoku"


def _is_method(value: Any) -> bool:
    """Returns whether this is a method, of Python's or of Equinox's, where what it returns is meant."""
    return callable(value) and hasattr(value, "__func__")


def _in_words(thing: Any) -> str:
    """Returns what a thing is: a plain value as it is written, of others their kind and whose that is."""
    if isinstance(thing, jax.Array):
        return f"an array, {words(thing)}"
    if isinstance(thing, type):
        return f"the class {_with_home(thing)}"
    if type(thing).__module__ == "builtins" and not callable(thing):
        return shorten(thing)
    kind = _with_home(type(thing))
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def _with_home(kind: type) -> str:
    """Returns a class's name after its library's, such as numpy.ndarray."""
    home = kind.__module__.partition(".")[0]
    return kind.__name__ if home == "builtins" else f"{home}.{kind.__name__}"


def _fits(space: Space, obs: Any) -> bool:
    """Returns whether an observation has the shape and a dtype of its space: indices are int32, as tables take them."""
    if isinstance(space, Dict):
        fields = space.spaces
        return isinstance(obs, Mapping) and set(obs) == set(fields) and all(_fits(fields[k], obs[k]) for k in fields)
    if not is_array_or_number(obs) or jnp.shape(obs) != space.shape:
        return False
    if isinstance(space, Discrete | MultiDiscrete):
        return dtype_of(obs) == jnp.int32
    return dtype_of(obs).kind in ("iuf" if space.dtype.kind == "f" else "iu") or dtype_of(obs) == space.dtype


def _instead_of(env: Any) -> str:
    """Returns what would do in the place of what is no environment."""
    return class_of(env) or door_for(env) or "give an id or a kousoku.Env"


def class_of(thing: Any) -> str | None:
    """Returns what would do in the place of a class of environments, agents or spaces; None of what is no class."""
    return f"that is the class; make one of it: {thing.__name__}(...)" if isinstance(thing, type) else None


def door_for(env: Any) -> str | None:
    """Returns what would do in the place of another library's environment; None of what is no environment at all."""
    if isinstance(env, type) or not (callable(getattr(env, "reset", None)) and callable(getattr(env, "step", None))):
        return None
    home = type(env).__module__.partition(".")[0]
    if callable(getattr(env, "observation_spec", None)):
        return f"it is {home}'s: give kousoku.from_dm_env(...) of it, which steps it on the host"
    if all(hasattr(env, part) for part in ("async_reset", "recv")):
        return f"it is {home}'s: give kousoku.from_envpool(...) of it, which steps it on the host"
    if "gymnasium" in {kind.__module__.partition(".")[0] for kind in type(env).__mro__}:
        return f"it is {home}'s: give kousoku.from_gymnasium(...) of it, which steps it on the host"
    return f"it is {home}'s: give an id or a kousoku.Env, whose reset and step are pure functions in JAX"
