"""A folder that lies in the place of a run's file: one line, and the run goes on once it is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from same_runs import same

import kousoku as ks
from kousoku.cli import main
from kousoku.core.whole_file import UNFINISHED, write_text
from kousoku.training.io import checkpoints, files, run_folder
from kousoku.training.io.folder_lock import HELD, LOCK, locked

ASKED = {"steps": 600, "record_every": 200, "eval_episodes": 2, "checkpoint_every": 200, "progress": False}
IN_THE_WAY = "a folder lies in the place of this file: move it away"
GOES_ON = "the run can be resumed from its last whole checkpoint, at step"
ALL_BUT = "all but its report is saved: `kousoku resume` draws that"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing was in the way of."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    ks.train("q_learning", "GridWorld-v0", out=folder, **ASKED)
    return folder


def lay(folder: Path) -> None:
    """Somebody's folder, with something in it, in the place of what is there."""
    if folder.is_file():
        folder.unlink()
    folder.mkdir()
    (folder / "kept").touch()


FILES = {
    run_folder.FACTS: f"{GOES_ON} 600",
    run_folder.TABLES: f"{GOES_ON} 600",
    run_folder.PICTURE: f"{GOES_ON} 600",
    run_folder.PICTURE + UNFINISHED: f"{GOES_ON} 600",
    run_folder.METRICS: f"{GOES_ON} 200",
    "report.html": ALL_BUT,
    "values.png": ALL_BUT,
}


@pytest.mark.reports
@pytest.mark.by_default("run.json", "picture.json.part", "metrics.jsonl", "report.html")
@pytest.mark.parametrize(("name", "left"), FILES.items(), ids=FILES)
def test_a_run_comes_to_its_end_when_the_folder_is_gone(name, left, whole, tmp_path, capsys):
    run = tmp_path / "run"

    def put(report):
        if report.step == 600 - 200 * (name == run_folder.METRICS):
            lay(run / name)

    with pytest.raises(IsADirectoryError) as caught:
        ks.train("q_learning", "GridWorld-v0", out=run, on_report=put, **ASKED)
    assert (caught.value.filename, caught.value.strerror) == (str(run / name), f"{IN_THE_WAY}; {left}")
    if name in run_folder.WRITTEN:  # told before anything is learned
        assert main(["resume", str(run)]) == 2
        moves = "it lies in the place of a file that the run writes: move it away, and resume"
        assert capsys.readouterr().err == f"kousoku: {run / name}: got 'a folder'; {moves}\n"
    assert (run / name / "kept").is_file()
    shutil.rmtree(run / name)
    ks.resume(run, progress=False)
    same(run, whole)
    assert (run / "report.html").is_file()


@pytest.mark.reports
def test_a_report_of_an_earlier_end_is_not_taken_for_that_of_this_one(tmp_path):
    run = tmp_path / "run"
    ks.train("q_learning", "GridWorld-v0", out=run, **ASKED | {"steps": 200})
    (run / "returns.png").unlink()

    def put(report):
        lay(run / "returns.png")

    with pytest.raises(IsADirectoryError):
        ks.resume(run, steps=400, on_report=put, progress=False)
    shutil.rmtree(run / "returns.png")
    ks.resume(run, progress=False)
    assert "400" in (run / "report.html").read_text()


@pytest.mark.parametrize("name", [LOCK, HELD])
def test_a_run_ends_as_ever_with_a_folder_in_the_place_of_its_lock(name, tmp_path):
    def put(report):
        if report.step == 200:
            lay(tmp_path / "run" / name)

    run = ks.train("q_learning", "GridWorld-v0", out=tmp_path / "run", on_report=put, **ASKED)
    assert run.record.facts["status"] == "finished"
    assert (tmp_path / "run" / name / "kept").is_file()


def test_a_folder_that_cannot_be_locked_for_another_in_it_is_one_line(tmp_path):
    lay(tmp_path / HELD)
    told = f"^run folder: got .*; it cannot be locked; a folder lies in the place of {tmp_path / HELD}: move it away$"
    with pytest.raises(ks.ConfigError, match=told):
        locked(tmp_path).__enter__()


def test_a_file_in_the_place_of_the_checkpoints_is_named(tmp_path):
    def put(report):
        if report.step == 200:
            (tmp_path / "run" / checkpoints.FOLDER).write_text("notes")

    with pytest.raises(NotADirectoryError) as caught:
        ks.train("q_learning", "GridWorld-v0", out=tmp_path / "run", on_report=put, **ASKED | {"checkpoint_every": 600})
    begins = "no checkpoint was saved before: when the run is resumed, it begins again from step 0"
    told = f"'checkpoints' is a file that lies in the place of a folder: move it away; {begins}"
    assert caught.value.strerror == told
    with pytest.raises(ks.ConfigError, match="got 'a file'; it lies in the place of the folder of checkpoints"):
        ks.resume(tmp_path / "run")


def test_what_is_refused_by_a_name_in_the_working_folder_is_explained(tmp_path, monkeypatch):
    """As the file beside the lock is named."""
    monkeypatch.chdir(tmp_path)
    place = files.Location.of("run")
    place.absolute.mkdir()
    explained = files.refusals_explained(place, lambda: "all is left")
    with pytest.raises(OSError, match="refused; all is left") as caught, explained:
        raise OSError(28, "refused", str(Path("run", LOCK)))
    assert caught.value.filename == str(Path("run", LOCK))


def test_of_a_folder_beside_a_file_it_is_told_which_it_is(tmp_path):
    part = tmp_path / f"film.html{UNFINISHED}"
    lay(part)
    with pytest.raises(IsADirectoryError) as caught:
        write_text(tmp_path / "film.html", "film")
    assert caught.value.filename == str(part)
    assert (part / "kept").is_file()
