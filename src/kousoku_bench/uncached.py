"""Compile times are measured without the caches of compiled programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kousoku.core.cache_folder import SWITCH


@contextmanager
def uncached() -> Iterator[None]:
    """Keeps and finds no compiled program within the context, and in processes started there."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before
