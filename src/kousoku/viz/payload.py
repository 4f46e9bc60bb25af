"""A record as the JSON that the report's page draws from: chosen, thinned and rounded so that the file stays small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.point_names import point_texts
from ..core.record import RunRecord
from ..core.scene3d import Trajectory3d
from ..core.sweep_names import of_env
from ..core.words import plural
from . import film2d, film3d, headline, learning, sources
from .curve_data import with_derived_curves
from .encode import numbers
from .estimates import estimate, statistic
from .offline import asset
from .ranking import overlapping, point_order, point_summary, score, tied_points
from .style import BINS, colored, embedded_pictures
from .summary import largest_errors
from .tables import member_name, tables, tie_note
from .text import rows, short

MAX_SWEEP_ROWS = 576
LARGE_GROUP = 4
MEMORY = {
    "state_mib": "training state",
    "process_peak_mib": "peak of the process",
    "device_peak_mib": "peak of the device",
}
"""What is told of memory, each in MiB."""
Rows = list[tuple[str, str]]


def payload(record: RunRecord) -> dict[str, Any]:
    """Returns everything that the page shows."""
    record, order = with_derived_curves(record), point_order(record)
    return {
        "title": headline.title(record),
        "status": headline.status(record),
        "sentence": headline.sentence(record),
        "headline": [number._asdict() for number in headline.headline_numbers(record)],
        "bins": BINS,
        "colored": colored(len(record.points)),
        "tables": tables(record, order),
        "curves": learning.curves(record, order),
        "losses": learning.losses(record, order),
        "sweep": _sweep(record, order),
        "player": _player(record),
        "config": _config(record),
        "command": record.config.get("command"),
        "started": record.facts.get("started"),
    }


def _sweep(record: RunRecord, order: list[int]) -> dict[str, Any] | None:
    """Returns one row for each sweep point, best first: chosen by some episodes, told by others."""
    if len(record.points) == 1:
        return None
    result, errors = score(record), largest_errors(record)
    texts, names = point_texts(record.points), list(dict.fromkeys(name for point in record.points for name in point))
    shown, found = order[:MAX_SWEEP_ROWS], []
    for point, alike in zip(shown, overlapping(record, shown).tolist(), strict=True):
        members, worth = record.member_point == point, point_summary(record, point)
        error = None if errors is None else estimate(record, errors[members]).mean
        found.append(
            {
                "values": [_swept(texts[point].get(name)) for name in names],
                "members": int(members.sum()),
                "score": numbers([worth.value, worth.low, worth.high]),
                "alike": alike,
                "error": None if error is None else numbers(error)[0],
            }
        )
    return {
        "names": names,
        "statistic": statistic(record),
        "score": result.name,
        "heldOut": result.unbiased,
        "tied": tied_points(record),
        "rows": found,
        "left": max(0, len(order) - MAX_SWEEP_ROWS),
    }


def _swept(text: str | None) -> float | None:
    """Returns a swept number with the digits that words give it; None where a sweep point has none."""
    return None if text is None else float(text)


def _player(record: RunRecord) -> dict[str, Any] | None:
    """Returns the best agent's episode, as the player of its kind reads it."""
    if record.film is None:
        return None
    if isinstance(record.film, Trajectory3d):
        film = film3d.payload((record.film,), "")
    else:
        film = film2d.payload((record.film,), "")
    return {"who": _who(record), "style": asset(film2d.STYLE) + embedded_pictures(), "film": film}


def _who(record: RunRecord) -> tuple[str, str]:
    """Names the agent whose episode is shown: as a title, and in full."""
    evaluated = "return" in record.evaluation
    agent = "The agent" if record.num_members == 1 else "The best agent" if evaluated else "An agent"
    name = member_name(record, record.best_member) + (tie_note(record) if evaluated else "")
    return agent, f"{agent[0].lower()}{agent[1:]}, {name}"


def _config(record: RunRecord) -> list[dict[str, Any]]:
    """Lists configuration, versions and device as titled names and values; a setting's value says where it is from."""
    beside = ("command", "sources", "begun_for", "own_agent")
    config = {key: value for key, value in record.config.items() if key not in beside}
    swept = config.get("sweep") or {}
    groups = [
        *_groups(record, "Agent", "agent", _with_swept(config.pop("agent", {}), swept)),
        *_groups(record, "Environment", "env", _with_swept(_env(config.pop("env", {})), of_env(swept))),
        ("Run", sources.marked(record, "run", rows("", config | _spacing(record)))),
        *((name, list(rows("", record.facts.get(name.lower(), {})))) for name in ("Versions", "Device")),
        ("Memory", [*_memory(record.facts.get("memory", {})), *_replay_buffer(record)]),
    ]
    named = [(title, [list(row) for row in group if row[0]]) for title, group in groups]
    return [{"title": title, "rows": group} for title, group in named if group]


def _env(config: dict[str, Any]) -> dict[str, Any]:
    """Returns what people read of an environment: its numbers once, as options or else as fields."""
    options = config.get("options") or {}
    fields = {name: value for name, value in config.get("fields", {}).items() if name not in options}
    told = {name: value for name, value in config.items() if name != "registered" and value is not None}
    return {name: value for name, value in (told | {"fields": fields}).items() if name != "fields" or value}


def _spacing(record: RunRecord) -> dict[str, str]:
    """Returns how far apart reports are where nobody asked for it; updates of many steps round it up."""
    steps = record.curves.get("step", ())
    if len(steps) == 0 or sources.word(record, "run", "record_every") != sources.DEFAULT:
        return {}
    return {"record_every": f"every {plural(int(np.median(np.diff(steps, prepend=0))), 'step')}"}


def _memory(facts: Mapping[str, float]) -> Rows:
    return [(words, f"{short(float(facts[name]))} MiB") for name, words in MEMORY.items() if name in facts]


def _replay_buffer(record: RunRecord) -> Rows:
    """Returns how full the agents' replay buffers are, all alike; nothing where there are none."""
    use = record.facts.get("replay_buffer")
    if use is None:
        return []
    name = "replay buffer" if record.num_members == 1 else "replay buffer of each agent"
    told = f"{int(use['transitions']):,} of {plural(int(use['capacity']), 'transition')}"
    return [(name, f"{told}, {short(float(use['mib']))} MiB")]


def _with_swept(settings: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Puts the values of a sweep in the place of those that the agents would have had without it."""
    return {
        name: values[name] if name in values else _with_swept(inner, values) if isinstance(inner, dict) else inner
        for name, inner in settings.items()
    }


def _groups(record: RunRecord, title: str, part: str, settings: dict[str, Any]) -> list[tuple[str, Rows]]:
    """Lists settings, and large groups of settings in them by themselves: an agent's network."""
    large = [name for name, value in settings.items() if isinstance(value, dict) and len(value) >= LARGE_GROUP]
    told = sources.marked(record, part, rows("", settings))
    groups = [(title, [row for row in told if row[0].partition(".")[0] not in large])]
    for name in large:
        inner = [(row.removeprefix(f"{name}."), value) for row, value in told if row.startswith(f"{name}.")]
        groups.append((f"{title}: {name}", inner))
    return groups
