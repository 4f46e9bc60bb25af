"""Classes of other libraries that ours derive from when they are made: none of them is imported before."""

from __future__ import annotations

import functools
from typing import Any

from ..libraries import imported

LOWEST = {"brax": "0.14.0", "dm-env": "1.6", "stable-baselines3": "2.7.0"}
"""The first version of each that works."""


def required(module: str, package: str, asked_by: str) -> Any:
    """Imports a module of another library.

    Args:
        module: with dots.
        package: what `pip install` calls it.
        asked_by: the name of ours that needs it.

    Raises:
        ConfigError: if it is not installed, too old, or broken.
    """
    return imported("environment", asked_by, module, package, LOWEST[package], f"pip install {package}")


@functools.cache
def derived(ours: type, theirs: type) -> Any:
    """Returns a class that is both; methods are ours where we have them.

    Pickle finds no such class by its name: ours says in `__reduce__` what makes an object of it again.

    Examples:
        >>> derived(str, object).__mro__[1]
        <class 'str'>
    """
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__})
