"""LLVM in a process of its own."""

import dataclasses

import pytest

from kousoku.compiler.machine import apart, build, code
from kousoku.compiler.machine.target import host

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
    assert apart.object_code_apart(TEXT, host(), lambda: told.append(True)) == code.object_code(TEXT, host())
    assert told == [True]


def test_text_that_llvm_refuses_is_refused_with_its_words():
    told = []
    with pytest.raises(apart.ProcessError, match="expected"):
        apart.object_code_apart("define nonsense", host(), lambda: told.append(True))
    assert not told


def test_a_process_that_dies_is_told():
    """LLVM ends the process at what it calls fatal, such as a processor of another kind; the user's lives on."""
    strange = dataclasses.replace(host(), triple="no-such-machine")
    with pytest.raises(apart.ProcessError):
        apart.object_code_apart(TEXT, strange, lambda: None)


def test_long_text_goes_there_from_a_thread_only(monkeypatch):
    asked = []
    monkeypatch.setattr(build, "object_cache", lambda: None)
    monkeypatch.setattr(build, "object_code_apart", lambda *args: asked.append("apart") or b"apart")
    monkeypatch.setattr(build, "object_code", lambda *args: asked.append("here") or b"here")
    long = TEXT + "; \n" * (code.LONG_LINES + 1)
    assert build.build("key", lambda: long, host(), lambda: None) == b"apart"
    assert build.build("key", lambda: long, host()) == b"here"
    assert build.build("key", lambda: TEXT, host(), lambda: None) == b"here"


def test_where_no_process_can_be_started_it_is_done_here(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("too many processes")

    monkeypatch.setattr(build, "object_cache", lambda: None)
    monkeypatch.setattr(apart.subprocess, "Popen", refuse)
    long = TEXT + "; \n" * (code.LONG_LINES + 1)
    assert build.build("key", lambda: long, host(), lambda: None) == code.object_code(long, host())
