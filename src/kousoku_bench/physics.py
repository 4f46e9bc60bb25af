"""`kousoku bench physics`: rigid bodies beside C MuJoCo, and robots beside other libraries' environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kousoku.training.io import provenance

from . import exactness, peers, rigid, robots, startup
from .budget import Budget
from .table import Section, machine, markdown, save
from .uncached import uncached

Measure = Callable[[Budget], Section]
PARTS: dict[str, tuple[str, Sequence[Measure]]] = {
    "steps": ("Physics: steps", [rigid.section]),
    "ready": ("Physics: ready to step", [startup.section]),
    "robots": ("Physics: robots", [partial(robots.section, id) for id in robots.IDS]),
    "exactness": ("Physics: exactness", [exactness.section, exactness.far_section]),
}
ABOUT = (
    "Medians after a warm-up, every result waited for, compile time apart and without a cache; all in one run. Ours "
    "computes in float32 but where it says otherwise."
)


def bench(
    out: Path, budget: Budget, parts: Sequence[str] = tuple(PARTS), say: Callable[[str], None] = print
) -> list[Section]:
    """Measures parts, prints their tables, and saves each as physics_PART.md and physics_PART.json.

    A part is saved after each of its sections: what was measured is there even if the run is interrupted.
    """
    budget = replace(budget, steps=budget.robot_steps)
    device, versions = provenance.device(), {**provenance.versions(), **peers.versions()}
    about, told = f"{machine(device, versions)}\n\n{ABOUT}", {"device": device, "versions": versions}
    sections: list[Section] = []
    for part in parts:
        title, measures = PARTS[part]
        found: list[Section] = []
        for measure in measures:
            with uncached():
                found.append(measure(budget))
            save(out, f"physics_{part}", markdown(title, about, found), found, told)
        say(markdown(title, about, found))
        say(f"saved: {out / f'physics_{part}.md'}")
        sections += found
    return sections
