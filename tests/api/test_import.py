"""Importing costs nothing: no JAX, no backend, no picture library before a name is used."""

import importlib
import re
from pathlib import Path

import pytest
from fresh_process import in_a_new_process

import kousoku

HEAVY = ("jax", "jaxlib", "equinox", "optax", "matplotlib", "numpy", "scipy", "rich", "tyro", "orbax")


def test_importing_kousoku_imports_none_of_its_dependencies():
    script = (
        "import json, sys, kousoku; dir(kousoku); print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    loaded = in_a_new_process(script)
    assert "kousoku" in loaded
    assert not set(HEAVY) & set(loaded)


def test_names_of_environments_and_agents_are_known_without_jax_and_without_importing_one():
    script = """
import json, sys
from kousoku import list_agents, list_envs
from kousoku.core.errors import ConfigError
assert "GridWorld-v0" in list_envs() and "q_learning" in list_agents()
try:
    __import__("kousoku").make("os.path")
except ConfigError:
    pass
print(json.dumps(sorted(sys.modules)))
"""
    loaded = in_a_new_process(script)
    assert not {"jax", "equinox"} & set(loaded)
    rooms = [name for name in loaded if name.startswith(("kousoku.envs.", "kousoku.agents."))]
    names = [f"kousoku.envs.{room}" for suite in ("gridworld", "minigrid") for room in (suite, f"{suite}.named")]
    assert rooms == sorted([*names, "kousoku.envs.ids"])


@pytest.mark.full("processes")
def test_no_module_creates_a_backend_when_it_is_imported():
    script = """
import importlib, json, pkgutil, kousoku, kousoku_bench
found = [m.name for p in (kousoku, kousoku_bench) for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
names = [name for name in found if not name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
from jax._src import xla_bridge
print(json.dumps([names, xla_bridge.backends_are_initialized()]))
"""
    names, initialised = in_a_new_process(script)
    assert "kousoku.envs.gridworld.env" in names
    assert initialised is False


@pytest.mark.parametrize("name", kousoku.__all__)
def test_every_public_name_resolves(name):
    found = getattr(kousoku, name)
    assert callable(found)
    assert found.__doc__
    assert name in dir(kousoku)


def test_an_editor_is_offered_public_names_and_no_other():
    rooms = ["agents", "collectors", "nn", "ops", "physics", "wrappers"]
    assert sorted(dir(kousoku)) == sorted([*kousoku.__all__, "__version__", *rooms])
    assert not [name for name in kousoku.__all__ if name.startswith("_")]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'kousoku' has no attribute 'trian'; did you mean 'train'\?$"):
        kousoku.__getattr__("trian")
    assert not hasattr(kousoku, "trian")
    assert not hasattr(kousoku, "core.env")
    assert "__version__" in dir(kousoku)


def test_rooms_that_documents_name_are_there_from_the_start():
    assert in_a_new_process(
        "import json, kousoku as ks; print(json.dumps([ks.physics.__name__, ks.ops.__name__]))"
    ) == [
        "kousoku.physics",
        "kousoku.ops",
    ]


def test_every_public_name_that_documents_use_is_there():
    root = Path(__file__).parents[2]
    pages = [
        root / "README.md",
        root / "README.ja.md",
        *(root / "docs").rglob("*.md"),
        *(root / "examples").rglob("*.py"),
    ]
    used = {name for page in pages for name in re.findall(r"\bks\.([A-Za-z]\w*)", page.read_text())}
    assert len(used) > 50
    assert used <= set(dir(kousoku))


def test_all_that_trains_and_reads_runs_is_found_in_one_module():
    api = importlib.import_module("kousoku.api")
    for name in ("train", "resume", "animate", "load", "load_policy", "evaluate", "compare", "Run", "Evaluation"):
        assert getattr(api, name) is getattr(kousoku, name)
