"""Where `KOUSOKU_TEST_SECONDS` is set, a test that takes longer fails, unless `slow_because` says why it does.

What its fixtures take counts as well: one that several tests share counts for the first of them.
"""

import os
from collections.abc import Generator

import pytest

LONGEST = float(os.environ.get("KOUSOKU_TEST_SECONDS", "inf"))
"""How many seconds a test may take that says no reason."""
SETUP = pytest.StashKey[float]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses a reason that is no sentence."""
    for item in items:
        for mark in item.iter_markers("slow_because"):
            if len(mark.args) != 1 or mark.kwargs or not isinstance(mark.args[0], str) or not mark.args[0].strip():
                raise pytest.UsageError(f"{item.nodeid}: slow_because takes the reason, as text")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes a test's report a failure where it has taken too long, whether it passed or was expected to fail."""
    report = yield
    if call.when == "setup":
        item.stash[SETUP] = call.duration
    if call.when == "call" and not report.failed:
        took = item.stash.get(SETUP, 0.0) + call.duration
        if took > LONGEST and not item.get_closest_marker("slow_because"):
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} took {took:.1f} s, more than {LONGEST:g}: make it faster, mark it `full`, or say why "
                'it takes so long by @pytest.mark.slow_because("...")'
            )
    return report
