"""Checkpoints on disk: read back bit for bit, or seen to be damaged and passed over; never executed."""

import asyncio
import contextlib
import errno
import gc
import json
import os
import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked import forked

import kousoku as ks
from kousoku import api
from kousoku.cli import main
from kousoku.core import whole_file
from kousoku.core.collector import TrainState
from kousoku.core.errors import RunWarning
from kousoku.training.io import array_store, checkpoints, files, tree_io
from kousoku.training.io.checkpoints import (
    MANIFEST,
    METRICS,
    PROGRESS,
    PROGRESS_ARRAYS,
    STATE,
    Checkpoint,
    DamagedError,
)
from kousoku.training.io.run_progress import RunProgress
from kousoku.training.loop import host

# Orbax's event loop is closed while it reads other parts than the damaged one, and says so from a thread, maybe later.
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*Event loop is closed:pytest.PytestUnraisableExceptionWarning")


def training(members=3, **changes):
    learned = {
        "w": jnp.arange(members * 4, dtype=jnp.float32).reshape(members, 2, 2) / 7,
        "half": jnp.ones((members,), jnp.bfloat16),
        "keys": jax.random.split(jax.random.key(1), members),
        "other": jax.random.split(jax.random.key(2, impl="rbg"), members),
        "flag": jnp.zeros((members, 1), bool),
        "none": jnp.zeros((members, 0, 4)),
        "none_half": jnp.zeros((members, 0), jnp.bfloat16),
    }  # fmt: skip
    return TrainState({**learned, **changes}, (), (), (), ())


def progress(step, score=None):
    made = RunProgress(step=step, since=step, episodes=7, seconds=0.1, score=score, started="2026-11-21T09:14:00+00:00")
    made.curves.steps, made.curves.rows = [step], {"return": [np.array([1.0, np.nan, 3.0], np.float32)]}
    return made


def save(run, step, score=None, keep=3):
    checkpoints.save(run, Checkpoint.of(training(), progress(step, score), b'{"step": 1}\n'), keep)
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


@pytest.mark.full("covered")
def test_everything_comes_back_bit_for_bit_with_its_generator_and_dtype(run):
    saved = checkpoints.newest(run)
    template = jax.tree.map(lambda leaf: leaf, training())
    back = saved.state(template, 3)
    for mine, its in zip(jax.tree.leaves(training()), jax.tree.leaves(back), strict=True):
        assert mine.dtype == its.dtype
        assert mine.sharding == its.sharding
    for mine, its in zip(tree_io.to_arrays(training()), tree_io.to_arrays(back), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert saved.progress.to_json() == progress(20).to_json()
    np.testing.assert_array_equal(saved.progress.all_curves()["return"], progress(20).all_curves()["return"])
    assert saved.metrics == b'{"step": 1}\n'


def test_orbax_reads_the_arrays_by_itself(run):
    from orbax.checkpoint.experimental import v1

    folder = run / "checkpoints" / f"{20:012d}"
    leaves = [leaf["path"] for leaf in files.read_json(folder / PROGRESS)["leaves"]]
    found = v1.load(folder / STATE)
    np.testing.assert_array_equal(found[str(leaves.index("agent['w']"))], training().agent["w"])


@pytest.mark.full("covered")
def test_members_that_fill_up_devices_are_the_last_one_again(run):
    back = checkpoints.newest(run).state(training(5), 3)
    words = tree_io.to_arrays(back)
    for whole, part in zip(words, tree_io.to_arrays(training()), strict=True):
        np.testing.assert_array_equal(whole[:3], part)
        np.testing.assert_array_equal(whole[3:], np.stack([part[-1]] * 2))


def parts(run, name):
    """A file of the last checkpoint, or all those of a folder in it that hold anything."""
    path = run / "checkpoints" / f"{20:012d}" / name
    return [file for file in path.rglob("*") if file.is_file() and file.stat().st_size] if path.is_dir() else [path]


@pytest.mark.by_default("manifest.json")
@pytest.mark.parametrize("name", [STATE, PROGRESS_ARRAYS, PROGRESS, METRICS, MANIFEST])
def test_a_flipped_bit_anywhere_is_seen_and_the_checkpoint_before_used(run, name):
    rng = np.random.default_rng(0)
    for path in parts(run, name):
        data = path.read_bytes()
        for position in {0, len(data) // 2, len(data) - 1, *rng.integers(len(data), size=12).tolist()}:
            flipped = bytearray(data)
            flipped[position] ^= 1 << int(rng.integers(8))
            path.write_bytes(flipped)
            with pytest.warns(RunWarning, match=r"000000000020 is damaged \(.*\) and passed over"):
                assert checkpoints.newest(run).progress.step == 10
        path.write_bytes(data)
    assert checkpoints.newest(run).progress.step == 20


@pytest.mark.by_default(
    "empty-ledger.json",
    "empty-ledger.npz",
    "empty-manifest.json",
    "empty-metrics.jsonl",
    "gone-ledger.json",
    "gone-ledger.npz",
    "gone-manifest.json",
    "gone-metrics.jsonl",
    "half-ledger.json",
    "half-ledger.npz",
    "half-manifest.json",
    "half-metrics.jsonl",
)
@pytest.mark.parametrize("name", [STATE, PROGRESS_ARRAYS, PROGRESS, METRICS, MANIFEST])
@pytest.mark.parametrize("how", ["half", "empty", "gone"])
def test_part_of_a_checkpoint_is_seen(run, name, how):
    for path in parts(run, name):
        data = path.read_bytes()
        if how == "gone":
            path.unlink()
        else:
            path.write_bytes(data[: len(data) // 2] if how == "half" else b"")
        with pytest.warns(RunWarning, match=f"{path.name} is missing" if how == "gone" else "is damaged"):
            assert checkpoints.newest(run).progress.step == 10
        path.write_bytes(data)


def test_a_file_that_somebody_put_beside_the_others_harms_nothing(run):
    (run / "checkpoints" / f"{20:012d}" / STATE / ".DS_Store").write_bytes(b"1")
    assert checkpoints.newest(run).progress.step == 20


def test_a_checkpoint_under_another_step_is_not_believed(run):
    os.replace(run / "checkpoints" / f"{10:012d}", run / "checkpoints" / f"{30:012d}")
    with pytest.raises(DamagedError, match="belongs to step 10"):
        checkpoints.read(run / "checkpoints" / f"{30:012d}")


def test_where_none_is_whole_that_is_said(run):
    for step in (10, 20):
        (run / "checkpoints" / f"{step:012d}" / MANIFEST).unlink()
    with pytest.warns(RunWarning), pytest.raises(ks.ConfigError, match="none of its checkpoints is whole"):
        checkpoints.newest(run)


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_killed_while_one_takes_the_place_of_another_there_is_always_one(run, moves, monkeypatch):
    last, left, replace = checkpoints.newest(run), moves, os.replace

    def killed(source, target):
        nonlocal left
        if os.path.dirname(source) == str(run / "checkpoints"):
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.os, "replace", killed)
        patch.setattr(checkpoints.shutil, "rmtree", lambda *args, **named: None)  # as nothing is after a kill
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save(run, last, keep=2)
    found = checkpoints.newest(run)
    assert found.progress.step == last.progress.step
    for mine, its in zip(found.leaves, last.leaves, strict=True):
        np.testing.assert_array_equal(mine, its)
    checkpoints.cut_back(run, last.progress.step)
    checkpoints.save(run, last, keep=2)
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == [f"{step:012d}" for step in (10, 20)]


def test_where_nobody_may_make_links_a_name_with_other_letters_is_taken_as_it_is(tmp_path, monkeypatch):
    """So it is on Windows, where a run below a folder with an accent could save no checkpoint."""

    def refused(*_, **__):
        raise OSError(errno.EPERM, "A required privilege is not held by the client")

    monkeypatch.setattr(array_store, "OPENED", tmp_path / "there is none")
    monkeypatch.setattr(array_store.Path, "symlink_to", refused)
    folder = tmp_path / "José (1)" / "run"
    asked = {"steps": 200, "checkpoint_every": 100, "eval_episodes": 0, "progress": False}
    ks.train("q_learning", "GridWorld-v0", out=folder, **asked)
    assert checkpoints.newest(folder).progress.step == 200


def test_none_at_all_is_none(tmp_path):
    assert checkpoints.newest(tmp_path) is None


def reseal(folder, **changes):
    """The manifest as it would be if the files had been written as they are now."""
    manifest = json.loads((folder / MANIFEST).read_bytes()) | changes
    manifest.pop("sha256")
    manifest["files"] = {name: checkpoints._digest(folder / name) for name in checkpoints._below(folder)}
    manifest["files"].pop(MANIFEST)
    (folder / MANIFEST).write_bytes(checkpoints._sealed(manifest))


def as_in_format_2(folder):
    """A checkpoint in the first format that can be read: its arrays in one file."""
    named = {str(i): leaf for i, leaf in enumerate(checkpoints.read(folder).leaves)}
    shutil.rmtree(folder / STATE)
    whole_file.write_arrays(folder / "state.npz", named)
    told = files.read_json(folder / PROGRESS)
    for leaf in told["leaves"]:
        del leaf["stored"]
    files.write_json(folder / PROGRESS, told)
    reseal(folder, format=checkpoints.FORMER[0])


def test_one_of_format_2_is_read(run):
    folder = run / "checkpoints" / f"{20:012d}"
    now = checkpoints.read(folder)
    as_in_format_2(folder)
    before = checkpoints.read(folder)
    assert (before.paths, before.kinds) == (now.paths, now.kinds)
    for old, new in zip(before.leaves, now.leaves, strict=True):
        np.testing.assert_array_equal(old, new, strict=True)
    before.state(training(), 3)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was executed",))


@pytest.mark.parametrize("name", [PROGRESS_ARRAYS, "state.npz"])
@pytest.mark.parametrize("raw", [True, False])
def test_a_pickle_in_disguise_is_never_executed(run, raw, name):
    folder = run / "checkpoints" / f"{20:012d}"
    if name == "state.npz":
        as_in_format_2(folder)
    if raw:
        (folder / name).write_bytes(pickle.dumps(Bomb()))
    else:
        np.savez(folder / name, **{"0": np.array([Bomb()], object)})
    reseal(folder, format=json.loads((folder / MANIFEST).read_bytes())["format"])
    with pytest.raises(DamagedError, match="damaged file"):
        checkpoints.read(folder)


def test_a_pickle_in_place_of_any_file_of_the_arrays_is_never_executed(run):
    folder = run / "checkpoints" / f"{20:012d}"
    for path in parts(run, STATE):
        data = path.read_bytes()
        path.write_bytes(pickle.dumps(Bomb()))
        reseal(folder)
        with contextlib.suppress(DamagedError):  # some files only say who wrote them
            checkpoints.read(folder)
        path.write_bytes(data)
    gc.collect()  # what Orbax read when it met the damage ends here, and not in a later test


def test_arrays_other_than_those_that_were_written_are_seen(run):
    folder = run / "checkpoints" / f"{20:012d}"
    shutil.rmtree(folder / STATE)
    array_store.write(folder / STATE, [leaf[:2] for leaf in checkpoints.read(folder.with_name(f"{10:012d}")).leaves])
    reseal(folder)
    with pytest.raises(DamagedError, match=r"array 0 is bool\[2, 1\] where bool\[3, 1\] was written"):
        checkpoints.read(folder)


def test_an_array_that_would_have_to_be_pickled_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="would have to be pickled"):
        whole_file.write_arrays(tmp_path / "x.npz", {"a": np.array([{}], object)})
    with pytest.raises(ValueError, match="would have to be pickled"):
        array_store.write(tmp_path / "x", [np.array([{}], object)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("format", "fix"),
    [
        (checkpoints.FORMAT + 1, "use a newer one"),
        (1, "use a checkout of before 2026-11-23, or train again in another folder"),
    ],
)
def test_another_format_is_refused_naming_both_versions_and_what_reads_it(run, format, fix):
    folder = run / "checkpoints" / f"{20:012d}"
    reseal(folder, format=format, kousoku="7.0")
    read = f"formats 2 to {checkpoints.FORMAT}"
    refused = rf"format: got {format}; kousoku 7\.0 made it; this is kousoku .*, which reads {read}: {fix}$"
    with pytest.raises(ks.ConfigError, match=refused):
        checkpoints.newest(run)


def test_other_shapes_are_refused_saying_both(run):
    template = training(w=jnp.zeros((3, 5, 2)))
    with pytest.raises(ks.ConfigError, match=r"w'\]: float32\[3, 2, 2\].*needs .*w'\]: float32\[3, 5, 2\]"):
        checkpoints.newest(run).state(template, 3)
    with pytest.raises(ks.ConfigError, match=r"flag'\]: bool\[3, 1\].*needs .*flag'\]: bool\[2, 1\]"):
        checkpoints.newest(run).state(training(2), 2)
    with pytest.raises(ks.ConfigError, match="7 leaves"):
        checkpoints.newest(run).state(training(z=jnp.zeros(3)), 3)


@pytest.mark.full("covered")
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
    assert checkpoints.newest(tmp_path).progress.step == 100


def test_what_comes_after_a_step_is_cut_off(run):
    (run / "checkpoints" / f"{30:012d}.part").mkdir()
    checkpoints.cut_back(run, 10)
    assert steps(run) == [10]


@pytest.mark.by_default("1", "2", "6", "10", "14")
@pytest.mark.parametrize("nth", range(1, 15))
def test_a_full_disk_leaves_the_last_checkpoint_and_nothing_else(run, monkeypatch, nth):
    """The disk refuses the nth time that something has to reach it; each file does, and each folder."""
    calls, flush = [], whole_file.flush

    def full(path):
        calls.append(path)
        if len(calls) == nth:
            raise OSError(28, "No space left on device")
        flush(path)

    monkeypatch.setattr(whole_file, "flush", full)
    with pytest.raises(OSError, match=r"No space left on device; the run can be resumed from .* at step 20: .*30'"):
        save(run, 30)
    assert steps(run) == [10, 20]
    assert checkpoints.newest(run).progress.step == 20


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_whatever_ends_the_writing_of_a_checkpoint_leaves_nothing_unfinished(run, monkeypatch, error):
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(array_store, "write", fails)
    with pytest.raises(error):
        save(run, 30)
    assert {path.name for path in (run / "checkpoints").iterdir()} == {f"{step:012d}" for step in (10, 20)}


@pytest.mark.parametrize("score", [float("inf"), float("-inf")])
def test_a_former_checkpoint_with_a_score_that_is_not_finite_is_not_the_best(tmp_path, score):
    for step, each in ((10, 1.0), (20, score), (30, 0.5)):
        save(tmp_path, step, each)
    assert checkpoints.kept(tmp_path, "best").progress.step == 10


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_at_the_first_checkpoint_promises_none(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_file, "flush", _full)
    with pytest.raises(OSError, match=r"No space left on device; no checkpoint was saved before: .* from step 0"):
        save(tmp_path, 10)
    assert steps(tmp_path) == []


def test_a_disk_that_is_full_within_a_report_or_after_training_says_what_is_left(tmp_path, monkeypatch, capsys):
    """Not only where a checkpoint is written, which names its file."""
    command = "train q_learning GridWorld-v0 --steps 600 --record-every 200 --checkpoint-every 200 --no-progress --out"
    with monkeypatch.context() as patch:
        patch.setattr(host.Loggers, "write", _full)
        assert main([*command.split(), str(tmp_path / "a")]) == 1
    begins_again = "No space left on device; no checkpoint was saved before: when the run is resumed, it begins again"
    assert capsys.readouterr().err == f"kousoku: {tmp_path / 'a'}: {begins_again} from step 0\n"
    with monkeypatch.context() as patch:
        patch.setattr(api.viz, "write_report", _full)
        assert main([*command.split(), str(tmp_path / "b")]) == 1
    told = "No space left on device; all but its report is saved: `kousoku resume` draws that"
    assert capsys.readouterr().err == f"kousoku: {tmp_path / 'b'}: {told}\n"
    assert main(["resume", str(tmp_path / "b")]) == 0
    assert (tmp_path / "b" / "report.html").is_file()


REALLY_FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from kousoku.training.io import array_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
array_store.write(Path("first"), [np.ones(10)])
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    array_store.write(Path("second"), [np.random.default_rng(0).random(10_000)])
except OSError as error:
    print(error.errno, error.strerror)
assert array_store.read(Path("first"), [((10,), "float64")])[0].sum() == 10
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are POSIX")
def test_a_disk_that_refuses_the_arrays_is_one_error_of_the_system_without_tracebacks(tmp_path):
    """A real refusal, in the middle of what Orbax writes: a limit on the length of a file."""
    done = forked(REALLY_FULL, folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout == f"{errno.EFBIG} {os.strerror(errno.EFBIG)}\n"
    assert done.stderr == ""


@pytest.mark.full("covered")
def test_threads_may_write_and_read_at_once(tmp_path):
    def written_and_read(i):
        array_store.write(tmp_path / str(i), [np.full(3, i)])
        return array_store.read(tmp_path / str(i), [((3,), "int64")])[0].tolist()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(written_and_read, range(32))) == [[i] * 3 for i in range(32)]


def test_a_checkpoint_can_be_written_and_read_where_an_event_loop_runs(run):
    """As in a notebook."""

    async def both():
        save(run, 30)
        return checkpoints.newest(run).progress.step

    assert asyncio.run(both()) == 30


ODD_NAMES = [
    "lr=[0.1,0.5]",
    "a*b?",
    r"back\slash",
    "100%20",
    " space ",
    "日本 ü",
    "#{}$'\"|&;",
    "ocdbt.process_0",
    "\n",
]


@pytest.mark.skipif(os.name == "nt", reason="names that Windows has not")
@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_folder_may_have_any_name(name, tmp_path):
    """Also one that looks like a pattern; and nothing is written anywhere else."""
    folder = save(tmp_path / name / "run", 10)
    assert {path.name for path in tmp_path.iterdir()} == {name}
    shutil.move(tmp_path / name, tmp_path / "plain")
    plain = checkpoints.read(tmp_path / "plain" / folder.relative_to(tmp_path / name))
    shutil.move(tmp_path / "plain", tmp_path / name)
    for found in (checkpoints.read(folder), plain):
        for leaf, wanted in zip(found.leaves, tree_io.to_arrays(training()), strict=True):
            np.testing.assert_array_equal(leaf, wanted)


def _other_numbers(write, folder, arrays):
    write(folder, [array + array.dtype.type(1) for array in arrays])


def _fewer(write, folder, arrays):
    write(folder, arrays)
    shutil.rmtree(next(path for path in folder.iterdir() if path.is_dir()))


@pytest.mark.parametrize(("spoil", "why"), [(_other_numbers, "is not what was written"), (_fewer, "be read back")])
def test_what_cannot_be_read_back_is_no_checkpoint(spoil, why, tmp_path, monkeypatch):
    """It is seen when it was just written, while the one before is there still."""
    save(tmp_path, 10)
    write = array_store.write
    monkeypatch.setattr(array_store, "write", lambda folder, arrays: spoil(write, folder, arrays))
    with pytest.raises(OSError, match=f"{why}.*; the run can be resumed from its last whole checkpoint"):
        save(tmp_path, 20, keep=1)
    assert steps(tmp_path) == [10]
    assert checkpoints.newest(tmp_path).progress.step == 10


@pytest.mark.parametrize("score", ['"high"', "[1.0]"])
def test_a_score_that_is_no_number_is_of_no_best_checkpoint(run, score):
    for step, known in ((1, 2.0), (2, 1.0)):
        save(run, step, known)
    told = run / "checkpoints" / f"{1:012d}" / checkpoints.PROGRESS
    told.write_text(json.dumps(json.loads(told.read_text()) | {"score": json.loads(score)}))
    assert checkpoints._best(checkpoints._folders(run / "checkpoints")).name == f"{2:012d}"
