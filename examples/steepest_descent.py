# %% [markdown]
# # Steepest descent on z = x² + y² + y
#
# The gradient is (2 x, 2 y + 1); the lowest point is (0, -1/2), where z = -1/4. A step against the gradient brings the
# distance to it down by the factor 1 - 2 rate. `python examples/steepest_descent.py docs/images` makes the picture of
# docs/gradients.md.

# %%
from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

FLOOR, RIM = -5.0, 2.1
LEVELS = np.arange(-0.25, RIM**2 + 0.25, 0.5)
SCALE = LinearSegmentedColormap.from_list("depth", ["#31559a", "#2376a8", "#2297b2", "#40b9b9", "#81d6bb", "#d9f0cc"])
PATH, INK, MUTED = "#c2330c", "#1b1f27", "#596070"
RING = {"color": "white", "linewidth": 0.6, "alpha": 0.6, "zorder": 5}


def bowl(point: jax.Array) -> jax.Array:
    """Returns z = x^2 + y^2 + y of a point [2]."""
    x, y = point
    return x**2 + y**2 + y


# %%
def descend(start: tuple[float, float], rate: float, steps: int) -> np.ndarray:
    """Returns the points of steepest descent and their heights, [steps + 1, 3]."""

    def step(point: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        lower = point - rate * jax.grad(bowl)(point)
        return lower, lower

    first = jnp.asarray(start, jnp.float32)
    points = jnp.concatenate([first[None], jax.lax.scan(step, first, length=steps)[1]])
    return np.column_stack([points, jax.vmap(bowl)(points)])


# %%
def draw(path: np.ndarray, picture: Path) -> None:
    """Draws the surface with the path on it, and both from above on the floor."""
    figure = Figure(figsize=(7.2, 5.6), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((-0.03, 0.0, 1.04, 1.08), projection="3d", computed_zorder=False)
    radius, angle = np.meshgrid(np.linspace(0.0, RIM, 61), np.linspace(0.0, 2.0 * np.pi, 145))
    x, y = radius * np.cos(angle), radius * np.sin(angle) - 0.5
    z = x**2 + y**2 + y
    axes.contourf(x, y, z, LEVELS, zdir="z", offset=FLOOR, cmap=SCALE, alpha=0.35, zorder=1)
    axes.contour(x, y, z, LEVELS, zdir="z", offset=FLOOR, colors="white", linewidths=0.8, zorder=2)
    axes.plot(path[:, 0], path[:, 1], FLOOR, color=PATH, linewidth=1.2, marker="o", markersize=2.5, zorder=3)
    axes.plot_surface(x, y, z, cmap=SCALE, rcount=145, ccount=61, linewidth=0, antialiased=False, zorder=4)
    for level in LEVELS[1:]:
        ring = np.sqrt(level + 0.25)
        axes.plot(ring * np.cos(angle[:, 0]), ring * np.sin(angle[:, 0]) - 0.5, level, **RING)
    axes.plot(*path.T, color=PATH, linewidth=2.0, marker="o", markersize=4.5, zorder=6)
    axes.text(*path[0] + np.array([0.0, 0.0, 0.4]), "start", color=INK, fontsize=11, ha="center", zorder=7)
    axes.text(0.15, -0.5, FLOOR, "(0, -1/2)", color=INK, fontsize=9, zorder=7)
    _dress(axes)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=140)


def _dress(axes: Axes3D) -> None:
    axes.set(xlim=(-RIM, RIM), ylim=(-RIM - 0.5, RIM - 0.5), zlim=(FLOOR, RIM**2))
    axes.set(xticks=range(-2, 3), yticks=range(-2, 2), zticks=range(5))
    for set_label, name in ((axes.set_xlabel, "x"), (axes.set_ylabel, "y"), (axes.set_zlabel, "z")):
        set_label(name, color=MUTED)
    axes.tick_params(colors=MUTED, labelsize=8)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.pane.set(facecolor="white", edgecolor="white")
        axis.line.set_color("#b9bec9")
    axes.grid(False)
    axes.view_init(elev=38, azim=-68)
    axes.set_box_aspect((1, 1, 0.62), zoom=0.97)


# %%
def main(out: str = "runs", steps: int = 20, rate: float = 0.1) -> np.ndarray:
    """Descends, says where it ends, and draws."""
    path = descend((-1.75, 0.35), rate, steps)
    x, y, z = path[-1]
    picture = Path(out) / "steepest_descent.png"
    draw(path, picture)
    print(f"after {steps} steps: x = {x:.4f}, y = {y:.4f}, z = {z:.4f}; the lowest point is (0, -1/2), z = -1/4")
    print("picture:", picture)
    return path


if __name__ == "__main__":
    main(*sys.argv[1:2])
