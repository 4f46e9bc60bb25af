"""Gymnasium's environments as ours: by id, as objects, made by functions, or many in a vector."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from ...core.errors import ConfigError, check_count
from ...core.host import HostEnv, HostVector
from ...envs import ENVS
from ..libraries import install_command
from ..out.registration import NAMESPACE
from .by_id import PIXELS, ById, register_installed
from .exits import exit_text
from .from_envpool import is_pool
from .group import DrawnGroup, EnvGroup
from .spaces import our_spaces
from .vector_env import GymnasiumVector, check_masks, check_texts
from .workers import Workers

NEED_MORE = ("GymV21Environment-v0", "GymV26Environment-v0")
"""Gymnasium's doors to older interfaces: no environments by an id alone."""


@dataclass(frozen=True)
class VectorMaker:
    """The maker of a vector of environments.

    Attributes:
        name: of the environment.
        factory: makes one.
        workers: processes to step them in; 0 for this one.
    """

    name: str
    factory: Callable[[], Any]
    workers: int = field(metadata={"told": False})

    def __call__(self, seeds: Sequence[int]) -> HostVector:
        if self.workers == 0:
            return EnvGroup(self.factory, seeds)
        return Workers(self.name, self.factory, seeds, self.workers)


def ids() -> list[str]:
    """Returns the ids in Gymnasium's registry, of each name the newest version; ours, which lie there, too, not.

    Those of Atari's and MiniGrid's packages are among them where these are installed; another package that registers
    some when it is imported has to be.
    """
    register_installed()
    specs = [spec for id, spec in gymnasium.registry.items() if spec.namespace != NAMESPACE and id not in NEED_MORE]
    newest: dict[tuple[str | None, str], EnvSpec] = {}
    for spec in sorted(specs, key=lambda spec: -1 if spec.version is None else spec.version):
        newest[spec.namespace, spec.name] = spec
    return sorted(spec.id for spec in newest.values())


@dataclass(frozen=True)
class DrawnMaker:
    """The maker of environments that can be drawn, in this process; equal ones make equal environments.

    Attributes:
        factory: makes one that draws itself.
    """

    factory: Callable[[], Any]

    def __call__(self, seeds: Sequence[int]) -> DrawnGroup:
        return DrawnGroup(self.factory, seeds)


def gymnasium_env(id: str, workers: int = 0, **options: Any) -> HostEnv:
    """Makes what `kousoku.make("gymnasium:ID")` names.

    Args:
        id: as `gymnasium.make` takes it, such as "LunarLander-v3" or "ALE/Breakout-v5"; behind the name of a module and
            a colon, which is imported first, where that registers it.
        workers: processes to step the environments in; 0 for this one, which suits environments that take microseconds.
        options: of `gymnasium.make`, and of the environment.

    Raises:
        ConfigError: if Gymnasium does not know the id, or cannot make the environment, in its words; if the package
            that registers it is not installed.
    """
    factory = ById(id, options, gymnasium.registry.get(id))
    return host_env(f"gymnasium:{id}", factory, workers, drawn=factory.drawn())


def from_gymnasium(env: Any, *, workers: int = 0, name: str | None = None) -> HostEnv:
    """Makes an environment to train in of one of Gymnasium's, which goes on running on the host.

    Args:
        env: a function without arguments that makes a `gymnasium.Env`; such an environment, of which every slot gets a
            copy; or a `gymnasium.vector.VectorEnv` with as many environments as the agents have slots in all.
        workers: processes to step the environments in, each a share of them; 0 for this one, which suits environments
            that take microseconds.
        name: what it is called in messages and records; by default the environment's id or class.

    Raises:
        ConfigError: for what is none of these, a space that has no counterpart, or a vector that cannot begin episodes
            in some of its environments only.

    Examples:
        >>> import gymnasium
        >>> env = from_gymnasium(lambda: gymnasium.make("CartPole-v1"))
        >>> env.name, env.action_space
        ('CartPole-v1', Discrete(n=2))
    """
    _check_no_pool(env)
    if isinstance(env, gymnasium.vector.VectorEnv):
        if workers:
            raise ConfigError("workers", workers, "the vector has its own; leave it out")
        return _of_vector(env, name)
    if isinstance(env, gymnasium.Env):
        drawn = functools.partial(_again(env.spec), render_mode=PIXELS) if _is_whole(env.spec) else None
        return host_env(name or _name_of(env), _maker_of(env), workers, env, drawn)
    if not callable(env) or (isinstance(env, type) and not issubclass(env, gymnasium.Env)):
        fix = "give a gymnasium.Env, a function that makes one, or a gymnasium.vector.VectorEnv"
        raise ConfigError("env", env, fix)
    return host_env(name, env, workers)


def host_env(
    name: str | None,
    factory: Callable[[], Any],
    workers: int,
    example: Any = None,
    drawn: Callable[[], Any] | None = None,
) -> HostEnv:
    """Makes the environment of what makes one.

    Args:
        name: what it is called; by default what it calls itself.
        factory: makes one.
        workers: processes to step them in.
        example: one that tells spaces; by default the factory makes it.
        drawn: makes one that draws itself; by default the factory does if its environments draw already.

    Raises:
        ConfigError: if it cannot be made, is no `gymnasium.Env`, or has many environments in it.
    """
    check_count("workers", workers, low=0)
    env = made(name or _name_of(factory), factory) if example is None else example
    _check_one(env)
    name = name or _name_of(env)
    theirs = _part_of(name, env, "observation_space"), _part_of(name, env, "action_space")
    observations, actions, starts = our_spaces(name, *theirs)
    draws = PIXELS in (env.metadata.get("render_modes") or ()) and env.render_mode in (None, PIXELS)
    drawn = drawn if env.render_mode is None else factory
    make_drawn = DrawnMaker(drawn) if draws and drawn is not None else None
    if example is None:
        _told(name, "closed", env.close)
    maker = VectorMaker(name, factory, int(workers))
    return HostEnv(name, observations, actions, maker, make_drawn=make_drawn, starts=starts)


def _check_one(env: Any) -> None:
    """Refuses what is no `gymnasium.Env`, or is one of many environments, within wrappers too."""
    inner = env.unwrapped if isinstance(env, gymnasium.Env) else env
    _check_no_pool(inner)
    if isinstance(inner, gymnasium.vector.VectorEnv):
        fix = "the function has to return a gymnasium.Env; give a vector itself"
        raise ConfigError("env", type(inner).__name__, fix)
    if not isinstance(env, gymnasium.Env):
        raise ConfigError("env", env, "the function has to return a gymnasium.Env")


def _check_no_pool(env: Any) -> None:
    if is_pool(env):
        raise ConfigError("env", type(env).__name__, "it is a pool of EnvPool's: give it to kousoku.from_envpool")


def _part_of(name: str, env: Any, part: str) -> Any:
    """Returns what an environment has to tell of itself.

    Raises:
        ConfigError: if it does not, naming it.
    """
    found = _told(name, f"asked for its {part}", lambda: getattr(env, part, None))
    if found is None:
        raise ConfigError("env", name, f"it has no {part}; set self.{part} in its __init__")
    return found


def made(name: str, factory: Callable[[], Any]) -> Any:
    """Returns an environment.

    Args:
        name: of it, for the message.
        factory: makes it.

    Raises:
        ConfigError: with what the environment or its library said.
    """
    return _told(name, "made", factory)


def _told(name: str, what: str, function: Callable[[], Any]) -> Any:
    """Returns what a function of an environment or its library does.

    Raises:
        ConfigError: with what it raised, naming what cannot be done.
    """
    try:
        return function()
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:  # others' code
        raise ConfigError("env", name, f"it cannot be {what}: {exit_text(error)}{_remedy(name, error)}") from error


def _remedy(name: str, error: BaseException) -> str:
    """Returns what to do where a package is missing: install it, or take our own of that id; "" where none is."""
    install = install_command(error)
    library, _, id = name.partition(":")
    ours = f", or use our own {id!r}" if library == "gymnasium" and id in ENVS.ids() else ""
    return f"; {install}{ours}" if install else ""


def _name_of(made: Any) -> str:
    """Returns an environment's id, or the name of its class; of a function its own."""
    id = getattr(getattr(made, "spec", None), "id", None)
    if id:
        return str(id)
    return getattr(made, "__name__", None) or type(getattr(made, "unwrapped", made)).__name__


def _maker_of(env: Any) -> Callable[..., Any]:
    """Returns what makes environments like one: by its id and wrappers, where Gymnasium noted all, else copies.

    Raises:
        ConfigError: if it can neither be made again nor copied.
    """
    return _again(env.spec) if _is_whole(env.spec) else copier(_name_of(env), env)


def copier(name: str, env: Any) -> Callable[[], Any]:
    """Returns what makes copies of an environment.

    Raises:
        ConfigError: if it does not allow that.
    """
    try:
        copy.deepcopy(env)
    except (Exception, SystemExit) as error:  # copying runs the environment's code
        why = f"every slot needs a copy, which it does not allow ({type(error).__name__})"
        raise ConfigError("env", name, f"{why}; give a function that makes it") from error
    return functools.partial(copy.deepcopy, env)


def _is_whole(spec: Any) -> bool:
    """Returns whether an environment can be made again by what Gymnasium noted: own wrappers may have noted nothing."""
    return spec is not None and all(wrapper.kwargs is not None for wrapper in spec.additional_wrappers)


def _again(spec: Any) -> Callable[..., Any]:
    return functools.partial(gymnasium.make, spec, disable_env_checker=True)


def _of_vector(env: Any, name: str | None) -> HostEnv:
    """Makes the environment of a vector that there is already."""
    name = name or _name_of(env)
    check_masks(name, env)
    theirs = _part_of(name, env, "single_observation_space"), _part_of(name, env, "single_action_space")
    observations, actions, starts = our_spaces(name, *theirs)
    check_texts(name, env)
    maker, count = functools.partial(GymnasiumVector, env), _part_of(name, env, "num_envs")
    return HostEnv(name, observations, actions, maker, count=count, starts=starts)
