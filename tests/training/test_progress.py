"""What a terminal shows while agents learn, read back by a small terminal of our own."""

import io
import re
import sys

import numpy as np
import pytest

from kousoku.training.metrics import progress
from kousoku.training.metrics.progress import Progress

CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(.|\n)", re.DOTALL)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(text: str, columns: int) -> list[str]:
    """The lines of a terminal after a text, which may move up and erase lines."""
    rows, row, column = [""], 0, 0
    for code, kind, character in (match.groups() for match in CONTROL.finditer(text)):
        if kind == "A":
            row -= int(code or 1)
        elif kind == "K":
            rows[row] = ""
        elif character == "\r":
            column = 0
        elif character == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif character:
            assert column < columns, "the line is wrapped"
            rows[row] = rows[row].ljust(column)[:column] + character + rows[row][column + 1 :]
            column += 1
        assert row >= 0, "it writes over what was there before"
    return [line.rstrip() for line in rows if line.strip()]


@pytest.fixture
def terminal(monkeypatch):
    def make(name: str, columns: int) -> Terminal:
        made = Terminal()
        monkeypatch.setattr("sys.stderr", made)
        for variable, value in (("TERM", name), ("COLUMNS", str(columns)), ("LINES", "24")):
            monkeypatch.setenv(variable, value)
        for variable in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(variable, raising=False)
        return made

    return make


def latest(lanes: int, k: int = 1) -> dict[str, np.ndarray]:
    spread = np.linspace(-1.0, 1.0, lanes) if lanes > 1 else np.zeros(1)
    return {
        "return": 100.0 * k + 10 * spread, "reward": np.ones(lanes), "length": np.full(lanes, 50.0),
        "episodes": np.full(lanes, 7), "learning_rate": np.full(lanes, 3e-4), "entropy": np.full(lanes, 0.25),
        "policy_loss": np.full(lanes, -0.001), "q_loss": np.full(lanes, np.nan),
    }  # fmt: skip


def play(lanes: int, reports: int = 20, show: bool | None = None) -> None:
    with Progress(20_000, lanes, show) as bar:
        for k in range(1, reports + 1):
            bar.update(1000 * k, 2.0 * k, 30 * k, latest(lanes, k))


@pytest.mark.parametrize("columns", [120, 60])
@pytest.mark.parametrize("lanes", [1, 5])
def test_three_lines_that_stay_where_they_are(lanes, columns, terminal):
    out = terminal("xterm", columns)
    play(lanes)
    lines = screen(out.getvalue(), columns)
    assert len(lines) == 3
    assert "100%" in lines[0]
    assert "20 k of 20 k steps" in lines[0]
    assert lines[1].startswith("return 2,000" + (" ± 7.1" if lanes == 5 else ""))
    assert lines[2] == "policy_loss -0.001   entropy 0.25"
    if columns == 120:
        assert f"{readable_speed(lanes)} steps/s" in lines[0]
        assert lines[0].endswith("0 s left")
        assert "▁▁▂▂▃▃▄▄▅▅▆▆▇▇██" in lines[1]
        assert lines[1].endswith(
            "length 50   600 episodes" if lanes == 1 else "length 50 ± 0   600 episodes   5 agents"
        )


def readable_speed(lanes: int) -> str:
    return progress.readable(500.0 * lanes)


def test_one_line_where_the_cursor_cannot_move(terminal):
    out = terminal("dumb", 80)
    play(5)
    text = out.getvalue()
    assert "\x1b" not in text
    assert text.isascii()
    assert text.count("\n") == 1
    (line,) = screen(text, 80)
    assert line.startswith("100%   20 k of 20 k steps")
    assert "return 2,000 +- 7.1" in line


def test_it_says_that_it_compiles_before_the_first_report(terminal):
    out = terminal("dumb", 80)
    with Progress(1000, 1, None):
        assert "compiling the first steps" in out.getvalue()


def test_silent_when_nobody_looks(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", out)
    play(3)
    assert out.getvalue() == ""


class NoQuestions:
    """A stream that takes text, and knows no other question."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text


class Refusing(Terminal):
    """A terminal whose other end goes away on the way: it takes `left` texts."""

    def __init__(self, left: int, error: Exception) -> None:
        super().__init__()
        self.left, self.error = left, error

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return super().write(text)

    def flush(self) -> None:
        if self.left < 0:
            raise self.error


def closed() -> Terminal:
    out = Terminal()
    out.close()
    return out


@pytest.mark.parametrize("show", [None, True])
@pytest.mark.parametrize("stream", [None, object(), NoQuestions(), closed()], ids=lambda stream: type(stream).__name__)
def test_any_standard_error_will_do(stream, show, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    play(3, show=show)
    if isinstance(stream, NoQuestions) and show:
        assert "100%" in stream.text


@pytest.mark.parametrize("name", ["xterm", "dumb"])
@pytest.mark.parametrize(
    "error", [BrokenPipeError(), OSError(5, "gone"), ValueError("closed"), UnicodeEncodeError("ascii", "±", 0, 1, "no")]
)
@pytest.mark.parametrize("left", [0, 3])
def test_a_terminal_that_goes_away_ends_nothing(left, error, name, terminal, monkeypatch):
    terminal(name, 80)
    out = Refusing(left, error)
    monkeypatch.setattr("sys.stderr", out)
    play(3)
    assert sys.stderr is out
    assert (out.getvalue() == "") == (left == 0)


def test_there_need_be_no_standard_output(terminal, monkeypatch):
    out = terminal("xterm", 80)
    monkeypatch.setattr("sys.stdout", None)
    play(1)
    assert sys.stdout is None
    assert "100%" in out.getvalue()


def test_silent_when_told_to_be(terminal):
    out = terminal("xterm", 80)
    with Progress(10, 1, False) as bar:
        bar.update(10, 1.0, 1, latest(1))
    assert out.getvalue() == ""


def test_the_time_that_is_left_leaves_out_compiling(terminal, monkeypatch):
    terminal("dumb", 200)
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress(1000, 1, None) as bar:
        now[0] = 60.0  # of compiling
        bar.update(100, 60.0, 1, latest(1))
        assert "left" not in bar.head
        now[0] = 62.0
        bar.update(300, 62.0, 2, latest(1))
    assert bar.head.endswith("7 s left")


def test_numbers_that_are_missing_are_left_out(terminal):
    out = terminal("dumb", 200)
    with Progress(1000, 2, None) as bar:
        bar.update(100, 1.0, 0, {"return": np.full(2, np.nan), "reward": np.array([0.5, 1.5]), "td_error": np.ones(2)})
    (line,) = screen(out.getvalue(), 200)
    assert "return" not in line
    assert "reward 1 +- 0.5" in line
    assert line.endswith("2 agents   td_error 1")
