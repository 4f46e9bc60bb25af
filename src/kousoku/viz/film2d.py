"""Episodes in the plane as one offline page, side by side: shapes as JSON, values packed.

The page holds the same player as that in three dimensions (flat.js, built from the folder `viewer` of the repository).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ..core.errors import ConfigError
from ..core.scene import Trajectory2d
from ..core.scene3d import Trajectory3d
from .film import MAX_SHAPES, film
from .offline import asset, page_html
from .packing import packed_values
from .style import player_palette
from .svg import scene_svg

SCRIPT = "flat.js"
START = "kousokuPlayer.page();\n"
STYLE = "viewer.css"
SLOWEST, FASTEST, WHOLE = 0.4, 0.06, 8.0


def pace(trajectories: Sequence[Trajectory2d]) -> float:
    """Returns the seconds that a picture is shown: its own, or by the number of steps, fewer where they are many."""
    longest = max(len(one) for one in trajectories)
    return float(trajectories[0].dt or min(SLOWEST, max(FASTEST, WHOLE / longest)))


def check_pace(trajectories: Sequence[Trajectory2d | Trajectory3d]) -> None:
    """Refuses films that cannot be shown together.

    Raises:
        ConfigError: if there is nothing to show, or the time steps differ.
    """
    if not trajectories:
        raise ConfigError("trajectories", [], "give at least one")
    steps = list(dict.fromkeys(one.dt for one in trajectories))
    if len(steps) > 1:
        raise ConfigError("dt", steps, "give all trajectories of a page the same")


def page(trajectories: Sequence[Trajectory2d], title: str = "") -> str:
    """Returns a self-contained page that plays episodes side by side.

    Where scripts are off it shows the last scene of the first.

    Args:
        trajectories: at least one; all with the same `dt`, not necessarily equally long.
        title: any text; it stays text.
    """
    data = payload(trajectories, title)
    last = f"<p>{escape(title)}</p>{scene_svg(trajectories[0].scenes[-1])}"
    return page_html(title or "Episode", (SCRIPT,), START, data, last, css=player_palette() + asset(STYLE))


def payload(trajectories: Sequence[Trajectory2d], title: str) -> dict[str, Any]:
    """Returns everything that the player reads."""
    check_pace(trajectories)
    seconds = pace(trajectories)
    runs, left = [], 0
    for trajectory in trajectories:
        drawn = film(trajectory.scenes, max_shapes=MAX_SHAPES // len(trajectories))
        count, missing = len(drawn["frames"]), drawn.pop("left")
        left = max(left, missing)
        values = packed_values({name: value[:count] for name, value in trajectory.values.items()})
        runs.append({"name": trajectory.name, "values": values, **drawn})
    return {"title": title, "dt": seconds, "timed": trajectories[0].dt is not None, "left": left, "runs": runs}
