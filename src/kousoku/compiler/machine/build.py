"""From LLVM IR to machine code, by way of the cache."""

from __future__ import annotations

from collections.abc import Callable

from .code import object_code
from .object_cache import object_cache
from .target import Target


def build(key: str, text: Callable[[], str], target: Target, checked: Callable[[], None] | None = None) -> bytes:
    """The machine code of that key: from the user's cache, or compiled from the text.

    Args:
        key: of all that the code depends on.
        text: makes the text, in LLVM's language.
        target: the processor.
        checked: called when LLVM has found nothing wrong with the text, before it begins to optimise.
    """
    kept = object_cache()

    def make() -> bytes:
        return object_code(text(), target, checked)

    return make() if kept is None else kept.get_or_make(key, make)
