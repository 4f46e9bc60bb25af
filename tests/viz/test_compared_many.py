"""Runs that cannot be compared, as what they were asked for says: they are refused before any of them is read."""

import json

import pytest
import records

import kousoku as ks
from kousoku.cli import main
from kousoku.training.config import TrainConfig
from kousoku.viz.comparison_checks import MOST, RunHeader, check_asked

CONFIG = records.make(records.grid_env("S..G"), members=1, reports=1).config | {"eval_max_steps": 1000}


def asked(env_id="Maze-v0", sweep=(), **options):
    return CONFIG | {"env": {"id": env_id, "options": options}, "sweep": dict(sweep)}


def folders(path, *configs):
    """Returns the names of folders that hold what was asked for, and nothing else."""
    for i, config in enumerate(configs):
        (path / f"r{i}").mkdir()
        (path / f"r{i}" / "config.json").write_text(json.dumps(config))
    return [str(path / f"r{i}") for i in range(len(configs))]


def named(configs):
    """Returns what is known of each run, by a name of its own."""
    points = [TrainConfig(steps=1, sweep=config["sweep"]).points for config in configs]
    headers = [RunHeader(*both, None) for both in zip(configs, points, strict=True)]
    return {f"r{i}": [header] for i, header in enumerate(headers)}


def test_too_many_folders_are_refused_by_their_configurations_alone(tmp_path, capsys):
    names = folders(tmp_path, *[asked()] * (MOST + 3))
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
    check_asked(named(configs))


def test_an_option_at_its_default_counts_to_the_same_environment():
    with pytest.raises(ks.ConfigError, match=f"got .{MOST + 1} runs.; on Maze-v0"):
        check_asked(named([asked()] * MOST + [asked(slip=0.0)]), defaults=lambda id: {"slip": 0.0})


SWEPT = asked(sweep={"epsilon": [0.1, 0.2], "env.slip": [0.1, 0.3]})
NOT_AMONG = "where: got 'epsilon: 0.3'; r0 has epsilon 0.1, 0.2; choose among these"


@pytest.mark.parametrize(
    ("configs", "where", "told"),
    [
        ([SWEPT, asked()], {"epsilom": 0.1}, "where: got 'epsilom'; did you mean 'epsilon'?"),
        ([SWEPT, asked()], {"epsilon": 0.3}, NOT_AMONG),
        ([SWEPT, asked()], {"env.slip": [0.1, 0.2]}, "where: got 'env.slip: 0.2'; r0 has env.slip 0.1, 0.3;"),
        ([asked(), asked()], {"epsilon": 0.1}, "where: got 'epsilon'; none of these runs is a sweep; leave it out"),
        ([asked("Maze-v0"), asked("Room-v0")], None, "got '1 run on each of 2 environments'; give at least two runs"),
        ([asked(slip=0.1), asked(slip=0.2)], None, "r0 is on Maze-v0 (slip 0.1), r1 is on Maze-v0 (slip 0.2)"),
        (
            [asked(sweep={"env.slip": [0.1, 0.3]}), asked()],
            None,
            "got '1 run on each of 3 environments'; give at least",
        ),
        ([asked(sweep={"env.slip": [0.1, 0.3]}), asked(slip=0.3)], {"env.slip": 0.1}, "r0 is on Maze-v0 (slip 0.1)"),
        ([asked(), asked() | {"eval_episodes": 0}], None, "compare: got 'r1'; it was not evaluated; train with"),
    ],
    ids=range(9),
)
def test_what_the_configurations_show_is_refused_by_them_alone(tmp_path, configs, where, told):
    names = folders(tmp_path, *configs)
    for given in ((dict(zip(("r0", "r1"), names, strict=True)),), names):
        with pytest.raises(ks.ConfigError) as error:
            ks.compare(*given, where=where)
        assert told in str(error.value)


@pytest.mark.parametrize(
    ("configs", "where"),
    [
        ([SWEPT, asked()], None),
        ([SWEPT, asked(slip=0.3)], {"epsilon": 0.1, "env.slip": 0.3}),
        ([SWEPT, asked(slip=0.3)], {"epsilon": 0.1 + 1e-9}),
        ([asked(sweep={"env.slip": [0.1, 0.3]})] * 2, {"env.slip": 0.1}),
    ],
    ids=range(4),
)
def test_what_the_configurations_allow_is_read(tmp_path, configs, where):
    with pytest.raises(ks.ConfigError, match="did not come to its end"):
        ks.compare(*folders(tmp_path, *configs), where=where)


def test_a_name_with_two_runs_on_an_environment_is_refused_by_configurations_alone(tmp_path):
    first, second, third = folders(tmp_path, asked(), asked(sweep={"epsilon": [0.1, 0.2]}), asked(slip=0.1))
    with pytest.raises(ks.ConfigError, match="compare: got 'a'; it has two runs on Maze-v0; give each a name of its"):
        ks.compare({"a": [first, second], "b": third})
    with pytest.raises(ks.ConfigError, match="did not come to its end"):
        ks.compare({"a": [first, third], "b": second})
