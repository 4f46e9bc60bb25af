"""The code of an agent that is a person's own, and what its fields hold: as a run keeps it, and whether it differs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ...agents.options import untold
from ...core.agent import Agent
from ...core.errors import ConfigError, shorten
from ...core.ours import is_ours
from . import provenance
from .behaviour import behaviour_of
from .env_config import MOST_TOLD, told_as_json, unplaced

OWN_AGENT = "own_agent"
"""Where a run's configuration tells it."""


def own_json(agent: Agent) -> dict[str, Any]:
    """Returns what is told of an agent's own code, as a part of a run's configuration; {} of one of the library's.

    That is of its class and of what it is made of a digest of the source, of functions in its fields one of what they
    do, and of parts that are neither numbers nor options what they are made of.
    """
    fields, functions = {name: told_as_json(part) for name, part in untold(agent)}, behaviour_of(agent)
    kinds = [kind for kind in kinds_in(agent) if not is_ours(kind)]
    if not (fields or functions or kinds):
        return {}
    return {OWN_AGENT: {"fields": fields, "code": provenance.codes_of(dict.fromkeys(kinds)), "functions": functions}}


def check_own(agent: Agent, config: Mapping[str, Any]) -> None:
    """Refuses an agent of which a part is made of something else than that of a run; warns if its code changed.

    Runs of earlier versions tell nothing.

    Raises:
        ConfigError: naming the part.
    """
    begun = config.get(OWN_AGENT, {})
    now = own_json(agent).get(OWN_AGENT, {"fields": {}, "code": None, "functions": None})
    for name, then in begun.get("fields", {}).items():
        told = now["fields"].get(name, ...)
        if unplaced(then) != unplaced(told):
            raise ConfigError(f"agent's {name}", told, f"the run was started with {shorten(then, MOST_TOLD)}")
    provenance.warn_if_other_code(config["agent"]["id"], begun, now)


def kinds_in(part: Any) -> Iterator[type]:
    """Yields the classes of an agent, of what it learns from, and of the parts that they have."""
    yield type(part)
    parts = [getattr(part, field.name, None) for field in dataclasses.fields(part)]
    for each in (*parts, *([part.learns_from] if isinstance(part, Agent) else [])):
        if dataclasses.is_dataclass(each) and not isinstance(each, type):
            yield from kinds_in(each)
