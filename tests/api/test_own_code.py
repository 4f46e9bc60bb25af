"""`--import`: a person's own file or module in the shell, and how what is wrong with it is told."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from forked import in_a_forked_process

from kousoku.cli import own_code
from kousoku.core.cache_folder import SWITCH

WALK = """
import jax.numpy as jnp
import kousoku as ks
from beside import PAID


class Walk(ks.Env):
    time_limit: int | None = 20

    observation_space = property(lambda self: ks.Discrete(5))
    action_space = property(lambda self: ks.Discrete(2))

    def reset(self, key):
        return jnp.int32(0), ks.Timestep(jnp.int32(0), 0.0, False, False)

    def step(self, key, state, action):
        state = jnp.clip(state + 2 * action - 1, 0, 4)
        return state, ks.Timestep(state, jnp.where(state == 4, PAID, -0.01), state == 4, False)


ks.register("Walk-v0", Walk)
"""
AGENT = """
import equinox as eqx
import jax
import jax.numpy as jnp
import kousoku as ks


class Guess(ks.Agent):
    learns_from: ks.Online = eqx.field(static=True, default=ks.Online())

    def init(self, spec, key):
        return jnp.float32(0)

    def act(self, state, obs, carry, key, *, greedy=False):
        return jax.random.randint(key, (), 0, 2), carry, None

    def update(self, state, data, key, *, axis=None):
        return state + data.reward, {}


ks.register_agent("guess", Guess)
"""
SHELL = """
import contextlib, io, json, sys
from kousoku import viz
from kousoku.cli import main
from kousoku.training.loop import results

viz.write_report = lambda record, path: path
results.member_film = lambda *run: None
told = []
for words in json.loads(sys.argv[1] if len(sys.argv) > 1 else COMMANDS):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as stop:
            status = stop.code or 0
    told.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(told))
"""


def told(folder: Path, *commands: str, **environment: str) -> list[tuple[int, str, str]]:
    """(exit status, output, errors) of each command, in one process that works in the folder."""
    words = [command.split() for command in commands]
    script = f"import json, os\nos.chdir({str(folder)!r})\nCOMMANDS = json.dumps({words!r})\n{SHELL}"
    return in_a_forked_process(script, environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("own")
    (made / "beside.py").write_text("PAID = 1.0\n")
    (made / "walk.py").write_text(WALK)
    (made / "guess.py").write_text(AGENT)
    return made


TRAIN = "train q_learning Walk-v0 --steps 600 --seeds 2 --out run"


@pytest.fixture(scope="module")
def trained_and_more(folder):
    """What is told of a run with an environment and an agent of one's own, which is then in the folder."""
    return told(
        folder,
        f"{TRAIN} --import walk.py",
        "evaluate run --episodes 4 --import ./walk.py",
        "list Walk-v0 --import=walk",
        "--import guess.py --import=walk.py train guess Walk-v0 --steps 100 --out other",
        "train q_learning GridWorld-v0 --help",
    )


@pytest.mark.slow_because("an environment and an agent of one's own are trained, and what they are is told")
def test_ids_of_ones_own_are_known_to_every_command(folder, trained_and_more):
    trained, evaluated, listed, guessed, helped = trained_and_more
    assert [trained[0], evaluated[0], listed[0], guessed[0]] == [0, 0, 0, 0], (trained, evaluated, listed, guessed)
    assert "greedy return: 0.970" in trained[1]
    assert "options       time_limit" in listed[1]
    assert "--import FILE" in helped[1]
    assert f"kousoku {TRAIN} --import walk.py" in (folder / "run" / "config.json").read_text()


@pytest.mark.slow_because("an environment and an agent of one's own are trained, and what they are is told")
def test_a_run_folder_imports_nothing_and_says_what_to_do(folder, trained_and_more):
    assert trained_and_more[0][0] == 0
    (evaluated,) = told(folder, "evaluate run")
    assert evaluated[0] == 2
    assert evaluated[2] == (
        "kousoku: env: got 'Walk-v0'; "
        "code of one's own registered it: import that first, in the shell by --import FILE\n"
    )


CORES = len(os.sched_getaffinity(0))
STARTS = {
    "arrays.py": ("", CORES),
    "flags.py": ("os.environ['XLA_FLAGS'] += ' --xla_force_host_platform_device_count=3'", 3),
    "config.py": ("jax.config.update('jax_num_cpu_devices', 3)", 3),
}


@pytest.mark.by_default("arrays.py")
@pytest.mark.parametrize("name", STARTS)
def test_a_file_that_starts_jax_gives_it_all_cores_unless_it_says_how_many(name, folder):
    line, count = STARTS[name]
    (folder / name).write_text(f"import os, jax\n{line}\nprint(jax.device_count(), 'devices')\n")
    command = f"train q_learning GridWorld-v0 --steps 20 --out {name}.run --import {name}"
    ((status, output, errors),) = told(folder, command, XLA_FLAGS="")
    assert status == 0, (output, errors)
    assert f"{count} devices\n" in output
    assert "JAX has started" not in errors
    facts = json.loads((folder / f"{name}.run" / "run.json").read_text())
    assert facts["device"]["available"] == count


WRONG = {
    "raises.py": "1 / 0",
    "syntax.py": "def f(:",
    "lacks.py": "import not_there_at_all",
    "twice.py": "import kousoku as ks\nks.register('CartPole-v1', object)",
    "sub/random.py": "",
    "ends.py": "import sys; sys.exit()",
    "two words.py": "",
}


def test_what_cannot_be_imported_is_one_line(folder):
    for name, text in WRONG.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    list_ = "list agents --import"
    lines = {
        f"{list_} raises.py": "raises.py, line 1, raises ZeroDivisionError: division by zero",
        f"{list_} syntax.py": "syntax.py, line 1, raises SyntaxError",
        f"{list_} lacks.py": "lacks.py, line 1, raises ModuleNotFoundError: No module named 'not_there_at_all'",
        f"{list_} lacks": "lacks.py, line 1, raises ModuleNotFoundError: No module named 'not_there_at_all'",
        f"{list_} twice.py": "environment id: got 'CartPole-v1'; it is registered already",
        f"{list_} sub/random.py": "--import: got 'sub/random.py'; another module is called random; rename the file",
        f"{list_} ends.py": "--import: got 'ends.py'; it ends the process (SystemExit) when it is imported",
        f"{list_} absent.part": "--import: got 'absent.part'; there is no such module",
        f"{list_} .walk": "--import: got '.walk'; give a file",
        f"{list_} absent.py": "--import: got 'absent.py'; there is no such file",
        f"{list_} absent": "--import: got 'absent'; there is no such module; a file is written ./absent.py",
        f"{list_}": "--import: got nothing; give a file, such as ./walk.py, or the name of a module",
        f"{list_} --json": "--import: got '--json'; give a file",
        f"{list_} ./walk": "--import: got './walk'; there is no such file",
    }
    for (status, _, error), told_so in zip(told(folder, *lines), lines.values(), strict=True):
        assert status == 2
        assert told_so in error
        assert error.count("\n") == 1


def test_what_it_compiles_is_kept_where_that_of_the_tests_is():
    """Also where the user has no home; nothing else of the environment is handed on."""
    script = f"import json, os; print(json.dumps([os.environ.get(name) for name in ({SWITCH!r}, 'PATH')]))"
    assert in_a_forked_process(script, {}) == [os.environ[SWITCH], None]
    assert in_a_forked_process(script, {SWITCH: "off"}) == ["off", None]


def test_a_slash_names_a_file_also_where_paths_are_written_with_others(tmp_path, monkeypatch):
    monkeypatch.setattr(own_code, "os", SimpleNamespace(**(vars(os) | {"sep": "\\"})))
    (tmp_path / "far_walk_of_mine.py").write_text("STEPS = 3")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    monkeypatch.delitem(sys.modules, "far_walk_of_mine", raising=False)
    own_code._import("../far_walk_of_mine.py")
    assert sys.modules.pop("far_walk_of_mine").STEPS == 3
