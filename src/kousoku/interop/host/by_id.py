"""Environments of Gymnasium's registry by their ids, and the packages that register them.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium

from ...core.errors import ConfigError
from ..libraries import imported

PIXELS = "rgb_array"
"""Gymnasium's `render_mode` of environments that draw themselves into an array."""


class Package(NamedTuple):
    """A package that registers environments with Gymnasium when it is imported.

    Attributes:
        module: to import.
        name: of the distribution.
        lowest: the first version that works.
    """

    module: str
    name: str
    lowest: str


_MINIGRID = Package("minigrid", "minigrid", "3.0.0")
PACKAGES = {"ALE/": Package("ale_py", "ale-py", "0.10.0"), "MiniGrid-": _MINIGRID, "BabyAI-": _MINIGRID}
"""{what the ids of a package begin with: the package}."""


def register(id: str) -> None:
    """Imports the package that registers an id, if it is one of `PACKAGES` and the id is not registered yet.

    Raises:
        ConfigError: if it is not installed, too old, or broken.
    """
    for prefix, package in PACKAGES.items():
        if id.startswith(prefix) and id not in gymnasium.registry:
            imported("env", f"gymnasium:{id}", *package, f"pip install {package.name}")


def register_installed() -> None:
    """Imports those of `PACKAGES` that are installed and work."""
    for package in PACKAGES.values():
        with contextlib.suppress(ConfigError):
            imported("env", package.module, *package, "")


@dataclass(frozen=True)
class ById:
    """The maker of an environment that is registered with Gymnasium; equal ones make equal environments.

    Attributes:
        id: Gymnasium's.
        options: of `gymnasium.make`, and of the environment.
        spec: what was registered under the id where this was made: another process may not have it.
    """

    id: str
    options: Mapping[str, Any] = field(hash=False)
    spec: Any = field(default=None, compare=False, repr=False, metadata={"told": False})

    def __call__(self) -> Any:
        if self.spec is None:
            register(self.id)
        made_of: Any = self.id if self.spec is None or self.id in gymnasium.registry else self.spec
        return gymnasium.make(made_of, **{"disable_env_checker": True, **self.options})

    def drawn(self) -> ById:
        """Returns what makes one that draws itself."""
        return ById(self.id, {**self.options, "render_mode": PIXELS}, self.spec)
