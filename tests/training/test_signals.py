"""Signals: everything is saved first, and then they do what the person meant them to do."""

import io
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import pytest

import kousoku as ks
from kousoku import viz
from kousoku.cli import main
from kousoku.envs import ENVS
from kousoku.training.guards import interrupt
from kousoku.training.io import run_folder
from kousoku.training.loop import host, results

needs_hangup = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")


@pytest.fixture
def signalled(monkeypatch):
    """A run below "run" to which a signal is sent at its third block; (handlers of before come back)."""
    kept = {number: signal.getsignal(number) for number in interrupt.SIGNALS}

    def train(number, out="run"):
        advance, calls = host._advance, []

        def counted(loop, run, until):
            advance(loop, run, until)
            calls.append(1)
            if len(calls) == 3:
                os.kill(os.getpid(), number)

        monkeypatch.setattr(host, "_advance", counted)
        return ks.train("q_learning", "GridWorld-v0", steps=10_000, record_every=100, out=out, eval_episodes=1)

    yield train
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.by_default("")
@pytest.mark.parametrize("out", ["run", ""])
def test_ctrl_c_ends_what_the_person_meant_to_end(signalled, capsys, out):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt) as stop:
        signalled(signal.SIGINT, out)
    assert stop.value.run.interrupted
    steps = stop.value.run.record.facts["steps"]
    assert 0 < steps < 10_000
    told = "kousoku.resume('run') goes on with it" if out else "nothing of it was saved"
    assert capsys.readouterr().err == f"kousoku: stopped by SIGINT at step {steps}; {told}\n"
    assert not out or ks.load("run").interrupted


@pytest.mark.parametrize("out", ["a b", "-plain", "own code"])
def test_the_shell_says_how_to_go_on(monkeypatch, capsys, out):
    advance, env = host._advance, "GridWorld-v0" if out != "own code" else "Own-v0"
    pathlib.Path("own_it.py").write_text(
        "import kousoku as ks\nks.register('Own-v0', lambda: ks.make('GridWorld-v0'))\n"
    )
    monkeypatch.setattr(ENVS, "_entries", dict(ENVS._entries))

    def advance_and_stop(loop, run, until):
        advance(loop, run, until)
        os.kill(os.getpid(), signal.SIGTERM)

    words = ["q_learning", env, "--steps", "10_000", "--record-every", "100", f"--out={out}", "--no-progress"]
    words += ["--import", "own_it.py"] if env == "Own-v0" else []
    with monkeypatch.context() as patch:
        patch.setattr(host, "_advance", advance_and_stop)
        assert main(["train", *words, "--eval-episodes", "1"]) == 128 + signal.SIGTERM
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.endswith("` goes on with it")
    assert main([*shlex.split(said.split("`")[1])[1:], "--no-progress"]) == 0
    assert capsys.readouterr().out.startswith("finished: ")


def test_nobody_has_to_listen(signalled, monkeypatch):
    """What stopped the run is raised again where the line about it cannot be written."""
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        signalled(signal.SIGINT)
    assert ks.load("run").interrupted


@pytest.mark.by_default("SIGHUP")
@pytest.mark.parametrize("name", ["SIGTERM", pytest.param("SIGHUP", marks=needs_hangup)])
def test_a_handler_of_the_users_is_called_when_everything_is_saved(signalled, name):
    seen = []
    signal.signal(getattr(signal, name), lambda number, frame: seen.append(ks.load("run").record.facts["status"]))
    assert signalled(getattr(signal, name)).stopped_by == getattr(signal, name)
    assert seen == ["interrupted"]


@pytest.mark.full("covered")
@needs_hangup
def test_a_signal_that_is_ignored_stays_so(signalled):
    """As below nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signalled(signal.SIGHUP).record.facts["status"] == "finished"


def test_the_caller_may_answer(signalled, capsys):
    with interrupt.left_to_caller():
        assert signalled(signal.SIGTERM).stopped_by == signal.SIGTERM
    assert not interrupt.is_left_to_caller()
    assert not capsys.readouterr().err


@pytest.fixture
def within(monkeypatch):
    """A finished run below "run" to which a signal was sent within a function that comes after its last step."""
    kept = {number: signal.getsignal(number) for number in interrupt.SIGNALS}

    def train(module, name, number=signal.SIGINT):
        function, calls = getattr(module, name), []

        def interrupted(*given, **named):
            calls.append(1)
            if len(calls) == 1:
                os.kill(os.getpid(), number)
            return function(*given, **named)

        monkeypatch.setattr(module, name, interrupted)
        return ks.train("q_learning", "GridWorld-v0", steps=200, record_every=100, out="run", eval_episodes=1)

    yield train
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("module", "name"), [(results, "play"), (run_folder, "save"), (viz, "write_report")])
def test_after_the_last_step_all_is_made_before_a_signal_is_answered(within, capsys, module, name):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt) as stop:
        within(module, name)
    assert capsys.readouterr().err == "kousoku: stopped by SIGINT at step 200; all of it is in 'run'\n"
    assert stop.value.run.record.facts["status"] == "finished"
    found = ks.load("run")
    assert (found.record.facts["status"], found.record.evaluation["return"].shape) == ("finished", (1, 1))
    assert found.report.is_file()


def test_a_handler_of_the_users_is_called_after_the_evaluation(within):
    seen = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(ks.load("run").record.facts["status"]))
    assert within(results, "play", signal.SIGTERM).stopped_by == signal.SIGTERM
    assert seen == ["finished"]


@pytest.mark.full("processes")
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("seconds", [0.15, pytest.param(0.6, marks=pytest.mark.full("more cases"))])
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full("more cases"))])
def test_while_the_shell_still_starts_a_signal_ends_it_in_one_line(number, seconds):
    """As an exception it would be lost in an import or a callback, or become an ImportError."""
    command = [sys.executable, "-m", "kousoku", "train", "q_learning", "GridWorld-v0"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    started.send_signal(number)
    assert started.communicate(timeout=60) == ("", "kousoku: stopped\n")
    assert started.returncode == 128 + number
