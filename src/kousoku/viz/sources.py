"""Words on where the settings of a run come from: given, tuned for the environment or published, swept, or defaults.

A run of an earlier version does not tell, and an agent that was made in Python has its settings from anywhere: there is
no word then.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.record import GIVEN, SWEPT, TUNED, RunRecord
from ..core.sweep_names import ENV_PREFIX

DEFAULT = "default"
RANK = {SWEPT: 1, GIVEN: 2}
"""Which words stand behind that of a preset, and in which order."""
NO_SETTINGS = {"id", "options", "code", "functions"}
"""Names of what a configuration tells of agent and environment beside their settings."""


def word(record: RunRecord, part: str, name: str) -> str | None:
    """Returns where a setting comes from.

    Args:
        record: the run.
        part: "agent", "env" or "run".
        name: of the setting as the report lists it: with dots before names of parts of it, such as
            "exploration.epsilon", or before names of a schedule's numbers.
    """
    told = record.config.get("sources", {}).get(part)
    names = name.split(".")
    if told is None or name in NO_SETTINGS:
        return None
    return next((told[each] for each in names if each in told), DEFAULT)


def sentence(record: RunRecord) -> str:
    """Says how many settings of agent and run are of a preset, swept and given; nothing where that is not known.

    An example: "Of the settings, 5 are tuned for CartPole-v1, 1 is given; the others are defaults."
    """
    counts = [(each, len(names)) for each, names in _named(record)]
    if not counts:
        return "All settings are defaults." if _is_known(record) else ""
    parts = [f"{count} {'is' if count == 1 else 'are'} {_of(each, record)}" for each, count in counts]
    return f"Of the settings, {', '.join(parts)}; the others are defaults."


def line(record: RunRecord) -> str:
    """Names the settings that are no defaults, for the shell; nothing where that is not known."""
    named = _named(record)
    if not named:
        return "settings: all defaults" if _is_known(record) else ""
    parts = [f"{_of(each, record)}: {', '.join(names)}" for each, names in named]
    return f"settings: {'; '.join(parts)}; all else: defaults"


def _named(record: RunRecord) -> list[tuple[str, list[str]]]:
    """Returns (word, names of the settings of agent, environment and run) for each word that some have."""
    if not _is_known(record):
        return []
    parts = record.config["sources"]
    pairs = [
        (ENV_PREFIX + name if part == "env" else name, said)
        for part in ("agent", "env", "run")
        for name, said in parts.get(part, {}).items()
        if name != "sweep"
    ]
    words = sorted({said for _, said in pairs}, key=lambda said: RANK.get(said, 0))
    return [(each, [name for name, said in pairs if said == each]) for each in words]


def _is_known(record: RunRecord) -> bool:
    return "agent" in record.config.get("sources", {})


def _of(each: str, record: RunRecord) -> str:
    return f"tuned for {record.config['env']['id']}" if each == TUNED else each


def marked(record: RunRecord, part: str, rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns names and values of settings, each value with the word in brackets where there is one."""
    found = [(name, value, word(record, part, name)) for name, value in rows]
    return [(name, value if said is None else _joined(value, said)) for name, value, said in found]


def _joined(value: str, said: str) -> str:
    return f"{value}{chr(10) if chr(10) in value else ' '}({said})"
