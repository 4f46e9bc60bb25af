"""`kousoku view RUN`: the report in the browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import ConfigError
from .options import Option, parse

OPTIONS = (
    Option("run", None, "RUN", "the run folder; by default the newest below runs/", positional=True),
    Option("open", None, "", "open a browser (default: yes); with --no-open only print the address"),
    Option("rebuild", None, "", "write the report anew, even if it is there"),
)


def run(words: Sequence[str]) -> int:
    """Write the report if it is not there, and open it."""
    from .. import viz
    from ..training import run_folder

    given = parse("view", "Open a run's report in the browser.", OPTIONS, words)
    folder = Path(str(given["run"])).expanduser() if "run" in given else _newest()
    report = folder / "report.html"
    if given.get("rebuild") or not report.is_file():
        viz.write_report(run_folder.load(folder)[0], folder)
    print(report)
    if given.get("open", True) and not webbrowser.open(report.resolve().as_uri()):
        print("no browser was found; open this file in one")
    return 0


def _newest() -> Path:
    runs = sorted(Path("runs").glob("*/config.json"), key=lambda path: (path.stat().st_mtime, path))
    if not runs:
        raise ConfigError("run", ..., "there is no run below runs/; name a run folder")
    return runs[-1].parent
