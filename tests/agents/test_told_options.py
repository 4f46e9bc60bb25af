"""What docstrings tell of hyper-parameters, as the help of the shell reads them."""

import inspect

import pytest

from kousoku.agents import AGENTS
from kousoku.cli.help_texts import described


@pytest.mark.parametrize("id", AGENTS.ids())
def test_a_class_tells_of_its_own_and_with_its_bases_of_all(id):
    kind = AGENTS.factory(id)
    told = {base: set(described(base)) for base in inspect.getmro(kind) if base.__module__.startswith("kousoku")}
    for base, names in told.items():
        own = {name for name in vars(base).get("__annotations__", {}) if name in AGENTS.options(id)}
        if base.__module__.startswith("kousoku.agents") and names:
            assert own <= names
    assert set(AGENTS.options(id)) <= set().union(*told.values())
