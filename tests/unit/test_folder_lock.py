"""The lock on a run folder: held by living processes only, and told apart from every other one."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest

import kousoku as ks
from kousoku.training import folder_lock
from kousoku.training.folder_lock import LOCK, Owner, holds_still, locked, start_time

ME = Owner(100, 5000, "boot", "pid:[1]", "here")


def put(folder, owner):
    (folder / LOCK).write_text(json.dumps(dataclasses.asdict(owner)))


def test_a_held_folder_is_refused_naming_the_process_and_free_afterwards(tmp_path):
    with locked(tmp_path):
        with pytest.raises(ks.ConfigError, match=f"process {os.getpid()} is at work in it"), locked(tmp_path):
            pass
        assert (tmp_path / LOCK).is_file(), "the refused one must not remove it"
    assert not list(tmp_path.iterdir())


def test_the_lock_goes_when_the_run_fails(tmp_path):
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    assert not (tmp_path / LOCK).exists()


def test_another_living_process_holds_it_and_a_dead_one_does_not(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        owner = dataclasses.replace(Owner.me(), pid=other.pid, started=start_time(other.pid))
        put(tmp_path, owner)
        with pytest.raises(ks.ConfigError, match=f"process {other.pid} is at work in it"), locked(tmp_path):
            pass
    finally:
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert start_time(other.pid) is None, "a zombie does not live"
        other.communicate()
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()


def test_a_number_that_another_process_has_now_holds_nothing(tmp_path):
    me = Owner.me()
    put(tmp_path, dataclasses.replace(me, started=me.started - 1))
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "1", "started": 1, "boot": "", "space": ""}'])
def test_a_damaged_lock_holds_nothing(tmp_path, text):
    (tmp_path / LOCK).write_text(text)
    with locked(tmp_path):
        pass


def test_a_lock_of_another_machine_is_kept_and_the_way_out_told(tmp_path):
    put(tmp_path, dataclasses.replace(Owner.me(), boot="another", host="elsewhere"))
    with pytest.raises(ks.ConfigError, match=r"a run on elsewhere holds it: .* delete .*lock\.json"), locked(tmp_path):
        pass


@pytest.mark.parametrize(
    ("change", "alive"),
    [
        ({"boot": "earlier"}, False),
        ({"boot": "earlier", "host": "there"}, None),
        ({"space": "pid:[2]"}, None),
        ({"started": 4999}, False),
        ({}, True),
    ],
)
def test_who_is_alive(monkeypatch, change, alive):
    monkeypatch.setattr(folder_lock, "start_time", lambda pid: 5000 if pid == 100 else None)
    assert holds_still(dataclasses.replace(ME, **change), ME) is alive
    assert holds_still(dataclasses.replace(ME, pid=101), ME) is False


def test_without_a_proc_file_system_the_number_decides(monkeypatch, tmp_path):
    monkeypatch.setattr(folder_lock, "PROC", tmp_path / "none")
    me = Owner.me()
    assert (me.started, me.boot, me.space) == (None, "", "")
    assert holds_still(me, me) is True
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.communicate()
    assert holds_still(dataclasses.replace(me, pid=gone.pid), me) is False
    assert holds_still(dataclasses.replace(me, host="elsewhere"), me) is None
