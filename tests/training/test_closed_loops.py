"""What threads report of a loop that a refusal has closed, a little later: nobody hears it, and all else is heard."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from kousoku.training.io import array_store

CLOSED = "Event loop is closed"
ONES = [np.ones(1)]


def report(error: BaseException, at: object = None) -> None:
    sys.unraisablehook(SimpleNamespace(exc_value=error, object=at))


@pytest.fixture
def heard(monkeypatch):
    """What a hook is told that was there before."""
    told: list = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    return told


@pytest.mark.parametrize(
    ("error", "at", "is_heard"),
    [
        (RuntimeError(CLOSED), None, False),
        (RuntimeError(CLOSED), len, True),
        (RuntimeError(f"{CLOSED} too early"), None, True),
        (ValueError(CLOSED), None, True),
        (None, None, True),
    ],
)
def test_only_what_comes_back_to_a_closed_loop_is_dropped_and_later_too(heard, tmp_path, error, at, is_heard):
    array_store.write(tmp_path / "a", ONES)
    report(error, at)
    assert [(each.exc_value, each.object) for each in heard] == [(error, at)] * is_heard


def test_the_hook_is_put_in_place_once_and_leaves_room_for_another_one(heard, tmp_path, monkeypatch):
    array_store.write(tmp_path / "a", ONES)
    first = sys.unraisablehook
    array_store.write(tmp_path / "b", ONES)
    assert sys.unraisablehook is first
    own: list = []
    monkeypatch.setattr(sys, "unraisablehook", own.append)
    report(RuntimeError("mine"))
    array_store.write(tmp_path / "c", ONES)
    report(RuntimeError(CLOSED))
    report(RuntimeError("again"))
    assert [str(each.exc_value) for each in own] == ["mine", "again"]
    assert not heard
