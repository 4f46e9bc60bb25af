"""Gymnasium knows our environments whichever is imported first, and nothing else is imported for that."""

import pytest
from fresh_process import in_a_new_process

IDS = """
import json, sys
known = sorted(id for id in gymnasium.registry if id.startswith("kousoku/"))
print(json.dumps([known, sorted({"jax", "equinox", "matplotlib"} & set(sys.modules)), repr(gymnasium.__spec__.loader)]))
"""


@pytest.mark.parametrize("imports", ["import gymnasium, kousoku", "import kousoku, gymnasium"])
def test_either_may_be_imported_first(imports):
    known, heavy, loader = in_a_new_process(f"{imports}\n{IDS}")
    assert "kousoku/CartPole-v1" in known
    assert "kousoku/HalfCheetah-v5" in known
    assert not heavy
    assert "kousoku" not in loader


def test_to_look_for_gymnasium_is_not_to_import_it():
    """As robots do, whose files lie in its package."""
    looked = "import kousoku, importlib.util\nassert importlib.util.find_spec('gymnasium').origin"
    known, _, loader = in_a_new_process(f"{looked}\nkousoku.make('InvertedPendulum-v5')\nimport gymnasium\n{IDS}")
    assert "kousoku/CartPole-v1" in known
    assert "kousoku" not in loader


def test_an_id_may_name_the_module_to_import():
    script = """
import json, gymnasium
spec = gymnasium.envs.registration._find_spec("kousoku:kousoku/CartPole-v1")
print(json.dumps([spec.id, spec.kwargs]))
"""
    assert in_a_new_process(script) == ["kousoku/CartPole-v1", {"env": "CartPole-v1"}]


def test_importing_kousoku_alone_leaves_gymnasium_alone():
    script = "import json, sys, kousoku; print(json.dumps([m for m in sys.modules if m.startswith('gymnasium')]))"
    assert in_a_new_process(script) == []
