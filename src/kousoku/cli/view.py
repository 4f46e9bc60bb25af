"""`kousoku view RUN`: the report in the browser, or episodes as a film; `kousoku view ENV`: an environment."""

from __future__ import annotations

import os
import sys
import warnings
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, check_count
from ..core.output_file import file_stem
from ..training.io.files import typed
from .options import Option, parse, target
from .values import number

FILM = "film.html"
OPTIONS = (
    Option(
        "run", None, "RUN", "the run folder, by default the newest below runs/; or an environment's id", positional=True
    ),
    Option("film", None, "", "show episodes of the best agents instead of the report"),
    Option("episodes", "1", "N", "episodes side by side: of a run's best agents, or of an environment at random"),
    Option(
        "out",
        None,
        "FILE",
        "where the film goes: .html, .gif, .mp4, .png; in the plane also .svg "
        f"(default: {FILM} in the run folder, or ENV.html)",
    ),
    Option("open", None, "", "open a browser (default: yes); with --no-open only print the address"),
    Option("rebuild", None, "", "write the report anew, even if it is there"),
)


def run(words: Sequence[str]) -> int:
    """Writes what is to be seen if it is not there, and opens it."""
    given = parse("view", "Open a run's report, or a film of episodes, in the browser.", OPTIONS, words)
    named = given.get("run")
    if named is not None and not os.path.exists(typed(str(named))):
        _check_env(str(named))
        target = _env_film(str(named), given)
    elif given.get("film", bool({"out", "episodes"} & set(given))):
        target = _run_film(_folder(given, True), given)
    else:
        rebuild = bool(given.get("rebuild"))
        target = _report(_folder(given, rebuild), rebuild)
    print(target)
    if given.get("open", True) and not webbrowser.open(target.resolve().as_uri()):
        print("no browser was found; open this file in one")
    return 0


def _check_env(name: str) -> None:
    from ..envs import ENVS

    if name not in ENVS.ids() and not ENVS.library_of(name):
        fix = f"name a folder that `kousoku train` has made, or an environment: {ENVS.suggest(name)}"
        raise ConfigError("run", name, fix)


def _report(folder: Path, rebuild: bool) -> Path:
    from .. import viz
    from ..saved_runs import load
    from ..training.io import run_folder

    report = folder / viz.REPORT
    if rebuild or not report.is_file() or not run_folder.has_ended(folder):
        viz.write_report(load(folder).record, folder)
    return report


def _run_film(folder: Path, given: dict[str, Any]) -> Path:
    from ..saved_runs import load
    from ..training.evaluation.film import MOST_FILMS

    written, loaded = target(given, folder / FILM), load(folder)
    episodes = check_count("episodes", _episodes(given), high=min(loaded.record.num_members, MOST_FILMS))
    return loaded.animate(episodes).save(written)


def _env_film(name: str, given: dict[str, Any]) -> Path:
    from ..api import animate

    written = target(given, f"{file_stem(name)}.html")
    return animate(name, episodes=_episodes(given)).save(written)


def _episodes(given: dict[str, Any]) -> int:
    return check_count("episodes", number("episodes", given.get("episodes", "1")))


def _folder(given: dict[str, Any], anew: bool) -> Path:
    return typed(str(given["run"])) if "run" in given else _newest(anew)


def _newest(anew: bool) -> Path:
    """Returns the newest run that can be read and shows something; says which newer ones are passed over.

    Args:
        anew: whether what is shown is made anew, from its numbers.
    """
    from ..training.io import run_folder

    found = Path("runs").glob(f"*/{run_folder.CONFIG}")
    for path in sorted(found, key=lambda path: (path.stat().st_mtime, path), reverse=True):
        why = run_folder.nothing_to_show(path.parent) or _unreadable(path.parent, anew)
        if why is None:
            return path.parent
        print(f"kousoku: {path.parent} is passed over: {why}", file=sys.stderr)
    raise ConfigError("run", ..., "there is no run below runs/ to be seen; name a run folder")


def _unreadable(folder: Path, anew: bool) -> str | None:
    """Says why a run cannot be read; None if it can, or if its report is there and need not be made anew."""
    from .. import saved_runs, viz
    from ..training.io import run_folder

    if not anew and run_folder.has_ended(folder) and (folder / viz.REPORT).is_file():
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # it is read again where it is shown
            saved_runs.load(folder)
    except ConfigError as error:
        return str(error)
    return None
