"""The library's own classes and functions, which need no check that a person's own code does."""

from __future__ import annotations

import os
from typing import Any

OURS = "kousoku"
LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""The folder of the library's own files."""


def is_ours(part: Any) -> bool:
    """Returns whether a class or a function is the library's own.

    >>> is_ours(is_ours), is_ours(dict)
    (True, False)
    """
    return (getattr(part, "__module__", None) or "").partition(".")[0] == OURS
