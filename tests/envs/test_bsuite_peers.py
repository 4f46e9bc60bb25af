"""The package bsuite beside ours: more settings, whole episodes, maps of many seeds."""

import numpy as np
import pytest

pytest.importorskip("bsuite")

from bsuite_recording import load, record
from bsuite_replay import check

import kousoku as ks

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

CASES = [
    ("bandit", {"mapping_seed": 5}, 30),
    ("cartpole", {}, 5),
    ("cartpole", {"timescale": 0.02, "x_threshold": 0.1}, 5),
    ("cartpole_swingup", {}, 1),
    ("cartpole_swingup", {"height_threshold": -1.1, "x_reward_threshold": 0.95, "move_cost": 0.3}, 1),
    ("catch", {}, 30),
    ("catch", {"rows": 2, "columns": 1}, 3),
    ("catch", {"rows": 3, "columns": 8}, 20),
    ("deep_sea", {"size": 1, "mapping_seed": 5}, 5),
    ("deep_sea", {"size": 10, "mapping_seed": 42}, 30),
    ("deep_sea", {"size": 4, "mapping_seed": 42, "unscaled_move_cost": 0.5}, 30),
    ("deep_sea", {"size": 4, "randomize_actions": False}, 30),
    ("deep_sea_stochastic", {"size": 10, "mapping_seed": 42}, 30),
    ("deep_sea_stochastic", {"size": 2, "mapping_seed": 42}, 60),
    *(("discounting_chain", {"mapping_seed": seed}, 6) for seed in range(6)),
    ("memory_len", {"memory_length": 1}, 10),
    ("memory_len", {"memory_length": 30}, 10),
    ("memory_size", {"num_bits": 1}, 10),
    ("memory_size", {"num_bits": 40}, 10),
    ("mountain_car", {}, 2),
    ("umbrella_length", {"chain_length": 1, "n_distractor": 20}, 10),
    ("umbrella_length", {"chain_length": 30, "n_distractor": 20}, 5),
    ("umbrella_distract", {"n_distractor": 0}, 10),
    ("umbrella_distract", {"n_distractor": 100}, 5),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{name} {options}" for name, options, _ in CASES])
def test_episodes_with_the_packages_draws(case):
    name, options, episodes = case
    check(record(name, options, episodes, seed=len(options) + episodes))


@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1])
def test_maps_are_the_packages(seed):
    sea = ks.make("bsuite/deep_sea-v0", size=20, mapping_seed=seed)
    np.testing.assert_array_equal(
        sea.action_mapping, load("deep_sea", {"size": 20, "mapping_seed": seed})._action_mapping
    )
    arms = ks.make("bsuite/bandit-v0", mapping_seed=seed).rewards
    np.testing.assert_array_equal(arms, load("bandit", {"mapping_seed": seed})._rewards)
