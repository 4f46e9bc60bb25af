"""`kousoku list`: what there is, and what fits together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..agents import AGENTS
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
    Option("what", None, "envs|agents|ID", "only the one or the other, or ids with these letters", positional=True),
)
KINDS = {"agents": AGENTS, "envs": ENVS}
INDENT = GAP = "  "


def run(words: Sequence[str]) -> int:
    """Prints agents and environments, a row for each; of one id all that is known of it."""
    given = parse("list", "Show agents and environments, and which of them fit together.", OPTIONS, words)
    what = str(given.get("what", ""))
    if prefix := ENVS.library_of(what):
        _tell_library(prefix, what)
        return 0
    for registry, tell in ((AGENTS, _tell_agent), (ENVS, _tell_env)):
        if what in registry.ids():
            tell(what)
            return 0
    agents, envs = (_chosen(kind, what) for kind in KINDS)
    if not agents + envs:
        libraries = [f"{prefix}:" for prefix in ENVS.libraries()]
        close = nearest(what, [*KINDS, *libraries, *AGENTS.ids(), *ENVS.ids()], 1)
        raise ConfigError("list", what, f"did you mean {close[0]!r}?" if close else "`kousoku list` shows all")
    _print_agents(agents)
    _print_envs(envs)
    print("\n" + fill("`kousoku list ID` tells more of one, `kousoku train AGENT ENV` trains."))
    print(fill("`kousoku list gymnax:` shows those of another library, docs/in.md which."))
    return 0


def _tell_library(prefix: str, what: str) -> None:
    """Prints the ids that another library has, or all that is known of one of them."""
    if what != f"{prefix}:":
        _tell_env(what)
        return
    print("\n".join(ENVS.library_ids(prefix)))


def _chosen(kind: str, what: str) -> list[str]:
    """Returns the ids of a kind that are asked for: all of it, or those that have the letters."""
    ids = KINDS[kind].ids()
    return (
        ids if what in ("", kind) else [] if what in KINDS else [id for id in ids if what.casefold() in id.casefold()]
    )


def _print_agents(ids: list[str]) -> None:
    """Prints agents by family."""
    for family in dict.fromkeys(map(_family, ids)):
        print(f"\n{family} agents")
        _print_rows([(id, _told(AGENTS, id)) for id in ids if _family(id) == family])


def _family(agent: str) -> str:
    """Returns the room that an agent lives in; "own" for one of the user's."""
    module = AGENTS.factory(agent).__module__.split(".")
    return module[2] if module[:2] == ["kousoku", "agents"] else "own"


def _print_envs(ids: list[str]) -> None:
    """Prints environments by the kinds of their spaces, with the agents that learn in such."""
    missing = [id for id in ids if not ENVS.is_installed(id)]
    rows = {id: index.row(id) for id in ids if id not in missing}
    groups: dict[str, list[str]] = {}
    for id, row in rows.items():
        groups.setdefault(row.kinds, []).append(id)
    for kinds, members in groups.items():
        print(f"\nenvironments: {kinds}" if kinds else "\nenvironments that need an option")
        if kinds:
            print(fill(", ".join(_families(index.agents(kinds, members[0]))), "for "))
        longest = max(map(len, members))
        _print_rows([(f"{id:<{longest}}  {rows[id].sizes}".rstrip(), _told(ENVS, id)) for id in members])
    if missing:
        print("\nenvironments that need another package, which `kousoku list ID` names")
        _print_rows([(id, _told(ENVS, id)) for id in missing])


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


def _tell_agent(id: str) -> None:
    """Prints all that is known of an agent."""
    from ..agents.options import option_names
    from ..training.fit import fitting_spaces
    from ..training.presets import presets

    print(f"{id}: {AGENTS.summary(id)}")
    observations, actions = fitting_spaces(id)
    _tell("observations", ", ".join(observations))
    _tell("actions", ", ".join(actions))
    _tell("options", ", ".join(option_names(id)))
    _tell_presets({env: preset for (agent, env), preset in presets().items() if agent == id})
    print(f"{INDENT}`kousoku train {id} --help` tells what each option is.")


def _tell_env(id: str) -> None:
    """Prints all that is known of an environment."""
    from ..training.fit import fitting_agents
    from ..training.presets import presets

    print(f"{id}: {ENVS.summary(id) or 'of another library'}")
    env = index.env(id)
    if env is not None:
        spec, on_host = env.spec, isinstance(env, HostEnv)
        _tell("observations", _described(spec.observation_space))
        _tell("actions", _described(spec.action_space))
        without = "its own, if it has one" if on_host else "none"
        _tell("time limit", without if spec.time_limit is None else str(spec.time_limit))
        _tell("agents", ", ".join(fitting_agents(spec, on_host)))
    _tell_presets({agent: preset for (agent, env), preset in presets().items() if env == id})
    _tell("options", ", ".join(ENVS.options(id)))


def _tell_presets(by_id: Mapping[str, Preset]) -> None:
    """Prints for which ids there are presets: those that were tuned here, and those that others published."""
    _tell("tuned for", ", ".join(id for id, preset in by_id.items() if preset.source is None))
    _tell("published for", ", ".join(f"{id} ({preset.source})" for id, preset in by_id.items() if preset.source))


def _described(space: Any) -> str:
    """Returns a space's kind and size."""
    n = getattr(space, "n", None)
    return f"{type(space).__name__}({n})" if n is not None else f"{type(space).__name__} [{index.size(space)}]"


def _tell(name: str, text: str) -> None:
    """Prints a fact on as many lines as it needs; nothing if there is none."""
    if text:
        print(fill(text, f"{INDENT}{name:<14}"))


def _print_rows(rows: Sequence[tuple[str, str]]) -> None:
    """Prints names with what is told of each, beside them where there is room; what neighbours share, once."""
    longest = max(len(name) for name, _ in rows)
    beside, before = longest <= width() // 2, None
    for name, text in rows:
        start = f"{INDENT}{name:<{longest}}{GAP}"
        if text != before and beside:
            print(fill(text, start))
        else:
            print(start.rstrip())
        if text != before and not beside:
            print(fill(text, 3 * INDENT))
        before = text
