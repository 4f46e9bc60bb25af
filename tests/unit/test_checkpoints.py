"""Checkpoints on disk: read back bit for bit, or seen to be damaged and passed over; never executed."""

import json
import os
import pickle
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.training import checkpoints, files, states
from kousoku.training.checkpoints import MANIFEST, NAMES, Checkpoint, DamagedError, RunWarning
from kousoku.training.ledger import Ledger


def learner(lanes=3):
    return {
        "w": jnp.arange(lanes * 4, dtype=jnp.float32).reshape(lanes, 2, 2) / 7,
        "half": jnp.ones((lanes,), jnp.bfloat16),
        "keys": jax.random.split(jax.random.key(1), lanes),
        "other": jax.random.split(jax.random.key(2, impl="rbg"), lanes),
        "flag": jnp.zeros((lanes, 1), bool),
    }  # fmt: skip


def ledger(step, score=None):
    made = Ledger(step=step, since=step, episodes=7, seconds=0.1, score=score, started="2026-11-21T09:14:00+00:00")
    made.curves.steps, made.curves.rows = [step], {"return": [np.array([1.0, np.nan, 3.0], np.float32)]}
    return made


def save(run, step, score=None, keep=3):
    checkpoints.save(run, Checkpoint.of(learner(), ledger(step, score), b'{"step": 1}\n'), keep)
    return run / "checkpoints" / f"{step:012d}"


def steps(run):
    return [int(folder.name) for folder in sorted((run / "checkpoints").iterdir())]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two checkpoints."""
    run = tmp_path_factory.mktemp("made")
    save(run, 10)
    save(run, 20)
    return run


@pytest.fixture
def run(made, tmp_path):
    """A copy that a test may damage."""
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def test_everything_comes_back_bit_for_bit_with_its_generator_and_dtype(run):
    saved = checkpoints.newest(run)
    template = jax.tree.map(lambda leaf: leaf, learner())
    back = saved.learner(template, 3)
    for mine, its in zip(jax.tree.leaves(learner()), jax.tree.leaves(back), strict=True):
        assert mine.dtype == its.dtype
        assert mine.sharding == its.sharding
    for mine, its in zip(states.to_arrays(learner()), states.to_arrays(back), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert saved.ledger.told() == ledger(20).told()
    np.testing.assert_array_equal(saved.ledger.all_curves()["return"], ledger(20).all_curves()["return"])
    assert saved.metrics == b'{"step": 1}\n'


def test_lanes_that_fill_up_devices_are_the_last_one_again(run):
    back = checkpoints.newest(run).learner(learner(5), 3)
    words = states.to_arrays(back)
    for whole, part in zip(words, states.to_arrays(learner()), strict=True):
        np.testing.assert_array_equal(whole[:3], part)
        np.testing.assert_array_equal(whole[3:], np.stack([part[-1]] * 2))


@pytest.mark.parametrize("name", [*sorted(NAMES), MANIFEST])
def test_a_flipped_bit_anywhere_is_seen_and_the_checkpoint_before_used(run, name):
    path = run / "checkpoints" / f"{20:012d}" / name
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in {0, len(data) // 2, len(data) - 1, *rng.integers(len(data), size=12).tolist()}:
        flipped = bytearray(data)
        flipped[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        with pytest.warns(RunWarning, match=r"000000000020 is damaged \(.*\) and passed over"):
            assert checkpoints.newest(run).ledger.step == 10


@pytest.mark.parametrize("name", [*sorted(NAMES), MANIFEST])
@pytest.mark.parametrize("how", ["half", "empty", "gone"])
def test_part_of_a_checkpoint_is_seen(run, name, how):
    path = run / "checkpoints" / f"{20:012d}" / name
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if how == "half" else b"")
    with pytest.warns(RunWarning, match=f"{name} is missing" if how == "gone" else "is damaged"):
        assert checkpoints.newest(run).ledger.step == 10


def test_a_checkpoint_under_another_step_is_not_believed(run):
    os.replace(run / "checkpoints" / f"{10:012d}", run / "checkpoints" / f"{30:012d}")
    with pytest.raises(DamagedError, match="belongs to step 10"):
        checkpoints.read(run / "checkpoints" / f"{30:012d}")


def test_where_none_is_whole_that_is_said(run):
    for step in (10, 20):
        (run / "checkpoints" / f"{step:012d}" / MANIFEST).unlink()
    with pytest.warns(RunWarning), pytest.raises(ks.ConfigError, match="none of its checkpoints is whole"):
        checkpoints.newest(run)


def test_none_at_all_is_none(tmp_path):
    assert checkpoints.newest(tmp_path) is None


def reseal(folder):
    manifest = json.loads((folder / MANIFEST).read_bytes())
    manifest.pop("sha256")
    manifest["files"] = {name: checkpoints._digest(folder / name) for name in manifest["files"]}
    (folder / MANIFEST).write_bytes(checkpoints._sealed(manifest))


@pytest.mark.parametrize("raw", [True, False])
def test_a_pickle_in_disguise_is_never_executed(run, raw):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was executed",))

    folder = run / "checkpoints" / f"{20:012d}"
    if raw:
        (folder / "state.npz").write_bytes(pickle.dumps(Bomb()))
    else:
        np.savez(folder / "state.npz", **{"0": np.array([Bomb()], object)})
    reseal(folder)
    with pytest.raises(DamagedError, match="damaged file"):
        checkpoints.read(folder)


def test_an_array_that_would_have_to_be_pickled_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="would have to be pickled"):
        files.write_arrays(tmp_path / "x.npz", {"a": np.array([{}], object)})
    assert not list(tmp_path.iterdir())


def test_another_format_is_refused_naming_both_versions(run):
    folder = run / "checkpoints" / f"{20:012d}"
    manifest = json.loads((folder / MANIFEST).read_bytes())
    manifest.pop("sha256")
    (folder / MANIFEST).write_bytes(checkpoints._sealed({**manifest, "format": 9, "kousoku": "7.0"}))
    with pytest.raises(ks.ConfigError, match=r"format: got 9; kousoku 7\.0 made it; this is kousoku .* reads format 2"):
        checkpoints.newest(run)


def test_other_shapes_are_refused_saying_both(run):
    template = {**learner(), "w": jnp.zeros((3, 5, 2))}
    with pytest.raises(ks.ConfigError, match=r"w'\]: float32\[3, 2, 2\].*needs .*w'\]: float32\[3, 5, 2\]"):
        checkpoints.newest(run).learner(template, 3)
    with pytest.raises(ks.ConfigError, match=r"flag'\]: bool\[3, 1\].*needs .*flag'\]: bool\[2, 1\]"):
        checkpoints.newest(run).learner(learner(2), 2)
    with pytest.raises(ks.ConfigError, match="5 leaves"):
        checkpoints.newest(run).learner({**learner(), "z": jnp.zeros(3)}, 3)


def test_the_last_ones_and_the_best_are_kept(tmp_path):
    for step, score in ((1, 0.0), (2, 9.0), (3, None), (4, 9.0), (5, 1.0), (6, None)):
        save(tmp_path, step, score, keep=2)
    assert steps(tmp_path) == [2, 5, 6]


def test_without_scores_only_the_last_ones_are_kept(tmp_path):
    for step in (1, 2, 3, 4):
        save(tmp_path, step, keep=2)
    assert steps(tmp_path) == [3, 4]


def test_steps_decide_what_is_last_and_not_the_clock(tmp_path):
    for step in (100, 20, 3):
        os.utime(save(tmp_path, step))
    assert checkpoints.newest(tmp_path).ledger.step == 100


def test_what_comes_after_a_step_is_cut_off(run):
    (run / "checkpoints" / f"{30:012d}.part").mkdir()
    checkpoints.cut_back(run, 10)
    assert steps(run) == [10]


@pytest.mark.parametrize("nth", range(1, 7))
def test_a_full_disk_leaves_the_last_checkpoint_and_nothing_else(run, monkeypatch, nth):
    """The disk refuses the nth time that something has to reach it."""
    calls, flush = [], files.flush

    def full(path):
        calls.append(path)
        if len(calls) == nth:
            raise OSError(28, "No space left on device")
        flush(path)

    monkeypatch.setattr(files, "flush", full)
    with pytest.raises(OSError, match="No space left on device; the run can be resumed"):
        save(run, 30)
    assert steps(run) == [10, 20]
    assert checkpoints.newest(run).ledger.step == 20
