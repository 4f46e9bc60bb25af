"""The headline: what a run achieved, in one plain sentence and a handful of numbers, all computed from the record."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.record import RunRecord
from ..core.words import plural
from . import sources
from .estimates import IQM_WORDS, statistic
from .ranking import (
    best_checkpoint_summary,
    best_member,
    best_members,
    best_summary,
    broken_agents,
    cut_episodes,
    optimum,
    overlapping,
    point_order,
    point_summary,
    score,
    tied_points,
)
from .summary import is_bandit, largest_errors, typical_errors
from .text import compact, duration, point_name, short, well_formed


class HeadlineNumber(NamedTuple):
    """A headline number: what it is, the number, and a few words on it."""

    label: str
    value: str
    note: str


def title(record: RunRecord) -> str:
    """Names the agent and its environment."""
    agent, env = (record.config.get(part, {}).get("id", part) for part in ("agent", "env"))
    return well_formed(f"{agent} on {env}")


def finished(record: RunRecord) -> bool:
    """Returns whether the run came to its end."""
    return status(record) == "finished"


def status(record: RunRecord) -> str:
    """Says how the run ended, in a word."""
    return str(record.facts.get("status", "finished"))


def sentence(record: RunRecord) -> str:
    """Says what was done, how well it went, how near the exact values it came, and whose the settings are."""
    parts = (_trained(record), _scored(record), broken_agents(record), cut_episodes(record), _near(record))
    done = ". ".join(part for part in parts if part) + "."
    return " ".join(part for part in (done, sources.sentence(record)) if part)


def headline_numbers(record: RunRecord) -> list[HeadlineNumber]:
    """Returns the headline numbers, as far as the record has them."""
    facts = record.facts
    found = [HeadlineNumber("Agents", f"{record.num_members:,}", _who(record))]
    if "steps" in facts:
        found.append(HeadlineNumber("Steps each", f"{facts['steps']:,}", _steps_note(record)))
    if facts.get("steps_per_second"):
        note = "" if record.num_members == 1 else "all agents together"
        found.append(HeadlineNumber("Steps per second", compact(facts["steps_per_second"]), note))
    if "seconds" in facts:
        found.append(HeadlineNumber("Training time", duration(facts["seconds"]), _compile_note(facts)))
    found += _score_numbers(record)
    return found + _error_number(record)


def _trained(record: RunRecord) -> str:
    facts, agents = record.facts, "One agent" if record.num_members == 1 else plural(record.num_members, "agent")
    time = duration(facts["seconds"]) if "seconds" in facts else ""
    if finished(record):
        return f"{agents} learned in {time}" if time else f"{agents} learned"
    asked, steps = record.config.get("steps"), facts.get("steps", 0)
    of = f" of {asked:,}" if isinstance(asked, int) else ""
    one = record.num_members == 1
    if status(record) == "unfinished":
        return f"{agents} {'has' if one else 'have'} come to {steps:,}{of} steps" + (f" in {time}" if time else "")
    stopped = f"{'was' if one else 'were'} stopped early, after {steps:,}{of} steps" + (f" and {time}" if time else "")
    return f"{agents} {stopped}" + (f": {facts['failure']}" if facts.get("failure") else "")


def _scored(record: RunRecord) -> str:
    result = score(record)
    if np.isnan(result.members).all():
        return ""
    order = point_order(record)
    found = point_summary(record, order[0])
    value = found.number + (f" over the {result.when}" if result.when else "")
    limit = _limit(record)
    if record.num_members == 1:
        over = f" over its {found.over}" if "return" in record.evaluation else ""
        return f"Its {result.name} is {value}{over}{limit}"
    middle = statistic(record) == "IQM"
    name, mean = (result.name, f"{value} ({IQM_WORDS})") if middle else (f"mean {result.name}", value)
    if len(record.points) > 1:
        return f"{_point_has(record, order)} a {name} of {mean}{limit}{_best_agent(record)}"
    return f"Their {name} is {mean}{limit}{_best_agent(record)}"


def _point_has(record: RunRecord, order: list[int]) -> str:
    """Names the best sweep point as the sentence does."""
    which, alike = which_point(record, order), _alike(record, order)
    return f"{which[0].upper()}{which[1:]}{alike}{',' if alike else ''} has"


def which_point(record: RunRecord, order: list[int]) -> str:
    """Names the first sweep point of an order of them, and says how many tie with it for the best."""
    words, tied = point_name(record, order[0]), tied_points(record)
    return (
        f"{tied} sweep points tie for the best; the first ({words})" if tied > 1 else f"the best sweep point ({words})"
    )


def best_point(record: RunRecord) -> HeadlineNumber:
    """Returns the best point of a sweep, with what is said of others that may be as good."""
    order, tied = point_order(record), tied_points(record)
    note = f"the first of {tied} that tie" if tied > 1 else _alike(record, order).removeprefix(", ")
    return HeadlineNumber("Best sweep point", point_name(record, order[0]), note)


def _alike(record: RunRecord, order: list[int]) -> str:
    """Says how many sweep points the results do not tell from the first one, unless they tie with it."""
    others = 0 if tied_points(record) > 1 else int(overlapping(record, order).sum()) - 1
    many = "one other overlaps" if others == 1 else f"{others:,} others overlap"
    return f", whose interval {many}" if others > 0 else ""


def _best_agent(record: RunRecord) -> str:
    """Tells the best agent by episodes that did not choose it; nothing where there are none."""
    found, tied = best_summary(record), int(best_members(record).sum())
    if found is None:
        return ""
    whose = f"{tied:,} agents tie for the best, and the first has" if tied > 1 else "the best agent has"
    return f"; {whose} {found.number} in episodes that did not choose it"


def _limit(record: RunRecord) -> str:
    best = optimum(record)
    return "" if best is None or "return" not in score(record).name else f", where {short(best)} is the optimum"


def _near(record: RunRecord) -> str:
    mean, largest = _errors(record)
    if math.isnan(mean):
        return ""
    whose = "Its" if record.num_members == 1 else "The best agent’s"
    if is_bandit(record):
        return f"{whose} estimate of the best action’s value is off by {short(mean)}"
    over = "over its steps" if "visits" in record.tables else "over the states"
    return (
        f"{whose} state values are off by {short(mean)} on average {over}, and by {short(largest)} in the worst state"
    )


def _errors(record: RunRecord) -> tuple[float, float]:
    """Returns typical and largest value error of the best member; NaN where the exact values are not known."""
    typical, largest = typical_errors(record), largest_errors(record)
    if typical is None or largest is None:
        return math.nan, math.nan
    member = best_member(record)
    return float(typical[member]), float(largest[member])


def _error_number(record: RunRecord) -> list[HeadlineNumber]:
    mean, largest = _errors(record)
    if math.isnan(mean):
        return []
    if is_bandit(record):
        return [HeadlineNumber("Value error", short(mean), "" if record.num_members == 1 else "best agent")]
    weighted = ", weighted by visits" if "visits" in record.tables else ""
    whose = "" if record.num_members == 1 else "best agent"
    note = f"{whose}{weighted}".removeprefix(", ")
    return [HeadlineNumber("Value error", short(mean), f"{note}; largest {short(largest)}".removeprefix("; "))]


def _score_numbers(record: RunRecord) -> list[HeadlineNumber]:
    result = score(record)
    if np.isnan(result.members).all():
        return []
    found = point_summary(record, point_order(record)[0])
    label = result.name[:1].upper() + result.name[1:]
    what = "best sweep point, " if len(record.points) > 1 else ""
    what += IQM_WORDS if found.statistic == "IQM" else "mean"
    note = ", ".join(part for part in (result.when, what, found.spread) if part)
    return [HeadlineNumber(label, short(found.value), note), *_best_checkpoint(record), *_optimum_number(record)]


def _best_checkpoint(record: RunRecord) -> list[HeadlineNumber]:
    """Tells the best checkpoint, where it is not the last one."""
    best = best_checkpoint_summary(record)
    if best is None:
        return []
    step, found = best
    note = f"greedy return at step {step:,}, {found.spread}, in episodes that did not choose it"
    return [HeadlineNumber("Best checkpoint", short(found.value), note)]


def _optimum_number(record: RunRecord) -> list[HeadlineNumber]:
    best = optimum(record)
    return [] if best is None else [HeadlineNumber("Optimum", short(best), "largest expected return of an episode")]


def _who(record: RunRecord) -> str:
    seeds = len(np.unique(record.member_seed))
    if len(record.points) > 1:
        return f"{plural(len(record.points), 'sweep point')} × {plural(seeds, 'seed')}"
    low, high = int(record.member_seed.min()), int(record.member_seed.max())
    if seeds > 1 and high - low + 1 == seeds:
        return f"seeds {low} to {high}"
    return f"seed {low}" if seeds == 1 else plural(seeds, "seed")


def _steps_note(record: RunRecord) -> str:
    if not finished(record) and isinstance(record.config.get("steps"), int):
        return f"of {record.config['steps']:,} asked for"
    episodes, blown_up = record.facts.get("episodes"), record.facts.get("blown_up")
    broken = f", {blown_up:,} blown up" if isinstance(blown_up, int) and blown_up else ""
    return f"{plural(episodes, 'episode')} in all{broken}" if isinstance(episodes, int) and episodes else ""


def _compile_note(facts: dict[str, Any]) -> str:
    if "compile_seconds" in facts:
        return f"compiling took {duration(facts['compile_seconds'])}"
    if "first_block_seconds" in facts:
        return f"{duration(facts['first_block_seconds'])} of it compiling and first steps"
    return ""
