"""JAX's persistent compilation cache, on by default: the second start of the same program compiles nothing."""

from __future__ import annotations

import errno
import hashlib
import math
import os
import platform
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

from ...compiler import backends
from ...compiler.llvm import target
from ...compiler.llvm.object_cache import ObjectCache
from ...core.cache_folder import cache_root, chosen_folder, is_off, is_trusted, warn_nothing_is_kept, warn_only_read

FEWEST_FREE = 2**25
"""Bytes of a disk below which no program is kept: JAX would leave parts of programs, and warn of them ever after."""
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What is said of a folder in which one may not write."""
PROGRAM = "-cache"
"""What JAX's names of programs end with."""


def cache_folder() -> Path | None:
    """Returns the folder where compiled programs are kept, or None if the switch is off or the user has no home.

    `KOUSOKU_COMPILATION_CACHE` may be "off" (or "0"), or a folder. The default is below the user's cache folder, one
    folder for each kind of machine and version of jaxlib, since code compiled for one CPU may not run on another.
    """
    root = cache_root()
    return None if root is None else chosen_folder() or root / "xla" / _machine()


def enable() -> Path | None:
    """Switches the cache on, unless the user has set one of their own or switched it off; returns the folder.

    Where nothing can be written there is one warning, and no cache: but what the user or root once put there, and
    nobody else may write, is read.
    """
    import jax

    chosen = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if chosen:
        return Path(chosen)
    if is_off():
        return None
    folder = cache_folder()
    if folder is None:
        warn_nothing_is_kept("there is no home folder")
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # JAX would warn of each program that it cannot write
            pass
        if shutil.disk_usage(folder).free < FEWEST_FREE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    except OSError as error:
        readable = error.errno in REFUSED and _is_readable(folder)
        if not readable or backends.current().backend is None:  # there XLA writes, too: what it measures of a GPU
            warn_nothing_is_kept(str(error))
            return None
        warn_only_read(folder, str(error))
        _keep(folder, math.inf)
        jax.config.update("jax_compilation_cache_max_size", -1)  # it is not written to, and needs no lock
        return folder
    _keep(folder, 0.2)
    return folder


def _keep(folder: Path, worth: float) -> None:
    """Makes JAX read programs from a folder, and keep there those that took so many seconds to compile."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", worth)


def _is_readable(folder: Path) -> bool:
    """Returns whether programs can be read from a folder, and each is the user's or root's alone, as it is run."""
    try:
        programs = [folder, *(folder / name for name in os.listdir(folder) if name.endswith(PROGRAM))]
        return len(programs) > 1 and all(is_trusted(each.stat()) and os.access(each, os.R_OK) for each in programs)
    except OSError:
        return False


def kept_files() -> dict[str, tuple[Path, list[Path]]]:
    """Returns, by kind, a folder and the files in it that are ours; it may hold other things of the user's."""
    root = cache_root()
    if root is None:
        return {}
    xla = chosen_folder() or root / "xla"
    depth = "" if chosen_folder() else "*/"
    programs = [file for pattern in (f"*{PROGRAM}", "*-atime") for file in xla.glob(depth + pattern)]
    ours = {kind: ObjectCache(root / kind) for kind in ("kernels", "traces")}
    return {"xla": (xla, programs), **{kind: (cache.folder, cache.files()) for kind, cache in ours.items()}}


def _machine() -> str:
    """Returns a short name of this kind of machine: processor features and versions."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:  # not Linux; a Mac's name of its processor, "arm", is that of all of them
        processor = target.host()
        features = f"{processor.cpu} {processor.features}"
    text = "|".join((platform.machine(), features, metadata.version("jaxlib")))
    return f"{platform.machine()}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
