"""`kousoku evaluate RUN`: greedy episodes with every agent of a run."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.words import plural
from .options import CHECKPOINT, RUN, Option, checkpoint, named_run, parse
from .values import count

MAX_STEPS = 1000
OPTIONS = (
    RUN,
    Option("episodes", 100, "NUMBER", "episodes of each agent"),
    Option("seed", 0, "NUMBER", "seed of the evaluation"),
    Option("max_steps", MAX_STEPS, "NUMBER", "steps after which an episode without a time limit is cut"),
    CHECKPOINT,
)


def run(words: Sequence[str]) -> int:
    """Evaluates the agents of a run and prints their returns."""
    from ..saved_runs import load
    from ..viz.lines import evaluation_lines
    from ..viz.ranking import cut_words

    given = parse("evaluate", "Play whole greedy episodes with every agent of a run.", OPTIONS, words)
    folder = named_run(given, "evaluate RUN")
    counts = {
        option.name: count(option.flag, str(given[option.name]), low=0 if option.name == "seed" else 1)
        for option in OPTIONS[1:4]
        if option.name in given
    }
    loaded = load(folder, checkpoint=checkpoint(given))
    result = loaded.evaluate(**counts)
    assert result.record is not None, "the agents are a run's"
    agents, episodes = result.returns.shape
    print(f"{plural(agents, 'agent')} x {plural(episodes, 'greedy episode')}, undiscounted")
    ends = [f"cut by a time limit: {result.limited.mean():.1%} of the episodes"]
    if result.cut is not None and result.cut.any():
        limit = counts.get("max_steps", MAX_STEPS)
        ends.append(cut_words(int(result.cut.sum()), result.cut.size, limit, "--max-steps"))
    for line in (*evaluation_lines(result.record), *ends):
        print(f"  {line}")
    return 0
