"""Run folders whose JSON is whole and holds things of a wrong kind: one line, whatever is done with them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError, RunWarning


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """One small run of a sweep, made once, evaluated on the way."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    asked = {"steps": 200, "seeds": 2, "sweep": {"learning_rate": [0.1, 0.5]}, "eval_every": 100, "eval_episodes": 2}
    return ks.train("q_learning", "GridWorld-v0", out=str(folder), **asked).path


@pytest.fixture
def write(trained, tmp_path):
    """Copies the run to "run", with something else (... for nothing) at a place in one of its files."""

    def written(file, where, value):
        shutil.copytree(trained, tmp_path / "run")
        told = json.loads((tmp_path / "run" / file).read_text())
        *path, last = where.split("/")
        part = told
        for name in path:
            part = part[name]
        if value is ...:
            del part[last]
        else:
            part[last] = value
        (tmp_path / "run" / file).write_text(json.dumps(told))
        return Path("run")

    return written


LOOKS = {
    "load": ks.load,
    "evaluate": lambda path: ks.evaluate(path, 1),
    "policy": ks.load_policy,
    "compare": ks.compare,
    "resume": lambda path: ks.resume(path, steps=300),
}


@pytest.mark.parametrize("value", [..., None, "x"], ids=["missing", "null", "text"])
@pytest.mark.parametrize("name", ["steps", "seeds", "sweep", "eval_max_steps", "env/options"])
def test_a_configuration_without_what_it_needs_is_one_line(name, value, write):
    path = write("config.json", name, value)
    for look in LOOKS.values():
        with pytest.raises(ConfigError, match=rf"^{name.replace('/', '.')} in run/config.json: got .*restore it from"):
            look(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seeds", value) for value in ({}, True, [0, "x"])),
        *(("sweep", {"learning_rate": value}) for value in (3, "x", [], ["x"], [[0.1]], [None])),
        ("eval_max_steps", []),
        ("steps", 1.5),
        ("env/fields", None),
    ],
)
def test_a_configuration_with_what_it_cannot_use_is_one_line(name, value, write):
    path = write("config.json", name, value)
    for look in LOOKS.values():
        with pytest.raises(ConfigError, match=f"^{name.replace('/', '.')} in run/config.json: got "):
            look(path)


def test_an_environment_of_ones_own_needs_no_options(write):
    """Nothing is rebuilt by them."""
    path = write("config.json", "env", {"id": "Mine", "registered": False})
    assert "q_learning on Mine" in repr(ks.load(path))


BUFFER = {"transitions": 5, "capacity": 5, "mib": 1.0}
WRONG_FACTS = [
    *(("points", value) for value in (..., None, [], "x", ["x"], [{"learning_rate": "x"}])),
    *(("status", value) for value in (..., None)),
    *(("seconds", value) for value in (None, "x", [], True, 10**400)),
    *((name, None) for name in ("best_step", "memory", "started", "resumed_at", "versions", "device", "members")),
    *((name, "x") for name in ("members", "steps_per_second", "cut_evaluations", "time_limit", "episodes", "steps")),
    ("memory", {"state_mib": None}),
    *(("replay_buffer", value) for value in (None, "x", {}, {"capacity": 5}, BUFFER | {"transitions": "x"})),
    ("failure", 3),
]


@pytest.mark.parametrize(("name", "value"), WRONG_FACTS)
def test_facts_of_a_wrong_kind_are_one_line(name, value, write):
    path = write("run.json", name, value)
    told = rf"run\.json: got {{'{name}': .*; restore it, or let `kousoku resume` make it again from a checkpoint$"
    for look in (ks.load, ks.compare):
        with pytest.raises(ConfigError, match=told):
            look(path)


def test_facts_of_a_wrong_kind_are_made_again_from_a_checkpoint(write, trained):
    path = write("run.json", "seconds", None)
    with pytest.warns(RunWarning, match=r"run\.json is damaged, and is made again"):
        made = ks.resume(path)
    np.testing.assert_array_equal(made.q_values, ks.load(trained).q_values)
    assert ks.load(path).record.facts["seconds"] > 0


@pytest.mark.parametrize("name", ["members", "best_step", "memory", "seconds", "cut_evaluations"])
def test_a_run_is_shown_without_facts_that_not_every_one_has(name, write):
    run = ks.load(write("run.json", name, ...))
    assert repr(run).startswith("<Run q_learning on GridWorld-v0: 4 agents x 200 steps")
    assert "4" in run._repr_html_()


def test_sweep_points_that_agents_have_and_the_facts_lack_are_told(write):
    path = write("run.json", "points", [{"learning_rate": 0.1}])
    with pytest.raises(
        ConfigError, match=r"its files are damaged \(IndexError\('agents of point 1, where points are 1'"
    ):
        ks.load(path)


@pytest.mark.parametrize("panels", ["x", None, ["x"], [None], [{"title": 3}], 3])
def test_panels_of_a_wrong_kind_are_one_line(panels, write):
    path = write("picture.json", "panels", panels)
    with pytest.raises(ConfigError, match=r"^(run: got 'run'; its files are damaged|Panel)"):
        ks.load(path)
