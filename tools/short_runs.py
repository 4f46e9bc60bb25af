"""Training of each kind for a moment, from the start to the report: what `make test-lowest` runs.

Warnings are errors here, so that a library which is too old shows, and not only one that fails.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import kousoku as ks
from kousoku.cli import main

RUNS = {
    "q_learning": "GridWorld-v0",
    "ppo": "CartPole-v1",
    "dqn": "CartPole-v1",
    "sac": "Pendulum-v1",
    "apg": "Pendulum-v1",
    "ars": "HalfCheetah-v5",
}
"""An agent that learns from each kind of data, and what in."""


def run_all() -> None:
    """Trains, evaluates and exports each, in a folder that is gone at the end."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", DeprecationWarning)  # of one library to another; nobody sees them
    with tempfile.TemporaryDirectory() as folder:
        for agent, env in RUNS.items():
            out = Path(folder, agent)
            run = ks.train(agent, env, steps=20_000, seeds=2, out=out, progress=False)
            for command in (["evaluate", str(out)], ["export", str(out), "--out", f"{folder}/{agent}.py"]):
                if main(command) != 0:
                    sys.exit(f"kousoku {' '.join(command)} failed")
            size = (out / "report.html").stat().st_size
            print(f"{agent} {env}: {run.record.facts['steps']:,} steps, a report of {size:,} bytes")


if __name__ == "__main__":
    run_all()
