"""The lock on a run folder: held by living processes only, and told apart from every other one."""

import json
import os
import platform
import subprocess
import sys

import pytest

import kousoku as ks
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


def test_a_folder_that_cannot_be_locked_is_one_line(tmp_path):
    (tmp_path / HELD).mkdir()
    with pytest.raises(ks.ConfigError, match=r"it cannot be locked; choose one on another disk \(.*Is a directory"):
        locked(tmp_path).__enter__()
