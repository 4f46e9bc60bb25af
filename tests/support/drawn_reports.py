"""Whose reports are drawn: those of examples in pages and of tests marked `reports`; most runs of tests take less time.

(A plugin named `reports` is one of pytest's own, which is loaded in the place of a module of that name.)
"""

from pathlib import Path
from typing import Any

import pytest

drawn = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Comes before any fixture, so that runs that several tests share obey as well."""
    from kousoku import viz  # once it is imported under the type checker

    global drawn
    drawn = item.path.suffix == ".md" or item.get_closest_marker("reports") is not None
    viz.write_report = _write_report


def _write_report(record: Any, path: Path) -> Path:
    """Writes a run's report, or an empty file in its place."""
    if drawn:
        from kousoku.viz.report import write_report

        return write_report(record, path)
    (path / "report.html").touch()
    return path / "report.html"
