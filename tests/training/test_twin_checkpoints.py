"""Two checkpoints of one step, as a kill between two moves leaves them: the newer one counts."""

import shutil

import pytest

import kousoku as ks
from kousoku.training.io import checkpoints


@pytest.fixture
def twins(tmp_path, monkeypatch):
    """A run of which the checkpoint of step 1500 is there twice; the older one is damaged."""
    monkeypatch.chdir(tmp_path)
    ks.train("q_learning", "GridWorld-v0", steps=1500, record_every=500, keep_checkpoints=3, out="run", progress=False)
    folder = tmp_path / "run" / "checkpoints"
    (newer,) = (path for path in folder.iterdir() if int(path.name) == 1500)
    older = folder / f"0{newer.name}"
    shutil.copytree(newer, older)
    (older / "manifest.json").write_text("{}")
    return tmp_path / "run", newer, older


def test_the_newer_one_is_opened(twins):
    run, _, _ = twins
    assert checkpoints.kept(run, 1500).progress.step == 1500
    with pytest.raises(ks.ConfigError) as caught:
        checkpoints.kept(run, 7)
    assert str(caught.value).endswith("there are 'best' (1500), 1500")


def test_the_older_one_goes_when_the_next_is_saved_and_does_not_count(twins):
    run, newer, older = twins
    ks.resume(run, steps=2000, progress=False)
    assert newer.exists()
    assert not older.exists()
    assert {int(path.name) for path in newer.parent.iterdir()} >= {1500, 2000}
