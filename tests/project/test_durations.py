"""A test that takes long without a reason fails, where `KOUSOKU_TEST_SECONDS` is set."""

from types import SimpleNamespace

import durations
import pytest


def reported(monkeypatch, *marks, setup=0.0, call=0.0, outcome="passed"):
    """Returns the report of a call, after that of its set-up."""
    monkeypatch.setattr(durations, "LONGEST", 3.0)
    by_name = {mark.name: mark for mark in marks}
    item = SimpleNamespace(nodeid="test_it", stash=pytest.Stash(), get_closest_marker=by_name.get)
    for when, duration in (("setup", setup), ("call", call)):
        report = pytest.TestReport("test_it", ("", 0, ""), {}, outcome if when == "call" else "passed", None, when)
        making = durations.pytest_runtest_makereport(item, SimpleNamespace(when=when, duration=duration))
        next(making)
        with pytest.raises(StopIteration) as made:
            making.send(report)
        assert made.value.value is report
    return report


@pytest.mark.parametrize("outcome", ["passed", "skipped"])
@pytest.mark.parametrize(("setup", "call"), [(0.0, 3.1), (3.1, 0.0), (1.6, 1.6)])
def test_what_its_fixtures_take_counts_also_where_it_is_expected_to_fail(setup, call, outcome, monkeypatch):
    report = reported(monkeypatch, setup=setup, call=call, outcome=outcome)
    assert report.failed
    assert report.longrepr.startswith(f"test_it took {setup + call:.1f} s, more than 3: make it faster")
    reason = pytest.mark.slow_because("a robot is compiled").mark
    assert reported(monkeypatch, reason, setup=setup, call=call, outcome=outcome).outcome == outcome


@pytest.mark.parametrize("outcome", ["passed", "skipped", "failed"])
def test_a_report_of_one_that_is_quick_is_left_alone(outcome, monkeypatch):
    report = reported(monkeypatch, setup=1.5, call=1.5, outcome=outcome)
    assert (report.outcome, report.longrepr) == (outcome, None)


def test_what_failed_tells_its_own_reason(monkeypatch):
    report = reported(monkeypatch, call=9.0, outcome="failed")
    assert (report.outcome, report.longrepr) == ("failed", None)


@pytest.mark.parametrize("words", [(), (" ",), (3,)], ids=str)
def test_a_reason_is_a_sentence(words):
    item = SimpleNamespace(nodeid="test_it", iter_markers=lambda name: [getattr(pytest.mark, name)(*words).mark])
    with pytest.raises(pytest.UsageError, match="test_it: slow_because takes the reason, as text"):
        durations.pytest_collection_modifyitems([item])
