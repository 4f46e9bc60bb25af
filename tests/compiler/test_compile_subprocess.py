"""LLVM in a process of its own."""

import dataclasses

import pytest

from kousoku.compiler.llvm import build, compile_subprocess
from kousoku.compiler.llvm import compile as code
from kousoku.compiler.llvm.target import host

TEXT = """
define void @f(ptr %at) {
  %x = load float, ptr %at
  %y = fmul float %x, 3.0
  store float %y, ptr %at
  ret void
}
"""


def test_it_gives_the_same_code_and_tells_when_the_text_is_checked():
    told = []
    assert compile_subprocess.object_code_in_subprocess(TEXT, host(), lambda: told.append(True)) == code.object_code(
        TEXT, host()
    )
    assert told == [True]


def test_text_that_llvm_refuses_is_refused_with_its_words():
    told = []
    with pytest.raises(compile_subprocess.ProcessError, match="expected"):
        compile_subprocess.object_code_in_subprocess("define nonsense", host(), lambda: told.append(True))
    assert not told


def test_a_process_that_dies_is_told():
    """LLVM ends the process at what it calls fatal, such as a processor of another kind; the user's lives on."""
    strange = dataclasses.replace(host(), triple="no-such-machine")
    with pytest.raises(compile_subprocess.ProcessError):
        compile_subprocess.object_code_in_subprocess(TEXT, strange, lambda: None)


def test_what_others_print_and_files_in_the_folder_do_no_harm(monkeypatch, tmp_path):
    """A start-up file that prints, and modules of the user's with Python's names where one stands."""
    (tmp_path / "sitecustomize.py").write_text("print('hello', end='', flush=True)")
    here = tmp_path / "here"
    here.mkdir()
    (here / "json.py").write_text("raise SystemExit('wrong file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(here)
    told = []
    assert compile_subprocess.object_code_in_subprocess(TEXT, host(), lambda: told.append(True)) == code.object_code(
        TEXT, host()
    )
    assert told == [True]


def test_a_process_that_somebody_stops_is_done_without(monkeypatch):
    """As the system does where memory is short."""
    monkeypatch.setattr(build, "object_cache", lambda: None)
    monkeypatch.setattr(compile_subprocess, "START", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    long = TEXT + "; \n" * (code.LONG_LINES + 1)
    assert build.build("key", lambda: long, host(), lambda: None) == code.object_code(long, host())


@pytest.mark.parametrize(
    ("program", "can"),
    [("/usr/bin/python3.12", True), ("C:/PYTHON.EXE", True), ("/opt/app", False), ("", False)],
)
def test_only_a_python_is_started(monkeypatch, program, can):
    """Not a program that has one built in: it would start itself again."""
    monkeypatch.setattr(compile_subprocess.sys, "executable", program)
    assert compile_subprocess.can_start() is can


def test_long_text_goes_there_from_a_thread_only(monkeypatch):
    asked = []
    monkeypatch.setattr(build, "object_cache", lambda: None)
    monkeypatch.setattr(build, "object_code_in_subprocess", lambda *args: asked.append("apart") or b"apart")
    monkeypatch.setattr(build, "object_code", lambda *args: asked.append("here") or b"here")
    long = TEXT + "; \n" * (code.LONG_LINES + 1)
    assert build.build("key", lambda: long, host(), lambda: None) == b"apart"
    assert build.build("key", lambda: long, host()) == b"here"
    assert build.build("key", lambda: TEXT, host(), lambda: None) == b"here"


def test_where_no_process_can_be_started_it_is_done_here(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("too many processes")

    monkeypatch.setattr(build, "object_cache", lambda: None)
    monkeypatch.setattr(compile_subprocess.subprocess, "Popen", refuse)
    long = TEXT + "; \n" * (code.LONG_LINES + 1)
    assert build.build("key", lambda: long, host(), lambda: None) == code.object_code(long, host())
