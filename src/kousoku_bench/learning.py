"""`kousoku bench learning`: what the presets reach, seed by seed, each timed alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from kousoku.agents.options import make_agent
from kousoku.api import train
from kousoku.training.config import TrainConfig
from kousoku.training.io import provenance
from kousoku.training.presets import Preset, preset, presets

from . import over_seeds
from .table import Section, TableColumn, TableRow, markdown, packages, processor, save

TITLE = "Learning: what the presets reach"
ABOUT = (
    "Each seed is trained alone with the agent's preset; then it plays 20 whole greedy episodes with keys of their "
    "own. Returns are means over seeds with a 95% interval (Student's t over the seeds' means). The time is that of "
    "training a seed with all that is compiled in it; the first seed's first block, most of it compiling, is beside."
)
LIBRARIES = ("jax", "jaxlib", "equinox", "optax")
"""Whose versions a row tells where they are not the table's."""
COLUMNS = (
    over_seeds.SEEDS,
    TableColumn("return", "greedy return", ",.0f"),
    *over_seeds.INTERVAL,
    over_seeds.WORST,
    TableColumn("solved", "goal", ",.0f"),
    TableColumn("steps", "steps", ",d"),
    TableColumn("seconds", "s a seed", ",.1f"),
    TableColumn("steps_per_second", "steps/s", ",.0f"),
    TableColumn("compile_seconds", "first block, s", ",.1f"),
)


def bench(
    out: Path, seeds: int, only: str | None = None, episodes: int = 20, say: Callable[[str], None] = print
) -> Section:
    """Trains presets; prints the table and saves it.

    It says before it begins how long that took the last time. Rows that are not made anew stay in learning.md and
    .json; each says on which machine it was made, and by which versions of libraries if by others than these.

    Args:
        out: the folder of the table.
        seeds: how many of each preset.
        only: an environment, or agent and environment ("sac Ant-v5"); None for all that name a goal.
        episodes: that each seed is judged by.
        say: takes what is printed.
    """
    found = {"device": provenance.device(), "versions": provenance.versions()}
    record = _record(out / "learning.json")
    rows = {} if record is None else _kept(record, found["versions"])
    order = [" ".join(pair) for pair in presets()]
    section = Section(TITLE, ABOUT, COLUMNS, [])
    asked = [
        pair
        for pair, each in presets().items()
        if only in (pair[1], " ".join(pair)) or (only is None and each.solved is not None)
    ]
    say(_plan(asked, seeds, only, record))
    for agent, env in asked:
        rows[f"{agent} {env}"] = row(agent, env, preset(agent, env), seeds, episodes, say)
        section.rows[:] = [rows[name] for name in order if name in rows]
        text = _text(section, found)
        say(f"saved: {save(out, 'learning', text, [section], found)}")
    say(_text(section, found))
    return section


def _text(section: Section, found: dict[str, Any]) -> str:
    """Returns the table as text; the line above it names no processor, for rows may come from several."""
    cores = f"{found['device']['cores']} cores; the note of a row names its processor"
    return markdown(TITLE, f"{cores}; {packages(found['versions'])}.", [section])


def _plan(asked: Sequence[tuple[str, str]], seeds: int, only: str | None, record: dict[str, Any] | None) -> str:
    """Says what will be trained and what not, and how long that took when the last table was made."""
    before = {} if record is None else {each["name"]: each["seconds"] for each in _rows(record)}
    known = [before[name] for name in map(" ".join, asked) if name in before]
    new = {" ".join(pair): presets()[pair].steps or TrainConfig.steps for pair in asked if " ".join(pair) not in before}
    lines = [f"{len(asked)} presets x {seeds} seeds"]
    if known:
        lines[0] += f"; about {sum(known) * seeds / 60:.0f} min, as the last table says"
    if new:
        lines.append(f"not measured before: {', '.join(f'{name} ({steps:,} steps)' for name, steps in new.items())}")
    left = [] if only else [(pair, each) for pair, each in presets().items() if pair not in asked]
    others = dict.fromkeys(f"{agent} {each.family or env}" for (agent, env), each in left)
    if others:
        lines.append(f"left out, as they name no return to reach: {', '.join(others)}; --only ENV trains one")
    return "\n".join(lines)


def _record(path: Path) -> dict[str, Any] | None:
    """Reads an earlier record; None where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    (section,) = record["sections"]
    return section["rows"]


def _kept(record: dict[str, Any], versions: dict[str, str]) -> dict[str, TableRow]:
    """Returns the rows of an earlier record by name, with the versions in their notes that are others now."""
    before = record["versions"]
    others = [f"{name} {before[name]}" for name in LIBRARIES if before.get(name, versions[name]) != versions[name]]
    rows = {}
    for each in _rows(record):
        parts = each["note"].split(", ")
        named = {part.split()[0] for part in parts}
        note = ", ".join([*parts, *(other for other in others if other.split()[0] not in named)])
        rows[each["name"]] = TableRow(each["name"], _known(each), note)
    return rows


def _known(row: dict[str, Any]) -> dict[str, float | int | None]:
    return {column.key: row[column.key] for column in COLUMNS}


def made_on(count: int) -> str:
    """Returns what a row says of the machine that made it: devices and processor."""
    return f"{count} device{'s' * (count != 1)}, {processor()}"


def row(agent: str, env: str, chosen: Preset, seeds: int, episodes: int, say: Callable[[str], None]) -> TableRow:
    """Trains one preset, every seed of it."""
    returns, seconds, first, steps = [], [], [], 0
    for seed in range(seeds):
        run = train(
            make_agent(agent, **chosen.options),
            env,
            steps=chosen.steps or TrainConfig.steps,
            seeds=(seed,),
            eval_episodes=episodes,
            out="",
            record=("returns",),
        )
        said = run.record.facts
        returns.append(float(run.record.evaluation["return"].mean()))
        seconds.append(said["seconds"])
        first.append(said["first_block_seconds"])
        steps = said["steps"]
        say(f"{agent} {env} seed {seed}: {returns[-1]:.1f} after {seconds[-1]:.1f} s and {steps} steps")
    return TableRow(f"{agent} {env}", _figures(returns, seconds, first, steps, chosen), made_on(jax.device_count()))


def _figures(
    returns: Sequence[float], seconds: Sequence[float], first: Sequence[float], steps: int, chosen: Preset
) -> dict[str, float | int | None]:
    return {
        **over_seeds.figures(np.asarray(returns)),
        "solved": chosen.solved,
        "steps": steps,
        "seconds": float(np.mean(seconds)),
        "steps_per_second": steps / float(np.mean(seconds)),
        "compile_seconds": first[0],
    }
