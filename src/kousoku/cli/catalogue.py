"""`kousoku list`: what there is, and what fits together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..agents import AGENTS
from ..core.env import Env
from ..core.errors import ConfigError, nearest
from ..core.host import HostEnv
from ..core.registry import Registry
from ..envs import ENVS
from . import index
from .options import Option, parse
from .wrapped import fill, width

if TYPE_CHECKING:
    from ..training.presets import Preset

OPTIONS = (
    Option(
        "what",
        None,
        "envs|agents|ID",
        "agents or environments only, or ids that contain this text",
        positional=True,
    ),
)
KINDS = {"agents": AGENTS, "envs": ENVS}
INDENT = GAP = "  "


def run(words: Sequence[str]) -> int:
    """Prints agents and environments, a row for each; of one id all that is known of it."""
    given = parse("list", "Show agents and environments, and which of them fit together.", OPTIONS, words)
    what = str(given.get("what", ""))
    print("\n".join(_lines(what)))
    return 0


def _lines(what: str) -> list[str]:
    """Returns what is told of an id, a kind, some letters, or of all.

    Raises:
        ConfigError: where there is no such thing.
    """
    if prefix := ENVS.library_of(what):
        return ENVS.library_ids(prefix) if what == f"{prefix}:" else _of_env(what)
    for registry, of_one in ((AGENTS, _of_agent), (ENVS, _of_env)):
        if what in registry.ids():
            return of_one(what)
    agents, envs = (_chosen(kind, what) for kind in KINDS)
    if not agents + envs:
        libraries = [f"{prefix}:" for prefix in ENVS.libraries()]
        close = nearest(what, [*KINDS, *libraries, *AGENTS.ids(), *ENVS.ids()], 1)
        raise ConfigError("list", what, f"did you mean {close[0]!r}?" if close else "`kousoku list` shows all")
    return [
        *_of_agents(agents),
        *_of_envs(envs),
        "\n" + fill("`kousoku list ID` tells more of one, `kousoku train AGENT ENV` trains."),
        fill("`kousoku list gymnax:` shows those of another library, docs/in.md which."),
    ]


def _chosen(kind: str, what: str) -> list[str]:
    """Returns the ids of a kind that are asked for: all of it, or those that have the letters."""
    ids = KINDS[kind].ids()
    return (
        ids if what in ("", kind) else [] if what in KINDS else [id for id in ids if what.casefold() in id.casefold()]
    )


def _of_agents(ids: list[str]) -> list[str]:
    """Returns the lines of agents, by family."""
    lines: list[str] = []
    for family in dict.fromkeys(map(_family, ids)):
        lines += [f"\n{family} agents", *_rows([(id, _told(AGENTS, id)) for id in ids if _family(id) == family])]
    return lines


def _family(agent: str) -> str:
    """Returns the room that an agent lives in; "own" for one of the user's."""
    module = AGENTS.factory(agent).__module__.split(".")
    return module[2] if module[:2] == ["kousoku", "agents"] else "own"


def _of_envs(ids: list[str]) -> list[str]:
    """Returns the lines of environments, by the kinds of their spaces, with the agents that learn in such."""
    missing = [id for id in ids if not ENVS.is_installed(id)]
    rows = {id: index.row(id) for id in ids if id not in missing}
    groups: dict[str, list[str]] = {}
    for id, row in rows.items():
        groups.setdefault(row.kinds, []).append(id)
    lines: list[str] = []
    for kinds, members in groups.items():
        lines.append(f"\nenvironments: {kinds}" if kinds else "\nenvironments that need an option")
        if kinds:
            lines.append(fill(", ".join(_families(index.agents(kinds, members[0]))), "for "))
        longest = max(map(len, members))
        lines += _rows([(f"{id:<{longest}}  {rows[id].sizes}".rstrip(), _told(ENVS, id)) for id in members])
    if missing:
        lines.append("\nenvironments that need another package, which `kousoku list ID` names")
        lines += _rows([(id, _told(ENVS, id)) for id in missing])
    return lines


def _families(agents: list[str]) -> list[str]:
    """Returns agents by name, and where a whole family is among them the family in their place."""
    families: dict[str, list[str]] = {}
    for id in AGENTS.ids():
        families.setdefault(_family(id), []).append(id)
    whole = [family for family, ids in families.items() if len(ids) > 3 and set(ids) <= set(agents)]
    return [f"all {family} agents" for family in whole] + [id for id in agents if _family(id) not in whole]


def _told(registry: Registry, id: str) -> str:
    """Returns an id's summary, without its name where that stands before a colon."""
    summary = registry.summary(id)
    name, _, told = summary.partition(": ")
    return told if told and _letters(name) in _letters(id) else summary


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())


def _of_agent(id: str) -> list[str]:
    """Returns the lines of all that is known of an agent."""
    from ..agents.options import used_options
    from ..training.compatible import fitting_spaces
    from ..training.presets import presets

    observations, actions = fitting_spaces(id)
    return [
        f"{id}: {AGENTS.summary(id)}",
        *_fact("observations", ", ".join(observations)),
        *_fact("actions", ", ".join(actions)),
        *_fact("options", ", ".join(used_options(id))),
        *_of_presets({preset.family or env: preset for (agent, env), preset in presets().items() if agent == id}),
        f"{INDENT}`kousoku train {id} --help` tells what each option is.",
    ]


def _of_env(id: str) -> list[str]:
    """Returns the lines of all that is known of an environment."""
    from ..training.presets import presets

    env = index.env(id)
    return [
        f"{id}: {ENVS.summary(id) or 'of another library'}",
        *(() if env is None else _of_spec(env)),
        *_of_presets({agent: preset for (agent, env), preset in presets().items() if env == id}),
        *_fact("options", ", ".join(ENVS.options(id))),
    ]


def _of_spec(env: Env) -> list[str]:
    """Returns the lines of an environment's spaces, its time limit, and the agents that learn in it."""
    from ..training.compatible import fitting_agents

    spec, on_host = env.spec, isinstance(env, HostEnv)
    without = "its own, if it has one" if on_host else "none"
    return [
        *_fact("observations", _described(spec.observation_space)),
        *_fact("actions", _described(spec.action_space)),
        *_fact("time limit", without if spec.time_limit is None else str(spec.time_limit)),
        *_fact("agents", ", ".join(fitting_agents(spec, on_host))),
    ]


def _of_presets(by_id: Mapping[str, Preset]) -> list[str]:
    """Returns the lines of the ids that there are presets for: tuned here, and published by others."""
    published = (f"{id} ({preset.source})" for id, preset in by_id.items() if preset.source)
    return [
        *_fact("tuned for", ", ".join(id for id, preset in by_id.items() if preset.source is None)),
        *_fact("published for", ", ".join(published)),
    ]


def _described(space: Any) -> str:
    """Returns a space's kind and size."""
    n = getattr(space, "n", None)
    return f"{type(space).__name__}({n})" if n is not None else f"{type(space).__name__} [{index.size(space)}]"


def _fact(name: str, text: str) -> list[str]:
    """Returns a fact on as many lines as it needs; nothing if there is none."""
    return [fill(text, f"{INDENT}{name:<14}")] if text else []


def _rows(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Returns names with what is told of each, beside them where there is room; what neighbours share, once."""
    longest = max(len(name) for name, _ in rows)
    beside, before, lines = longest <= width() // 2, None, []
    for name, text in rows:
        start = f"{INDENT}{name:<{longest}}{GAP}"
        lines.append(fill(text, start) if text != before and beside else start.rstrip())
        if text != before and not beside:
            lines.append(fill(text, 3 * INDENT))
        before = text
    return lines
