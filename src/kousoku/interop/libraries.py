"""Other libraries: imported when they are asked for."""

from __future__ import annotations

import importlib
import traceback
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from ..core.errors import ConfigError, error_text

DISTRIBUTIONS = {"PIL": "pillow", "cv2": "opencv-python", "yaml": "pyyaml"}
"""{a module: the distribution that it comes with}, where the names differ."""
ROBOTS = "gymnasium.envs.mujoco"
"""The module of Gymnasium's robots, which need more than one package."""


def imported(field: str, given: str, module: str, package: str, lowest: str, install: str) -> Any:
    """Imports a module of a library that is an extra.

    Args:
        field, given: who needs it, for the message.
        module: to import.
        package: the name of the distribution.
        lowest: the first version that works.
        install: what installs one that works.

    Raises:
        ConfigError: if it is not installed, too old, or broken.
    """
    try:
        there = metadata.version(package)
    except metadata.PackageNotFoundError:
        fix = f"it needs {package}, which is not installed; {lowest} or later works: {install}"
        raise ConfigError(field, given, fix) from None
    if _numbers(there) < _numbers(lowest):
        raise ConfigError(field, given, f"{package} {there} is too old, {lowest} works: {install}")
    try:
        return importlib.import_module(module)
    except Exception as error:  # what another package raises when it does not fit to what else is installed
        works = f"{lowest} or later works where its own needs are met: {install}"
        fix = f"{package} {there} cannot be imported ({error_text(error)}); {works}"
        raise ConfigError(field, given, fix) from error


def install_command(error: BaseException) -> str | None:
    """Returns what installs the module that others' code could not import; None of an error that says something else.

    Examples:
        >>> install_command(ModuleNotFoundError("No module named 'cv2.no'", name="cv2.no")), install_command(KeyError())
        ('pip install opencv-python', None)
    """
    module = error.name.partition(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else ""
    if not module or find_spec(module) is not None:  # what is there, and lacks a part, is not mended by installing it
        return None
    if any(f.f_globals.get("__name__", "").startswith(ROBOTS) for f, _ in traceback.walk_tb(error.__traceback__)):
        return "pip install 'gymnasium[mujoco]'"
    return f"pip install {DISTRIBUTIONS.get(module, module)}"


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the leading whole numbers of a version."""
    parts = []
    for part in version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)
