"""What `make test` leaves to `make test-full`, and why: tests marked `full`, cases that `by_default` does not name."""

from fnmatch import fnmatchcase

import pytest

REASONS = {
    "more cases": "other cases of a check that runs by default: more models, agents and settings of the same kind",
    "covered": "takes long, and each line and branch of ours that it takes is taken by default in tests that take less",
    "larger": "the same check at size: more steps or examples, large arrays, many joints, second derivatives",
    "learning": "figures of the textbook and what agents know after long training; updates are tested by hand",
    "processes": "what only processes of their own show, many or for long: kills, 64 bits, locales, other tools",
    "whole way": "from training to films, files and tables of benchmarks; each part of the way is tested by default",
    "pages": "examples of documentation which train as those of other pages do",
}
"""Each reason for which a test is marked `full`, which it names, and what it means: CONTRIBUTING has the same list."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the other cases `full`; refuses a pattern that no case matches, and a `full` without a reason."""
    unmatched: dict[tuple[str, str], bool] = {}
    for item in items:
        for mark in item.iter_markers("by_default"):
            case = item.callspec.id if hasattr(item, "callspec") else ""
            matching = [pattern for pattern in mark.args if fnmatchcase(case, pattern)]
            if not matching:
                item.add_marker(pytest.mark.full("more cases"))
            for pattern in mark.args:
                key = (item.nodeid.partition("[")[0], pattern)
                unmatched[key] = unmatched.get(key, True) and pattern not in matching
        for mark in item.iter_markers("full"):
            check_reason(item.nodeid, mark)
    if any("::" in arg for arg in config.args):
        return  # single cases were asked for, and the others are not here
    for (test, pattern), none in unmatched.items():
        if none:
            raise pytest.UsageError(f"{test}: by_default({pattern!r}) names none of its cases")


def check_reason(test: str, mark: pytest.Mark) -> None:
    """Refuses a mark `full` that does not name one of the reasons."""
    if len(mark.args) != 1 or mark.kwargs or mark.args[0] not in REASONS:
        raise pytest.UsageError(f"{test}: full takes the reason, one of {', '.join(REASONS)}")
