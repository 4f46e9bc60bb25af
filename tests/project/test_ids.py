"""Ids as types: an editor completes what the library has, and nothing else is asked of a string."""

import inspect
from typing import get_args

import pytest
from fresh_process import in_a_new_process

import kousoku as ks
from kousoku.agents.ids import AgentId
from kousoku.envs.ids import EnvId


def test_the_types_are_what_the_registries_have():
    """In a new process: other tests register environments and agents of their own."""
    agents, envs = in_a_new_process("import json, kousoku as ks\nprint(json.dumps([ks.list_agents(), ks.list_envs()]))")
    fix = "write the ids of the registry into agents/ids.py and envs/ids.py"
    assert list(get_args(AgentId)) == agents, fix
    assert list(get_args(EnvId)) == envs, fix


@pytest.mark.parametrize(
    ("function", "name", "kind"),
    [
        (ks.train, "agent", AgentId),
        (ks.train, "env", EnvId),
        (ks.make, "id", EnvId),
        (ks.make_agent, "id", AgentId),
        (ks.preset, "agent", AgentId),
        (ks.preset, "env", EnvId),
    ],
)
def test_signatures_name_the_ids_and_take_any_other(function, name, kind):
    annotation = inspect.signature(function).parameters[name].annotation
    if isinstance(annotation, str):
        assert annotation.startswith("AgentId | str" if kind is AgentId else "EnvId | str")
    else:  # the checker of types in the tests has put the types in the place of their names
        assert {kind, str} <= set(get_args(annotation))
