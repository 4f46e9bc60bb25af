"""Names of files that are to be written, wherever one is: what is none is refused in one line."""

import re

import pytest
import records

import kousoku as ks
from kousoku.cli import main
from kousoku.core.output_file import output_file
from kousoku.core.scene import Scene, Trajectory2d
from kousoku.run import Run
from kousoku.viz import Animation
from kousoku.viz.comparison import compare_records

NO_NAME = "give the name of a file"


@pytest.fixture(scope="module")
def writers():
    record = records.grid()
    film = Animation((Trajectory2d((Scene(1.0, 1.0, (), ()),), 0.1, {}),), "")
    comparison = compare_records({"a": [record], "b": [record]})
    return Run(record, None, []).to_csv, comparison.save, film.save


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", f"path: got ''; {NO_NAME}"),
        ("x\0.csv", NO_NAME),
        (".", "path: got '.'; that is a folder; name a file in it"),
        ("nowhere/x", "path: got 'nowhere/x'; there is no folder nowhere; make it first"),
    ],
)
def test_what_is_no_name_of_a_file_is_refused_wherever_one_is_written(given, said, writers):
    for write in writers:
        with pytest.raises(ks.ConfigError, match=re.escape(said)):
            write(given)


@pytest.mark.parametrize("given", [5, None, b"x.csv", ["x.csv"]])
def test_what_is_no_text_is_refused(given):
    with pytest.raises(ks.ConfigError, match=re.escape(f"path: got {given!r}; {NO_NAME}")):
        output_file("path", given)


def test_the_shell_says_it_of_its_option(capsys):
    assert main(["compare", "one", "two", "--out", "."]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--out: got '.'; that is a folder; name a file in it" in line


def test_a_name_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert output_file("path", "~/x.csv") == tmp_path / "x.csv"


def test_a_page_that_nobody_named_is_written_over_nothing_but_a_page_of_ours(tmp_path, monkeypatch, capsys):
    """Twice the same is fine: the second is newer. What an id has beside letters is no folder."""
    monkeypatch.chdir(tmp_path)
    view = ["view", "MinAtar/Breakout-v1", "--no-open"]
    for _ in range(2):
        assert main(view) == 0
    page = tmp_path / "MinAtar-Breakout-v1.html"
    assert 'content="Kousoku"' in page.read_text()[:2048]
    page.write_text("notes")
    capsys.readouterr()
    assert main(view) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--out: got 'MinAtar-Breakout-v1.html'; that is there, and no page of Kousoku's; name another file" in line
    assert page.read_text() == "notes"
