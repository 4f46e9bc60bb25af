"""What a benchmark leaves behind: one table, printed and saved, with the machine and the versions beside it."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One contender.

    Attributes:
        name: what ran.
        agents: how many at once.
        steps_per_second: of all agents together, the median over repeats; None if it could not run.
        compile_seconds: from Python to a finished program; None where nothing is compiled.
        memory_mib: arguments, results and temporaries of the compiled program.
        note: what one should know to read the row.
    """

    name: str
    agents: int
    steps_per_second: float | None
    compile_seconds: float | None = None
    memory_mib: float | None = None
    note: str = ""


def median_seconds(run: Callable[[], object], repeats: int) -> float:
    """The median wall time of `run`, which must wait for its own result; the first call is not counted."""
    run()
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def markdown(title: str, rows: list[Row], base: Row, machine: str) -> str:
    """The table as Markdown; the ratio is to the base row."""
    lines = [
        f"# {title}",
        "",
        machine,
        "",
        f"| contender | agents | steps/s | times {base.name} | compile, s | memory, MiB | note |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        speed = "did not run" if row.steps_per_second is None else f"{row.steps_per_second:,.0f}"
        ratio = ""
        if row.steps_per_second is not None and base.steps_per_second:
            ratio = f"{row.steps_per_second / base.steps_per_second:,.3g}"
        cells = [
            row.name,
            str(row.agents),
            speed,
            ratio,
            _number(row.compile_seconds),
            _number(row.memory_mib),
            row.note,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def save(folder: Path, name: str, text: str, rows: list[Row], facts: dict[str, Any]) -> Path:
    """Write name.md and name.json; returns the first."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=2) + "\n")
    path = folder / f"{name}.md"
    path.write_text(text)
    return path


def machine(device: dict[str, Any], versions: dict[str, str]) -> str:
    """One line: processor, devices, versions."""
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    cores = f"{device['cores']} cores, {device['count']} JAX devices ({device['platform']})"
    return f"{_processor()}, {cores}; {packages}."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    widest = next((name for name in ("avx512f", "avx2", "avx") if name in flags), "")
    return f"{model} {widest.upper()}".strip()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
