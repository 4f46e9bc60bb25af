"""Classes of other libraries that ours derive from when they are made: none of them is imported before."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

from ...core.errors import ConfigError


def required(module: str, package: str, asked_by: str) -> ModuleType:
    """Imports a module of another library.

    Args:
        module: with dots.
        package: what `pip install` calls it.
        asked_by: the name of ours that needs it.

    Raises:
        ConfigError: if it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        fix = f"it needs {package}: pip install {package}"
        raise ConfigError(asked_by, f"{type(error).__name__}: {error}", fix) from error


@functools.cache
def derived(ours: type, theirs: type) -> Any:
    """Returns a class that is both; methods are ours where we have them.

    Examples:
        >>> derived(str, object).__mro__[1]
        <class 'str'>
    """
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__})
