"""Compiled kernels are kept on disk: by content, by several processes at once, whatever happens to one of them."""

import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

import pytest
from fast_compile import fast_compile_flags

from kousoku.cli import main
from kousoku.compiler.llvm import object_cache
from kousoku.compiler.llvm.object_cache import SUFFIX, UNFINISHED, ObjectCache
from kousoku.core import cache_folder
from kousoku.core.cache_folder import SWITCH

KERNEL = """
import sys, numpy as np, jax, jax.numpy as jnp, kousoku as ks
from kousoku.compiler.llvm import build
def function(x):
    for i in range(60):
        x = jnp.sin(x) * jnp.float32(1.5) + jnp.where(x > i, x, -x)
    return x
made = []
original = build.object_code
build.object_code = lambda *args: made.append(1) or original(*args)
x = np.linspace(-3, 3, 16, dtype=np.float32)
y = np.asarray(jax.jit(jax.vmap(ks.kernel(function)))(x))
print(len(made), y.tobytes().hex())
"""


def start(folder: pathlib.Path, **options) -> subprocess.Popen:
    environment = {**os.environ, SWITCH: str(folder), "XLA_FLAGS": fast_compile_flags()}
    return subprocess.Popen(
        [sys.executable, "-c", KERNEL], env=environment, stdout=subprocess.PIPE, text=True, **options
    )


def answer(process: subprocess.Popen) -> tuple[int, str]:
    """How many programs LLVM compiled, and the result's bits."""
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    made, bits = printed.split()
    return int(made), bits


def entries(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted((folder / "kernels").glob(f"*{SUFFIX}"))


@pytest.mark.full("processes")
def test_a_second_process_compiles_nothing_and_a_damaged_entry_is_made_anew(tmp_path):
    made, bits = answer(start(tmp_path))
    assert made >= 2, "the handler and the kernel"
    assert entries(tmp_path)
    assert answer(start(tmp_path)) == (0, bits)
    for i, entry in enumerate(entries(tmp_path)):
        data = bytearray(entry.read_bytes())
        if i % 2:
            data[len(data) // 2] ^= 255
        entry.write_bytes(data if i % 2 else data[: len(data) // 2])
    made, again = answer(start(tmp_path))
    assert made == len(entries(tmp_path))
    assert again == bits
    assert answer(start(tmp_path)) == (0, bits)


@pytest.mark.full("processes")
def test_processes_at_once_and_killed_ones_leave_whole_entries(tmp_path):
    """Some are killed at any moment of their writing; those beside them and after them get the right code."""
    processes = [start(tmp_path) for _ in range(3)]
    victim = start(tmp_path)
    deadline = time.monotonic() + 60
    while not any((tmp_path / "kernels").glob("*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    answers = [answer(process) for process in processes]
    assert len({bits for _, bits in answers}) == 1
    assert answer(start(tmp_path)) == (0, answers[0][1])


def test_a_write_that_was_cut_short_is_no_entry_and_goes_later(tmp_path, monkeypatch):
    cache = ObjectCache(tmp_path)

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(object_cache.os, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            cache.put("a", b"code")
    assert cache.get("a") is None
    (left,) = tmp_path.glob(f"*{UNFINISHED}")
    cache.put("b", b"code")
    assert left.exists(), "it may be another process's, still at work"
    os.utime(left, (0, 0))
    cache.put("c", b"code")
    assert not left.exists()


def test_the_folder_is_bounded_and_the_least_recently_used_goes_first(tmp_path):
    cache = ObjectCache(tmp_path, limit=4 * (1000 + object_cache.CHECKSUM))
    for i in range(4):
        cache.put(str(i), bytes([i]) * 1000)
        os.utime(tmp_path / f"{i}{SUFFIX}", (i, i))
    assert cache.get("0") == bytes(1000)
    cache.put("4", bytes([4]) * 1000)
    assert [cache.get(str(i)) is not None for i in range(5)] == [True, False, True, True, True]


def test_the_folder_is_bounded_though_it_is_not_looked_at_after_every_entry(tmp_path, monkeypatch):
    cache = ObjectCache(tmp_path, limit=100 * (1000 + object_cache.CHECKSUM))
    trimmed = []
    trim = ObjectCache.trim
    monkeypatch.setattr(ObjectCache, "trim", lambda self: trimmed.append(1) or trim(self))
    kept = []
    for i in range(400):
        cache.put(str(i), i.to_bytes(2) * 500)
        kept.append(len(os.listdir(tmp_path)))
    assert 100 < max(kept) < 125
    assert kept[-1] >= 100
    assert 90 < len(trimmed) < 170, "400 entries of a hundredth of the limit each, 32 turns for each limit"


def test_what_compiles_at_once_is_not_kept(tmp_path):
    cache = ObjectCache(tmp_path, worth=1000.0)
    assert cache.get_or_make("a", lambda: b"code") == b"code"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_one_warning_and_no_failure(tmp_path):
    (tmp_path / "file").write_text("")
    caches = [ObjectCache(tmp_path / "file" / kind, worth=0.0) for kind in ("kernels", "traces", "x" * 300)]
    cache_folder._told_unwritten.clear()
    with pytest.warns(UserWarning, match=f"programs are not kept: .*{SWITCH}") as told:
        made = [cache.get_or_make("a", lambda: b"code") for cache in caches]
    assert made == [b"code"] * 3
    assert len(told) == 1
    assert not any(cache.has("a") for cache in caches)


@pytest.fixture
def untold():
    """As if nobody had been warned yet."""
    cache_folder._told_unread.clear()


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize(("name", "mode"), [("", 0o777), ("", 0o775), ("", 0o1777), ("a.o", 0o666), ("a.o", 0o620)])
def test_what_others_may_write_is_not_read(name, mode, tmp_path, untold):
    cache = ObjectCache(tmp_path / "traces", worth=0.0)
    cache.put("a", b"code")
    assert cache.get("a") == b"code"
    (cache.folder / name).chmod(mode)
    with pytest.warns(UserWarning, match=f"traces are not read: others may write there; .*{SWITCH}") as told:
        read = [cache.get("a"), cache.get_or_make("a", lambda: b"made anew")]
    assert read == [None, b"made anew"]
    assert len(told) == 1
    assert cache.get("b") is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize(
    ("owner", "mode", "trusted"),
    [(1000, 0o700, True), (0, 0o755, True), (1001, 0o700, False), (1000, 0o720, False), (0, 0o702, False)],
)
def test_it_is_the_users_or_roots_and_nobody_elses(owner, mode, trusted, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cache_folder.is_trusted(os.stat_result((stat.S_IFDIR | mode, 1, 1, 1, owner, 1000, 0, 0, 0, 0))) == trusted


def test_where_files_have_no_owners_all_is_read(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "geteuid", raising=False)
    cache = ObjectCache(tmp_path / "traces")
    cache.put("a", b"code")
    (cache.folder / "a.o").chmod(0o666)
    assert cache.get("a") == b"code"


def test_off(monkeypatch):
    monkeypatch.setenv(SWITCH, "off")
    assert object_cache.object_cache() is None


def test_other_source_is_another_version(monkeypatch, tmp_path):
    here = object_cache.source_version("kousoku.compiler")
    (tmp_path / "rule.py").write_text("pass")
    monkeypatch.setattr(object_cache.resources, "files", lambda _: tmp_path)
    assert object_cache.source_version.__wrapped__("kousoku.compiler") != here


@pytest.mark.parametrize("everything", [["all"], []], ids=["all", "without_a_word"])
@pytest.mark.parametrize("own", [True, False])
def test_the_command_shows_and_clears_ours_and_nothing_else(own, everything, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(SWITCH, str(tmp_path) if own else "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    root = tmp_path if own else tmp_path / "kousoku"
    programs = root if own else root / "xla" / "machine"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "jit_f-1-cache").write_text("program")
    (programs / "thesis.tex").write_text("precious")
    ObjectCache(root / "kernels").put("a", b"code")
    ObjectCache(root / "traces").put("a", b"record")
    assert main(["cache"]) == 0
    shown = {line.split()[0] for line in capsys.readouterr().out.splitlines() if " 1 files" in line}
    assert shown == {"xla", "kernels", "traces"}
    assert main(["cache", "--clear", "kernels"]) == 0
    assert not entries(root)
    assert (programs / "jit_f-1-cache").exists()
    assert main(["cache", "--clear", *everything]) == 0
    assert [file.name for file in programs.iterdir() if file.is_file()] == ["thesis.tex"]


def test_the_command_where_nothing_is_kept(monkeypatch, capsys):
    monkeypatch.setenv(SWITCH, "off")
    assert main(["cache"]) == 0
    assert "nothing is kept" in capsys.readouterr().out
