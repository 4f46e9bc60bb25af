"""Runs whose pictures nobody looks at: drawing a report takes longer than many of them."""

import pytest


@pytest.fixture
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file stands for a run's report."""
    monkeypatch.setattr("kousoku.viz.write_report", lambda record, path: (path / "report.html").touch())
