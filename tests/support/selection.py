"""Which cases of a parametrised test `make test` runs: those that `by_default` names; `make test-full` runs all."""

from fnmatch import fnmatchcase

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the other cases `full`; refuses a pattern that no case of its test matches."""
    unmatched: dict[tuple[str, str], bool] = {}
    for item in items:
        for mark in item.iter_markers("by_default"):
            case = item.callspec.id if hasattr(item, "callspec") else ""
            matching = [pattern for pattern in mark.args if fnmatchcase(case, pattern)]
            if not matching:
                item.add_marker(pytest.mark.full)
            for pattern in mark.args:
                key = (item.nodeid.partition("[")[0], pattern)
                unmatched[key] = unmatched.get(key, True) and pattern not in matching
    if any("::" in arg for arg in config.args):
        return  # single cases were asked for, and the others are not here
    for (test, pattern), none in unmatched.items():
        if none:
            raise pytest.UsageError(f"{test}: by_default({pattern!r}) names none of its cases")
