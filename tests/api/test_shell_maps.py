"""Maps in the shell: typed in place or read from files, and one line for what is no map."""

import os
import pathlib

import pytest

from kousoku.cli import main
from kousoku.cli.maps import map_text
from kousoku.core.errors import ConfigError
from kousoku.envs.gridworld.layout import parse_layout

FILES = {
    "plain": b"S..\n..G\n",
    "CRLF": b"S..\r\n..G\r\n",
    "old Macintosh": b"S..\r..G",
    "BOM": b"\xef\xbb\xbfS..\n..G",
    "blank lines and an indent": b"\n\n    S..\n    ..G\n\n",
    "a tab before": b"\tS..\n\t..G\n",
    "spaces as floor": b"S  \n  G\n",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_files(data):
    pathlib.Path("map.txt").write_bytes(data)
    assert parse_layout("map", map_text("--env.map", "map.txt")).rows == ("S..", "..G")


@pytest.mark.parametrize("rows", [["S..", "..G"], ["S" + "." * 300 + "G"], ["S" + "." * 5000 + "G"], ["S" * 40] * 40])
def test_rows_typed_in_place(rows):
    assert parse_layout("map", map_text("--env.map", "/".join(rows))).rows == tuple(rows)


def refused(capsys, given: str) -> str:
    """The one line that a map is answered with."""
    words = ["train", "q_learning", "CustomGrid-v0", "--steps", "100", "--env.map", given]
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert not os.path.exists("runs")
    return printed.err


BAD = {
    "a byte that is not UTF-8": (
        b"S..\n.\xffG\n",
        "--env.map: got 'map.txt'; save it as UTF-8: byte 0xff at 5 is none",
    ),
    "UTF-16": ("S.G".encode("utf-16"), "--env.map: got 'map.txt'; save it as UTF-8: byte 0xff at 0 is none"),
    "nothing in it": (b"", "map: got ''; give at least one row"),
    "blank lines only": (b"\n \n\t\n", "map: got "),
    "a NUL": (b"S.\x00G", r"map row 0 column 2: got '\x00'"),
    "an unknown glyph": ("S.ö\n..G".encode(), "map row 0 column 2: got 'ö'; use "),
    "ragged rows": (b"S..\n.G\n", "map row 1: got '.G'; every row needs 3 cells"),
    "a tab within": (b"S\t.\n..G\n", r"map row 0: got 'S\t.'; there is a tab in it, which is no cell"),
    "a tab after": (b"S..\t\n...\n..G\n", r"map row 0: got 'S..\t'; there is a tab in it, which is no cell"),
    "spaces after the first row": (
        b"S..  \n...\n..G\n",
        "map row 0: got 'S.. '; it ends in spaces, which count as floor",
    ),
    "spaces after another row": (b"S..\n... \n..G\n", "map row 1: got '... '; it ends in spaces, which count as floor"),
}


@pytest.mark.parametrize(("data", "told"), BAD.values(), ids=BAD)
def test_files_that_are_no_map(data, told, capsys):
    pathlib.Path("map.txt").write_bytes(data)
    assert told in refused(capsys, "map.txt")


@pytest.mark.parametrize(
    "given", ["", " ", "/", "x" * 300, "x/" * 3000, "S" + "." * 300, "no-such-file.txt", "\x00", "S\nG.", "ä" * 300]
)
def test_what_is_neither_a_file_nor_a_map(given, capsys):
    assert refused(capsys, given).startswith("kousoku: ")


@pytest.mark.parametrize("given", ["no-such-file.txt", "maps/no-such-file", "~/maze1", "../x/maze.map", "link"])
def test_a_file_that_is_not_there(given, capsys):
    pathlib.Path("link").symlink_to("nowhere")
    assert f"--env.map: got {given!r}; there is no such file; name one, or type the rows" in refused(capsys, given)


def test_what_may_be_rows_is_no_file():
    for text in ("S.G", "S../..G", "S.G/...", "#S/G.", "ab/cd", "S..G/.", "GPC"):
        assert map_text("--env.map", text) == text.replace("/", "\n")


def test_a_folder(capsys):
    pathlib.Path("maps").mkdir()
    assert "--env.map: got 'maps'; that is a folder; name a file" in refused(capsys, "maps")


def test_a_file_that_cannot_be_read(monkeypatch):
    pathlib.Path("map.txt").write_text("S.G")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ConfigError, match=r"--env.map: got 'map.txt'; it cannot be read \(Permission denied\)"):
        map_text("--env.map", "map.txt")
