"""RPegoud's jym, the library of the article, run as its notebooks run it, where a copy of it can be imported.

The package of that name on PyPI is empty, so a folder with its source is named with --jym.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from kousoku.core.errors import ConfigError


class JymError(RuntimeError):
    """The error of a jym that does not import with the Python and the packages that are here."""


def rollout(folder: str, steps: int, agents: int) -> Callable[[], Any]:
    """Returns a function that trains `agents` agents for `steps` steps with jym and waits for the result.

    Raises:
        ConfigError: if the folder does not hold jym.
        JymError: if it does not import here, with the reason.
    """
    source = Path(folder).expanduser()
    if not (source / "jym" / "__init__.py").is_file():
        raise ConfigError("--jym", folder, "name a folder that holds the package jym")
    sys.path.insert(0, str(source))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jym = importlib.import_module("jym")
    except (ImportError, ValueError) as error:
        raise JymError(f"does not import here: {str(error).splitlines()[0]}") from error
    finally:
        sys.path.remove(str(source))
    size = jnp.array([8, 12])
    env = jym.GridWorld(jnp.array([7, 11]), jnp.array([0, 0]), size, False)
    policy, agent = jym.EpsilonGreedy(0.1), jym.Q_learning(0.9, 0.1)

    def run() -> Any:
        with contextlib.redirect_stderr(io.StringIO()):
            if agents == 1:
                result = jym.tabular_rollout(jax.random.PRNGKey(2), steps, 4, size, env, agent, policy)
            else:
                keys = jax.random.split(jax.random.PRNGKey(2), agents)
                result = jym.tabular_parallel_rollout(keys, steps, 4, size, agents, env, agent, policy)
            return jax.block_until_ready(result)

    return run
