"""`kousoku bench physics`: rigid bodies beside C MuJoCo, and robots beside other libraries' environments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..training import facts
from . import exactness, peers, ready, rigid, robots
from .effort import Effort
from .table import Section, machine, markdown, save
from .uncached import uncached

TITLE = "Physics"
ABOUT = (
    "Medians after a warm-up, every result waited for, compile time apart and without a cache; all in one run. Ours "
    "computes in float32 but where it says otherwise."
)


def bench(out: Path, effort: Effort, say: Callable[[str], None] = print) -> list[Section]:
    """Measure every section, print the tables and save them as physics.md and physics.json."""
    effort = replace(effort, steps=effort.robot_steps)
    parts: list[Callable[[Effort], Section]] = [rigid.section, ready.section]
    parts += [lambda effort, id=id: robots.section(id, effort) for id in robots.IDS]
    parts += [exactness.section]
    with uncached():
        sections = [part(effort) for part in parts]
    device, versions = facts.device(), {**facts.versions(), **peers.versions()}
    text = markdown(TITLE, f"{machine(device, versions)}\n\n{ABOUT}", sections)
    say(text)
    say(f"saved: {save(out, 'physics', text, sections, {'device': device, 'versions': versions})}")
    return sections
