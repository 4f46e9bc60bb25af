"""Compiled programs are kept between processes, unless somebody says no."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

import jax
import pytest
from fast_compile import fast_compile_flags

import kousoku as ks
from kousoku.cli import main
from kousoku.compiler import backends
from kousoku.core import cache_folder
from kousoku.core.cache_folder import SWITCH
from kousoku.training.config import TrainConfig
from kousoku.training.io import compile_cache
from kousoku.training.loop import program
from kousoku.training.loop.program import CompiledLoop
from kousoku.training.make_population import make_population
from kousoku.training.metrics.metric_sums import Recording
from kousoku.training.point_envs import point_envs

TRAIN = """
import kousoku as ks
ks.train("q_learning", "GridWorld-v0", steps=100, seeds=2, out="", eval_episodes=0)
"""
KEEP_ALL = """
import jax
from kousoku.cli import main
from kousoku.core.cache_folder import SWITCH
from kousoku.training.io import compile_cache
compile_cache.enable()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
"""


FAST = {"XLA_FLAGS": fast_compile_flags()}


def train(cache: str, home: pathlib.Path, script: str = TRAIN) -> None:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(home),
        SWITCH: cache,
        "XLA_FLAGS": fast_compile_flags(),
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=300)


@pytest.mark.full("processes")
def test_it_is_on_by_default_and_below_the_users_cache_folder(tmp_path):
    train("", tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    ours = [tmp_path / "kousoku" / kind for kind in ("xla", "kernels", "traces")]
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
    monkeypatch.setenv(SWITCH, switch)
    assert compile_cache.cache_folder() is None


def test_a_folder_of_ones_own(monkeypatch):
    monkeypatch.setenv(SWITCH, "mine")
    assert compile_cache.cache_folder() == pathlib.Path("mine")


def test_another_kind_of_machine_has_another_folder(monkeypatch):
    here = compile_cache._machine()
    monkeypatch.setattr(compile_cache.metadata, "version", lambda name: "0.0.0")
    assert compile_cache._machine() != here


HOMELESS = """
import os, warnings
for name in ("HOME", "XDG_CACHE_HOME", "USERPROFILE"):
    os.environ.pop(name, None)
os.getuid = lambda: 54321  # a user number without a passwd entry, as a container may run with any
warnings.simplefilter("always")
"""


def without_a_home(cache: str) -> list[str]:
    """The warnings of a training by a user without a home; the cache is in the empty folder where it runs."""
    environment = {**os.environ, SWITCH: cache, "XLA_FLAGS": fast_compile_flags()}
    command = [sys.executable, "-c", HOMELESS + TRAIN]
    done = subprocess.run(command, env=environment, check=False, timeout=300, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "Warning" in line]


@pytest.mark.full("processes")
@pytest.mark.parametrize(
    ("cache", "told"),
    [
        ("", "there is no home folder"),
        ("~/cache", "there is no home folder"),
        ("file/cache", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("off", ""),
        ("cache", ""),
    ],
    ids=["no home", "no home of theirs", "no folder", "no name", "off", "a folder"],
)
def test_any_folder_or_none_will_do_and_is_at_most_one_warning(cache, told):
    pathlib.Path("file").write_text("")
    warned = without_a_home(cache)
    assert len(warned) == bool(told), warned
    assert all("compiled programs are not kept" in line and told in line for line in warned)
    assert sorted(os.listdir()) == (["cache", "file"] if cache == "cache" else ["file"])


@pytest.mark.parametrize("cache", ["", "~/cache"])
def test_without_a_home_nothing_is_kept(cache, monkeypatch, capsys):
    for name in ("HOME", "XDG_CACHE_HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54321, raising=False)
    monkeypatch.setenv(SWITCH, cache)
    assert compile_cache.cache_folder() is None
    assert compile_cache.kept_files() == {}
    assert main(["cache"]) == 0
    assert "there is no home folder" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["HOME", "XDG_CACHE_HOME", SWITCH])
def test_in_a_folder_whose_name_is_no_utf8_nothing_is_kept(name, monkeypatch):
    """JAX's options of a compilation hold text, and so does LLVM's cache: `train` ended in the midst of a run."""
    for each in ("XDG_CACHE_HOME", SWITCH):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, os.fsdecode(b"/tmp/l\xe4"))
    monkeypatch.setattr(cache_folder, "_told_unwritten", threading.Event())
    with pytest.warns(UserWarning, match="compiled programs are not kept: the folder's name is no UTF-8; set KOU"):
        assert compile_cache.cache_folder() is None
    assert compile_cache.kept_files() == {}


@pytest.mark.parametrize("address", ["gs://bucket/cache", "s3://b", "https://host/x", "file:///tmp/x"])
def test_on_another_machine_nothing_is_kept(address, tmp_path, monkeypatch):
    """It would be a folder of that name below the current one."""
    monkeypatch.setenv(SWITCH, address)
    monkeypatch.setattr(cache_folder, "_told_unwritten", threading.Event())
    with pytest.warns(UserWarning, match="are not kept: that is no folder of this machine; set KOUSOKU_COMPILATION"):
        assert compile_cache.cache_folder() is None
    assert compile_cache.kept_files() == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full("covered")
@pytest.mark.parametrize("seeds", [1, 2])
def test_programs_for_several_devices_hold_no_address_of_their_process(seeds):
    """XLA's partitioner is told of our kernels by addresses: a program that needs it is compiled anew each time."""
    agent = ks.make_agent("ppo", num_envs=4, num_steps=128, minibatches=1)
    config = TrainConfig(steps=1000, seeds=seeds)
    population = make_population(agent, point_envs(ks.make("CartPole-v1"), {}, config), config)
    loop = CompiledLoop(population, Recording(), 2, 1000)
    assert loop.devices == 2
    starting = program._starting(backends.current().name).lower(loop.program, loop.members, loop._sums, None)
    for lowered in (starting, loop.lower(loop.start())):
        text = lowered.as_text()
        assert "kousoku" in text, "a kernel is called"
        assert "CustomSPMDPartitioning" not in text


def test_on_a_disk_that_is_nearly_full_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv(SWITCH, str(tmp_path))
    monkeypatch.setattr(cache_folder, "_told_unwritten", threading.Event())
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=2**20))
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    try:
        with pytest.warns(UserWarning, match="are not kept: .*No space left on device"):
            assert compile_cache.enable() is None
        assert jax.config.jax_compilation_cache_dir is None
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
