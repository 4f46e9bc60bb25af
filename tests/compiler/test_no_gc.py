"""Python's collector of cycles rests while much is made, and goes on afterwards."""

from __future__ import annotations

import gc
import weakref

import pytest

from kousoku.compiler.no_gc import no_gc


class Node:
    """An object that holds itself: a cycle."""

    def __init__(self) -> None:
        self.itself = self


def test_it_rests_and_goes_on_whatever_happens():
    with no_gc():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="broken"), no_gc():
        raise ValueError("broken")
    assert gc.isenabled()


def test_cycles_of_before_are_found_though_it_rests_often():
    """Without being asked: whoever traces again and again does not fill the memory."""
    gone = weakref.ref(Node())
    for _ in range(2000):
        with no_gc():
            made = [Node() for _ in range(gc.get_threshold()[0] // 20)]
        del made
        if gone() is None:
            return
    raise AssertionError("it was never collected")


def test_where_it_is_off_it_stays_off():
    gc.disable()
    try:
        with no_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
