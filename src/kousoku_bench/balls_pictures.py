"""The plot and the film of `kousoku bench balls`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from kousoku.envs import make
from kousoku.viz import Animation
from kousoku.viz.canvas import INK, LABEL_SIZE, dress, new_figure
from kousoku.viz.style import SERIES

from .table import Section

FRAME_STEPS = 4
LABEL_DISTANCE = 0.16  # of a decade: labels at the ends of lines keep this distance


def draw_times(path: Path, section: Section, steps: int) -> Path:
    """Draws milliseconds of a call against the number of balls, a named line for each contender that ran."""
    figure = new_figure(8.0, 5.0)
    ax = figure.add_subplot()
    names = dict.fromkeys(row.name for row in section.rows)
    lines = {name: _line(section, name) for name in names}
    lines = {name: line for name, line in lines.items() if line}
    for (name, line), color in zip(lines.items(), SERIES["light"], strict=False):
        counts, times = zip(*line, strict=True)
        ax.plot(counts, times, color=color, linewidth=2.2, marker="o", markersize=5, label=name)
    ax.set(xscale="log", yscale="log")
    dress(ax, title=f"{steps:,} steps of falling balls", xlabel="balls", ylabel="milliseconds")
    ticks = sorted({count for line in lines.values() for count, _ in line})
    ax.set_xticks(ticks, [f"{count:,}" for count in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    _name_lines(ax, {name: line[-1] for name, line in lines.items()})
    figure.savefig(path, dpi=130)
    return path


def _line(section: Section, name: str) -> list[tuple[int, float]]:
    rows = [row.figures for row in section.rows if row.name == name]
    return [(int(row["agents"] or 0), row["milliseconds"]) for row in rows if row.get("milliseconds")]  # type: ignore[misc]


def _name_lines(ax: Axes, ends: dict[str, tuple[int, float]]) -> None:
    """Writes names to the right of the lines' ends, moved up where two would lie on each other."""
    at = -np.inf
    for name, (count, time) in sorted(ends.items(), key=lambda item: item[1][1]):
        at = max(np.log10(time), at + LABEL_DISTANCE)
        ax.annotate(
            name, (count, 10.0**at), (8, 0), textcoords="offset points", va="center", color=INK, fontsize=LABEL_SIZE
        )


def film(path: Path, balls: int, frames: int) -> Path:
    """Films some hundred balls of `Balls-v0`, left to themselves, as a GIF."""
    env: Any = make("Balls-v0", n=balls)
    reset_key, step_key = jax.random.split(jax.random.key(0))
    state, _ = env.reset(reset_key)
    push = jnp.zeros((1,), jnp.float32)

    @eqx.filter_jit
    def fall(state: Any) -> Any:
        return jax.lax.fori_loop(0, FRAME_STEPS, lambda _, at: env.step(step_key, at, push)[0], state)

    scenes = [env.scene(jax.device_get(state))]
    while len(scenes) < frames:
        state = fall(state)
        scenes.append(env.scene(jax.device_get(state)))
    return Animation.of_scenes(scenes, FRAME_STEPS * env.dt, "Falling balls").save(path)
