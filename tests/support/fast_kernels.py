"""How LLVM compiles kernels in the tests: with its least effort, but in those of the compiler.

Elsewhere a kernel runs for a moment, and is right or wrong at either level. `make test-full` and what a test starts in
a new process compile as for users.
"""

from pathlib import Path

import pytest
from fast_compile import is_quick

COMPILER = Path(__file__).parents[1] / "compiler"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Comes before any fixture, so that kernels that several tests share obey as well."""
    from kousoku.compiler.llvm import target  # once it is imported under the type checker

    full = not is_quick() or item.path.is_relative_to(COMPILER)
    target.EFFORT = target.FULL_EFFORT if full else target.LEAST_EFFORT
