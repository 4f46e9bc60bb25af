"""The shell and its streams: closed ones, a pipe that closes, an encoding that has not every letter."""

import os
import subprocess
import sys

import pytest

KOUSOKU = f"'{sys.executable}' -m kousoku"
TRAIN = f"{KOUSOKU} train q_learning GridWorld-v0 --steps 100 --eval-episodes 0 --progress --out "

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of a Unix shell")


def in_a_shell(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.full("processes")
@pytest.mark.parametrize("closed", ["0<&- 1>&- 2>&-", "1>&-", "2>&-"], ids=["all", "output", "error"])
def test_streams_may_be_closed(closed):
    done = in_a_shell(f"{TRAIN} '' {closed}")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert ("finished: 1 agent x 100 steps" in done.stdout) == ("1>&-" not in closed)


@pytest.mark.by_default("list")
@pytest.mark.parametrize("command", [f"{KOUSOKU} list", f"{TRAIN} ''"], ids=["list", "train"])
def test_a_pipe_may_close(command):
    done = in_a_shell(f"{{ {command} 2>&1; echo status $? >&2; }} | true")
    assert done.stderr == "status 0\n"


@pytest.mark.full("processes")
def test_letters_that_the_encoding_lacks_are_shown_as_numbers():
    done = in_a_shell(f"{KOUSOKU} evaluate läuf || {KOUSOKU} --version", PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert (done.returncode, done.stdout[:8]) == (0, "kousoku ")
    assert done.stderr.startswith("kousoku: ")
    assert "l\\xe4uf" in done.stderr


@pytest.mark.full("processes")
def test_a_folder_that_the_encoding_cannot_name():
    done = in_a_shell(f"{TRAIN} läuf", PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.returncode == 0, done.stderr
    assert "report: l\\xe4uf/report.html" in done.stdout


@pytest.mark.full("processes")
def test_a_locale_without_letters_beyond_ascii():
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = in_a_shell(f"{TRAIN} run && {KOUSOKU} view run --no-open && {KOUSOKU} list", **plain)
    assert done.returncode == 0, done.stderr
    assert "CartPole-v1" in done.stdout
