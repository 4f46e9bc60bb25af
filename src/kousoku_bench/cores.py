"""Cores: what the second one is worth, measured by the same program in two processes, with one core and with two."""

from __future__ import annotations

from dataclasses import asdict

from kousoku.training.devices import use_all_cores

from .budget import Budget
from .classic import ours
from .subprocess_timing import run_in_subprocess
from .table import ENVIRONMENTS, SPEED, Section, TableRow, attempt, speed

ABOUT = "CartPole-v1 in the kernel as above; each row in a process of its own that may use so many cores."


def section(budget: Budget) -> Section:
    """Measures one core, and two cores."""
    count = budget.environments[-1]
    rows = [attempt(_name(cores), count, lambda cores=cores: _row(cores, count, budget)) for cores in (1, 2)]
    return Section("The second core", ABOUT, (ENVIRONMENTS, SPEED), rows, _name(1))


def steps_per_second(count: int, budget: dict) -> float:
    """Measures in this process, with the cores that it has."""
    use_all_cores()
    speed = ours("", "CartPole-v1", count, True, True, Budget(**budget)).figures["steps_per_second"]
    assert speed is not None
    return float(speed)


def _row(cores: int, count: int, budget: Budget) -> TableRow:
    rate = run_in_subprocess(__name__, "steps_per_second", count, asdict(budget), cores=cores)
    return speed(_name(cores), count, rate)


def _name(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"
