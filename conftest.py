"""What every test and doctest runs under: two CPU devices, strict dtypes and ranks, nothing of the user's touched.

What XLA and LLVM compile is kept in `.pytest_cache`, by the hash of all that it depends on, and is there when the tests
run again.
"""

import gc
import itertools
import os
import re
from pathlib import Path

from fast_compile import fast_compile_flags, is_quick, share_contexts
from typechecker import begin_test, spare_functions_without_shapes

os.environ["XLA_FLAGS"] = (
    f"{fast_compile_flags()} {os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
)
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("KOUSOKU_COMPILATION_CACHE", str(Path(__file__).parent / ".pytest_cache" / "xla"))

import hypothesis
import jax
import pytest

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
if is_quick():  # where in Python each operation comes from is a tenth of what tracing and lowering take
    jax.config.update("jax_traceback_in_locations_limit", 0)
    share_contexts()
if os.environ["KOUSOKU_COMPILATION_CACHE"] != "off":
    jax.config.update("jax_compilation_cache_dir", os.environ["KOUSOKU_COMPILATION_CACHE"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.02)
spare_functions_without_shapes()
# By default few examples, and always the same; in the full run many, and others every time.
# (A profile named "default" would be what the others begin with.)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=30, derandomize=True, database=None)
hypothesis.settings.register_profile("full", deadline=None, max_examples=300, print_blob=True)
hypothesis.settings.load_profile("quick" if is_quick() else "full")

pytest_plugins = [
    "browser",
    "drawn_reports",
    "durations",
    "fast_kernels",
    "few_reports",
    "filmed_runs",
    "mapped_programs",
    "rerun",
    "selection",
    "without_fsync",
]

DOCS = Path(__file__).parent / "docs"
OFTEN = ("q_learning.md", "value_iteration.md")
"""Pages of agents whose examples run by default: each of the others trains another agent in the same way."""
FULL_ONLY = (
    "bsuite.md",
    "datasets.md",
    "differentiable-simulation.md",
    "environments.md",
    "evolution.md",
    "films.md",
    "gradients.md",
    "host-environments.md",
    "locomotion.md",
    "out.md",
    "policies.md",
    "ppo-by-hand.md",
    "runs.md",
    "start.md",
    "wrappers.md",
)
"""Other pages whose examples take long and are tested elsewhere as well: they run in the full tests."""


gc.set_threshold(100_000, 50, 100)  # little of what is imported, collected and tested is garbage


def pytest_collection_finish():
    """What was imported and collected stays: no search for garbage need look at it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    """What the tests left is searched for garbage once, and not ten times, as pytest does before it ends."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Some pages are run in the full tests."""
    for item in items:
        folder, name = item.path.parent, item.path.name
        if (folder == DOCS and name in FULL_ONLY) or (folder == DOCS / "agents" and name not in OFTEN):
            item.add_marker(pytest.mark.full("pages"))
        if folder == DOCS and name == "host-environments.md":  # Gymnasium's pictures need pygame
            item.add_marker(pytest.mark.filterwarnings("ignore:there is no film"))


TESTS = itertools.count()


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    """An empty folder, as pytest's own, which looks at those of all tests before for a number that is free."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(TESTS)}", numbered=False)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    """Runs are written below the current folder by default: each test has one of its own."""
    monkeypatch.chdir(tmp_path)
    begin_test()
