"""Comparisons of runs by their agents' greedy returns: a group for each environment, as text and as a page."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..core.errors import ConfigError, RunWarning
from ..core.output_file import output_file
from ..core.record import RunRecord
from ..core.whole_file import write_text
from ..core.words import plural
from ..ops.comparison import probability_of_improvement, runs_of
from ..ops.statistics import MeanInterval, estimate_interval
from .card import table
from .chosen_points import chosen_points
from .compared_code import code_words
from .compared_points import Defaults, env_key, env_words, no_defaults, point_label
from .comparison_checks import check_counts, chosen_values, not_evaluated, two_runs
from .ranking import optimum
from .text import ascii_only, interval_text, isolated, point_name, short, shown_width, well_formed

LONGEST_COLUMN = 16
"""Letters of a name over a column of the shell's table."""
LONGEST_TITLE = 60


@dataclass(frozen=True, eq=False, repr=False)
class Entrant:
    """The agents of one name on one environment: a run, or one point of a sweep.

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
        warnings: what makes their returns hard to compare, a line each.
    """

    env: str
    optimum: float | None
    entrants: tuple[Entrant, ...]
    warnings: tuple[str, ...] = ()

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
        names = list(dict.fromkeys(isolated(one.name) for group in self.groups for one in group.entrants))
        title = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
        if shown_width(title) <= LONGEST_TITLE:
            return title
        where = isolated(self.groups[0].env) if len(self.groups) == 1 else f"{len(self.groups)} environments"
        return f"{len(names)} runs or sweep points on {where}"

    def __repr__(self) -> str:
        names = (", ".join(isolated(one.name) for one in group.entrants) for group in self.groups)
        told = (f"{each} on {isolated(group.env)}" for each, group in zip(names, self.groups, strict=True))
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


def compare_records(
    named: Mapping[str, Sequence[RunRecord]], where: Mapping[str, Any] | None = None, defaults: Defaults = no_defaults
) -> Comparison:
    """Compares runs by their evaluations, those on the same environment (and the same options of it) with each other.

    A point of a sweep is on the environment with its numbers.

    Args:
        named: runs by name.
        where: which points of sweeps take part: names of swept numbers, and the value or the values to keep of each.
            A run that did not sweep a name is not asked for it.
        defaults: of an environment's id, its options by default: a run that was given one is on the same environment.

    Raises:
        ConfigError: if no environment has two entrants or one has too many; if a name has two runs on one
            environment, a run was not evaluated, or a sweep has no point that was asked for.
    """
    chosen = chosen_values(named, where)
    groups: dict[str, list[Entrant]] = {}
    titles: dict[str, str] = {}
    best: dict[str, float | None] = {}
    seen: set[tuple[str, str]] = set()
    runs: dict[str, dict[str, RunRecord]] = {}
    for name, records in named.items():
        for record in records:
            entrants = _entrants(name, record, chosen_points(name, record.points, chosen), defaults)
            for key, title, entrant in entrants:
                if (name, key) in seen:
                    raise two_runs(name, title)
                titles.setdefault(key, title)
                groups.setdefault(key, []).append(entrant)
                runs.setdefault(key, {})[name] = record
                best[key] = optimum(record) if best.get(key) is None else best[key]
            seen |= {(name, key) for key, _, _ in entrants}
    check_counts([(titles[key], [one.name for one in group]) for key, group in groups.items()])
    titles = _numbered(titles)
    cuts = {key: _cuts(titles[key], group) for key, group in groups.items()}
    for text in filter(None, cuts.values()):
        warnings.warn(text, RunWarning, stacklevel=3)
    warned = {key: tuple(filter(None, (cuts[key], code_words(runs[key])))) for key in groups}
    return Comparison(tuple(Group(titles[key], best[key], tuple(group), warned[key]) for key, group in groups.items()))


def _numbered(titles: Mapping[str, str]) -> dict[str, str]:
    """Returns the words for environments by their keys, with numbers where other environments have the same words."""
    alike: dict[str, list[str]] = {}
    for key, title in titles.items():
        alike.setdefault(title, []).append(key)
    numbered = {
        key: f"{title} ({i})" for title, keys in alike.items() for i, key in enumerate(keys, 1) if len(keys) > 1
    }
    return {**titles, **numbered}


def _cuts(env: str, entrants: Sequence[Entrant]) -> str:
    """Says where evaluations would have cut episodes of an environment at different steps, and some did."""
    names: dict[int | None, list[str]] = {}
    for one in entrants:
        names.setdefault(one.record.config.get("eval_max_steps"), []).append(isolated(one.name))
    if len(names) > 1 and any(map(_has_cut, entrants)):
        told = " and ".join(f"{limit} ({', '.join(own)})" for limit, own in names.items())
        return f"eval_max_steps: got {told} on {isolated(env)}, where episodes were cut; train these runs with the same"
    return ""


def _has_cut(one: Entrant) -> bool:
    """Returns whether the evaluation ended an episode of these agents: the fact is of all points of a sweep."""
    record = one.record
    if not record.facts.get("cut_evaluations"):
        return False
    return bool((record.evaluation["length"] >= record.config["eval_max_steps"]).any())


def _entrants(
    name: str, record: RunRecord, points: Sequence[int], defaults: Defaults
) -> list[tuple[str, str, Entrant]]:
    """Returns (environment as a key, environment in words, entrant) for each of some sweep points."""
    if "return" not in record.evaluation:
        raise not_evaluated(name)
    found: list[tuple[str, str, Entrant]] = []
    broken: list[str] = []
    for point in points:
        values = record.points[point]
        own = _of_point(record, point)
        returns = np.asarray(own.evaluation["return"], np.float64)
        finite = np.asarray(np.isfinite(returns).all(axis=1))
        if not finite.any():
            broken.append(point_name(record, point))
            continue
        entrant = Entrant(
            point_label(name, values, record.points), own, returns[finite].mean(axis=1), int((~finite).sum())
        )
        env = record.config["env"]
        found.append((env_key(env, values, defaults), env_words(env, values), entrant))
    if not found:
        raise ConfigError("compare", name, "none of its agents has a finite return; leave it out")
    if broken:
        who, which = isolated(well_formed(name)), "; ".join(broken)
        text = f"{who} is compared without {which}: none of its agents has a finite return"
        warnings.warn(text, RunWarning, stacklevel=4)
    return found


def _of_point(record: RunRecord, point: int) -> RunRecord:
    """Returns the record of one sweep point's agents: curves and evaluation, without tables and film."""
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
    return f"{isolated(group.env)}: greedy return"


def _notes(group: Group) -> list[str]:
    """Says what else is known of a group's environment, a line each."""
    best = group.optimum
    optimum = "" if best is None else f"optimum: {short(best)}, the largest expected return of an episode"
    alone = "no other run on this environment" if len(group.entrants) == 1 else ""
    return [note for note in (optimum, alone, *group.warnings) if note]


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
    cells = [[isolated(cell) for cell in row] for row in table]
    widths = [max(map(shown_width, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(_padded(cell, w, left=not i) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]


def _padded(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - shown_width(cell))
    return cell + space if left else space + cell
