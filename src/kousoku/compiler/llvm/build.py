"""Builds machine code from LLVM IR, by way of the cache."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable

from .compile import is_long, object_code
from .compile_subprocess import can_start, object_code_in_subprocess
from .object_cache import compiler_version, object_cache
from .target import Target


def build(key: str, text: Callable[[], str], target: Target, checked: Callable[[], None] | None = None) -> bytes:
    """Returns the machine code of that key: from the user's cache, or compiled from the text.

    Args:
        key: of all that the code depends on.
        text: makes the text, in LLVM's language.
        target: the processor.
        checked: called when LLVM has found nothing wrong with the text, before it begins to optimise: by a thread
            beside others, which gives long text to another process so that they find LLVM free.
    """
    kept = object_cache()

    def make() -> bytes:
        made = text()
        if checked is not None and is_long(made) and can_start():
            with contextlib.suppress(OSError):  # no process to be had, or it was stopped
                return object_code_in_subprocess(made, target, checked)
        return object_code(made, target, checked)

    return make() if kept is None else kept.get_or_make(key, make)


def build_own(name: str, text: Callable[[], str], target: Target) -> bytes:
    """Returns the machine code of a text of the compiler's own, whose key is its name and the compiler's source."""
    key = hashlib.sha256(f"{name} {compiler_version()} {target}".encode()).hexdigest()
    return build(key, text, target)


def is_kept(key: str) -> bool:
    """Returns whether there is machine code of that key in the user's cache."""
    kept = object_cache()
    return kept is not None and kept.has(key)
