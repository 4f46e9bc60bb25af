"""`kousoku evaluate RUN`: greedy episodes with every agent of a run."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import ConfigError
from .options import CHECKPOINT, Option, checkpoint, count, parse

OPTIONS = (
    Option("run", None, "RUN", "the run folder", positional=True),
    Option("episodes", 100, "NUMBER", "episodes of each agent"),
    Option("seed", 0, "NUMBER", "seed of the evaluation"),
    Option("max_steps", 1000, "NUMBER", "where an episode without a time limit is cut"),
    CHECKPOINT,
)


def run(words: Sequence[str]) -> int:
    """Evaluates the agents of a run and prints their returns."""
    from ..ops.statistics import mean_interval
    from .notices import load

    given = parse("evaluate", "Play whole greedy episodes with every agent of a run.", OPTIONS, words)
    if "run" not in given:
        raise ConfigError("run", ..., "name the run folder: kousoku evaluate RUN")
    counts = {
        option.name: count(option.flag, str(given[option.name]), low=0 if option.name == "seed" else 1)
        for option in OPTIONS[1:4]
        if option.name in given
    }
    result = load(str(given["run"]), checkpoint(given)).evaluate(**counts)
    print(f"{result.returns.shape[0]} agents x {result.returns.shape[1]} greedy episodes, undiscounted")
    for what, values in (("return", result.returns), ("length", result.lengths)):
        every, best = mean_interval(values.mean(axis=1)), mean_interval(values[result.best_member])
        print(f"  {what}: all agents {_interval(every)}, best agent (number {result.best_member}) {_interval(best)}")
    print(f"  cut by a time limit: {result.truncated.mean():.1%} of the episodes")
    return 0


def _interval(result: object) -> str:
    mean, low, high, count = (float(part) for part in result)  # pyright: ignore
    return f"{mean:.4g}" + (f" [{low:.4g}, {high:.4g}]" if count > 1 else "")
