"""`kousoku resume RUN`: go on with a run."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import ConfigError
from ..training.devices import use_all_cores
from .options import Option, parse
from .settings import changeable_options, setting_values

WHAT = "Go on with a run that was stopped or killed, and end as if it never was; or make one longer or shorter."
RUN = Option("run", None, "RUN", "the run folder", positional=True)


def run(words: Sequence[str]) -> int:
    """Resumes a run as the words of the command say."""
    return resume(parse("resume", WHAT, [RUN, *changeable_options()], words))


def resume(given: dict[str, str | bool]) -> int:
    """Resumes the run that is named, with what is changed of it; returns the exit status.

    Raises:
        ConfigError: if no run is named, or `kousoku.resume` refuses it.
    """
    from .. import api
    from .notices import end, on_one_line

    folder = given.pop("run", None)
    if folder is None:
        raise ConfigError("run", ..., "name the run folder: kousoku resume RUN")
    asked = setting_values(given)
    use_all_cores()
    with on_one_line():
        return end(api.resume(str(folder), **asked))
