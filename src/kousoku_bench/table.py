"""Results of a benchmark: tables, printed and saved, with the machine and the versions beside them."""

from __future__ import annotations

import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kousoku.core.errors import ConfigError

REASON_LENGTH = 160


@dataclass(frozen=True)
class TableColumn:
    """One figure of every row: its name in a row, its heading, its format."""

    key: str
    heading: str
    form: str = ",.2f"


AGENTS = TableColumn("agents", "agents", ",d")
ENVIRONMENTS = TableColumn("agents", "environments", ",d")
SPEED = TableColumn("steps_per_second", "steps/s", ",.0f")
COMPILE = TableColumn("compile_seconds", "compile, s")
MEMORY = TableColumn("memory_mib", "memory, MiB")


@dataclass(frozen=True)
class TableRow:
    """One contender's figures.

    Attributes:
        name: what ran.
        figures: by column; what was not measured is absent.
        note: what one should know to read the row, or why there are no figures.
    """

    name: str
    figures: dict[str, float | int | None] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Section:
    """One table.

    Attributes:
        title: its heading.
        about: what was measured, and how.
        columns: the figures, in order; the first of them that is no count is what the contenders are compared by.
        rows: the contenders.
        base: the name of the contender that the others are compared with; none without.
    """

    title: str
    about: str
    columns: tuple[TableColumn, ...]
    rows: list[TableRow]
    base: str | None = None

    @property
    def measure(self) -> TableColumn:
        """What contenders are compared by."""
        return next(column for column in self.columns if column.key != "agents")

    def ratio(self, row: TableRow) -> float | None:
        """Returns how many times the base a row makes: the base with as many agents, if there is one."""
        bases = [base for base in self.rows if base.name == self.base and base.figures.get(self.measure.key)]
        same = [base for base in bases if base.figures.get("agents") == row.figures.get("agents")]
        value = row.figures.get(self.measure.key)
        if value is None or not bases:
            return None
        reference = (same or bases)[0].figures[self.measure.key]
        return value / reference if reference else None


def speed(name: str, agents: int, steps_per_second: float, note: str = "", **figures: float | None) -> TableRow:
    """Makes a row of a table of speeds: steps of all agents together in a second."""
    return TableRow(name, {"agents": agents, "steps_per_second": steps_per_second, **figures}, note)


def attempt(name: str, agents: int, measure: Callable[[], TableRow]) -> TableRow:
    """Returns the row that `measure` makes; if that fails, a row that says why: others' programs may be absent or
    broken.
    """
    try:
        return measure()
    except ConfigError:
        raise
    except Exception as error:
        return TableRow(name, {"agents": agents}, _reason(error))


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    reason = lines[0].replace("|", "/")
    if isinstance(error, ImportError) or type(error).__module__.startswith("kousoku"):
        return reason[:REASON_LENGTH]
    return f"{type(error).__name__}: {reason}"[:REASON_LENGTH]


def median_seconds(run: Callable[[], object], repeats: int, least: float = 0.0) -> float:
    """Returns the median wall time of `run`, which must wait for its own result; the first call is not counted.

    What takes less than `least` seconds is called several times in a row, so that the clock has something to measure.
    """
    return median_seconds_in_turns([run], repeats, least)[0]


def median_seconds_in_turns(runs: Sequence[Callable[[], object]], repeats: int, least: float = 0.0) -> list[float]:
    """Returns what `median_seconds` does, of several that are compared: a machine that becomes slower does so for all
    of them.
    """
    calls = [_calls(run, least) for run in runs]
    rounds = [[_seconds(run, count) for run, count in zip(runs, calls, strict=True)] for _ in range(repeats)]
    return [statistics.median(spent) for spent in zip(*rounds, strict=True)]


def _calls(run: Callable[[], object], least: float) -> int:
    """Returns how often in a row to call it, which is warm then."""
    run()
    return max(1, math.ceil(least / max(_seconds(run, 1), 1e-9))) if least > 0 else 1


def _seconds(run: Callable[[], object], calls: int) -> float:
    """Returns the seconds of one of so many calls in a row."""
    began = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - began) / calls


def markdown(title: str, about: str, sections: list[Section]) -> str:
    """Writes a page; one section alone needs no heading of its own."""
    parts = [f"# {title}\n", f"{about}\n"]
    for section in sections:
        if len(sections) > 1:
            parts.append(f"## {section.title}\n")
        parts += [f"{section.about}\n", _table(section)]
    return "\n".join(parts)


def _table(section: Section) -> str:
    headings = ["contender", *(column.heading for column in section.columns), "note"]
    place = 2 + section.columns.index(section.measure)
    if section.base is not None:
        headings.insert(place, f"times {section.base}")
    lines = ["| " + " | ".join(headings) + " |", "|---|" + "---:|" * (len(headings) - 2) + "---|"]
    for row in section.rows:
        cells = [row.name, *(_cell(row, column) for column in section.columns), row.note]
        if row.figures.get(section.measure.key) is None:
            cells[place - 1] = "did not run"
        if section.base is not None:
            ratio = section.ratio(row)
            cells.insert(place, "" if ratio is None else f"{ratio:,.3g}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(row: TableRow, column: TableColumn) -> str:
    value = row.figures.get(column.key)
    return "" if value is None else format(value, column.form)


def save(folder: Path, name: str, text: str, sections: list[Section], facts: dict[str, Any]) -> Path:
    """Writes name.md and name.json; returns the path of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = [
        {
            "title": section.title,
            "base": section.base,
            "rows": [
                {"name": row.name, **row.figures, "ratio": section.ratio(row), "note": row.note} for row in section.rows
            ],
        }
        for section in sections
    ]
    (folder / f"{name}.json").write_text(json.dumps({**facts, "sections": tables}, indent=2) + "\n", encoding="utf-8")
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path


def machine(device: dict[str, Any], versions: dict[str, str]) -> str:
    """Returns one line: processor, devices, versions."""
    cores = f"{device['cores']} cores, {device['count']} JAX devices ({device['platform']})"
    return f"{processor()}, {cores}; {packages(versions)}."


def packages(versions: dict[str, str]) -> str:
    """Returns names and versions in words."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def processor() -> str:
    """Returns the processor's name with the widest vectors that it has, as Linux tells them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    widest = next((name for name in ("avx512f", "avx2", "avx") if name in flags), "")
    return f"{model} {widest.upper()}".strip()
