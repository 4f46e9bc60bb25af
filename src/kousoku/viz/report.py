"""One offline HTML file that explains a run, and pictures beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path

from matplotlib.figure import Figure

from ..core.record import RunRecord
from . import headline, style
from .curves import plot_returns
from .encode import to_json
from .payload import payload
from .summary import exact_values, is_bandit, primary_curve
from .values import plot_error, plot_values, plot_visits

SCRIPTS = ("dom.js", "map.js", "tables.js", "bandit.js", "chart.js", "player.js", "main.js")
PIXELS_PER_INCH = 160


def write_report(record: RunRecord, path: str | Path) -> Path:
    """Write report.html into a folder, and values.png, returns.png, visits.png and error.png as far as there is data.

    Args:
        record: the run.
        path: the folder; it is made if it does not exist.

    Returns:
        The path of report.html.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, plot in _pictures(record).items():
        plot(record).savefig(folder / f"{name}.png", dpi=PIXELS_PER_INCH)
    target = folder / "report.html"
    target.write_text(report_html(record), encoding="utf-8", errors="replace", newline="\n")
    return target


def report_html(record: RunRecord) -> str:
    """The report as a self-contained page: no network, no frame, no inline handler; its policy forbids them."""
    css, script = style.css() + _asset("report.css"), "".join(_asset(name) for name in SCRIPTS)
    parts = {
        "policy": policy(css, script),
        "title": escape(headline.title(record)),
        "style": css,
        "script": script,
        "data": to_json(payload(record)),
    }
    page = _asset("report.html")
    pieces = page.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def policy(css: str, script: str) -> str:
    """The content security policy that allows this one style sheet, this one script, and pictures in the file."""
    return (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _pictures(record: RunRecord) -> dict[str, Callable[[RunRecord], Figure]]:
    pictures: dict[str, Callable[[RunRecord], Figure]] = {}
    if "q" in record.tables:
        pictures["values"] = plot_values
        if "visits" in record.tables:
            pictures["visits"] = plot_visits
        if exact_values(record) is not None and not is_bandit(record):
            pictures["error"] = plot_error
    if primary_curve(record) is not None:
        pictures["returns"] = plot_returns
    return pictures


def _asset(name: str) -> str:
    return files("kousoku.viz").joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
