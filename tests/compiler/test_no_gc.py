"""Python's collector of cycles rests while much is made, and does not look through it at once afterwards."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from kousoku.compiler.no_gc import no_gc


class Node:
    """An object that holds itself: a cycle."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def thawed(monkeypatch):
    """Nothing is or was frozen, as in a user's process; afterwards what was there is frozen, as the tests have it."""
    monkeypatch.setattr("kousoku.compiler.no_gc._frozen", threading.Event())
    gc.unfreeze()
    yield
    gc.freeze()


def test_it_rests_and_goes_on_whatever_happens(thawed):
    with no_gc():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="broken"), no_gc():
        raise ValueError("broken")
    assert gc.isenabled()


def test_what_was_made_is_old_and_its_cycles_are_found(thawed):
    looks = []

    def note(phase, info):
        looks.append(info["generation"])

    gc.callbacks.append(note)
    try:
        with no_gc():
            made = [Node() for _ in range(2 * gc.get_threshold()[0])]
        made.append(Node())
    finally:
        gc.callbacks.remove(note)
    assert not looks
    assert gc.get_freeze_count() == 0
    gone = weakref.ref(made[0])
    del made
    gc.collect()
    assert gone() is None


def test_what_was_frozen_stays_so_and_is_counted_once(thawed, monkeypatch):
    gc.freeze()
    frozen, counts = gc.get_freeze_count(), []
    with monkeypatch.context() as patch:
        patch.setattr(gc, "get_freeze_count", lambda: counts.append(1) or frozen)
        for _ in range(3):
            with no_gc():
                _ = [Node() for _ in range(10)]
    assert gc.get_freeze_count() == frozen > 0
    assert len(counts) == 1


def test_where_it_is_off_it_stays_off(thawed):
    gc.disable()
    try:
        with no_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
