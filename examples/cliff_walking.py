# %% [markdown]
# # On the cliff: SARSA against Q-learning
#
# Sutton and Barto (2nd ed.), example 6.6. Q-learning learns the optimal way along the edge and, exploring, falls off
# it; SARSA takes its own exploration into account, learns the safe way, and earns more while it learns.

# %%
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kousoku as ks

AGENTS = {"SARSA": "sarsa", "Q-learning": "q_learning", "expected SARSA": "expected_sarsa"}


# %%
def main(steps: int = 20_000, seeds: int = 100, out: str = "runs") -> dict[str, dict[str, float]]:
    """Trains all, plots the return while learning, and plays the greedy ways."""
    ks.use_all_cores()
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    found = {}
    for name, agent_id in AGENTS.items():
        agent = ks.make_agent(agent_id, learning_rate=0.5, discount=1.0, epsilon=0.1)
        run = ks.train(agent, "CliffGridWorld-v0", steps=steps, seeds=seeds, record_every=steps // 40, out="")
        online = np.nanmean(run.curves["return"], axis=1)
        axes.plot(run.curves["step"], online, label=name)
        greedy = run.evaluate(episodes=1)
        found[name] = {
            "online": float(np.nanmean(run.curves["return"][-20:])),
            "greedy": float(np.median(greedy.returns)),
        }
        print(f"{name:>14}: return while learning {found[name]['online']:.1f}, greedy {found[name]['greedy']:.0f}")
    axes.set(xlabel="steps of each agent", ylabel="return of an episode", ylim=(-100, 0), title="Cliff walking")
    axes.legend()
    path = Path(out) / "cliff_walking.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print("the optimal way has return -13, the safest -17:", path)
    return found


if __name__ == "__main__":
    main()
