"""`kousoku bench offline`: what agents learn from the data that SAC leaves, beside the returns of these data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kousoku as ks
from kousoku.training.config import TrainConfig
from kousoku.training.io import provenance
from kousoku.training.presets import preset

from . import over_seeds
from .table import Section, TableColumn, TableRow, machine, markdown, save

TITLE = "Learning from data"
AGENTS = ("bc", "td3_bc", "iql")
HALF_TRAINED = {"HalfCheetah-v5": 320_000, "Hopper-v5": 320_000, "Walker2d-v5": 640_000}
"""Environment steps of the teacher that is stopped early; all of them fit into the preset's replay buffer."""
MEDIUM, REPLAY, EXPERT = "medium", "replay", "expert"
ABOUT = {
    MEDIUM: "{transitions:,} transitions of SAC's preset trained for {steps:,} environment steps.",
    REPLAY: "All transitions that the same SAC learned from, the first random ones with the last.",
    EXPERT: "{transitions:,} transitions of SAC's preset with all of its steps.",
}
SETTINGS = (
    "Agents have {width} units in two layers, a learning rate of {rate:g}, scaled observations and else their "
    "defaults, but for IQL's rewards, which are scaled as in its paper: by 1000 over the range of the data's returns. "
    "They make {steps:,} gradient steps; each seed then plays {episodes} whole greedy episodes. Beside them stand the "
    "mean return of the data's whole episodes, and what SAC's greedy policy makes."
)
COLUMNS = (over_seeds.SEEDS, TableColumn("return", "return", ",.0f"), *over_seeds.INTERVAL, over_seeds.WORST)


@dataclass(frozen=True)
class OfflineBudget:
    """The sizes of `kousoku bench offline`; its tests use small ones.

    Attributes:
        seeds: agents of each row, trained side by side.
        transitions: that a policy records.
        steps: gradient steps of each agent.
        episodes: by which each is judged.
        width: units of each of two layers.
        rate: learning rate.
        teacher_steps: environment steps of either teacher; None for those of HALF_TRAINED and of the preset.
    """

    seeds: int = 10
    transitions: int = 1_000_000
    steps: int = 100_000
    episodes: int = 20
    width: int = 64
    rate: float = 1e-3
    teacher_steps: int | None = None


@dataclass(frozen=True)
class Recorded:
    """One data set, and who made it.

    Attributes:
        kind: MEDIUM, REPLAY or EXPERT.
        data: what is learned from.
        teacher_return: mean return of the teacher's greedy policy.
        teacher_steps: environment steps that the teacher was trained for.
    """

    kind: str
    data: ks.Dataset
    teacher_return: float
    teacher_steps: int


def bench(out: Path, budget: OfflineBudget, only: str | None = None, say: Callable[[str], None] = print) -> None:
    """Makes the data, trains on them, prints the tables and saves them as offline.md and .json, or offline_ENV.md."""
    name, parts = ("offline", HALF_TRAINED) if only is None else (f"offline_{only}", [only])
    sections = [section(env, recorded, budget, say) for env in parts for recorded in recordings(env, budget)]
    device, versions = provenance.device(), provenance.versions()
    text = markdown(TITLE, machine(device, versions), sections)
    say(text)
    say(f"saved: {save(out, name, text, sections, {'device': device, 'versions': versions})}")


def recordings(env: str, budget: OfflineBudget) -> Iterator[Recorded]:
    """Trains both teachers; returns what they did."""
    chosen = preset("sac", env)
    for kind, steps in ((MEDIUM, HALF_TRAINED[env]), (EXPERT, chosen.steps or TrainConfig.steps)):
        with tempfile.TemporaryDirectory() as folder:
            agent = ks.make_agent("sac", **chosen.options)
            run = ks.train(agent, env, steps=budget.teacher_steps or steps, out=Path(folder) / "run", progress=False)
            greedy, taken = float(run.evaluate(budget.episodes, seed=1).returns.mean()), run.record.facts["steps"]
            yield Recorded(kind, run.collect(budget.transitions), greedy, taken)
            if kind == MEDIUM:
                yield Recorded(REPLAY, run.replay(), greedy, taken)


def section(env: str, recorded: Recorded, budget: OfflineBudget, say: Callable[[str], None]) -> Section:
    """Trains each agent on one data set."""
    about = ABOUT[recorded.kind].format(transitions=budget.transitions, steps=recorded.teacher_steps)
    settings = SETTINGS.format(width=budget.width, rate=budget.rate, steps=budget.steps, episodes=budget.episodes)
    rows = [
        TableRow("the data", {"agents": 1, "return": float(recorded.data.episode_returns.mean())}),
        TableRow("SAC, greedy", {"agents": 1, "return": recorded.teacher_return}),
    ]
    for name in AGENTS:
        rows.append(row(name, env, recorded.data, budget))
        say(f"{env} {recorded.kind}: {name} {rows[-1].figures['return']:,.0f}")
    return Section(f"{env}, {recorded.kind}", f"{about} {settings}", COLUMNS, rows)


def row(name: str, env: str, data: ks.Dataset, budget: OfflineBudget) -> TableRow:
    """Trains one agent on one data set, all seeds in one program."""
    scale = {"reward_scale": 1000.0 / float(np.ptp(data.episode_returns))} if name == "iql" else {}
    agent = ks.make_agent(
        name, dataset=data, hidden=(budget.width,) * 2, learning_rate=budget.rate, normalise_observations=True, **scale
    )
    run = ks.train(
        agent, env, steps=budget.steps, seeds=budget.seeds, eval_episodes=0, out="", progress=False, record=("returns",)
    )
    returns = run.evaluate(budget.episodes, seed=1).returns.mean(axis=1)
    return TableRow(name, over_seeds.figures(returns))
