"""Environments in worker processes: each steps a share of them, and all step at the same time."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from ...core.errors import ConfigError, EnvError
from .group import Rows
from .worker import SECONDS_TO_END, receive, send


class Workers:
    """V environments in W processes: a `kousoku.core.host.HostVector`.

    A process is a Python of its own, which imports what the environment needs and neither JAX nor the main program.
    """

    def __init__(self, name: str, factory: Callable[[], Any], seeds: Sequence[int], workers: int) -> None:
        """Starts the processes, which make the environments.

        Args:
            name: of the environment, for messages.
            factory: makes one environment.
            seeds: one for each.
            workers: how many processes, at most one for each environment.

        Raises:
            ConfigError: if the factory cannot be sent to another process.
            EnvError: if an environment cannot be made there.
        """
        try:
            sent = cloudpickle.dumps(factory)
        except Exception as error:  # pickling runs code of what is pickled
            fix = f"its factory cannot be sent to another process ({error}); use workers=0"
            raise ConfigError("workers", workers, fix) from error
        self._name = name
        self._shares = np.array_split(np.arange(len(seeds)), min(workers, len(seeds)))
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            for _ in self._shares:
                self._processes.append(_started())
            self._ask_all("make", [(sent, [seeds[slot] for slot in share]) for share in self._shares])
        except BaseException:
            self.close()
            raise

    def reset(self, slots: Sequence[int] | None = None) -> Rows:
        if slots is None:
            return _joined(self._ask_all("reset", [(None,)] * len(self._shares)))
        asked = [[slot - int(share[0]) for slot in slots if share[0] <= slot <= share[-1]] for share in self._shares]
        who = [i for i, of_share in enumerate(asked) if of_share]
        return _joined(self._ask_all("reset", [(asked[i],) for i in who], who))

    def step(self, actions: Sequence[np.ndarray]) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        parts = [([leaf[share[0] : share[-1] + 1] for leaf in actions],) for share in self._shares]
        rows, *told = zip(*self._ask_all("step", parts), strict=True)
        reward, terminated, truncated = map(np.concatenate, told)
        return _joined(rows), reward, terminated, truncated

    def close(self) -> None:
        """Ends the processes, which close their environments: those that do not end in time, by force.

        So are all, at once, where somebody interrupts the waiting.
        """
        processes, self._processes = self._processes, []
        until = time.monotonic() + SECONDS_TO_END
        try:
            for process in processes:
                with contextlib.suppress(OSError):
                    process.stdin.close()  # pyright: ignore[reportOptionalMemberAccess]
            for process in processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, until - time.monotonic()))
        finally:
            for process in processes:
                process.kill()  # of one that has ended, nothing
                process.wait()
                process.stdout.close()  # pyright: ignore[reportOptionalMemberAccess]

    def _ask_all(self, name: str, arguments: Sequence[Any], who: Sequence[int] | None = None) -> list[Any]:
        """Asks processes, all by default, for the same at the same time; returns their answers in order."""
        asked = [self._processes[i] for i in (range(len(self._processes)) if who is None else who)]
        for process, given in zip(asked, arguments, strict=True):
            try:
                send(process.stdin, (name, given))  # pyright: ignore[reportArgumentType]
            except OSError as error:
                raise self._ended(process) from error
        answers, failed = [], None
        for process in asked:
            try:
                fine, answer = receive(process.stdout)  # pyright: ignore[reportArgumentType]
            except (EOFError, pickle.UnpicklingError) as error:
                raise self._ended(process) from error
            failed = failed or (None if fine else answer)
            answers.append(answer)
        if failed is not None:
            raise EnvError(f"environment {self._name} raised {failed}")
        return answers

    def _ended(self, process: subprocess.Popen[bytes]) -> EnvError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
        return EnvError(f"environment {self._name}: its worker process ended with the status {process.returncode}")


def _started() -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; from {_WORKER} import main; main()"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


_WORKER = f"{__package__}.worker"


def _joined(parts: Sequence[Rows]) -> Rows:
    """Returns the rows of all processes, leaf by leaf."""
    return [np.concatenate(leaves) for leaves in zip(*parts, strict=True)]
