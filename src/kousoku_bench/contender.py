"""The contenders of a benchmark: each a function of a module, measured in a process of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kousoku.training.io import provenance

from .peers import installed
from .subprocess_timing import run_in_subprocess
from .table import Section, TableRow, attempt, machine, markdown, save
from .uncached import uncached

PACKAGES = {
    "sb3_contrib": "sb3-contrib", "stable_baselines3": "stable-baselines3", "sbx": "sbx-rl", "evosax": "evosax",
    "gymnax": "gymnax six", "brax": "brax", "envpool": "envpool", "rltools": "rltools",
}  # fmt: skip
"""What `pip install` calls the modules that contenders need."""


@dataclass(frozen=True)
class Contender:
    """A program that runs: a function of a module, in a new process.

    Attributes:
        name: in the table.
        module: of this package, without its name.
        function: in there; called with `arguments`, it returns figures.
        arguments: as JSON has them.
        known: figures that are known before; "agents" is how many are trained at once.
        note: for the table.
        missing: why it cannot run here; None if it can.
    """

    name: str
    module: str
    function: str
    arguments: tuple[Any, ...]
    known: Mapping[str, float] = field(default_factory=lambda: {"agents": 1})
    note: str = ""
    missing: str | None = None

    def row(self, limit: float) -> TableRow:
        """Measures without a cache, for so many seconds at most; or says why not."""
        agents = int(self.known["agents"])
        if self.missing is not None:
            return TableRow(self.name, {"agents": agents}, self.missing)
        with uncached():
            return attempt(self.name, agents, lambda: self._measured(limit))

    def _measured(self, limit: float) -> TableRow:
        found = run_in_subprocess(f"{__package__}.{self.module}", self.function, *self.arguments, limit=limit)
        return TableRow(self.name, {**self.known, **found}, self.note)


def not_installed(modules: Iterable[str]) -> str | None:
    """Says how to get those modules of `PACKAGES` that are not installed; None if all are."""
    absent = [PACKAGES[name] for name in modules if importlib.util.find_spec(name) is None]
    return f"not installed: pip install {' '.join(absent)}" if absent else None


def measure_parts(
    out: Path,
    name: str,
    title: str,
    about: str,
    parts: Iterable[tuple[Section, Sequence[Any]]],
    limit: float,
    packages: Iterable[str],
    line: Callable[[Section, TableRow], str],
    say: Callable[[str], None],
) -> list[Section]:
    """Measures contenders one after the other, and saves NAME.md and .json after each.

    Args:
        out: the folder.
        name: of the files.
        title: of the page.
        about: what stands below the line on the machine; "" for nothing.
        parts: tables without rows, and the contenders that their rows are of.
        limit: seconds after which a contender is stopped.
        packages: others' whose versions are told.
        line: what is said of a row.
        say: to the person.
    """
    found = {"device": provenance.device(), "versions": {**provenance.versions(), **installed(packages)}}
    head = machine(found["device"], found["versions"]) + (f"\n\n{about}" if about else "")
    sections: list[Section] = []
    text = ""
    for section, contenders in parts:
        sections.append(section)
        for contender in contenders:
            section.rows.append(contender.row(limit))
            say(line(section, section.rows[-1]))
            text = markdown(title, head, sections)
            save(out, name, text, sections, found)
    say(f"{text}\nsaved: {out / name}.md")
    return sections
