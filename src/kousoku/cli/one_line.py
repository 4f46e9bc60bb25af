"""Warnings in the shell's manner."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from ..core.errors import RunWarning


@contextlib.contextmanager
def on_one_line() -> Iterator[None]:
    """Shows warnings about a run without the place in our code that says them."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, RunWarning):
            print(f"kousoku: {message}", file=sys.stderr)
        else:
            shown(message, category, *where)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
