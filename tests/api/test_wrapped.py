"""Text is as wide as the terminal that it is for."""

import contextlib

import pytest

from kousoku.cli import main


@pytest.mark.parametrize("columns", [50, 100])
@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["list", "agents"]])
def test_lines_are_as_wide_as_the_terminal(words, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    with contextlib.suppress(SystemExit):
        main(words)
    lines = capsys.readouterr().out.splitlines()
    assert 0.8 * columns < max(len(line) for line in lines if "--steps 100_000" not in line) <= columns
