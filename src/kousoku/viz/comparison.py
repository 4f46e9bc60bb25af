"""Comparisons of runs by their agents' greedy returns: a group for each environment, as text and as a page."""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..core.errors import ConfigError, RunWarning, is_number
from ..core.output_file import output_file
from ..core.record import RunRecord
from ..core.sweep_names import of_agent, of_env
from ..core.whole_file import write_text
from ..core.words import plural
from ..ops.comparison import probability_of_improvement, runs_of
from ..ops.statistics import MeanInterval, estimate_interval
from .card import table
from .chosen_settings import chosen_points, values_by_name
from .ranking import optimum
from .style import SERIES
from .text import ascii_only, interval_text, plain, rows, setting, setting_of, short, well_formed

Defaults = Callable[[str], Mapping[str, Any]]
"""Options by default, by their names, of an environment's id."""
LONGEST_COLUMN = 16
"""Letters of a name over a column of the shell's table."""
LONGEST_TITLE = 60
MOST = len(SERIES["light"])
"""Entrants on one environment that have a colour of their own."""


@dataclass(frozen=True, eq=False, repr=False)
class Entrant:
    """The agents of one name on one environment: a run, or one setting of a sweep.

    Attributes:
        name: as it is shown.
        record: of these agents alone, without their tables.
        scores: [N] the mean greedy return of each agent whose episodes are all finite.
        left_out: how many have one that is not.
    """

    name: str
    record: RunRecord
    scores: Float[np.ndarray, " N"]
    left_out: int

    def __repr__(self) -> str:
        agents = f"{plural(len(self.scores), 'agent')}{_broken(self)}"
        return f"<Entrant {self.name}: {agents}, IQM {number_words(self.iqm)}>"

    @property
    def iqm(self) -> MeanInterval:
        """The interquartile mean of the scores, with its interval."""
        return estimate_interval(self.scores, "IQM")

    @property
    def mean(self) -> MeanInterval:
        """The mean of the scores, with its interval."""
        return estimate_interval(self.scores)

    def better_than(self, other: Entrant) -> MeanInterval:
        """Returns the probability of improvement over another one."""
        return probability_of_improvement(runs_of(self.scores), runs_of(other.scores))


@dataclass(frozen=True)
class Group:
    """The entrants on one environment.

    Attributes:
        env: its id and options in words.
        optimum: the largest expected return of an episode; None if it is not known.
        entrants: in the order in which they were given.
        warning: what makes their returns hard to compare; nothing if nothing does.
    """

    env: str
    optimum: float | None
    entrants: tuple[Entrant, ...]
    warning: str = ""

    @property
    def columns(self) -> list[str]:
        """The names over the columns of a table that has one for each entrant: numbers, where names are long."""
        names = [one.name for one in self.entrants]
        return [str(i) for i in range(1, len(names) + 1)] if max(map(len, names)) > LONGEST_COLUMN else names

    @property
    def rows(self) -> list[str]:
        """The names beside the rows of such a table, with their numbers where columns have only these."""
        pairs = zip(self.columns, self.entrants, strict=True)
        return [one.name if column == one.name else f"{column}: {one.name}" for column, one in pairs]


@dataclass(frozen=True, repr=False)
class Comparison:
    """A comparison of runs, by environment: returns of different environments are not added up.

    `print` shows its table, and so does a notebook; `save` writes a page with figures.
    """

    groups: tuple[Group, ...]

    @property
    def title(self) -> str:
        """The names of all that is compared; how many they are, and on what, where that is long."""
        names = list(dict.fromkeys(one.name for group in self.groups for one in group.entrants))
        title = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
        if len(title) <= LONGEST_TITLE:
            return title
        where = self.groups[0].env if len(self.groups) == 1 else f"{len(self.groups)} environments"
        return f"{len(names)} runs or settings on {where}"

    def __repr__(self) -> str:
        told = (f"{', '.join(one.name for one in group.entrants)} on {group.env}" for group in self.groups)
        return f"<Comparison: {'; '.join(told)}>"

    def __str__(self) -> str:
        return "\n\n".join(_text(group) for group in self.groups)

    def _repr_html_(self) -> str:
        return "".join(table for group in self.groups for table in _cards(group))

    def save(self, path: str | Path) -> Path:
        """Writes the comparison as one self-contained page; returns its path.

        Raises:
            ConfigError: for what is no name of a file, a folder, or a file in a folder that does not exist.
        """
        from .comparison_page import comparison_html  # imported here: it draws, and Matplotlib is slow to load

        target = output_file("path", path)
        return write_text(target, comparison_html(self))


def no_defaults(id: str) -> Mapping[str, Any]:
    """Returns no options: where nothing is known of environments."""
    del id
    return {}


def by_agent(records: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Returns runs by the id of their agent; those of the same one by their folder, as far as they were saved."""
    ids = [record.config["agent"]["id"] for record in records]
    found: dict[str, list[RunRecord]] = {}
    for record, id in zip(records, ids, strict=True):
        name = id if ids.count(id) == 1 or record.path is None else record.path.name
        found.setdefault(name, []).append(record)
    return found


def compare_records(
    named: Mapping[str, Sequence[RunRecord]], where: Mapping[str, Any] | None = None, defaults: Defaults = no_defaults
) -> Comparison:
    """Compares runs by their evaluations, those on the same environment (and the same options of it) with each other.

    A setting of a sweep is on the environment with its numbers.

    Args:
        named: runs by name.
        where: which settings of sweeps take part: names of swept numbers, and the value or the values to keep of each.
            A run that did not sweep a name is not asked for it.
        defaults: of an environment's id, its options by default: a run that was given one is on the same environment.

    Raises:
        ConfigError: if no environment has two entrants or one has too many; if a name has two runs on one
            environment, a run was not evaluated, or a sweep has no setting that was asked for.
    """
    chosen = values_by_name({} if where is None else where, named)
    groups: dict[str, list[Entrant]] = {}
    titles: dict[str, str] = {}
    best: dict[str, float | None] = {}
    seen: set[tuple[str, str]] = set()
    for name, records in named.items():
        for record in records:
            entrants = _entrants(name, record, chosen_points(name, record, chosen), defaults)
            for key, title, entrant in entrants:
                if (name, key) in seen:
                    raise ConfigError("compare", name, f"it has two runs on {title}; give each a name of its own")
                titles.setdefault(key, title)
                groups.setdefault(key, []).append(entrant)
                best[key] = optimum(record) if best.get(key) is None else best[key]
            seen |= {(name, key) for key, _, _ in entrants}
    _check_counts([(titles[key], [one.name for one in group]) for key, group in groups.items()])
    titles = _numbered(titles)
    cuts = {key: _cuts(titles[key], group) for key, group in groups.items()}
    for text in filter(None, cuts.values()):
        warnings.warn(text, RunWarning, stacklevel=3)
    return Comparison(tuple(Group(titles[key], best[key], tuple(group), cuts[key]) for key, group in groups.items()))


def check_room(configs: Iterable[Mapping[str, Any]], defaults: Defaults = no_defaults) -> None:
    """Refuses more runs on one environment than are compared, by what they were asked to do: before they are read.

    Each has at least one setting there, unless its sweep is of the environment's numbers: of that only all of it tells.

    Raises:
        ConfigError: if they are too many.
    """
    envs: dict[str, list[str]] = {}
    for config in configs:
        if not of_env(config.get("sweep") or {}):
            envs.setdefault(_env_key(config["env"], {}, defaults), []).append(_env_words(config["env"], {}))
    for words in envs.values():
        _check_most(words[0], len(words), "runs")


def _numbered(titles: Mapping[str, str]) -> dict[str, str]:
    """Returns the words for environments by their keys, with numbers where other environments have the same words."""
    alike: dict[str, list[str]] = {}
    for key, title in titles.items():
        alike.setdefault(title, []).append(key)
    numbered = {
        key: f"{title} ({i})" for title, keys in alike.items() for i, key in enumerate(keys, 1) if len(keys) > 1
    }
    return {**titles, **numbered}


def _check_counts(groups: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuses (environment, names) of which one has too many names, or none has two."""
    for env, names in groups:
        _check_most(env, len(names), "runs or settings")
    if all(len(names) < 2 for _, names in groups):
        told = [f"{names[0]} is on {env}" for env, names in groups[:MOST]]
        others = f", and {len(groups) - MOST} more" if len(groups) > MOST else ""
        each = f": {', '.join(told)}{others}" if told else ""
        apart = f" on each of {len(groups)} environments" if len(groups) > 1 else ""
        fix = f"give at least two runs on the same environment{each}"
        raise ConfigError("compare", f"1 run{apart}" if groups else ..., fix)


def _check_most(env: str, count: int, what: str) -> None:
    if count > MOST:
        most = f"on {env} at most {MOST} are compared, and a sweep counts once for each of its settings"
        fix = f"{most}: leave runs out, or choose settings by `where` (--where)"
        raise ConfigError("compare", f"{count} {what}", fix)


def _cuts(env: str, entrants: Sequence[Entrant]) -> str:
    """Says where evaluations would have cut episodes of an environment at different steps, and some did."""
    names: dict[int | None, list[str]] = {}
    for one in entrants:
        names.setdefault(one.record.config.get("eval_max_steps"), []).append(one.name)
    if len(names) > 1 and any(map(_has_cut, entrants)):
        told = " and ".join(f"{limit} ({', '.join(own)})" for limit, own in names.items())
        return f"eval_max_steps: got {told} on {env}, where episodes were cut; train these runs with the same"
    return ""


def _has_cut(one: Entrant) -> bool:
    """Returns whether the evaluation ended an episode of these agents: the fact is of all settings of a sweep."""
    record = one.record
    if not record.facts.get("cut_evaluations"):
        return False
    return bool((record.evaluation["length"] >= record.config["eval_max_steps"]).any())


def _entrants(
    name: str, record: RunRecord, points: Sequence[int], defaults: Defaults
) -> list[tuple[str, str, Entrant]]:
    """Returns (environment as a key, environment in words, entrant) for each of some settings."""
    if "return" not in record.evaluation:
        fix = "it was not evaluated; train with eval_episodes, or let it come to its end"
        raise ConfigError("compare", name, fix)
    found: list[tuple[str, str, Entrant]] = []
    broken: list[str] = []
    for point in points:
        values = record.points[point]
        own = _of_point(record, point)
        returns = np.asarray(own.evaluation["return"], np.float64)
        finite = np.asarray(np.isfinite(returns).all(axis=1))
        if not finite.any():
            broken.append(setting_of(record, point))
            continue
        rivals = sum(of_env(other) == of_env(values) for other in record.points)
        own_setting = setting(_varied(of_agent(values), record.points), map(of_agent, record.points))
        label = well_formed(f"{name}: {own_setting}" if rivals > 1 else name)
        entrant = Entrant(label, own, returns[finite].mean(axis=1), int((~finite).sum()))
        env = record.config["env"]
        found.append((_env_key(env, values, defaults), _env_words(env, values), entrant))
    if not found:
        raise ConfigError("compare", name, "none of its agents has a finite return; leave it out")
    if broken:
        text = f"{name} is compared without {'; '.join(broken)}: none of its agents has a finite return"
        warnings.warn(text, RunWarning, stacklevel=4)
    return found


def _varied(point: Mapping[str, float], points: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Returns the numbers of a setting in which settings differ."""
    return {name: value for name, value in point.items() if any(other.get(name) != value for other in points)}


def _of_point(record: RunRecord, point: int) -> RunRecord:
    """Returns the record of one setting's agents: curves and evaluation, without tables and film."""
    mine = record.member_point == point
    curves = {name: values if values.ndim == 1 else values[:, mine] for name, values in record.curves.items()}
    return dataclasses.replace(
        record,
        points=(record.points[point],),
        member_seed=record.member_seed[mine],
        member_point=np.zeros(int(mine.sum()), record.member_point.dtype),
        curves=curves,
        tables={},
        evaluation={name: values[mine] for name, values in record.evaluation.items()},
        panels=(),
        film=None,
    )


def _env_key(env: Mapping[str, Any], point: Mapping[str, float], defaults: Defaults) -> str:
    """Returns the environment of a setting as text that is equal where a run of its own has the same numbers."""
    part = "options" if env.get("registered", True) else "fields"
    given = (env.get(part) or {}) | of_env(point)
    at = {name: _as_told(value) for name, value in given.items()}
    if part == "options":
        usual = {name: _as_told(value) for name, value in defaults(env["id"]).items()}
        at = {name: value for name, value in at.items() if name not in usual or value != usual[name]}
        at |= {"wrap": _wrappers(at.get("wrap"))}
    return json.dumps({**env, part: at}, sort_keys=True, default=str)


def _as_told(value: Any) -> Any:
    """Returns a value as a record has it, numbers as floats."""
    return float(value) if is_number(value) else json.loads(json.dumps(value, default=str))


def _wrappers(wrap: Any) -> list[str]:
    """Returns the names of wrappers one by one: earlier versions kept one text of several as it was given."""
    return [text.strip() for text in (wrap.split(",") if isinstance(wrap, str) else wrap)] if wrap else []


def _env_words(env: Mapping[str, Any], point: Mapping[str, float]) -> str:
    given = (env.get("options") or {}) | of_env(point)
    options = ", ".join(f"{name} {_on_a_line(value)}" for name, value in rows("", given) if name)
    return well_formed(f"{plain(env.get('id'))}" + (f" ({options})" if options else ""))


def _on_a_line(value: str) -> str:
    """Returns an option on one line; a map by its size."""
    lines = value.split("\n")
    return value if len(lines) == 1 else f"of {len(lines)} x {max(map(len, lines))}"


def number_words(found: MeanInterval) -> str:
    """Writes a number with its interval, if it has one."""
    return f"{short(float(found.mean))} {interval_text(float(found.low), float(found.high))}".strip()


def chance_words(found: MeanInterval) -> str:
    """Writes a probability with its interval, if it has one."""
    interval = "" if math.isnan(float(found.low)) else f" [{_chance(found.low)}, {_chance(found.high)}]"
    return f"{_chance(found.mean)}{interval}"


def _chance(p: Any) -> str:
    """Writes a probability with two decimals, which add up to 1 with those of the opposite: halves go away from 1/2."""
    likely = round(max(float(p), 1.0 - float(p)) + 1e-9, 2)
    return f"{likely if p >= 0.5 else 1.0 - likely:.2f}"


def agents_words(entrant: Entrant) -> str:
    """Says how many agents there are, and how many are left out."""
    return f"{len(entrant.scores)}{_broken(entrant)}"


def _broken(entrant: Entrant) -> str:
    return f" ({entrant.left_out} broke)" if entrant.left_out else ""


CHANCES = "probability that an agent of the row has a higher return than one of the column"


def _title(group: Group) -> str:
    return f"{group.env}: greedy return"


def _notes(group: Group) -> list[str]:
    """Says what else is known of a group's environment, a line each."""
    best = group.optimum
    optimum = "" if best is None else f"optimum: {short(best)}, the largest expected return of an episode"
    alone = "no other run on this environment" if len(group.entrants) == 1 else ""
    return [note for note in (optimum, alone, group.warning) if note]


def _scores(group: Group) -> list[list[str]]:
    """Returns the table of how well each entrant did, with its head."""
    body = [[one.name, agents_words(one), number_words(one.iqm), number_words(one.mean)] for one in group.entrants]
    return [["", "agents", "IQM [95%]", "mean [95%]"], *body]


def _chances(group: Group) -> list[list[str]]:
    """Returns the table of the probabilities of improvement, with its head; nothing where there is one entrant."""
    if len(group.entrants) == 1:
        return []
    wins = [
        [name, *("" if one is other else chance_words(one.better_than(other)) for other in group.entrants)]
        for name, one in zip(group.rows, group.entrants, strict=True)
    ]
    return [["", *group.columns], *wins]


def _text(group: Group) -> str:
    """Writes a group's two tables for the shell."""
    scores = [[name, *map(ascii_only, numbers)] for name, *numbers in _scores(group)]
    lines = [_title(group), *_columns(scores), *map(ascii_only, _notes(group))]
    chances = _chances(group)
    return "\n".join([*lines, *(["", CHANCES, *_columns(chances)] if chances else [])])


def _cards(group: Group) -> Iterator[str]:
    """Yields a group's two tables for a notebook."""
    yield table(_title(group), _scores(group), _notes(group))
    if chances := _chances(group):
        yield table(CHANCES, chances)


def _columns(table: list[list[str]]) -> list[str]:
    """Lays a table out: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return [
        "  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in table
    ]
