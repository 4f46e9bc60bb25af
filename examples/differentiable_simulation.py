# %% [markdown]
# # What gradients through a simulator are worth
#
# Two pictures for docs/differentiable-simulation.md: how long gradients grow with the horizon that they go back
# through, where there are contacts and where not; and what they say of a throw over a wall, whose landing place jumps.
# `python examples/differentiable_simulation.py docs/images` makes both (a minute or two: a robot's derivatives are
# compiled).

# %%
from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import kousoku as ks

COLOURS = {"Pendulum-v1": "#2376a8", "Hopper-v5": "#b8860b", "HalfCheetah-v5": "#c2330c"}
INK, MUTED, BLUE, RED = "#1b1f27", "#596070", "#2376a8", "#c2330c"
GRAVITY, SPEED, WALL, TOP = 9.81, 6.0, 2.0, 0.8


# %% [markdown]
# ## Horizons
#
# Actions are drawn at random and held; the gradient is that of the sum of rewards, by the first action: what a policy
# is told through H steps.


# %%
def gradient_norms(env_id: str, horizons: Sequence[int], starts: int) -> np.ndarray:
    """Returns the norm of d(sum of H rewards) / d(first action) for each horizon and start, [horizons, starts]."""
    env = ks.make(env_id)
    space = env.action_space
    step = ks.kernel(lambda key, state, action: env.step(key, state, action))

    def total(first: jax.Array, state: object, later: jax.Array, key: jax.Array) -> jax.Array:
        def one(state: object, action: jax.Array) -> tuple[object, jax.Array]:
            state, timestep = step(key, state, action)
            return state, timestep.reward

        return jnp.sum(jax.lax.scan(one, state, jnp.concatenate([first[None], later]))[1])

    def norm(key: jax.Array, horizon: int) -> jax.Array:
        reset_key, act_key, step_key = jax.random.split(key, 3)
        state, _ = env.reset(reset_key)
        actions = jax.vmap(space.sample)(jax.random.split(act_key, max(horizons)))[:horizon]
        return jnp.linalg.norm(jax.grad(total)(actions[0], state, actions[1:], step_key))

    keys = jax.random.split(jax.random.key(0), starts)
    return np.stack([np.asarray(jax.jit(jax.vmap(lambda key, h=h: norm(key, h)))(keys)) for h in horizons])


# %%
def draw_norms(norms: dict[str, np.ndarray], horizons: Sequence[int], picture: Path) -> None:
    """Draws medians as lines and the range from the 10th percentile to the largest as bands."""
    figure = Figure(figsize=(7.2, 4.4), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for env_id, found in norms.items():
        colour = COLOURS[env_id]
        low, middle, high = np.percentile(found, 10, axis=1), np.median(found, axis=1), found.max(axis=1)
        axes.fill_between(horizons, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(horizons, middle, color=colour, linewidth=2.0, marker="o", markersize=4)
        axes.annotate(env_id, (horizons[-1], middle[-1]), (6, 0), textcoords="offset points", color=colour, va="center")
    axes.set(xscale="log", yscale="log", xticks=horizons, xticklabels=map(str, horizons))
    axes.minorticks_off()
    axes.set_xlim(horizons[0], horizons[-1] * 2.4)
    axes.set_xlabel("steps that the gradient goes back through", color=MUTED)
    axes.set_title(
        "Norm of the gradient by the first action: median, 10% to largest", color=INK, fontsize=11, loc="left"
    )
    _dress(axes)
    figure.tight_layout()
    _save(figure, picture)


# %% [markdown]
# ## A throw over a wall
#
# A ball is thrown from the ground at an angle. A wall stands in its way: it flies over, or drops at the wall. The
# distance is smooth on either side and jumps between them.


# %%
def distance(angle: jax.Array) -> jax.Array:
    """Returns how far a ball gets that is thrown at an angle, in metres."""
    across, up = SPEED * jnp.cos(angle), SPEED * jnp.sin(angle)
    arrives = WALL / across
    height = up * arrives - 0.5 * GRAVITY * arrives * arrives
    return jnp.where(height > TOP, across * 2.0 * up / GRAVITY, WALL)


def two_estimates(angles: jax.Array, deviation: float, samples: int) -> dict[str, np.ndarray]:
    """Returns, of throws that scatter, the mean distance and two estimates of its slope, [angles] each.

    With f the distance and w standard normal: E[f(x + s w)]; of its slope E[f'(x + s w)], first order, and
    E[f(x + s w) w] / s, zeroth order. Only the second knows of the jump.
    """
    noise = jax.random.normal(jax.random.key(0), (samples,))

    def of(angle: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        thrown = angle + deviation * noise
        far = jax.vmap(distance)(thrown)
        first = jax.vmap(jax.grad(distance))(thrown)
        return far.mean(), first.mean(), ((far - far.mean()) * noise).mean() / deviation

    mean, first, zeroth = jax.jit(jax.vmap(of))(angles)
    return {"mean": np.asarray(mean), "first order": np.asarray(first), "zeroth order": np.asarray(zeroth)}


# %%
def draw_throw(angles: np.ndarray, exact: np.ndarray, found: dict[str, np.ndarray], picture: Path) -> None:
    """Draws the distance, exact and smoothed, and below it both estimates of the smoothed one's slope."""
    figure = Figure(figsize=(7.2, 5.4), facecolor="white")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    degrees = np.rad2deg(angles)
    above.plot(degrees, exact, color=MUTED, linewidth=1.4)
    above.plot(degrees, found["mean"], color=BLUE, linewidth=2.2)
    above.set_ylabel("distance, m", color=MUTED)
    above.set_title(
        "A throw over a wall: exact (grey), and the mean of throws that scatter", color=INK, fontsize=11, loc="left"
    )
    below.plot(degrees, found["zeroth order"], color=BLUE, linewidth=2.2)
    below.plot(degrees, found["first order"], color=RED, linewidth=2.2)
    below.axhline(0.0, color=MUTED, linewidth=0.8)
    below.set_ylabel("slope of the mean, m/rad", color=MUTED)
    below.set_xlabel("angle, degrees", color=MUTED)
    below.set_title(
        "Its slope: from distances alone (blue), and the mean of derivatives (red)", color=INK, fontsize=11, loc="left"
    )
    for axes in (above, below):
        _dress(axes)
    figure.tight_layout()
    _save(figure, picture)


def _dress(axes: Axes) -> None:
    axes.tick_params(colors=MUTED, labelsize=9)
    axes.grid(True, color="#e4e7ec", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _save(figure: Figure, picture: Path) -> None:
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=140)
    print("picture:", picture)


# %%
def main(
    out: str = "runs",
    envs: Sequence[str] = tuple(COLOURS),
    horizons: Sequence[int] = (1, 2, 4, 8, 16, 32, 64),
    starts: int = 256,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Measures, says what it found, and draws."""
    norms = {env_id: gradient_norms(env_id, horizons, starts) for env_id in envs}
    for env_id, found in norms.items():
        told = ", ".join(
            f"{h}: {np.median(row):.3g} (largest {row.max():.3g})" for h, row in zip(horizons, found, strict=True)
        )
        print(f"{env_id}: {told}")
    draw_norms(norms, horizons, Path(out) / "gradient_norms.png")
    angles = jnp.deg2rad(jnp.linspace(15.0, 60.0, 181))
    found = two_estimates(angles, deviation=0.05, samples=20_000)
    draw_throw(np.asarray(angles), np.asarray(jax.vmap(distance)(angles)), found, Path(out) / "smoothed_throw.png")
    return norms, found


if __name__ == "__main__":
    main(*sys.argv[1:2])
