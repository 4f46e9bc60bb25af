"""From LLVM IR to machine code, by way of the cache."""

from __future__ import annotations

from collections.abc import Callable

from .code import object_code
from .object_cache import object_cache
from .target import Target


def build(key: str, text: Callable[[], str], target: Target) -> bytes:
    """The machine code of that key: from the user's cache, or compiled from the text."""
    kept = object_cache()

    def make() -> bytes:
        return object_code(text(), target)

    return make() if kept is None else kept.get_or_make(key, make)
