"""Jaxprs come open, or closed over constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def opened(closed: Any) -> Any:
    """The jaxpr itself."""
    return getattr(closed, "jaxpr", closed)


def consts_of(closed: Any) -> Sequence[Any]:
    """The constants that it is closed over."""
    return getattr(closed, "consts", ())
