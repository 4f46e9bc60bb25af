"""Runs that keep no checkpoints: what they have is told where they end, and is never begun over."""

import os
import signal
from pathlib import Path

import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.core.errors import ConfigError, RunWarning
from kousoku.training.io import checkpoints
from kousoku.training.loop import train

OF = ("q_learning", "GridWorld-v0")
ASKED = {"steps": 600, "record_every": 100, "eval_episodes": 2, "out": "run", "progress": False}
WHY = "it has no checkpoint to go on from, and would begin again in the place of what it has, {} steps"


@pytest.fixture(autouse=True)
def a_terminal():
    """SIGINT interrupts, as in a terminal; what runs in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def contents():
    """Every file's bytes."""
    return {file: file.read_bytes() for file in Path("run").rglob("*") if file.is_file()}


def interrupts(report):
    if report.step == 300:
        os.kill(os.getpid(), signal.SIGINT)


def fails(report):
    if report.step == 300:
        raise ValueError("of mine")


def stays_as_it_is(done, capsys, **asked):
    """Going on with the run is refused, in Python and in the shell, and nothing of it is changed."""
    before = contents()
    with pytest.raises(ConfigError, match=f"^resume: got 'run'; {WHY.format(done)}; train in another folder$"):
        ks.resume("run", **asked)
    capsys.readouterr()
    assert main(["resume", "run", *(word for name, value in asked.items() for word in (f"--{name}", str(value)))]) == 2
    assert WHY.format(done) in capsys.readouterr().err
    assert contents() == before


@pytest.mark.parametrize(("on_report", "error"), [(interrupts, KeyboardInterrupt), (fails, ValueError)])
def test_a_run_that_was_stopped_is_not_begun_over(on_report, error, capsys):
    with pytest.raises(error) as raised:
        ks.train(*OF, **ASKED, on_report=on_report, keep_checkpoints=0)
    done = raised.value.run.record.facts["steps"]
    told = f"at step {done}; what it has is in 'run', and no checkpoint to go on from"
    assert told in capsys.readouterr().err + "".join(getattr(raised.value, "__notes__", []))
    assert ks.load("run").interrupted
    stays_as_it_is(done, capsys)
    stays_as_it_is(done, capsys, steps=800)


def test_a_run_that_has_ended_is_not_begun_over_either(capsys):
    ks.train(*OF, **ASKED, keep_checkpoints=0)
    stays_as_it_is(600, capsys, steps=800)
    with pytest.raises(ConfigError, match="it has come to its end, 600 steps"):
        ks.resume("run")


@pytest.mark.parametrize("file", ["picture.json", "tables.npz"])
def test_a_run_whose_end_is_not_whole_is_not_begun_over_either(file, capsys):
    ks.train(*OF, **ASKED, keep_checkpoints=0)
    Path("run", file).unlink()
    stays_as_it_is(600, capsys)


def test_the_report_of_a_run_that_was_stopped_is_made_where_it_is_missing():
    ks.train(*OF, **ASKED, on_report=lambda report: report.step == 300, keep_checkpoints=0)
    Path("run/report.html").unlink()
    assert ks.resume("run").record.facts["steps"] == 300
    assert Path("run/report.html").is_file()


def test_a_run_that_has_done_nothing_yet_goes_on(monkeypatch, capsys):
    def interrupted(*args):
        os.kill(os.getpid(), signal.SIGINT)
        learn(*args)

    learn = train.learn
    with monkeypatch.context() as patch:
        patch.setattr(train, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ks.train(*OF, **ASKED, keep_checkpoints=0)
    assert "at step 0; kousoku.resume('run') goes on with it" in capsys.readouterr().err
    with pytest.warns(RunWarning, match="has no checkpoint: the run begins again from step 0"):
        assert ks.resume("run").record.facts["steps"] == 600


def test_a_run_with_checkpoints_goes_on():
    ks.train(*OF, **ASKED, on_report=lambda report: report.step == 300)
    assert checkpoints.is_there(Path("run"))
    assert ks.resume("run").record.facts["resumed_at"] == [300]
