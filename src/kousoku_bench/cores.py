"""What the second core is worth: the same program in two processes, with one core and with two."""

from __future__ import annotations

from dataclasses import asdict

from kousoku.training.devices import use_all_cores

from .classic import ours
from .effort import Effort
from .fresh import measured
from .table import LANES, SPEED, Row, Section, attempt, speed

ABOUT = "CartPole-v1 in the kernel as above; each row in a process of its own that may use so many cores."


def section(effort: Effort) -> Section:
    """One core, two cores."""
    count = effort.environments[-1]
    rows = [attempt(_name(cores), count, lambda cores=cores: _row(cores, count, effort)) for cores in (1, 2)]
    return Section("The second core", ABOUT, (LANES, SPEED), rows, _name(1))


def steps_per_second(count: int, effort: dict) -> float:
    """Measured here, with the cores that this process has."""
    use_all_cores()
    speed = ours("", "CartPole-v1", count, True, True, Effort(**effort)).figures["steps_per_second"]
    assert speed is not None
    return float(speed)


def _row(cores: int, count: int, effort: Effort) -> Row:
    rate = measured(__name__, "steps_per_second", count, asdict(effort), cores=cores)
    return speed(_name(cores), count, rate)


def _name(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"
