"""Files that are there whole or not at all."""

import os
from pathlib import Path

import pytest

from kousoku.core.output_file import LONGEST
from kousoku.core.whole_file import UNFINISHED, write_text, write_whole


def fails(part):
    part.write_text("half")
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("before", [None, "whole"])
def test_where_it_cannot_be_written_what_was_there_stays_and_the_error_names_the_file(tmp_path, before):
    target = tmp_path / "film.html"
    if before:
        target.write_text(before)
    with pytest.raises(OSError, match=r"No space left on device: '.*film\.html'$") as caught:
        write_whole(target, fails)
    assert (caught.value.errno, caught.value.filename) == (28, str(target))
    assert [file.read_text() for file in tmp_path.iterdir()] == [before] * bool(before)


@pytest.mark.parametrize("refused", ["open", "replace"])
def test_a_disk_that_can_only_be_read_refuses_to_remove_as_well(tmp_path, monkeypatch, refused):
    def refuses(path, *more, **named):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refuses)
    monkeypatch.setattr(os, "replace", refuses)
    with pytest.raises(OSError, match=r"Read-only file system: '.*film\.html'$") as caught:
        write_whole(tmp_path / "film.html", refuses if refused == "open" else Path.touch)
    assert (caught.value.errno, caught.value.filename) == (30, str(tmp_path / "film.html"))


def test_an_error_that_names_another_file_is_told_as_it_is(tmp_path):
    def copies(part):
        part.write_bytes((tmp_path / "missing").read_bytes())

    with pytest.raises(FileNotFoundError, match="missing"):
        write_whole(tmp_path / "x", copies)


def test_it_waits_for_the_disk_where_it_is_asked_to(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    write_whole(tmp_path / "a", lambda part: part.write_text("x"))
    assert not synced
    write_whole(tmp_path / "a", lambda part: part.write_text("x"), sync=True)
    assert len(synced) == 1


def test_links_devices_and_long_names(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "through")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "through"
    assert write_text(tmp_path / ("x" * LONGEST), "long").read_text() == "long"
    write_text(tmp_path / "odd", "a\ud800b")
    assert (tmp_path / "odd").read_bytes() == b"a?b"
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    write_text(null, "nowhere")
    assert os.path.exists(os.devnull)
    assert not os.path.isfile(os.devnull)
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(UNFINISHED)]
