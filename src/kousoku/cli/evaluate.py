"""`kousoku evaluate RUN`: greedy episodes with every agent of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError
from ..core.words import plural
from .options import CHECKPOINT, Option, checkpoint, count, parse

if TYPE_CHECKING:
    from ..core.record import RunRecord

OPTIONS = (
    Option("run", None, "RUN", "the run folder", positional=True),
    Option("episodes", 100, "NUMBER", "episodes of each agent"),
    Option("seed", 0, "NUMBER", "seed of the evaluation"),
    Option("max_steps", 1000, "NUMBER", "where an episode without a time limit is cut"),
    CHECKPOINT,
)


def run(words: Sequence[str]) -> int:
    """Evaluates the agents of a run and prints their returns."""
    from .notices import load

    given = parse("evaluate", "Play whole greedy episodes with every agent of a run.", OPTIONS, words)
    if "run" not in given:
        raise ConfigError("run", ..., "name the run folder: kousoku evaluate RUN")
    counts = {
        option.name: count(option.flag, str(given[option.name]), low=0 if option.name == "seed" else 1)
        for option in OPTIONS[1:4]
        if option.name in given
    }
    loaded = load(str(given["run"]), checkpoint(given))
    result = loaded.evaluate(**counts)
    agents, episodes = result.returns.shape
    print(f"{plural(agents, 'agent')} x {plural(episodes, 'greedy episode')}, undiscounted")
    for line in _lines(result, loaded.record):
        print(f"  {line}")
    return 0


def _lines(result: Any, record: RunRecord) -> list[str]:
    """Tells returns and lengths: of all agents, and of the best one by episodes that did not choose it."""
    from ..core.choice import judging_episodes
    from ..viz.estimates import told
    from ..viz.tables import member_name
    from ..viz.text import ascii_only

    many, best, lines = len(result.returns) > 1, result.best_member, []
    for what, values in (("return", result.returns), ("length", result.lengths)):
        if many:
            lines.append(f"{what}: {told(values.mean(axis=1), 'agent', result.statistic).words}")
            chosen = told(judging_episodes(values)[best], "episode").words
            lines.append(f"{what} of the best agent, {member_name(record, best)}: {chosen}")
        else:
            lines.append(f"{what}: {told(values[0], 'episode').words}")
    if many and result.returns.shape[1] > 1:
        lines.append("the best agent was chosen by the first half of the episodes, and is told by the second")
    lines.append(f"cut by a time limit: {result.truncated.mean():.1%} of the episodes")
    return [ascii_only(line) for line in lines]
