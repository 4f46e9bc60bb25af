"""What every test and doctest runs under: two CPU devices, strict dtypes and ranks, nothing of the user's touched."""

import os
from pathlib import Path

from haste import hasty_flags
from typechecker import begin_test, spare_functions_without_shapes

os.environ["XLA_FLAGS"] = f"{hasty_flags()} {os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("KOUSOKU_COMPILATION_CACHE", str(Path(__file__).parent / ".pytest_cache" / "xla"))

import jax
import pytest

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
spare_functions_without_shapes()


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    """Runs are written below the current folder by default: each test has one of its own."""
    monkeypatch.chdir(tmp_path)
    begin_test()
