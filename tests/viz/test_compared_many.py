"""More runs than are compared: they are refused before any of them is read."""

import json

import pytest
import records

import kousoku as ks
from kousoku.cli import main
from kousoku.viz.comparison import MOST, check_room

CONFIG = records.make(records.grid_env("S..G"), members=1, reports=1).config | {"eval_max_steps": 1000}


def asked(env_id="Maze-v0", sweep=(), **options):
    return CONFIG | {"env": {"id": env_id, "options": options}, "sweep": dict(sweep)}


def folders(path, count):
    """Returns the names of folders that hold what was asked for, and nothing else."""
    for i in range(count):
        (path / f"r{i}").mkdir()
        (path / f"r{i}" / "config.json").write_text(json.dumps(asked()))
    return [str(path / f"r{i}") for i in range(count)]


def test_too_many_folders_are_refused_by_their_configurations_alone(tmp_path, capsys):
    names = folders(tmp_path, MOST + 3)
    told = f"compare: got '{MOST + 3} runs'; on Maze-v0 at most {MOST} are compared, and a sweep counts once"
    for compare in (lambda: ks.compare(*names), lambda: ks.compare({name: [name] for name in names})):
        with pytest.raises(ks.ConfigError) as error:
            compare()
        assert str(error.value).startswith(told)
    assert main(["compare", *names]) == 2
    assert told in capsys.readouterr().err
    with pytest.raises(ks.ConfigError, match="did not come to its end"):  # as many as are compared are read
        ks.compare(*names[:MOST])


@pytest.mark.parametrize(
    "configs",
    [
        [asked()] * MOST,
        [asked(slip=0.1)] * MOST + [asked(slip=0.2)] * MOST,
        [asked("Maze-v0")] * MOST + [asked("Room-v0")] * MOST,
        [asked(sweep={"env.slip": [0.1, 0.2]})] * 2 * MOST,
        [asked(sweep={"epsilon": [0.1, 0.2]})] * MOST,
    ],
    ids=["as many as may be", "options", "environments", "sweeps of an environment", "sweeps of an agent"],
)
def test_what_may_be_few_on_each_environment_is_let_through(configs):
    check_room(configs)


def test_an_option_at_its_default_counts_to_the_same_environment():
    with pytest.raises(ks.ConfigError, match=f"got .{MOST + 1} runs.; on Maze-v0"):
        check_room([asked()] * MOST + [asked(slip=0.0)], lambda id: {"slip": 0.0})
