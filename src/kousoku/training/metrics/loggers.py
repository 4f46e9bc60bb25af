"""Loggers, which are told a run's reports: the metrics file, TensorBoard, Weights & Biases."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError, as_list, check_choice
from ...core.point_names import point_texts
from ..io import run_folder
from ..io.files import json_text
from ..io.run_progress import RunProgress

MODULES = {"tensorboard": "tensorboardX", "wandb": "wandb"}
"""Which module each logger needs; the extra of its name installs it."""
FLUSH_SECONDS = 5


def check_loggers(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the names, if they are loggers.

    Raises:
        ConfigError: for another name, or the same one twice.
    """
    listed = as_list(names)
    if listed is None:
        raise ConfigError("log", names, f"give a list with any of {', '.join(MODULES)}")
    for name in listed:
        check_choice("log", name, MODULES)
    if len(set(listed)) < len(listed):
        raise ConfigError("log", names, f"give a list with any of {', '.join(MODULES)}, each once")
    return listed


def check_installed(names: Sequence[str], out: str | os.PathLike[str] | None) -> None:
    """Refuses what could not log.

    Raises:
        ConfigError: if a logger's package is missing, or TensorBoard's files would have no folder.
    """
    for name in names:
        if importlib.util.find_spec(MODULES[name]) is None:
            raise ConfigError("log", name, f"it is not installed: pip install 'kousoku[{name}]'")
    if names and out == "":
        raise ConfigError("log", list(names), "a run that is not saved has no folder for it; name one with out=")


class TensorBoard:
    """Event files below the run folder: the means over all agents, and a folder more for each point of a sweep.

    Args:
        folder: the run folder.
        asked: what was asked for, shown as text.
        since: the step that the run begins or goes on from: what was logged after it is dropped.
    """

    def __init__(self, folder: Path, asked: dict[str, Any], since: int) -> None:
        from tensorboardX import SummaryWriter

        self._make, self._folder = SummaryWriter, folder / "tensorboard"
        self._options: dict[str, Any] = {
            "flush_secs": FLUSH_SECONDS, "filename_suffix": f".{since}", "purge_step": since + 1,
        }  # fmt: skip
        self._writers: dict[str, Any] = {}
        if not since:
            self._writer("").add_text("config", f"```\n{json_text(asked, indent=2)}\n```", 0)

    def write(self, row: dict[str, Any]) -> None:
        """Writes one report."""
        for label, values in by_point(row):
            writer = self._writer(label)
            for name, value in values.items():
                writer.add_scalar(name, value, row["step"])

    def close(self, failed: bool) -> None:
        """Closes the files: no more reports."""
        for writer in self._writers.values():
            writer.close()

    def _writer(self, label: str) -> Any:
        if label not in self._writers:
            self._writers[label] = self._make(str(self._folder / label), **self._options)
        return self._writers[label]


class Wandb:
    """A run of Weights & Biases, in the project that WANDB_PROJECT names or in "kousoku".

    A resumed run goes on as the same one there. The environment variables of wandb hold, such as WANDB_MODE=offline.

    Args:
        folder: the run folder; wandb keeps its files in it.
        asked: what was asked for: the run's configuration there.
        started: when training began; with the folder it tells runs apart.

    Raises:
        ConfigError: if wandb refuses to begin, as where nobody is logged in.
    """

    def __init__(self, folder: Path, asked: dict[str, Any], started: str) -> None:
        wandb = importlib.import_module("wandb")
        id = hashlib.sha256(f"{folder.resolve()} {started}".encode()).hexdigest()[:16]
        project = os.environ.get("WANDB_PROJECT", "kousoku")
        try:
            self._run = wandb.init(
                project=project, name=folder.name, config=asked, dir=str(folder), id=id, resume="allow"
            )
        except wandb.errors.Error as error:
            said = str(error).splitlines()[0]
            raise ConfigError("log", "wandb", f"{said} (wandb login, or WANDB_MODE=offline)") from error

    def write(self, row: dict[str, Any]) -> None:
        """Writes one report."""
        said = {f"{label}/{name}" if label else name: v for label, vs in by_point(row) for name, v in vs.items()}
        self._run.log(said, step=row["step"])

    def close(self, failed: bool) -> None:
        """Ends the run: no more reports."""
        self._run.finish(exit_code=int(failed))


def by_point(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yields the numbers of a report that there are: of all agents (without a label), and of each point of the sweep.

    Examples:
        >>> row = {"step": 10, "episodes": 0, "charts/reward": 0.5, "charts/episodic_return": None}
        >>> row["points"] = [{"discount": 0.9, "charts/reward": 0.5}]
        >>> list(by_point(row))
        [('', {'episodes': 0, 'charts/reward': 0.5}), ('discount=0.9', {'charts/reward': 0.5})]
    """
    yield "", {name: v for name, v in row.items() if v is not None and name not in ("step", "points")}
    points = row.get("points", ())
    varied = point_texts([{name: v for name, v in point.items() if "/" not in name} for point in points])
    for point, texts in zip(points, varied, strict=True):
        label = ", ".join(f"{name}={text}" for name, text in texts.items())
        yield label, {name: v for name, v in point.items() if "/" in name and v is not None}


class JsonLines:
    """The run folder's own file: one line for each report, on disk when it has been made.

    Args:
        folder: the run folder.
        kept: the lines that a resumed run keeps.
    """

    def __init__(self, folder: Path, kept: bytes) -> None:
        self._file = run_folder.open_metrics(folder, kept)

    def write(self, row: dict[str, Any]) -> None:
        """Writes one report."""
        self._file.write(json_text(row) + "\n")

    def close(self, failed: bool) -> None:
        """Closes the file: no more reports."""
        self._file.close()


class Loggers:
    """All loggers of a run, until its end, whatever happens; none, where nothing is saved.

    Args:
        names: of other programs.
        folder: the run folder, if there is one.
        asked: what was asked for.
        progress: of a run that begins, or goes on.
        kept: the lines of its metrics that it keeps.

    Attributes:
        failed: whether the run broke; true until somebody says that it did not.
    """

    def __init__(
        self, names: Sequence[str], folder: Path | None, asked: dict[str, Any], progress: RunProgress, kept: bytes
    ) -> None:
        self.failed = True
        self._logs: list[Wandb | TensorBoard | JsonLines] = []
        if folder is None:
            return
        if "wandb" in names:  # first: it may refuse, and nothing is open yet
            self._logs.append(Wandb(folder, asked, progress.started))
        if "tensorboard" in names:
            self._logs.append(TensorBoard(folder, asked, progress.since))
        self._logs.append(JsonLines(folder, kept))

    def __enter__(self) -> Loggers:
        return self

    def __exit__(self, *_: object) -> None:
        for log in self._logs:
            log.close(self.failed)

    def write(self, row: dict[str, Any]) -> None:
        """Writes one report, for all of them."""
        for log in self._logs:
            log.write(row)
