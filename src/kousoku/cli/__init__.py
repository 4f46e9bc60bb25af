"""The shell: `kousoku COMMAND ...`.

Exit status: 0 done; 1 something broke; 2 a mistake in what was typed (one line says which); 130 stopped by Ctrl-C and
143 by SIGTERM, with everything so far saved.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from .. import __version__
from ..core.errors import ConfigError, EnvError, nearest
from ..core.synonyms import COMMANDS_ELSEWHERE
from ..training.guards.interrupt import SIGNALS, left_to_caller
from .one_line import on_one_line
from .platforms import platforms_checked
from .wrapped import fill

IMPORT = "--import"
COMMANDS = {
    "train": "train agents on an environment and write a report",
    "sweep": "train every combination of hyper-parameters in one program",
    "resume": "go on with a run that was stopped or killed, or make one longer",
    "evaluate": "play greedy episodes with the agents of a run",
    "compare": "show runs beside each other, as a table and as a page",
    "export": "write an agent's policy as a file of NumPy code or as ONNX",
    "view": "open a run's report, or a film of episodes, in the browser",
    "bench": "measure the speed on this machine",
    "list": "show agents and environments, and which fit together",
    "cache": "show or clear the compiled programs that are kept",
    "completion": "print a script that completes what is typed in bash, zsh or fish",
    "doctor": "show versions, devices, caches and known problems",
}
LEARNING = ("train", "sweep", "resume")
"""Commands that use all cores."""

# A module named like a builtin would hide it here once it is imported.
MODULES = {"list": "catalogue"}

TRY = "kousoku train q_learning GridWorld-v0 --steps 100_000 --seeds 30"
HELP = (
    "`kousoku COMMAND --help` shows the options of a command; each takes --import FILE, which registers what is your "
    "own. Try:"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    words, named = _split(list(sys.argv[1:] if argv is None else argv))
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if not words or words[0] in ("-h", "--help"):
        print(_usage())
        return 0 if words else 2
    if words[0] in ("-V", "--version", "version"):
        print(f"kousoku {__version__}")
        return 0
    try:
        if words[0] not in COMMANDS:
            raise ConfigError("command", words[0], _meant(words[0]))
        with left_to_caller(), platforms_checked(), on_one_line():
            command = importlib.import_module(f".{MODULES.get(words[0], words[0])}", __name__)
            status = command.run([*words[1:], *_imported(named, words[0] in LEARNING)])
            if sys.stdout is not None and not sys.stdout.closed:
                sys.stdout.flush()  # here, where a pipe that was closed is known to be no fault
            return status
    except ConfigError as error:
        print(f"kousoku: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kousoku: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _write_no_more()
        return 0
    except EnvError as error:
        from .notices import ended_by  # imported here: most commands run nothing

        imports = [word for name in named for word in (IMPORT, name)]
        print(f"kousoku: {ended_by(error, imports)}", file=sys.stderr)
        return 1
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        print(f"kousoku: {told}", file=sys.stderr)
        return 1


def _usage() -> str:
    """Returns what the program can do."""
    commands = "\n".join(fill(what, f"  {name:<12}") for name, what in COMMANDS.items())
    what = fill("Reinforcement learning compiled end to end in JAX.")
    return f"usage: kousoku COMMAND ...\n\n{what}\n\ncommands:\n{commands}\n\n{fill(HELP)}\n  {TRY}"


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Returns the words without `--import` and what it names, which may stand anywhere, and the latter.

    Nor are there `--` among them, which mean nothing here: what begins with dashes is always an option.
    """
    others, named, waiting = [], [], iter(words)
    for word in waiting:
        if word == IMPORT:
            named.append(next(waiting, ""))
        elif word.startswith(f"{IMPORT}="):
            named.append(word.partition("=")[2])
        elif word != "--":
            others.append(word)
    return others, named


def _imported(named: list[str], learns: bool) -> list[str]:
    """Imports a person's own files and modules; returns the words that name them, for the record of the run.

    Where it learns, a file that makes an array, and so starts JAX, starts it with all cores.
    """
    if not named:
        return []
    from ..training.devices import all_cores_if_started  # imported here: most commands have none
    from .own_code import import_all

    with all_cores_if_started() if learns else contextlib.nullcontext():
        files = import_all(named)
    return [word for name in files for word in (IMPORT, name)]


def _write_no_more() -> None:
    """Lets what is still to be printed go nowhere, so that the end of the process does not fail at it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if sys.stderr is not None:
        sys.stderr.close()


def _meant(word: str) -> str:
    """Returns the command that an unknown one may have meant."""
    if word in COMMANDS_ELSEWHERE:
        return COMMANDS_ELSEWHERE[word]
    close = nearest(word, COMMANDS, 1)
    return f"did you mean {close[0]!r}?" if close else "see kousoku --help"


def entry() -> None:
    """Runs the command of the installed script, and exits with its status.

    Until a training begins, and when it has saved everything, a signal ends the process at once: an exception in the
    midst of an import or of a callback is lost there, or becomes another one. What a terminal's encoding has no letter
    for (a folder's name, say) is shown as its number.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop_at_once)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


def _stop_at_once(number: int, frame: FrameType | None) -> None:
    del frame
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os.write(2, b"kousoku: stopped\n")
    os._exit(128 + number)
