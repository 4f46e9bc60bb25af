"""`kousoku list`: what there is."""

from __future__ import annotations

from collections.abc import Sequence

from ..agents import list_agents
from ..core.errors import check_choice
from ..envs import list_envs
from .options import Option, parse

OPTIONS = (Option("what", None, "envs|agents", "only the one or the other", positional=True),)


def run(words: Sequence[str]) -> int:
    """Prints the ids."""
    given = parse("list", "Show the ids of environments and agents.", OPTIONS, words)
    kinds = {"agents": list_agents, "envs": list_envs}
    if "what" in given:
        check_choice("list", given["what"], kinds)
    for name, ids in kinds.items():
        if given.get("what", name) == name:
            print(f"{name}:", *ids(), sep="\n  ")
    return 0
