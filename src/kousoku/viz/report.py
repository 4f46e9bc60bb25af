"""One offline HTML file that explains a run, and pictures beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from ..core.record import RunRecord
from ..core.scene3d import Trajectory3d
from ..core.whole_file import write_text, write_whole
from . import REPORT, film2d, film3d, headline
from .curve_data import primary_curve, returns_curve
from .curves import plot_lengths, plot_returns
from .offline import page_html
from .payload import payload
from .summary import exact_values, is_bandit
from .values import plot_error, plot_values, plot_visits

SCRIPT = "report.js"
START = "kousokuReport.page();\n"
WITHOUT_SCRIPT = "This report is drawn by the script in this file, which needs JavaScript."
PIXELS_PER_INCH = 160


def write_report(record: RunRecord, path: str | Path) -> Path:
    """Writes report.html into a folder, and values.png, returns.png, visits.png and error.png as far as there is data;
    lengths.png where every return is the same, and the lengths of episodes are not.

    The player of the best agent's episode is in the report: some 600 kB where it is in three dimensions.

    Args:
        record: the run.
        path: the folder; it is made if it does not exist.

    Returns:
        The path of report.html.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, plot in _pictures(record).items():
        figure = plot(record)
        write_whole(folder / f"{name}.png", partial(figure.savefig, format="png", dpi=PIXELS_PER_INCH))
    return write_text(folder / REPORT, report_html(record))


def report_html(record: RunRecord) -> str:
    """Returns the report as a self-contained page."""
    return page_html(
        headline.title(record), (*_player(record), SCRIPT), START, payload(record), _without_script(record)
    )


def _without_script(record: RunRecord) -> str:
    """Returns what stands in the page where no script runs: what the run came to, and which pictures there are."""
    names = ", ".join(f"{name}.png" for name in _pictures(record))
    pictures = f" Pictures beside this file: {names}." if names else ""
    return f"<p>{WITHOUT_SCRIPT} {escape(headline.sentence(record))}{pictures}</p>"


def _player(record: RunRecord) -> tuple[str, ...]:
    """Returns the script of the player that the page needs: the one for space is large."""
    if record.film is None:
        return ()
    return (film3d.SCRIPT,) if isinstance(record.film, Trajectory3d) else (film2d.SCRIPT,)


def _pictures(record: RunRecord) -> dict[str, Callable[[RunRecord], Figure]]:
    pictures: dict[str, Callable[[RunRecord], Figure]] = {}
    if "q" in record.tables:
        pictures["values"] = plot_values
        if "visits" in record.tables:
            pictures["visits"] = plot_visits
        if exact_values(record) is not None and not is_bandit(record):
            pictures["error"] = plot_error
    if returns_curve(record) is not None:
        pictures["returns"] = plot_returns
    if primary_curve(record) == "length":
        pictures["lengths"] = plot_lengths
    return pictures
