"""How many reports a run of the tests makes where its test does not say: fewer than a user's, for each takes time.

A run reads and empties its sums at each report, which takes longer than to learn for the few steps of a test. Examples
of the documentation, and `make test-full`, make as many as users do; so does what a test starts in a new process.
"""

import functools

import pytest
from fast_compile import is_quick

REPORTS = 20


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Comes before any fixture, so that runs that several tests share obey as well."""
    from kousoku.training import config  # once it is imported under the type checker

    as_users = isinstance(item, pytest.DoctestItem) or not is_quick()
    of_users = _of_users()
    config.USUAL_REPORTS = of_users if as_users else REPORTS


@functools.cache
def _of_users() -> int:
    """Returns how many there are before any test has changed it."""
    from kousoku.training.config import USUAL_REPORTS

    return USUAL_REPORTS
