"""EnvPool's environments as ours: a pool of threads in C++ steps all of them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...core.errors import ConfigError, error_text, nearest
from ...core.host import HostEnv
from ..libraries import imported
from .group import Rows
from .spaces import our_spaces
from .values import leaves_of, observed, told_of, unbatched
from .vector_env import check_size

LOWEST = "1.2.0"


def ids() -> list[str]:
    """Returns the ids of all environments of the installed EnvPool.

    Raises:
        ConfigError: if it is not installed.
    """
    return sorted(_imported().list_all_envs())


def envpool_env(id: str, **options: Any) -> HostEnv:
    """Makes what `kousoku.make("envpool:ID")` names.

    Args:
        id: as `envpool.make_gymnasium` takes it, such as "Pong-v5".
        options: of the same, such as `num_threads` and `max_episode_steps`; how many there are, and their seeds, are
            training's to say.

    Raises:
        ConfigError: if EnvPool is not installed, does not know the id, or cannot make it, in its words.
    """
    envpool = _imported()
    for taken in ("num_envs", "batch_size", "seed", "env_seed"):
        if taken in options:
            raise ConfigError(taken, options[taken], "training says how many environments there are, and seeds them")
    if id not in (known := envpool.list_all_envs()):
        close = [f"envpool:{name}" for name in nearest(id, known)]
        more = f"did you mean {' or '.join(close)}?" if close else "`kousoku list envpool:` shows all"
        raise ConfigError("env", f"envpool:{id}", f"EnvPool has no such id; {more}")
    try:
        spec = envpool.make_spec(id, **options)
    except Exception as error:  # of any kind: EnvPool's and C++'s
        raise ConfigError("env", f"envpool:{id}", f"it cannot be made: {error_text(error)}") from error
    name = f"envpool:{id}"
    with _quietly():
        theirs = spec.gymnasium_observation_space, spec.gymnasium_action_space
    observations, actions, starts = our_spaces(name, *theirs)
    return HostEnv(name, observations, actions, PoolMaker(id, options), starts=starts)


def from_envpool(pool: Any, *, name: str | None = None) -> HostEnv:
    """Makes an environment to train in of a pool that there is already, which whoever made it closes.

    Args:
        pool: of `envpool.make_gymnasium`, with as many environments as the agents have slots in all. Its environments
            keep the seeds that they were made with.
        name: what it is called in messages and records; by default the pool's class.

    Raises:
        ConfigError: for what is no such pool, or one that gives some of its environments at a time.
    """
    if not is_pool(pool):
        raise ConfigError(
            "env", type(pool).__name__, "give a pool of envpool.make_gymnasium, or its id to kousoku.make"
        )
    name = name or type(pool).__name__
    if pool.is_async:
        fix = f"make it with batch_size={pool.num_envs}: every environment takes a step, and all are waited for"
        raise ConfigError("batch_size of the pool", pool.config["batch_size"], fix)
    if pool.config.get("max_num_players", 1) > 1:
        raise ConfigError("env", name, "it has several players; agents act for one")
    with _quietly():
        theirs = pool.observation_space, pool.action_space
    observations, actions, starts = our_spaces(name, *theirs)
    return HostEnv(name, observations, actions, partial(GivenPool, pool), count=pool.num_envs, starts=starts)


def is_pool(env: Any) -> bool:
    """Returns whether something has the methods of an EnvPool of the type "gymnasium"."""
    with _quietly():
        return all(hasattr(env, part) for part in ("all_env_ids", "async_reset", "recv", "observation_space", "config"))


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Lets nobody hear that EnvPool writes bounds as float64 which it means as float32."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*precision lowered by casting", category=UserWarning)
        yield


def _imported() -> Any:
    return imported("environment", "envpool:", "envpool", "envpool", LOWEST, "pip install envpool")


@dataclass(frozen=True)
class PoolMaker:
    """The maker of pools of an id: equal ones make equal environments.

    Attributes:
        id: EnvPool's.
        options: of `envpool.make_gymnasium`.
    """

    id: str
    options: Mapping[str, Any] = field(hash=False)

    def __call__(self, seeds: Sequence[int]) -> Pool:
        pool = _imported().make_gymnasium(self.id, num_envs=len(seeds), env_seed=list(seeds), **self.options)
        return Pool(pool)


class Pool:
    """A `kousoku.core.host.HostVector` of an EnvPool."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        with _quietly():
            self._observations, self._action_space = leaves_of(pool.observation_space), pool.action_space
        self._actions = leaves_of(self._action_space)

    def reset(self, slots: Sequence[int] | None = None) -> Rows:
        if slots is None:
            return observed(self._observations, self._pool.num_envs, self._pool.reset()[0])
        # A pool begins an ended episode anew by itself at the next step; asked before, it does so now, and only once.
        obs, info = self._pool.reset(np.asarray(slots, np.int32))
        order = np.argsort(info["env_id"])
        return [leaf[order] for leaf in observed(self._observations, len(slots), obs)]

    def step(self, actions: Sequence[np.ndarray]) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        theirs = unbatched(self._action_space, self._actions, actions)
        obs, reward, terminated, truncated, info = self._pool.step(theirs)
        order = np.argsort(info["env_id"])
        count = self._pool.num_envs
        reward, terminated, truncated = told_of(count, reward, terminated, truncated)
        rows = [leaf[order] for leaf in observed(self._observations, count, obs)]
        return rows, reward[order], terminated[order], truncated[order]

    def close(self) -> None:
        self._pool.close()


class GivenPool(Pool):
    """A pool that whoever made it closes."""

    def __init__(self, pool: Any, seeds: Sequence[int]) -> None:
        """Takes a pool, whose environments have their seeds.

        Raises:
            ConfigError: if it has another number of environments than there are seeds.
        """
        check_size("pool", pool.num_envs, len(seeds))
        super().__init__(pool)

    def close(self) -> None:
        pass
