"""The lock on a run folder: held by living processes only, and told apart from every other one."""

import errno
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kousoku as ks
from kousoku.core.errors import RunWarning
from kousoku.training.io import folder_lock
from kousoku.training.io.folder_lock import HELD, LOCK, locked

HOLD = """
from pathlib import Path
from kousoku.training.io.folder_lock import locked
with locked(Path(".")):
    print("held", flush=True)
    input()
"""


def put(folder, pid, host):
    (folder / LOCK).write_text(json.dumps({"pid": pid, "host": host}))


def test_a_held_folder_is_refused_naming_the_process_and_free_afterwards(tmp_path):
    with locked(tmp_path):
        with pytest.raises(ks.ConfigError, match=f"process {os.getpid()} is at work in it"), locked(tmp_path):
            pass
        assert (tmp_path / LOCK).is_file(), "the refused one must not remove it"
        with pytest.raises(ks.ConfigError, match="is at work in it"), locked(tmp_path):
            pass
    assert not list(tmp_path.iterdir())


def test_the_lock_goes_when_the_run_fails(tmp_path):
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_another_living_process_holds_it_and_a_dead_one_does_not(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ks.ConfigError, match=f"process {other.pid} is at work in it"), locked(tmp_path):
            pass
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert (tmp_path / LOCK).exists(), "a killed process leaves its name behind"
        with locked(tmp_path):  # a zombie, whose number is taken still, does not live
            assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    finally:
        other.kill()
        other.communicate()


def test_the_number_of_a_living_process_holds_nothing(tmp_path):
    put(tmp_path, os.getpid(), platform.node())
    with locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"pid": 1}', '{"pid": "one", "host": ""}', '{"pid": null, "host": ""}']
)
def test_a_damaged_name_holds_nothing(tmp_path, text):
    (tmp_path / LOCK).write_text(text)
    with locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_lock_of_another_machine_is_kept_and_the_way_out_told(tmp_path):
    put(tmp_path, 7, "elsewhere")
    for _ in range(2):
        with (
            pytest.raises(ks.ConfigError, match=r"a run on elsewhere holds it: .* delete .*lock\.json"),
            locked(tmp_path),
        ):
            pass
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]
    (tmp_path / LOCK).unlink()
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_locked_is_one_line(tmp_path, monkeypatch):
    def refuses(lock, **how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(folder_lock.FileLock, "acquire", refuses)
    with pytest.raises(ks.ConfigError, match=r"it cannot be locked; choose one on another disk \(.*No locks available"):
        locked(tmp_path).__enter__()


def test_a_held_folder_is_found_where_it_was_moved_and_never_taken_for_another(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    with locked(here) as held:
        assert held.place.absolute == here
        here.rename(there)
        here.mkdir()
        (here / LOCK).write_text("another's")
        with pytest.warns(RunWarning, match=f"^the run folder {here} was moved to {there}; the run goes on there$"):
            assert held.place.absolute == there
        assert held.place.here == there, "told once"
    assert not list(there.iterdir())
    assert (here / LOCK).read_text() == "another's"


def test_a_folder_that_is_gone_is_told_and_one_of_its_name_is_left_alone(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    with locked(here) as held:
        shutil.rmtree(here)
        with pytest.raises(FileNotFoundError, match="No such file or directory"):
            _ = held.place
        here.mkdir()
        (here / HELD).touch()
        with pytest.raises(FileNotFoundError, match="the run's own folder is gone, and another one has its name"):
            _ = held.place
    assert [file.name for file in here.iterdir()] == [HELD]


def test_a_run_whose_folder_is_moved_goes_on_there_and_leaves_the_one_that_took_its_name():
    def move(report):
        if report.step == 200:
            os.rename("run", "moved")
            ks.train("sarsa", "GridWorld-v0", steps=100, out="run", eval_episodes=2)

    with pytest.warns(RunWarning, match="^the run folder run was moved to .*moved; the run goes on there$"):
        run = ks.train(
            *("q_learning", "GridWorld-v0"), steps=400, record_every=100, checkpoint_every=100, out="run",
            eval_episodes=2, on_report=move,
        )  # fmt: skip
    assert run.path == Path("moved").absolute()
    assert ks.load("moved").record.facts["steps"] == 400
    assert Path("moved/report.html").is_file()
    assert (ks.load("run").record.config["agent"]["id"], ks.load("run").record.facts["steps"]) == ("sarsa", 100)
    assert sorted(os.listdir("run/checkpoints")) == ["000000000100"]


def test_a_run_whose_folder_is_gone_leaves_the_one_that_took_its_name():
    def remove(report):
        shutil.rmtree("run")
        ks.train("sarsa", "GridWorld-v0", steps=100, out="run", eval_episodes=2)

    with pytest.raises(FileNotFoundError, match="another one has its name, which is left as it is"):
        ks.train(
            *("q_learning", "GridWorld-v0"), steps=400, record_every=200, out="run", eval_episodes=2, on_report=remove
        )
    assert ks.load("run").record.config["agent"]["id"] == "sarsa"
