"""Compiled programs are kept between processes, unless somebody says no."""

import os
import pathlib
import subprocess
import sys

import pytest
from fast_compile import fast_compile_flags

from kousoku.training.io import compile_cache

TRAIN = """
import kousoku as ks
ks.train("q_learning", "GridWorld-v0", steps=100, seeds=2, out="", eval_episodes=0)
"""
KEEP_ALL = """
import jax
from kousoku.training.io import compile_cache
compile_cache.enable()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
"""


FAST = {"XLA_FLAGS": fast_compile_flags()}


def train(cache: str, home: pathlib.Path, script: str = TRAIN) -> None:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(home),
        compile_cache.SWITCH: cache,
        "XLA_FLAGS": fast_compile_flags(),
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=300)


def test_it_is_on_by_default_and_below_the_users_cache_folder(tmp_path):
    train("", tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    ours = [tmp_path / "kousoku" / kind for kind in ("xla", "kernels")]
    assert all(any(path.is_relative_to(folder) for folder in ours) for path in files)


@pytest.mark.slow_because("two processes train")
def test_a_second_process_compiles_nothing(tmp_path):
    """Every program is kept, also those that compile so fast that whether they are kept would be a matter of luck."""
    train("", tmp_path, KEEP_ALL + TRAIN)
    kept = set(tmp_path.rglob("*-cache"))
    assert kept
    train("", tmp_path, KEEP_ALL + TRAIN)
    assert set(tmp_path.rglob("*-cache")) == kept


@pytest.mark.parametrize("switch", ["off", "0", "OFF"])
def test_the_switch(switch, monkeypatch):
    monkeypatch.setenv(compile_cache.SWITCH, switch)
    assert compile_cache.cache_folder() is None


def test_a_folder_of_ones_own(monkeypatch):
    monkeypatch.setenv(compile_cache.SWITCH, "mine")
    assert compile_cache.cache_folder() == pathlib.Path("mine")


def test_another_kind_of_machine_has_another_folder(monkeypatch):
    here = compile_cache._machine()
    monkeypatch.setattr(compile_cache.metadata, "version", lambda name: "0.0.0")
    assert compile_cache._machine() != here


@pytest.mark.full
def test_a_folder_that_cannot_be_made_is_a_warning_and_no_failure(tmp_path):
    (tmp_path / "file").write_text("")
    script = TRAIN.replace("import kousoku as ks", "import warnings, kousoku as ks\nwarnings.simplefilter('always')")
    environment = {
        **os.environ,
        compile_cache.SWITCH: str(tmp_path / "file" / "cache"),
        "XLA_FLAGS": fast_compile_flags(),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, timeout=300, capture_output=True, text=True
    )
    assert "no compilation cache" in done.stderr
