"""A failing test says how to run it alone: one line, with the seed and the switches that it ran with."""

import os
import shlex
import sys
from collections.abc import Generator

import pytest

SWITCHES = (
    "KOUSOKU_TESTS",
    "KOUSOKU_RANDOM_TESTS",
    "KOUSOKU_EXHAUSTIVE",
    "KOUSOKU_TEST_SECONDS",
    "KOUSOKU_CHROMIUM",
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes the command in a report of a failure; pytest-xdist carries it to the process that prints."""
    report = yield
    if report.failed:
        report.rerun = command(item)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints one line for each test that failed."""
    reports = [report for kind in ("failed", "error") for report in terminalreporter.getreports(kind)]
    commands = dict.fromkeys(report.rerun for report in reports if hasattr(report, "rerun"))
    if commands:
        terminalreporter.section("to run a failed test alone", sep="-")
        for line in commands:
            terminalreporter.write_line(line)


def command(item: pytest.Item) -> str:
    """Returns what a shell in the folder where pytest was started runs this one test with."""
    folder = item.config.invocation_params.dir
    python = os.path.relpath(sys.executable, folder)
    file, colons, name = item.nodeid.partition("::")
    test = os.path.relpath(item.config.rootpath / file, folder) + colons + name
    words = ["python" if python.startswith("..") else python, "-m", "pytest", test]
    seed = seed_of(item)
    if seed is not None:
        words.append(f"--hypothesis-seed={seed}")
    switches = (f"{name}={shlex.quote(os.environ[name])}" for name in SWITCHES if name in os.environ)
    return " ".join([*switches, shlex.join(words)])


def seed_of(item: pytest.Item) -> int | str | None:
    """Returns the seed that hypothesis drew the test's examples from; None where it draws none, or always the same."""
    drawn = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_generated_seed", None)
    return item.config.getoption("--hypothesis-seed", None) if drawn is None else drawn
