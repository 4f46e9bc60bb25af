"""`kousoku bench kernel`: the kernel beside XLA, beside programs by hand, and beside other libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kousoku.training.io import provenance

from . import classic, compile_times, cores, many_agents, overhead, peers
from .budget import Budget
from .table import Section, machine, markdown, save
from .uncached import uncached

TITLE = "The kernel"
ABOUT = (
    "Medians after a warm-up, every result waited for, compile time apart and without a cache; all in one run. Ours "
    "computes in float32."
)


def bench(out: Path, budget: Budget, say: Callable[[str], None] = print) -> list[Section]:
    """Measures every section, prints the tables and saves them as kernel.md and kernel.json.

    Other libraries come last: some leave threads behind that never rest.
    """
    parts: list[Callable[[Budget], Section]] = [
        cores.section,
        overhead.section,
        compile_times.section,
        many_agents.section,
    ]
    parts += [lambda budget, id=id: classic.section(id, budget) for id in classic.IDS]
    with uncached():
        sections = [part(budget) for part in parts]
    device, versions = provenance.device(), {**provenance.versions(), **peers.versions()}
    text = markdown(TITLE, f"{machine(device, versions)}\n\n{ABOUT}", sections)
    say(text)
    say(f"saved: {save(out, 'kernel', text, sections, {'device': device, 'versions': versions})}")
    return sections
