"""Runs of earlier versions: what they left is read, and goes on as their own code went on.

Each archive in `data` holds a run as the code of formats 2 and 3 left it, killed half-way (the first one between
two reports), and what the same code came to at the end of a run that nobody killed: end.npz, the state by the paths
that it had then, and end.jsonl, the reports.
"""

import dataclasses
import functools
import json
import zipfile
from pathlib import Path

import jax
import numpy as np
import pytest

import kousoku as ks
from kousoku.agents.options import describe, rebuild
from kousoku.ops.schedules import in_run
from kousoku.training.io import checkpoints, former_checkpoints, tree_io
from kousoku.training.io.rebuild import check_same_agent

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*made by other versions:kousoku.core.errors.RunWarning"),
    pytest.mark.filterwarnings("ignore:.*has not come to its end:kousoku.core.errors.RunWarning"),
]

DATA = Path(__file__).parent / "data"
RUNS = {"q_learning": (152, 200), "ppo": (32, 64), "ppo_gru": (16, 32)}
"""{archive: (step of its checkpoint, steps asked for)}."""
TODAY = (
    ("agent_state.", "agent."), ("lane.", "slots."), ("memory.discounted_return", "data"), ("memory.network", "carry"),
    ("tally.", "metrics."), ("metrics.td_error_sum", "metrics.metric_sums['td_error']"),
    ("metrics.sound", "metrics.finite_iterations"),
)  # fmt: skip
CELL = {
    ".cell.weight": ".cell.cell.weight_ih", ".cell.recurrent": ".cell.cell.weight_hh",
    ".cell.bias": ".cell.cell.bias", ".cell.candidate_bias": ".cell.cell.bias_n",
}  # fmt: skip
"""Parts of a recurrent cell; its weights are the other way round today, also within the moments of all parameters."""


PARTS = [("", ""), ("block['", "']"), ("rests['", "']")]
"""Where sums lie: what a report reads, the block under way, and what rounding has taken."""


def today(paths, leaves):
    """Leaves by where they lie now, as they lie now."""
    former = dict(zip(map(moved, paths), leaves, strict=True))
    turned = {path for path in former if path.endswith((".cell.weight", ".cell.recurrent"))}
    now = {path: leaf.swapaxes(-1, -2) if path in turned else leaf for path, leaf in former.items()}
    for moments in [path for path in former if path.startswith("agent.optimiser.") and former[path].ndim == 2]:
        parameters = [path for path in former if path.startswith("agent.network.")]
        ends = np.cumsum([former[path][0].size for path in parameters])
        parts = dict(zip(parameters, np.split(former[moments], ends[:-1], axis=1), strict=True))
        for path in turned & set(parts):
            parts[path] = parts[path].reshape(former[path].shape).swapaxes(-1, -2).reshape(len(parts[path]), -1)
        now[moments] = np.concatenate(list(parts.values()), axis=1)
    return {in_cell(path): leaf for path, leaf in now.items()}


def moved(path):
    """Where a leaf lies now, but for recurrent cells."""
    for before, now in TODAY:
        path = now + path[len(before) :] if path.startswith(before) else path
    return path


def in_cell(path):
    """What a part of a recurrent cell is called now."""
    return next((path.removesuffix(before) + now for before, now in CELL.items() if path.endswith(before)), path)


@pytest.fixture(params=RUNS)
def former(request, tmp_path):
    """(folder, step, steps, the end's leaves, the end's reports)."""
    with zipfile.ZipFile(DATA / f"{request.param}.zip") as archive:
        archive.extractall(tmp_path / "run")
    with np.load(tmp_path / "run" / "end.npz") as end:
        leaves = today(end.files, [end[path] for path in end.files])
    (tmp_path / "run" / "end.npz").unlink()
    return tmp_path / "run", *RUNS[request.param], leaves, reports(tmp_path / "run" / "end.jsonl")


def reports(path):
    """The lines of a metrics file, without times."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in ("seconds", "charts/SPS")} for line in lines]


@pytest.mark.by_default("q_learning")
def test_it_goes_on_as_the_code_that_made_it(former):
    folder, step, steps, end, told = former
    assert checkpoints.newest(folder).format == 3
    run = ks.resume(folder)
    assert (run.record.facts["status"], run.record.facts["steps"]) == ("finished", steps)
    assert run.record.facts["resumed_at"] == [step]
    saved = checkpoints.newest(folder)
    assert saved.format == checkpoints.FORMAT
    found = dict(zip(saved.paths, saved.leaves, strict=True))
    added = {path for path in found if path.startswith(("metrics.rests", "metrics.block"))} | {
        "metrics.iterations",
        "slots.whole",
        "slots.return_rest",
    }
    assert set(end) <= set(found) <= {*end, *added}
    for path, leaf in end.items():
        if leaf.dtype.kind == "f":  # processors may round the last bit in another way; on the one of the archive none
            np.testing.assert_allclose(found[path], leaf, rtol=2e-5, atol=1e-6, err_msg=path)
        else:
            np.testing.assert_array_equal(found[path], leaf, err_msg=path)
    assert {name: len(rows) for name, rows in run.curves.items()} == dict.fromkeys(run.curves, 2)
    for line, wanted in zip(reports(folder / "metrics.jsonl"), told, strict=True):
        assert line.keys() == wanted.keys()
        for name, value in wanted.items():
            assert line[name] == (None if value is None else pytest.approx(value, rel=1e-4, abs=1e-6)), name


@pytest.mark.slow_because("a recurrent learner is compiled whole")
@pytest.mark.by_default("ppo_gru")
def test_it_is_read_as_its_checkpoint_holds_it(former):
    folder, step, *_ = former
    run = ks.load(folder)
    assert (run.record.facts["status"], run.record.facts["steps"]) == ("unfinished", step)
    state = run.policy(0)._state
    saved = checkpoints.newest(folder)
    leaves = today(saved.paths, saved.leaves)
    for path, leaf in zip(tree_io.paths(state), tree_io.to_arrays(state), strict=True):
        np.testing.assert_array_equal(leaf, leaves[f"agent.{path}"][0], err_msg=path)
    assert run.evaluate(2, max_steps=20).returns.shape == (2, 2)


@pytest.mark.full("more cases")
@pytest.mark.parametrize("former", ["ppo"], indirect=True)
def test_metrics_that_were_recorded_without_being_asked_for_go_on(former):
    """Agents that learned from rollouts always told theirs, whatever a run was asked to record."""
    folder, *_ = former
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "record": ["returns"]}))
    run = ks.resume(folder)
    assert {name: len(rows) for name, rows in run.curves.items()} == dict.fromkeys(run.curves, 2)
    assert "policy_loss" in run.curves


def told_without(agent, *path):
    """The config of a run of this agent, made by a version that did not have a hyper-parameter yet."""
    told = json.loads(json.dumps(describe(in_run(agent, 5000))))
    *parts, name = path
    holder = functools.reduce(dict.__getitem__, parts, told)
    del holder[name]
    return {"agent": told, "steps": 5000}


@pytest.mark.parametrize("id", [id for id in ks.list_agents() if id != "evosax"])
def test_a_hyper_parameter_that_there_was_not_yet_is_at_its_default(id):
    agent = ks.make_agent(id)
    told = describe(agent)
    gained = [(name,) for name in told if name != "id"]
    gained += [(name, part) for (name,) in gained if isinstance(told[name], dict) for part in told[name]]
    held = {field.name: field.default for field in dataclasses.fields(agent)}
    for path in gained:
        if path[-1] not in ("type", "normalise_actions", "centre_rewards") and (
            len(path) == 2 or held[path[0]] == getattr(agent, path[0])
        ):
            check_same_agent(agent, told_without(agent, *path))


@pytest.mark.parametrize("id", ["ppo", "a2c", "apg"])
def test_where_the_default_became_another_a_run_has_the_one_of_before(id):
    """Normal policies counted in the action's own unit before they could be told to count in its bounds."""
    told = told_without(ks.make_agent(id), "network", "normalise_actions")
    assert not rebuild(told["agent"]).network.normalise_actions
    check_same_agent(ks.make_agent(id, normalise_actions=False), told)
    with pytest.raises(ks.ConfigError, match=r"agent's network: got .*; the run was started with"):
        check_same_agent(ks.make_agent(id), told)


@pytest.mark.parametrize("id", ["ppo", "a2c"])
def test_rewards_of_earlier_runs_are_not_centred(id):
    told = told_without(ks.make_agent(id), "centre_rewards")
    assert not rebuild(told["agent"]).centre_rewards
    assert rebuild(describe(ks.make_agent(id))).centre_rewards
    check_same_agent(ks.make_agent(id, centre_rewards=False), told)
    with pytest.raises(ks.ConfigError, match="agent's centre_rewards: got True; the run was started with False"):
        check_same_agent(ks.make_agent(id), told)


@pytest.mark.parametrize(
    ("options", "path", "refused"),
    [
        ({"n_step": 3}, ["n_step"], "n_step"),
        ({"epsilon": 0.5}, ["epsilon"], "epsilon"),
        ({"dueling": True}, ["network", "dueling"], "network"),
    ],
)
def test_another_than_its_default_is_refused(options, path, refused):
    agent = ks.make_agent("dqn", **options)
    check_same_agent(ks.make_agent("dqn"), told_without(agent, *path))
    with pytest.raises(ks.ConfigError, match=f"agent's {refused}: got .*; the run was started with"):
        check_same_agent(agent, told_without(agent, *path))


def test_what_was_not_kept_is_as_it_was_then():
    """Sums before format 6 had no block under way, slots before format 7 whole episodes alone, before 10 no rests;
    Monte Carlo before 12 no visits of an episode; averages before 13 no rests; repeated actions before 15 no end."""
    kept = [("agent", "float32", np.full(2, 7.0, np.float32)), ("metrics.reward_sum", "float32", np.full(2, 3.0))]
    block = ("metrics.block['reward_sum']", "float32", np.full(2, 9.0, np.float32))
    whole = ("slots.whole", "bool", np.zeros((2, 3), bool))
    visits = ("agent.episode_visits", "int32", np.full((2, 4), 9, np.int32))
    rest = ("slots.return_rest", "float32", np.full((2, 3), 9.0, np.float32))
    rests = [(f"agent.{name}", "float32", np.full(2, 9.0, np.float32)) for name in ("rest", "arms.rest", "mean_rest")]
    early = ("slots.env_state.env_state.ended_early", "bool", np.ones((2, 3), bool))
    assert checkpoints.FORMER[-1] == 14
    now = [*kept, block, whole, rest, visits, early, *rests]
    upgraded = {path: array.tolist() for path, _, array in former_checkpoints.upgrade(kept, now)}
    added = {block[0]: [0.0, 0.0], whole[0]: [[True] * 3] * 2, rest[0]: [[0.0] * 3] * 2, visits[0]: [[0] * 4] * 2}
    added |= {early[0]: [[False] * 3] * 2, **{path: [0.0, 0.0] for path, _, _ in rests}}
    assert upgraded == {"agent": [7.0, 7.0], "metrics.reward_sum": [3.0, 3.0], **added}


@pytest.mark.parametrize(
    "names", [("q", "rest", "step"), ("q", "arms.rest", "mean_rest"), ("episode_visits", "rest", "step")]
)
def test_arrays_without_names_are_filled_up_with_what_came_later(names):
    """Run folders have the agents' states without names: what came last is what they lack."""
    needed = [(f"agent.{name}", jax.ShapeDtypeStruct((4,), np.float32)) for name in names]
    late = [name for name in names if name.endswith("rest")]
    arrays = [np.full((2, 4), 7.0, np.float32) for _ in range(len(names) - len(late))]
    filled = former_checkpoints.fill_up(needed, arrays)
    assert [array.shape for array in filled] == [(2, 4)] * 3
    assert [bool(array.any()) for array in filled] == [name not in late for name in names]
    assert former_checkpoints.fill_up(needed, filled) is filled
    before_visits = former_checkpoints.fill_up(needed, arrays[:-1])
    assert len(before_visits) == (3 if "episode_visits" in names else len(arrays) - 1)


def test_what_was_told_by_another_name_is_summed_up_anew():
    """Before format 11 DQN told "loss" and "q_value": what they summed up since the last report is let go."""
    was = [(f"metrics.metric_sums['{name}']", "float32", np.full(2, 3.0)) for name in ("loss", "q_value", "epsilon")]
    now = [(f"metrics.metric_sums['{name}']", "float32", np.ones(2)) for name in ("epsilon", "q_values", "td_loss")]
    upgraded = {path: array.tolist() for path, _, array in former_checkpoints.upgrade(was, now)}
    assert upgraded == dict(zip((path for path, _, _ in now), ([3.0, 3.0], [0.0, 0.0], [0.0, 0.0]), strict=True))


@pytest.mark.parametrize("counted", [True, False])
def test_sums_over_updates_that_nobody_counted_begin_anew(counted):
    """Before format 14 one-step iterations of a replay buffer counted no updates."""
    sums = [(f"metrics.{name}metric_sums{end}['loss']", "float32", np.full(2, 3.0)) for name, end in PARTS]
    reward = ("metrics.reward_sum", "float32", np.full(2, 3.0))
    updates = ("metrics.updates", "int32", np.full(2, 9, np.int32))
    now = [*sums, reward, *([] if counted else [updates])]
    upgraded = {path: array.tolist() for path, _, array in former_checkpoints.upgrade([*sums, reward], now)}
    left = {path: [3.0 * counted] * 2 for path, _, _ in sums}
    assert upgraded == left | {reward[0]: [3.0, 3.0]} | ({} if counted else {updates[0]: [0, 0]})


@pytest.mark.parametrize("inner", ["", "kept."])
def test_a_buffer_was_all_that_replay_kept(inner):
    """Before format 8: estimates of the episodes on their way begin at 0 where none were."""
    reward = np.full((2, 3, 4), 5.0, np.float32)
    was, now = (f"data.{inner}reward", "float32", reward), (f"data.buffer.{inner}reward", "float32", reward)
    estimate = ("data.estimates.sums.weight", "float32", np.full((2, 3), 9.0, np.float32))
    upgraded = former_checkpoints.upgrade([was], [now, estimate])
    assert {path: array.tolist() for path, _, array in upgraded} == {
        now[0]: reward.tolist(),
        estimate[0]: [[0.0] * 3] * 2,
    }
    untouched = former_checkpoints.upgrade([("data", "float32", reward)], [("data", "float32", reward)])
    assert [path for path, _, _ in untouched] == ["data"]


@pytest.mark.parametrize("inner", ["", "kept."])
def test_a_buffer_beside_other_data_stays_where_it_is(inner):
    """As from format 8 on."""
    kept = [
        (f"data.buffer.{inner}reward", "float32", np.full((2, 3, 4), 5.0, np.float32)),
        ("data.estimates.sums.weight", "float32", np.full((2, 3), 9.0, np.float32)),
        ("data.returns.mean", "float32", np.full(2, 3.0, np.float32)),
    ]
    assert former_checkpoints.upgrade(kept, kept) == kept


@pytest.mark.parametrize(("network", "moments"), [("network", "optimiser.mu"), ("learner.net.torso", "adam[0].nu")])
def test_a_cell_of_our_own_was_equinoxs_the_other_way_round(network, moments):
    """Before format 9, wherever an agent keeps it; what a user's own network calls so, and data, are left alone."""
    weight, bias = np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(2, 4)
    others = [
        ("agent.seen", "int32", np.arange(32, dtype=np.int32).reshape(2, 16)),
        ("data.obs", "float32", np.arange(32.0).reshape(2, 16)),
    ]
    kept = [
        (f"agent.{network}.cell.weight", "float32", weight),
        (f"agent.{network}.cell.bias", "float32", bias),
        (f"agent.{moments}", "float32", np.concatenate([weight.reshape(2, 12), bias], axis=1)),
        *others,
    ]
    turned = weight.swapaxes(1, 2)
    now = [
        (f"agent.{network}.cell.cell.weight_ih", "float32", turned),
        (f"agent.{network}.cell.cell.bias", "float32", bias),
        (f"agent.{moments}", "float32", np.concatenate([turned.reshape(2, 12), bias], axis=1)),
        *others,
    ]
    upgraded = former_checkpoints.upgrade(kept, now)
    assert [path for path, _, _ in upgraded] == [path for path, _, _ in now]
    for (_, _, found), (_, _, wanted) in zip(upgraded, now, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert former_checkpoints.upgrade(kept, kept) == kept
