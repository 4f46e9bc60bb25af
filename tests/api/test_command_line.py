"""Commands that are printed to be typed again."""

import sys

import pytest

from kousoku.cli.command_line import command_line

WORDS = ["kousoku", "resume", "runs/on slopes"]


@pytest.mark.parametrize(
    ("platform", "typed"),
    [("linux", "kousoku resume 'runs/on slopes'"), ("win32", 'kousoku resume "runs/on slopes"')],
)
def test_words_are_quoted_as_the_platform_reads_them(monkeypatch, platform, typed):
    monkeypatch.setattr(sys, "platform", platform)
    assert command_line(WORDS) == typed
