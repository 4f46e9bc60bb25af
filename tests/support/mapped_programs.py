"""Programs of earlier tests, which a process forgets before Linux has no place left to map another one.

Each that XLA has compiled takes several mappings of memory for as long as the function is there that it belongs to.
A process may have `vm.max_map_count` mappings, 65,530 as a rule; at the next one LLVM ends it by a segmentation fault.
The full tests compile that many.
"""

from pathlib import Path

import jax
import pytest

EVERY = 200
"""Tests between two looks."""
MAPPINGS, MOST = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")

_tests = 0


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Forgets what is compiled once half of the mappings are taken."""
    global _tests
    _tests += 1
    if _tests % EVERY == 0 and MOST.exists() and mappings() > int(MOST.read_text()) // 2:
        jax.clear_caches()


def mappings() -> int:
    """How many pieces of memory the process has."""
    with MAPPINGS.open("rb") as file:
        return sum(1 for _ in file)
