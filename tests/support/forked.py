"""Code in a process of its own that need not import JAX: it is forked from one that has, and has begun no backend.

To import JAX and the library takes more than a second, longer than most scripts do afterwards. What looks at imports,
or at what JAX reads while it is imported (`JAX_PLATFORMS`, `JAX_ENABLE_X64`), takes a new process: `fresh_process`. So
does what must be the same in every process: those that are forked share their hash seed and their addresses.
"""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fresh_process import end

SECONDS = 300
"""How long a script may take."""
KEPT = "KOUSOKU_COMPILATION_CACHE"
PARENT = """
import json, os, signal, sys, types, warnings
import kousoku.api, kousoku.cli, kousoku.training.loop.train

for line in sys.stdin:
    asked = json.loads(line)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is a thread, which is NumPy's and sleeps
        child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
signal.alarm(asked["seconds"])
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number, name in enumerate(("out", "err"), 1):
    os.dup2(os.open(asked[name], os.O_WRONLY | os.O_CREAT), number)
os.chdir(asked["folder"])
os.environ.clear()
os.environ.update(asked["environment"])
sys.argv[1:] = asked["words"]
if asked["strict"]:
    warnings.simplefilter("error")
main = sys.modules["__main__"] = types.ModuleType("__main__")
exec(asked["script"], main.__dict__)
"""


@functools.cache
def _parent() -> subprocess.Popen[str]:
    """Returns the process that stays and imports what its children need."""
    command = [sys.executable, "-c", PARENT]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=plain)
    atexit.register(end, parent)
    return parent


def forked(
    script: str,
    *words: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    strict: bool = False,
    new: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs a script as `python -c` does, in a forked process, or in a new one where none can be.

    Args:
        script, words, environment, folder: what is run, with what, and where. What is compiled is kept where that of
            the tests is, if the environment says nothing of it: there may be no home.
        strict: whether warnings are errors.
        new: whether it has to be a new one, with another hash seed.
    """
    command = [sys.executable, *(["-W", "error"] if strict else []), "-c", script, *words]
    environment = dict(os.environ if environment is None else environment)
    if KEPT in os.environ:
        environment.setdefault(KEPT, os.environ[KEPT])
    if new:
        environment["PYTHONHASHSEED"] = "1"
    if new or sys.platform != "linux":
        return subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    with tempfile.TemporaryDirectory() as place:
        told = {name: Path(place, name) for name in ("out", "err")}
        asked = {
            "script": script, "words": words, "environment": environment, "folder": str(folder or Path.cwd()),
            "seconds": SECONDS, "strict": strict, **{name: str(path) for name, path in told.items()},
        }  # fmt: skip
        parent = _parent()
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(json.dumps(asked) + "\n")
        parent.stdin.flush()
        answer = parent.stdout.readline()
        assert answer, "the process that forks has ended"
        out, err = (path.read_text(encoding="utf-8") for path in told.values())
    return subprocess.CompletedProcess(command, int(answer), out, err)


def in_a_forked_process(script: str, environment: Mapping[str, str] | None = None, *, new: bool = False) -> Any:
    """What a script prints as JSON."""
    done = forked(script, environment=environment, strict=True, new=new)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
