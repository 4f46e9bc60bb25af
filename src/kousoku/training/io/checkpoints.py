"""Checkpoints: the whole state of a run, so that another process goes on as if nothing had happened.

    checkpoints/000000012000/     one for each step kept
        state/                    every leaf of the training state, of all members, by Orbax
        ledger.npz, ledger.json   curves and evaluations so far; steps, seconds, versions; the leaves by name
        metrics.jsonl             the metrics file up to here
        manifest.json             SHA-256 of all other files; written last

A checkpoint is written beside its place and moved there when the disk has all of it. It counts only if every byte is
what the manifest says. Checkpoints are ordered by step, never by time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...core import whole_file
from ...core.collector import TrainState
from ...core.errors import ConfigError, RunWarning
from ...core.whole_file import UNFINISHED
from . import array_store, files, former_checkpoints, provenance, tree_io
from .run_progress import RunProgress

FORMAT = 15
FORMER = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
"""Formats that can be read still: to 14 a repeated action did not say that it had ended early; to 13 updates were not
counted where each iteration was one step; Monte Carlo did not count an episode's visits to 11; DQN and PQN told loss
and values by other names to 10; to 9 all kept returns without rests, to 8 recurrent cells of our own, to 7 replay
buffers alone; to 6 slots that began together, to 5 other paths of leaves and sums without a block, and in format 2
leaves in state.npz."""
UNREADABLE, UNREADABLE_SINCE = (1,), "2026-11-23"
"""Formats that are read no more, and the day since when no code writes them."""
FOLDER = "checkpoints"
STATE, METRICS, MANIFEST = "state", "metrics.jsonl", "manifest.json"
PROGRESS_ARRAYS, PROGRESS = "ledger.npz", "ledger.json"
T = TypeVar("T")


class DamagedError(Exception):
    """A checkpoint that is not what was written."""


@dataclass(frozen=True)
class Checkpoint:
    """Everything that a run needs to go on.

    Attributes:
        leaves: the training state's leaves [N, ...], as `tree_io.to_arrays` gives them.
        paths, kinds: where each leaf is in the state, and its dtype.
        progress: what the host knows.
        metrics: the metrics file so far.
        versions: of what made it, as `provenance.made_by` tells them.
        asked: a digest of what the run was asked to do, as `run_folder.digest_of` gives it; None where none was kept.
        format: of the folder it was read from.
    """

    leaves: list[np.ndarray]
    paths: list[str]
    kinds: list[str]
    progress: RunProgress
    metrics: bytes
    versions: dict[str, str]
    asked: str | None = None
    format: int = FORMAT

    @staticmethod
    def of(state: TrainState, progress: RunProgress, metrics: bytes, asked: str | None = None) -> Checkpoint:
        """Makes a checkpoint of a run as it is now; the state without padding."""
        made = tree_io.to_arrays(state), tree_io.paths(state), tree_io.kinds(state)
        return Checkpoint(*made, progress, metrics, provenance.made_by(), asked)

    def state(self, template: TrainState, members: int) -> TrainState:
        """Returns the training state, placed like the template, which `TrainLoop.start` gives.

        Raises:
            ConfigError: if it is of another agent, environment or number of members, saying both.
        """
        unpadded = [leaf[:members] for leaf in tree_io.to_arrays(template)]
        needed = list(zip(tree_io.paths(template), tree_io.kinds(template), unpadded, strict=True))
        found = list(zip(self.paths, self.kinds, self.leaves, strict=True))
        if self.format in FORMER:
            found = former_checkpoints.upgrade(found, needed)
        order = {path: i for i, (path, _, _) in enumerate(needed)}
        found.sort(key=lambda leaf: order.get(leaf[0], len(order)))
        has, needs = ([(path, kind, array.shape) for path, kind, array in leaves] for leaves in (found, needed))
        if has != needs:
            one, other = tree_io.difference(has, needs)
            raise ConfigError("checkpoint", one, f"this agent on this environment needs {other}")
        return tree_io.onto(template, [array for _, _, array in found])


def save(run: Path, checkpoint: Checkpoint, keep: int) -> None:
    """Writes a checkpoint and reads it back, then removes those that need not be kept: all but the last and the best.

    Args:
        run: the run folder.
        checkpoint: what to write.
        keep: how many of the last ones stay.

    Raises:
        OSError: if the disk refuses it, or gives back something else; what was there before is untouched.
    """
    step, parent = checkpoint.progress.step, run / FOLDER
    target = parent / f"{step:012d}"
    part = target.with_name(target.name + UNFINISHED)
    before = target.with_name(f"0{target.name}")  # it counts, too, until the new one has taken its place
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        _fill(part, checkpoint)
        _check_written(part, checkpoint)
        whole_file.flush(part)
        if target.exists():
            shutil.rmtree(before, ignore_errors=True)
            os.replace(target, before)
        os.replace(part, target)
        whole_file.flush(parent)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if isinstance(error, OSError):
            said = f"{files.refusal(error, target)}; {what_is_left(run)}"
            raise OSError(error.errno, said, str(target)) from error
        raise
    _prune(parent, keep)


def what_is_left(run: Path) -> str:
    """Says where a run that the disk has stopped can be resumed."""
    found = _folders(run / FOLDER)
    if not os.path.isdir(run):  # unlike `is_dir` of a path, it never raises
        return files.GONE
    if not found:
        return "no checkpoint was saved before: when the run is resumed, it begins again from step 0"
    return f"the run can be resumed from its last whole checkpoint, at step {int(found[-1].name)}"


def newest(run: Path) -> Checkpoint | None:
    """Returns the last checkpoint that is whole, None if there is none at all; warns of each damaged one after it.

    Raises:
        ConfigError: if all are damaged, or the last one is of a format that cannot be read.
    """
    found = _folders(run / FOLDER)
    for folder in reversed(found):
        try:
            return read(folder)
        except DamagedError as error:
            warnings.warn(f"{folder} is damaged ({error}) and passed over", RunWarning, stacklevel=2)
    if found:
        fix = "none of its checkpoints is whole; restore one from a copy, or train again in another folder"
        raise ConfigError("run folder", str(run), fix)
    return None


def kept(run: Path, which: str | int) -> Checkpoint:
    """Returns one of the checkpoints that were kept.

    Args:
        run: the run folder.
        which: "best", or a step.

    Raises:
        ConfigError: if there is no such one, naming those that there are, or it is damaged.
    """
    found = _folders(run / FOLDER)
    best, steps = _best(found), {int(folder.name): folder for folder in found}  # of two of one step the newer one
    if which == "best" and best is not None:
        folder = best
    elif which in steps:
        folder = steps[int(which)]
    else:
        named = ([] if best is None else [f"'best' ({int(best.name)})"]) + [str(step) for step in steps]
        raise ConfigError("checkpoint", which, f"there are {', '.join(named)}" if named else f"{run} has none")
    try:
        return read(folder)
    except DamagedError as error:
        raise ConfigError(
            "checkpoint", which, f"it is damaged ({error}); there are {', '.join(map(str, steps))}"
        ) from error


def is_there(run: Path) -> bool:
    """Returns whether there is any checkpoint, whole or not."""
    return bool(_folders(run / FOLDER))


def last_step(run: Path) -> int:
    """Returns the step of the last checkpoint, whole or not; 0 if there is none."""
    return max((int(folder.name) for folder in _folders(run / FOLDER)), default=0)


def read(folder: Path) -> Checkpoint:
    """Reads one checkpoint and checks every byte.

    Raises:
        DamagedError: if it is not what was written.
        ConfigError: if its format is another one.
    """
    manifest = _whole(lambda: _manifest(folder))
    if manifest["format"] not in (*FORMER, FORMAT):
        ours = provenance.versions()["kousoku"]
        made_by = manifest["kousoku"]
        what = f"kousoku {made_by} made it; this is kousoku {ours}, which reads formats {FORMER[0]} to {FORMAT}"
        fix = "use a newer one"
        if manifest["format"] in UNREADABLE:
            fix = f"use a checkout of before {UNREADABLE_SINCE}, or train again in another folder"
        raise ConfigError(f"{folder} format", manifest["format"], f"{what}: {fix}")
    return _whole(lambda: _content(folder, manifest))


def cut_back(run: Path, step: int) -> None:
    """Removes checkpoints after a step, which the run will make again, and unfinished ones."""
    for folder in _folders(run / FOLDER):
        if int(folder.name) > step:
            _remove(folder)
    for part in (run / FOLDER).glob(f"*{UNFINISHED}"):
        shutil.rmtree(part, ignore_errors=True)


def _whole(read: Callable[[], T]) -> T:
    """Returns what `read` gives; raises one error for everything that a damaged file may lead to."""
    try:
        return read()
    except FileNotFoundError as error:
        raise DamagedError(f"{Path(error.filename).name} is missing") from error
    except (ConfigError, TypeError, AttributeError, *files.DAMAGE) as error:
        raise DamagedError(str(error)) from error


def _fill(part: Path, checkpoint: Checkpoint) -> None:
    stored = array_store.kinds_of(checkpoint.leaves)
    leaves = [
        {"path": path, "dtype": kind, "stored": {"shape": shape, "dtype": dtype}}
        for path, kind, (shape, dtype) in zip(checkpoint.paths, checkpoint.kinds, stored, strict=True)
    ]
    array_store.write(part / STATE, checkpoint.leaves)
    whole_file.write_arrays(part / PROGRESS_ARRAYS, checkpoint.progress.arrays(), sync=True)
    told = {
        **checkpoint.progress.to_json(),
        "versions": checkpoint.versions,
        "asked": checkpoint.asked,
        "leaves": leaves,
    }
    files.write_json(part / PROGRESS, told, sync=True)
    files.write_bytes(part / METRICS, checkpoint.metrics, sync=True)
    manifest = {
        "format": FORMAT,
        "kousoku": checkpoint.versions["kousoku"],
        "step": checkpoint.progress.step,
        "files": {name: _digest(part / name) for name in sorted(_below(part))},
    }
    files.write_bytes(part / MANIFEST, _sealed(manifest), sync=True)


def _check_written(part: Path, checkpoint: Checkpoint) -> None:
    """Reads back what was just written.

    Raises:
        OSError: if it is not what was to be written.
    """
    try:
        found = _whole(lambda: _content(part, _unsealed(part)))
    except DamagedError as error:
        raise OSError(errno.EIO, f"what was written cannot be read back ({error})") from error
    pairs = zip(found.leaves, checkpoint.leaves, strict=True)
    if not all(np.array_equal(_bits(read), _bits(written)) for read, written in pairs):
        raise OSError(errno.EIO, "what is read back is not what was written")


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _sealed(manifest: dict[str, Any]) -> bytes:
    """Returns the manifest with a checksum of itself."""
    body = json.dumps(manifest, indent=2)
    return (json.dumps({**manifest, "sha256": hashlib.sha256(body.encode()).hexdigest()}, indent=2) + "\n").encode()


def _unsealed(folder: Path) -> dict[str, Any]:
    """Reads a manifest, whole as its own checksum says."""
    data = (folder / MANIFEST).read_bytes()
    manifest = json.loads(data)
    manifest.pop("sha256")
    if _sealed(manifest) != data:
        raise DamagedError(f"{MANIFEST} has changed")
    return manifest


def _manifest(folder: Path) -> dict[str, Any]:
    """Reads the manifest of the checkpoint in a folder that is named after its step."""
    manifest = _unsealed(folder)
    if manifest["step"] != int(folder.name):
        raise DamagedError(f"{MANIFEST} belongs to step {manifest['step']}")
    return manifest


def _content(folder: Path, manifest: dict[str, Any]) -> Checkpoint:
    for name, digest in manifest["files"].items():
        if _digest(folder / name) != digest:
            raise DamagedError(f"{name} has changed")
    told = files.read_json(folder / PROGRESS)
    progress = RunProgress.of(told, files.read_arrays(folder / PROGRESS_ARRAYS))
    leaves = _leaves(folder, manifest["format"], told["leaves"])
    paths, kinds = ([leaf[name] for leaf in told["leaves"]] for name in ("path", "dtype"))
    metrics, asked = (folder / METRICS).read_bytes(), told.get("asked")
    return Checkpoint(leaves, paths, kinds, progress, metrics, told["versions"], asked, manifest["format"])


def _leaves(folder: Path, format: int, told: list[Any]) -> list[np.ndarray]:
    if format != FORMER[0]:
        stored = [leaf["stored"] for leaf in told]
        return array_store.read(folder / STATE, [(array["shape"], array["dtype"]) for array in stored])
    arrays = files.read_arrays(folder / f"{STATE}.npz")
    return [arrays[str(i)] for i in range(len(told))]


def _below(folder: Path) -> list[str]:
    """Lists every file in a folder and in the folders in it."""
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folders(parent: Path) -> list[Path]:
    """Lists the folders of checkpoints in the order of their steps; of two of one step the newer one has a 0 less."""
    found = (p for p in parent.glob("*") if p.name.isdecimal() and p.is_dir())
    return sorted(found, key=lambda p: (int(p.name), -len(p.name)))


def _prune(parent: Path, keep: int) -> None:
    """Removes all checkpoints but the last ones and the best, and of two of one step the older one."""
    found = _folders(parent)
    for older, newer in pairwise(found):
        if int(older.name) == int(newer.name):
            _remove(older)
    found = _folders(parent)
    best = _best(found)
    for folder in (folder for folder in found[:-keep] if folder != best):
        _remove(folder)


def _best(found: list[Path]) -> Path | None:
    """Returns the checkpoint with the highest score: the first of several, or the end's; None if none has any."""
    scores = [_score(folder) for folder in found]
    highest = max(scores, default=-np.inf)
    if highest == -np.inf:
        return None
    is_the_end = scores[-1] == highest and _told(found[-1], "best_at") == int(found[-1].name)
    return found[-1] if is_the_end else found[int(np.argmax(scores))]


def _remove(folder: Path) -> None:
    """Removes a folder all at once, as far as a reader can see."""
    part = folder.with_name(folder.name + UNFINISHED)
    os.replace(folder, part)
    shutil.rmtree(part, ignore_errors=True)


def _score(folder: Path) -> float:
    """Returns a checkpoint's score; minus infinity where there is none, or none that is finite."""
    try:
        score = float(_told(folder, "score"))
    except (TypeError, ValueError):
        return -np.inf
    return score if np.isfinite(score) else -np.inf


def _told(folder: Path, name: str) -> Any:
    """Returns what a checkpoint tells of itself; None where it does not, or is damaged."""
    try:
        return files.read_json(folder / PROGRESS).get(name)
    except (ConfigError, AttributeError, *files.DAMAGE):
        return None
