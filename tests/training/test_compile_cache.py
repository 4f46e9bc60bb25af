"""Compiled programs are kept between processes, unless somebody says no."""

import dataclasses
import errno
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings

import jax
import pytest
from fast_compile import fast_compile_flags
from forked import forked
from fresh_process import without_types_checked

import kousoku as ks
from kousoku.cli import main
from kousoku.cli.one_line import on_one_line
from kousoku.compiler import backends
from kousoku.compiler.llvm import target
from kousoku.core import cache_folder
from kousoku.core.cache_folder import SWITCH
from kousoku.core.errors import RunWarning
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


def train(cache: str, home: pathlib.Path, script: str = TRAIN, *, new: bool = False) -> None:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(home),
        SWITCH: cache,
        "XLA_FLAGS": fast_compile_flags(),
    }
    done = forked(script, environment=environment, new=new)
    assert done.returncode == 0, done.stderr


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
    train("", tmp_path, KEEP_ALL + TRAIN, new=True)
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


def test_where_linux_does_not_tell_the_processor_llvm_does(monkeypatch):
    monkeypatch.setattr(compile_cache, "Path", lambda name: pathlib.Path("no such folder", name.lstrip("/")))
    this = target.host()
    monkeypatch.setattr(target, "host", lambda: this)
    here = compile_cache._machine()
    monkeypatch.setattr(target, "host", lambda: dataclasses.replace(this, cpu="apple-m1"))
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


@pytest.fixture
def unset(tmp_path, monkeypatch):
    """A folder of programs that JAX has not been told of, and of which nobody has been warned."""
    folder = tmp_path / "programs"
    folder.mkdir(mode=0o755)
    monkeypatch.setenv(SWITCH, str(folder))
    for told in ("_told_unwritten", "_told_unread"):
        monkeypatch.setattr(cache_folder, told, threading.Event())
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    yield folder
    for name, value in before.items():
        jax.config.update(name, value)


def written(folder: pathlib.Path, name: str = "jit_f-1-cache", mode: int = 0o644) -> None:
    (folder / name).write_text("program")
    (folder / name).chmod(mode)


def refuse(monkeypatch, number: int) -> None:
    """Lets nothing be written."""

    def no(dir):
        raise OSError(number, os.strerror(number), str(dir))

    monkeypatch.setattr(tempfile, "TemporaryFile", no)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_where_nothing_can_be_written_programs_are_read(number, unset, monkeypatch):
    written(unset)
    refuse(monkeypatch, number)
    said = f"compiled programs in {re.escape(str(unset))} are read, but new ones not kept: .*; set {SWITCH} to a folder"
    with pytest.warns(RunWarning, match=said) as told:
        assert compile_cache.enable() == compile_cache.enable() == unset
    assert len(told) == 1
    assert jax.config.jax_compilation_cache_dir == str(unset)
    assert jax.config.jax_persistent_cache_min_compile_time_secs == math.inf, "JAX does not try to write"


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize(
    ("folder_mode", "mode", "number", "platform"),
    [
        (0o777, 0o644, errno.EACCES, "cpu"),
        (0o755, 0o666, errno.EACCES, "cpu"),
        (0o755, None, errno.EACCES, "cpu"),
        (0o755, 0o644, errno.ENOSPC, "cpu"),
        (0o755, 0o644, errno.EACCES, "gpu"),
    ],
    ids=["others may write it", "others may write a program", "no program", "no space", "XLA writes there itself"],
)
def test_elsewhere_none_is_read(folder_mode, mode, number, platform, unset, monkeypatch):
    if mode is not None:
        written(unset, mode=mode)
        written(unset, "jit_g-1-cache")
    unset.chmod(folder_mode)
    refuse(monkeypatch, number)
    monkeypatch.setattr(jax, "default_backend", lambda: platform)
    with pytest.warns(RunWarning, match="compiled programs are not kept: "):
        assert compile_cache.enable() is None
    assert jax.config.jax_compilation_cache_dir is None


WARNED = """
import functools, json, os, pathlib, warnings
import jax
import kousoku as ks
from kousoku.compiler.llvm.object_cache import ObjectCache
from kousoku.core import cache_folder
put = functools.partial(ObjectCache(pathlib.Path(os.devnull, "kernels")).put, "a", b"code")
def train():
    jax.config.update("jax_compilation_cache_dir", None)
    try:
        ks.train("q_learning", "GridWorld-v0", steps=10**6, record=["q_values"], record_every=1, seeds=10**3)
    except ks.ConfigError as error:
        assert "the tables need" in str(error)
before, told = os.environ.get(cache_folder.SWITCH, ""), []
os.environ[cache_folder.SWITCH] = os.path.join(os.devnull, "cache")
for call in (train, put, functools.partial(jax.eval_shape, put)):
    cache_folder._told_unwritten.clear()
    with warnings.catch_warnings(record=True, action="always") as caught:
        call()
    told += [[each.category.__name__, each.filename, each.lineno] for each in caught]
os.environ[cache_folder.SWITCH] = before
print(json.dumps(told))
"""


def test_the_warning_has_the_users_line_whoever_is_between_it_and_us():
    lines = WARNED.splitlines()
    train, call = (
        next(i for i, line in enumerate(lines, 1) if line.strip().startswith(word)) for word in ("ks.train(", "call()")
    )
    assert without_types_checked(WARNED) == [["RunWarning", "<string>", line] for line in (train, call, call)]


def test_in_the_shell_the_warning_is_one_line(unset, monkeypatch, capsys):
    refuse(monkeypatch, errno.EACCES)
    with warnings.catch_warnings(action="always"), on_one_line():
        compile_cache.enable()
    told = capsys.readouterr().err
    assert told.startswith("kousoku: compiled programs are not kept: [Errno 13] ")
    assert told.count("\n") == 1


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
