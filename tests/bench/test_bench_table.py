"""The tables of the benchmarks."""

import json

import pytest

from kousoku.core.errors import ConfigError
from kousoku_bench import table
from kousoku_bench.subprocess_timing import SubprocessFailed, first_cores, run_in_subprocess
from kousoku_bench.table import AGENTS, COMPILE, ENVIRONMENTS, SPEED, Section, TableRow, attempt, speed

ROWS = [
    speed("slow", 1, 50.0),
    speed("slow", 8, 200.0),
    speed("fast", 1, 100.0, "by hand", compile_seconds=0.25),
    speed("fast", 8, 1000.0),
    speed("fast", 64, 400.0),
    TableRow("absent", {"agents": 1}, "no module"),
]
SECTION = Section("Speeds", "About them.", (AGENTS, SPEED, COMPILE), ROWS, "slow")


def test_ratios_are_to_the_base_with_as_many_agents_else_to_its_first_row():
    assert [SECTION.ratio(row) for row in ROWS] == [1.0, 1.0, 2.0, 5.0, 8.0, None]


def test_no_ratio_without_a_base_that_ran():
    rows = [speed("fast", 1, 10.0), TableRow("slow", {"agents": 1}, "broken")]
    for base in ("slow", "another", None):
        assert Section("", "", (AGENTS, SPEED), rows, base).ratio(rows[0]) is None


def test_the_page_shows_what_ran_and_what_did_not():
    page = table.markdown("Title", "A machine.", [SECTION])
    assert page.startswith("# Title\n\nA machine.\n\nAbout them.\n\n| contender | agents | steps/s | times slow |")
    assert "| fast | 1 | 100 | 2 | 0.25 | by hand |" in page
    assert "| fast | 8 | 1,000 | 5 |  |  |" in page
    assert "| absent | 1 | did not run |  |  | no module |" in page
    assert {line.count("|") for line in page.splitlines() if line.startswith("|")} == {7}


def test_headings_and_columns_of_several_sections():
    other = Section("Others", "More.", (ENVIRONMENTS, SPEED), [speed("fast", 8, 1.0)])
    page = table.markdown("Title", "", [SECTION, other])
    assert "## Speeds\n\nAbout them." in page
    assert "## Others\n\nMore.\n\n| contender | environments | steps/s | note |" in page


def test_saved_files_hold_the_same(tmp_path):
    path = table.save(tmp_path / "new", "speeds", "the page", [SECTION], {"versions": {"python": "3"}})
    assert path.read_text() == "the page"
    saved = json.loads(path.with_suffix(".json").read_text())
    assert saved["versions"] == {"python": "3"}
    (section,) = saved["sections"]
    assert section["title"] == "Speeds"
    assert section["base"] == "slow"
    assert section["rows"][2] == {
        "name": "fast",
        "agents": 1,
        "steps_per_second": 100.0,
        "compile_seconds": 0.25,
        "ratio": 2.0,
        "note": "by hand",
    }


def fails_with(error):
    def measure():
        raise error

    return measure


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (ImportError("No module named 'x'"), "No module named 'x'"),
        (SubprocessFailed("stopped after 3 s"), "stopped after 3 s"),
        (ValueError("a | b\nand more"), "ValueError: a / b"),
        (RuntimeError(""), "RuntimeError: "),
        (OSError("x" * 1000), "OSError: " + "x" * (table.REASON_LENGTH - 9)),
    ],
)
def test_a_contender_that_fails_is_a_row_with_the_reason(error, note):
    assert attempt("it", 3, fails_with(error)) == TableRow("it", {"agents": 3}, note)


def test_a_users_mistake_is_no_row():
    with pytest.raises(ConfigError):
        attempt("it", 3, fails_with(ConfigError("x", 1, "use 2")))


def test_the_median_leaves_out_the_first_call(monkeypatch):
    now, costs = [0.0], iter([100.0, 1.0, 5.0, 3.0])
    monkeypatch.setattr(table.time, "perf_counter", lambda: now[0])

    def run():
        now[0] += next(costs)

    assert table.median_seconds(run, 3) == 3.0


def test_what_is_fast_is_called_several_times_for_one_measurement(monkeypatch):
    now, calls = [0.0], []
    monkeypatch.setattr(table.time, "perf_counter", lambda: now[0])

    def run():
        calls.append(1)
        now[0] += 0.25

    assert table.median_seconds(run, 3, least=1.0) == 0.25
    assert len(calls) == 2 + 3 * 4


def test_a_fresh_process_gives_plain_results_and_reasons():
    assert run_in_subprocess("math", "hypot", 3, 4) == 5.0
    with pytest.raises(SubprocessFailed, match="ValueError"):
        run_in_subprocess("math", "sqrt", -1)
    with pytest.raises(SubprocessFailed, match=r"stopped after 0\.5 s"):
        run_in_subprocess("time", "sleep", 30, limit=0.5)
    with pytest.raises(SubprocessFailed, match="only"):
        first_cores(100_000)


def test_a_fresh_process_has_as_many_cores_as_it_should():
    assert run_in_subprocess("kousoku_bench.subprocess_timing", "first_cores", 1, cores=1) == first_cores(1)
    with pytest.raises(SubprocessFailed, match="only 1 here"):
        run_in_subprocess("kousoku_bench.subprocess_timing", "first_cores", 2, cores=1)


def test_what_is_compared_is_measured_in_turns(monkeypatch):
    """A machine that is ten times slower after the second round is so for both."""
    now, called = [0.0], []
    monkeypatch.setattr(table.time, "perf_counter", lambda: now[0])

    def run(name, cost):
        called.append(name)
        now[0] += cost * (10.0 if len(called) > 6 else 1.0)

    found = table.median_seconds_in_turns([lambda: run("a", 1.0), lambda: run("b", 4.0)], 5)
    assert called == ["a", "b"] * 6
    assert found == [10.0, 40.0]
