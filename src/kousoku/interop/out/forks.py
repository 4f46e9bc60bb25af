"""Processes that were forked after JAX began: its threads are not there, and XLA waits for them for ever."""

from __future__ import annotations

import functools
import os
from typing import Any

from jax._src import xla_bridge

from ...core.errors import ConfigError


class ForkedError(ConfigError):
    """The refusal to run programs in a process that was forked from one in which JAX had begun.

    It is made of whatever another library raises it again with, in the process that it came from.
    """

    def __init__(self, *_: Any) -> None:
        fix = 'start them anew, as by gymnasium.make_vec(..., vector_kwargs={"context": "spawn"})'
        super().__init__("process", "a fork of one that has used JAX, whose threads it lacks", fix)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def check_not_forked() -> None:
    """Refuses a process that was forked after JAX had begun.

    Raises:
        ForkedError: if this process is such a fork.
    """
    if xla_bridge.backends_are_initialized() and _began_in() != os.getpid():
        raise ForkedError


@functools.cache
def _began_in() -> int:
    """Returns the process in which JAX began, if it is first asked there: before each fork."""
    return os.getpid()


def _remember() -> None:
    if xla_bridge.backends_are_initialized():
        _began_in()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_remember)
