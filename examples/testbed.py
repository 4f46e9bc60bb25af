# %% [markdown]
# # The 10-armed testbed
#
# Sutton and Barto (2nd ed.), figure 2.2, with the methods of figures 2.3 to 2.5 beside it: 2000 bandits with ten arms,
# each met by a greedy agent, two epsilon-greedy ones, an optimistic one, UCB, the gradient bandit and Thompson
# sampling.

# %%
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kousoku as ks

METHODS = {
    "greedy": ("bandit_epsilon_greedy", {"epsilon": 0.0}),
    "epsilon = 0.01": ("bandit_epsilon_greedy", {"epsilon": 0.01}),
    "epsilon = 0.1": ("bandit_epsilon_greedy", {"epsilon": 0.1}),
    "optimistic, Q1 = 5": ("bandit_optimistic", {}),
    "UCB, c = 2": ("bandit_ucb", {"c": 2.0}),
    "gradient, alpha = 0.1": ("bandit_gradient", {"step_size": 0.1}),
    "Thompson": ("bandit_thompson", {}),
}


# %%
def testbed(steps: int, bandits: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Returns, for each method, ([steps] mean reward, [steps] share of optimal actions)."""
    results = {}
    for name, (agent_id, options) in METHODS.items():
        run = ks.train(
            ks.make_agent(agent_id, **options), "Bandit-v0", steps=steps, seeds=bandits,
            record=["returns", "info"], record_every=1, out="", eval_episodes=0,
        )  # fmt: skip
        results[name] = run.curves["reward"].mean(axis=1), run.curves["info.optimal"].mean(axis=1)
    return results


# %%
def main(steps: int = 1000, bandits: int = 2000, out: str = "runs") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Runs all methods and plots both halves of figure 2.2."""
    ks.use_all_cores()
    results = testbed(steps, bandits)
    figure = Figure(figsize=(8, 8), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for name, (reward, optimal) in results.items():
        above.plot(reward, label=name, linewidth=1)
        below.plot(100 * optimal, label=name, linewidth=1)
    above.set(ylabel="average reward", title=f"The 10-armed testbed, mean of {bandits} bandits")
    below.set(ylabel="% optimal action", xlabel="steps", ylim=(0, 100))
    below.legend(loc="lower right", fontsize=8)
    path = Path(out) / "testbed.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    for name, (reward, optimal) in results.items():
        tail = slice(-max(1, steps // 10), None)
        print(f"{name:>22}: reward {reward[tail].mean():.2f}, optimal action {optimal[tail].mean():.0%}")
    print(path)
    return results


if __name__ == "__main__":
    main()
