"""Another time limit in the place of an environment's own: the task that a maker with that limit would make."""

from __future__ import annotations

import dataclasses

from ...core.env import Env
from ...core.errors import ConfigError
from ...core.wrapper import Wrapper
from ...envs.wrappers import TimeLimit


def with_limit(field: str, env: Env, limit: int) -> Env:
    """Returns an environment with another time limit, which is an option of its own.

    Args:
        field: what the limit was written for, for messages.
        env: no wrapper.
        limit: steps after which an episode is truncated.

    Raises:
        ConfigError: for a wrapper, or an environment whose limit is fixed.
    """
    if isinstance(env, Wrapper):
        fix = "give it to the environment that is wrapped, as time_limit=, or put kousoku.wrappers.TimeLimit around"
        raise ConfigError(field, limit, fix)
    if not _has_option(env):
        raise ConfigError(field, limit, f"{type(env).__name__} has a time limit of its own")
    return dataclasses.replace(env, time_limit=limit)


def with_limit_inside(field: str, env: Env, limit: int) -> Env:
    """Returns an environment, wrapped or not, with another time limit. The same limit always means the same task.

    Wrappers that pass the limit of the environment inside on are put around that with the other limit, as it may read
    its own: in rewards, in a clock that is observed. A `TimeLimit` around gets another number; one is put around what
    has no such option, and so may end episodes earlier alone.

    Raises:
        ConfigError: as `with_limit` does; for a wrapper that makes another limit of the one inside, as `RepeatAction`
            does, or a `TimeLimit` that would have to end episodes later than the environment inside does.
    """
    if limit == env.time_limit:
        return env
    if isinstance(env, TimeLimit) and _ends_later(env.env, limit):
        return dataclasses.replace(env, max_episode_steps=limit)
    if not isinstance(env, Wrapper) and not _has_option(env) and _ends_later(env, limit):
        return TimeLimit(env, limit)  # pyright: ignore[reportCallIssue]
    if isinstance(env, Wrapper) and type(env).time_limit is Wrapper.time_limit:
        return dataclasses.replace(env, env=with_limit_inside(field, env.env, limit))
    return with_limit(field, env, limit)


def _has_option(env: Env) -> bool:
    return any(field.name == "time_limit" and field.init for field in dataclasses.fields(env))


def _ends_later(env: Env, limit: int) -> bool:
    """Returns whether an environment's own clock ends no episode before a limit."""
    return env.time_limit is None or limit <= env.time_limit
