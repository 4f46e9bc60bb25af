"""Infinity is "no limit" where there is a limit, and refused everywhere else; NaN is refused everywhere."""

import math

import numpy as np
import pytest
from fresh_process import without_types_checked
from pendulum_data import pendulum

import kousoku as ks

UNLIMITED = {
    "ppo": {"clip", "value_clip", "target_kl", "max_gradient_norm", "observation_limit", "reward_limit"},
    "a2c": {"max_gradient_norm", "observation_limit", "reward_limit"},
    "apg": {"max_gradient_norm", "observation_limit"},
    "dqn": {"max_gradient_norm", "huber_delta"},
    "pqn": {"max_gradient_norm"},
    **{id: {"observation_limit"} for id in ("sac", "td3", "ddpg", "bc", "td3_bc", "iql")},
    **{id: {"observation_limit"} for id in ("ars", "openai_es", "sep_cma_es", "evosax")},
    "pgpe": {"observation_limit", "max_speed"},
}
"""The hyper-parameters that may be infinite."""
ACTOR_Q, OFFLINE = ("sac", "td3", "ddpg"), ("bc", "td3_bc", "iql")
NETWORK = {"hidden": (8,), "init": "lecun_normal"}
SMALL = {"num_envs": 4, "num_steps": 8, **NETWORK}
REPLAY = {"learning_starts": 32, "batch_size": 8, "capacity": 64}


def small_options(id):
    """Options that make an agent small; of an offline one the data as well."""
    if id in ("ars", "openai_es", "pgpe", "sep_cma_es"):
        return {"max_episode_steps": 8, **({"num_directions": 4} if id == "ars" else {"population_size": 8})}
    if id in OFFLINE:
        return {"dataset": ks.save_dataset(pendulum(), "data.npz").path, "batch_size": 8, **NETWORK}
    if id in ACTOR_Q:
        return {"num_envs": 4, **REPLAY, **NETWORK}
    more = {"dqn": REPLAY, "ppo": {"minibatches": 2, "epochs": 2}, "pqn": {"minibatches": 2, "epochs": 2}}
    return SMALL | more.get(id, {})


ALL_FIELDS = """
import dataclasses, inspect, json, math, pathlib, sys
import equinox as eqx
import kousoku as ks
from kousoku.agents.exploration import EXPLORATIONS
from kousoku.agents.needed_options import NEEDED
from kousoku.agents.options import describe, option_names, rebuild
from kousoku.core.errors import ConfigError, is_number
from kousoku.envs import ENVS
from kousoku.nn import NETWORK_CONFIGS
from kousoku.ops.schedules import Cosine, Exponential, Harmonic, Linear
from kousoku.training.io.files import read_json, write_json
from kousoku.training.io.env_config import env_json
from kousoku.training.io.rebuild import rebuild_env

FINITE = {"start": 1.0, "end": 0.5, "rate": 0.5, "steps": 10}
NUMBERS = (math.inf, -math.inf, math.nan)
accepted = []

def refuse(word):
    raise ValueError(word + " is no JSON")

def kept(config):
    path = pathlib.Path("config.json")
    write_json(path, config)
    json.loads(path.read_text(), parse_constant=refuse)
    return read_json(path)

def ask(label, make, name, values, survives=None):
    for value in values:
        try:
            made = make(**{name: value})
        except ConfigError as error:
            assert chr(10) not in str(error), (label, name, error)
            continue
        except Exception as error:
            raise SystemExit(f"{label} {name}={value}: {error!r}")
        if survives is not None and not survives(made, value):
            raise SystemExit(f"{label} {name}={value}: another one came back from disk")
        accepted.append((label, name, str(value)))
"""
AGENTS = """
def beside(id, name):
    needed = NEEDED.get(name)
    return {needed.option: needed.values[0]} if needed and needed.option in option_names(id) else {}

for id in ks.list_agents():
    agent = ks.make_agent(id)
    parts = [agent, *(getattr(agent, name) for name in ("exploration", "network") if hasattr(agent, name))]
    for name in (field.name for part in parts for field in dataclasses.fields(part)):
        ask(id, lambda **options: ks.make_agent(id, **beside(id, name) | options), name, NUMBERS,
            lambda made, value: eqx.tree_equal(rebuild(kept(describe(made))), made))
for make in (*EXPLORATIONS.values(), *NETWORK_CONFIGS, Linear, Cosine, Exponential, Harmonic):
    names = [field.name for field in dataclasses.fields(make)]
    given = {name: number for name, number in FINITE.items() if name in names}
    for name in names:
        ask(make.__name__, lambda **options: make(**given | options), name, NUMBERS)
print(json.dumps(accepted))
"""
ENVIRONMENTS = """
for id in ks.list_envs():
    needed = {"map": "S.G"} if id == "CustomGrid-v0" else {}
    for name, parameter in ENVS.options(id).items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        default, values = parameter.default, list(NUMBERS)
        if isinstance(default, (tuple, list)) and default and all(map(is_number, default)):
            values += [(*default[:i], number, *default[i + 1:]) for i in range(len(default)) for number in NUMBERS]
        ask(id, lambda **options: ks.make(id, **needed | options), name, values,
            lambda made, value: eqx.tree_equal(rebuild_env(kept(env_json(id, {**needed, name: value}))), made))
print(json.dumps(accepted))
"""


def test_hyper_parameters():
    found = {tuple(field) for field in without_types_checked(ALL_FIELDS + AGENTS)}
    limits = {(id, name, "inf") for id, names in UNLIMITED.items() for name in names}
    assert found == limits | {("Softmax", "temperature", "inf")}


@pytest.mark.slow_because("every environment is made, robots included")
def test_options_of_environments():
    found = without_types_checked(ALL_FIELDS + ENVIRONMENTS)
    assert found
    assert all(name.endswith("_range") for _, name, _ in found), found
    assert all("nan" not in value for _, _, value in found), found


@pytest.mark.full("covered")
@pytest.mark.reports
@pytest.mark.parametrize(
    "id", sorted(id for id, names in UNLIMITED.items() if names and id != "evosax")
)  # which is not installed
def test_without_limits_it_trains_as_with_large_ones(id):
    env, curves, small = "CartPole-v1", [], small_options(id)
    if id in ("apg", *ACTOR_Q, *OFFLINE):
        env = "Pendulum-v1"
    if "observation_limit" in UNLIMITED[id]:
        small = {**small, "normalise_observations": True}
    for limit in (math.inf, 1e30):
        agent = ks.make_agent(id, **small, **dict.fromkeys(UNLIMITED[id], limit))
        run = ks.train(agent, env, steps=640, record_every=320, eval_episodes=0, out=f"run-{limit}")
        curves.append({name: curve for name, curve in run.curves.items() if not name.startswith("seconds")})
        assert ks.load(f"run-{limit}").record.config == run.record.config
    for name, curve in curves[0].items():
        np.testing.assert_allclose(curve, curves[1][name], rtol=1e-5, err_msg=name)
    longer = ks.resume("run-inf", steps=960)
    assert longer.record.facts["steps"] == 960
    assert "inf" in (longer.path / "report.html").read_text(encoding="utf-8")


@pytest.mark.full("whole way")
def test_a_sweep_may_reach_to_infinity():
    agent = ks.make_agent("a2c", **SMALL)
    run = ks.train(
        agent, "CartPole-v1", steps=64, eval_episodes=0, out="run", sweep={"max_gradient_norm": [0.5, math.inf]}
    )
    assert run.record.points == ({"max_gradient_norm": 0.5}, {"max_gradient_norm": math.inf})
    assert ks.load("run").record.points == run.record.points
    assert ks.resume("run", steps=128).record.points == run.record.points
