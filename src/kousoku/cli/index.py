"""Index of our own environments and agents: spaces, and who learns in them, known without making and tracing them all.

`index.json` holds it; `tools/generated_docs.py` makes it, and a test compares them.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from ..agents import AGENTS
from ..core.env import Env, EnvSpec
from ..core.ours import is_ours
from ..envs import ENVS

FILE = Path(__file__).with_name("index.json")


class Row(NamedTuple):
    """Facts of an environment's spaces that a row tells; nothing where it cannot be made without an option.

    Attributes:
        kinds: what agents ask of the spaces, such as "Box observations -> Discrete actions".
        sizes: of both, such as "4 -> 2".
    """

    kinds: str = ""
    sizes: str = ""


def row(id: str) -> Row:
    """Returns an environment's row, of one of the user's by making it."""
    known = _index()["environments"].get(id)
    return described(spec(id)) if known is None else Row(*known)


def agents(kinds: str, id: str) -> list[str]:
    """Returns the agents that learn in environments of such spaces; one of the user's, or of another library, is tried.

    Args:
        kinds: of the spaces.
        id: an environment that has them.
    """
    from ..training.compatible import fits

    index = _index()
    known, there = set(index["agents"]), index["fits"].get(kinds)
    installed = [agent for agent in AGENTS.ids() if AGENTS.is_installed(agent)]
    tried = [agent for agent in installed if there is None or agent not in known]
    made = spec(id) if tried else None
    found = {agent for agent in tried if made is not None and fits(agent, made)}
    return sorted(found.union(there or ()))


def env(id: str) -> Env | None:
    """Returns an environment; None where it cannot be made without an option."""
    if any(parameter.default is parameter.empty for parameter in ENVS.options(id).values()):
        return None
    return ENVS.make(id)


def spec(id: str) -> EnvSpec | None:
    """Returns an environment's spaces and time limit; None where it cannot be made without an option."""
    made = env(id)
    return None if made is None else made.spec


def described(spec: EnvSpec | None) -> Row:
    """Returns the row of an environment with such spaces."""
    if spec is None:
        return Row()
    one = getattr(spec.observation_space, "n", None) == 1
    observations = "one observation" if one else f"{type(spec.observation_space).__name__} observations"
    kinds = f"{observations} -> {type(spec.action_space).__name__} actions"
    return Row(kinds, f"{size(spec.observation_space)} -> {size(spec.action_space)}")


def size(space: Any) -> str:
    """Returns how many elements a Discrete space has, and the shape of any other."""
    n = getattr(space, "n", None)
    return str(n) if n is not None else "x".join(map(str, getattr(space, "shape", ()))) or "1"


def computed() -> dict[str, Any]:
    """Returns the index as it should be: every environment of ours that needs no other package, every agent of ours."""
    from ..training.compatible import fitting_agents

    ids = [id for id in ENVS.ids() if ENVS.requirement(id) is None and is_ours(ENVS.factory(id))]
    specs = {id: spec(id) for id in ids}
    rows = {id: described(spec) for id, spec in specs.items()}
    first = {rows[id].kinds: spec for id, spec in reversed(specs.items()) if spec is not None}
    ours = [id for id in AGENTS.ids() if is_ours(AGENTS.factory(id)) and AGENTS.requirement(id) is None]
    fits = {kinds: [agent for agent in fitting_agents(first[kinds]) if agent in ours] for kinds in sorted(first)}
    return {"environments": rows, "agents": ours, "fits": fits}


@functools.cache
def _index() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))
