"""Whose runs are filmed: those of examples and of tests marked `films` or `reports`; most runs of tests take less time.

A user's run that is evaluated keeps an episode of its best agent as a film, for which one more program is compiled.
`make test-full` films as users do.
"""

from typing import Any

import pytest
from fast_compile import is_quick


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Comes before any fixture, so that runs that several tests share obey as well."""
    from kousoku.training.evaluation.film import member_film
    from kousoku.training.loop import results  # once it is imported under the type checker

    looked_at = isinstance(item, pytest.DoctestItem) or any(map(item.get_closest_marker, ("films", "reports")))
    results.member_film = member_film if looked_at or not is_quick() else _no_film


def _no_film(*run: Any) -> None:
    """Leaves a run without a film, as that of an environment which cannot be drawn."""
