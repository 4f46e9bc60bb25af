"""Startup of PPO: the time from nothing to its first update, and the memory it uses, each in a process of its own."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass

from kousoku.api import train
from kousoku.core.cache_folder import SWITCH
from kousoku.training.devices import use_all_cores
from kousoku.training.io import compile_cache

from .ppo_settings import tuned
from .subprocess_timing import run_in_subprocess
from .table import Section, TableColumn, TableRow, attempt

PART = "start"
IDS = ("CartPole-v1", "HalfCheetah-v5", "Ant-v5", "Humanoid-v5")
ABOUT = (
    "Seconds from the start of Python to its end, after the first update of one agent with our preset, every core a "
    "device: with an empty cache, and again with the cache that this filled. Memory: of the whole training "
    "state, environments included, and the most that the process that starts with an empty cache has held, Python, JAX "
    "and the compiler for all but kernels included."
)
COLUMNS = (
    TableColumn("empty", "empty cache, s", ",.1f"),
    TableColumn("filled", "filled cache, s", ",.1f"),
    TableColumn("state_mib", "training state, MiB", ",.1f"),
    TableColumn("process_mib", "process, MiB", ",.0f"),
)


@dataclass(frozen=True)
class StartupContender:
    """The start of training, measured for one environment."""

    name: str

    def row(self, limit: float) -> TableRow:
        """Measures two processes, one after the other, with one cache; or says why not."""
        return attempt(self.name, 1, lambda: self._measured(limit))

    def _measured(self, limit: float) -> TableRow:
        with tempfile.TemporaryDirectory() as folder:
            (empty, memory), (filled, _) = (_timed(self.name, folder, limit) for _ in range(2))
        held = {"state_mib": memory["state_mib"], "process_mib": memory.get("process_peak_mib")}
        return TableRow(self.name, {"empty": empty, "filled": filled, **held})


def section() -> Section:
    """Returns the table without its rows."""
    return Section("From nothing to the first update", ABOUT, COLUMNS, [])


def _timed(id: str, folder: str, limit: float) -> tuple[float, dict[str, float]]:
    began = time.perf_counter()
    memory = run_in_subprocess(__name__, "first_update", id, folder, limit=limit)
    return time.perf_counter() - began, memory


def first_update(id: str, folder: str) -> dict[str, float]:
    """Returns the memory of a training that ends with its first update, in this process with a cache in a folder."""
    os.environ[SWITCH] = folder
    compile_cache.enable()
    use_all_cores()
    agent = tuned(id)
    run = train(agent, id, steps=agent.num_envs * agent.num_steps, eval_episodes=0, out="", progress=False)
    return run.record.facts["memory"]
