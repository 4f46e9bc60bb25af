"""`kousoku resume RUN`: go on with a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..agents.options import rebuild
from ..core.agent import Agent
from ..core.errors import ConfigError
from ..training.devices import use_all_cores
from ..training.io import run_folder
from .options import RUN, Option, named_run, parse
from .settings import changeable_options, setting_values

WHAT = "Go on with a run that was stopped or killed, and end as if it never was; or make one longer or shorter."
DATASET = Option("dataset", None, "FILE", "where the .npz file of the data that the run learns from lies now")


def run(words: Sequence[str]) -> int:
    """Resumes a run as the words of the command say."""
    return resume(parse("resume", WHAT, [RUN, *resume_options()], words), words)


def resume_options() -> list[Option]:
    """Returns the options of what may be changed of a run, and of where its data lie."""
    return [DATASET, *changeable_options()]


def resume(given: dict[str, str | bool], words: Sequence[str]) -> int:
    """Resumes the run that is named, with what is changed of it; returns the exit status.

    Args:
        given: the run, and the changes.
        words: of the command.

    Raises:
        ConfigError: if no run is named, or `kousoku.resume` refuses it.
    """
    from .. import api
    from .notices import end

    folder = named_run(given, "resume RUN")
    del given[RUN.name]
    dataset = given.pop(DATASET.name, None)
    asked = setting_values(given)
    use_all_cores()
    agent = None if dataset is None else _with_data(folder, str(dataset))
    return end(api.resume(folder, agent=agent, **asked), words)


def _with_data(folder: str, dataset: str) -> Agent:
    """Returns the agent of a run with its data from another file.

    Raises:
        ConfigError: for an agent that learns from no data set, or what is no file of one.
    """
    told = run_folder.read_config(folder)["agent"]
    if "dataset" not in told:
        raise ConfigError(DATASET.flag, dataset, f"leave it out: {told['id']!r} learns from no data set")
    return dataclasses.replace(rebuild(told), dataset=dataset)
