"""One run in one folder at a time: a lock that names its owner, so that one left behind by a dead process is seen.

A process is known by its number, the moment it started, and the boot of the machine: a number alone may belong to
somebody else by now.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError

LOCK = "lock.json"
PROC = Path("/proc")


@dataclass(frozen=True)
class Owner:
    """A process, told apart from every other one.

    Attributes:
        pid: its number.
        started: clock ticks from the machine's boot to its start; None where the system does not say.
        boot: the identity of that boot; "" where the system does not say.
        space: the space that process numbers count in (containers have their own); "" where there is one only.
        host: the machine's name.
    """

    pid: int
    started: int | None
    boot: str
    space: str
    host: str

    @staticmethod
    def me() -> Owner:
        """This process."""
        return Owner(os.getpid(), start_time(os.getpid()), _boot(), _space(), platform.node())


def holds_still(owner: Owner, me: Owner) -> bool | None:
    """Whether the owner of a lock is alive; None if that cannot be seen from here."""
    if owner.boot != me.boot:
        return False if owner.host == me.host else None
    if owner.space != me.space or (not me.boot and owner.host != me.host):
        return None
    if owner.started is None or me.started is None:
        return _exists(owner.pid)
    return start_time(owner.pid) == owner.started


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock.

    Raises:
        ConfigError: if another run holds it, naming its process.
    """
    me = Owner.me()
    _take(folder, me)
    try:
        yield
    finally:
        _release(folder, me)


def _take(folder: Path, me: Owner) -> None:
    path = folder / LOCK
    with _alone(folder):
        owner = _read(path)
        alive = False if owner is None else holds_still(owner, me)
        if owner is not None and alive is None:
            fix = f"whether process {owner.pid} lives cannot be seen from here; if it does not, delete {path}"
            raise ConfigError("run folder", str(folder), f"a run on {owner.host or 'another machine'} holds it: {fix}")
        if owner is not None and alive:
            raise ConfigError(
                "run folder", str(folder), f"process {owner.pid} is at work in it; wait for it, or stop it"
            )
        _write(path, me)


def _release(folder: Path, me: Owner) -> None:
    """Remove the lock, if it is still ours and still there."""
    with contextlib.suppress(OSError), _alone(folder):
        if _read(folder / LOCK) == me:
            (folder / LOCK).unlink()


def _write(path: Path, owner: Owner) -> None:
    part = path.with_name(f"{path.name}.{owner.pid}")
    try:
        part.write_text(json.dumps(dataclasses.asdict(owner)) + "\n")
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _read(path: Path) -> Owner | None:
    """Who holds the lock; None if nobody does, or a damaged file says nothing. A lock is there whole or not at all."""
    try:
        told: dict[str, Any] = json.loads(path.read_text())
        owner = Owner(**told)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    kinds = isinstance(owner.pid, int) and (owner.started is None or isinstance(owner.started, int))
    return owner if kinds and all(isinstance(t, str) for t in (owner.boot, owner.space, owner.host)) else None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one process at a time looks at the lock and changes it, where the system can lock a folder."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def start_time(pid: int) -> int | None:
    """Clock ticks from boot to the start of a process; None if there is none, or the system does not say."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _space() -> str:
    try:
        return os.readlink(PROC / "self/ns/pid")
    except OSError:
        return ""


def _exists(pid: int) -> bool | None:
    """Whether there is a process of that number; None on Windows, where asking would do harm."""
    if os.name == "nt":
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
