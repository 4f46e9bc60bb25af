# %% [markdown]
# # When the world changes: Dyna-Q and Dyna-Q+ on the shortcut maze
#
# Sutton and Barto (2nd ed.), figure 8.5. After 3000 steps a shorter way opens on the right. Dyna-Q trusts its model,
# never looks again, and does not find it; Dyna-Q+ is paid a bonus for what it has not tried for long, and does.

# %%
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kousoku as ks

AGENTS = {
    "Dyna-Q": ("dyna_q", {}),
    "Dyna-Q+": ("dyna_q_plus", {"kappa": 1e-3}),
}


# %%
def cumulative_rewards(steps: int, seeds: int) -> dict[str, np.ndarray]:
    """Returns, for each agent, [steps / 20] the mean cumulative reward over all seeds."""
    rewards = {}
    for name, (agent_id, options) in AGENTS.items():
        agent = ks.make_agent(agent_id, learning_rate=0.5, discount=0.95, epsilon=0.1, planning_steps=50, **options)
        run = ks.train(agent, "ShortcutMaze-v0", steps=steps, seeds=seeds, record_every=20, out="", eval_episodes=0)
        rewards[name] = np.cumsum(run.curves["reward"].mean(axis=1) * 20)
    return rewards


# %%
def main(steps: int = 6000, seeds: int = 100, out: str = "runs") -> dict[str, np.ndarray]:
    """Trains both, plots figure 8.5, says who found the shortcut."""
    ks.use_all_cores()
    rewards = cumulative_rewards(steps, seeds)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, curve in rewards.items():
        axes.plot(np.arange(1, len(curve) + 1) * 20, curve, label=name)
    axes.axvline(3000, color="grey", linestyle=":", label="the shortcut opens")
    axes.set(xlabel="time steps", ylabel="cumulative reward", title=f"Shortcut maze, mean of {seeds} agents")
    axes.legend()
    path = Path(out) / "dyna_shortcut.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    for name, curve in rewards.items():
        print(f"{name:>8}: {curve[-1]:.0f} rewards, {late_rate(curve):.4f} a step at the end")
    print("16 steps is the long way (0.0625 a step), 10 the short one (0.1):", path)
    return rewards


def late_rate(curve: np.ndarray) -> float:
    """Returns the reward a step over the last sixth of the curve."""
    tail = len(curve) // 6
    return float((curve[-1] - curve[-1 - tail]) / (tail * 20))


if __name__ == "__main__":
    main()
