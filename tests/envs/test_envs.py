"""Every registered environment keeps the contract."""

import equinox as eqx
import jax
import numpy as np
import pytest
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.core.env import Drawable, Finite
from kousoku.core.env_shapes import shape_problems
from kousoku.core.model import check_model
from kousoku.core.scene3d import Drawable3d
from kousoku.envs import ENVS

pytestmark = pytest.mark.contract

BANDITS = {"Bandit-v0", "DriftingBandit-v0"}
CLASSIC = {
    "Acrobot-v1",
    "CartPole-v0",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
}
SMALL_ROBOTS = {"CartPoleSwingUp-v0", "InvertedDoublePendulum-v5", "InvertedPendulum-v5", "Reacher-v5"}
LARGE_ROBOTS = {  # these take long to compile
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "HumanoidStandup-v5",
    "Pusher-v5",
    "RandomAnt-v0",
    "Swimmer-v5",
    "Walker2d-v5",
}
BSUITE_MOTIONS = {"bsuite/cartpole-v0", "bsuite/cartpole_swingup-v0", "bsuite/mountain_car-v0"}
MINATAR = {id for id in ks.list_envs() if id.startswith("MinAtar/")}
MINIGRID = {id for id in ks.list_envs() if id.startswith("MiniGrid-")}
MOTIONS = {*CLASSIC, *SMALL_ROBOTS, *LARGE_ROBOTS, *BSUITE_MOTIONS, "Balls-v0"}
HIDDEN = {  # what decides is remembered, or there are too many states for a table
    "bsuite/memory_len-v0",
    "bsuite/memory_size-v0",
    "bsuite/umbrella_distract-v0",
    "bsuite/umbrella_length-v0",
}
NOISY = {"bsuite/deep_sea_stochastic-v0"}  # no table holds its rewards
UNDRAWN = {*BANDITS, *HIDDEN, "bsuite/bandit-v0", "bsuite/discounting_chain-v0"}
NEEDS = {"CustomGrid-v0": {"map": "SS.#\n.P..\n..G."}}
NOT_MARKOV = {"Blackjack-v1": {"sab": False}}  # with Gymnasium's rule its observation hides what decides


def made(id: str) -> ks.Env:
    return ks.make(id, **NEEDS.get(id, {}))


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", sorted(set(OWN_ENVS) - LARGE_ROBOTS))
def test_the_contract_holds(id):
    ks.check_env(made(id), steps=40)


@pytest.mark.by_default(
    "CartPole-v1", "Bandit-v0", "FrozenLake-v1", "MinAtar/Seaquest-v1", "MiniGrid-KeyCorridorS3R1-v0"
)
@pytest.mark.parametrize("id", sorted(OWN_ENVS))
def test_shapes_and_dtypes_are_the_same_with_64_bits(id):
    with jax.enable_x64(True):
        assert not list(shape_problems(made(id)))


@pytest.mark.full("larger")
@pytest.mark.parametrize("id", sorted(LARGE_ROBOTS))
def test_the_contract_holds_for_a_large_robot(id):
    ks.check_env(made(id), steps=40)


@pytest.mark.by_default("options2")
@pytest.mark.parametrize(
    "options",
    [
        {"observation": "coordinates", "moves": 8},
        {"observation": "one_hot", "wind": (1, 0, -1)},
        {"observation": "window", "slip": 0.3, "stay": True},
        {"teleports": {(0, 1): ((1, 1), 2.0)}, "time_limit": 3},
    ],
)
def test_the_contract_holds_for_a_grid_with(options):
    ks.check_env(ks.gridworld("S..\n..G\nP..", **options), steps=40)


@pytest.mark.full("covered")
@pytest.mark.parametrize("observation", ["index", "window"])
def test_the_contract_holds_for_a_grid_that_changes(observation):
    ks.check_env(ks.gridworld(["S.G\n...", "S#G\n..."], change_at=(5,), observation=observation), steps=30)


@pytest.mark.parametrize("id", sorted(set(OWN_ENVS) - BANDITS - MOTIONS - MINATAR - MINIGRID - HIDDEN - NOISY))
def test_a_model_is_a_model_and_its_panels_show_its_states(id):
    env = ks.make(id, **NOT_MARKOV[id]) if id in NOT_MARKOV else made(id)
    assert isinstance(env, Finite)
    model = env.model()
    check_model(model)
    for panel in env.panels():
        shown = [s for row in panel.states for s in row]
        assert len({len(row) for row in panel.states}) == 1
        assert set(shown) <= set(range(-1, model.num_states))
        assert len(panel.action_names) == len(panel.action_arrows) == model.num_actions


@pytest.mark.parametrize("id", sorted(BANDITS | MOTIONS | MINATAR | MINIGRID | HIDDEN))
def test_bandits_motions_and_games_have_no_model(id):
    assert not isinstance(made(id), Finite)


@pytest.mark.by_default("FrozenLake-v1", "GridWorld-v0")
@pytest.mark.parametrize("id", sorted(set(OWN_ENVS) - UNDRAWN - LARGE_ROBOTS))
def test_an_environment_with_states_is_drawn_from_a_concrete_state(id):
    env = made(id)
    state = env.reset(jax.random.key(0))[0]
    if isinstance(env, Drawable3d):
        positions, quaternions = jax.jit(lambda state: env.poses(state))(state)
        assert np.isfinite(positions).all()
        assert np.linalg.norm(quaternions, axis=1) == pytest.approx(1.0, abs=1e-5)
        assert not isinstance(env, Drawable)
        return
    assert isinstance(env, Drawable)
    scene = env.scene(jax.device_get(state))
    assert scene.width > 0
    assert scene.height > 0


@pytest.mark.parametrize("id", OWN_ENVS)
def test_two_of_the_same_are_equal_in_structure_so_that_a_program_is_compiled_once(id):
    one, other = jax.tree.flatten(made(id)), jax.tree.flatten(made(id))
    assert one[1] == other[1]
    assert hash(one[1]) == hash(other[1])
    assert all(np.array_equal(a, b) for a, b in zip(one[0], other[0], strict=True))


@pytest.mark.by_default(
    "[!M]*", "M[!i]*", "MinAtar/*-v0", "MiniGrid-DoorKey-5x5-v0", "MiniGrid-FourRooms-v0", "MiniGrid-LavaGapS5-v0",
    "MiniGrid-MultiRoom-N2-S4-v0", "MiniGrid-Unlock-v0",
)  # fmt: skip
@pytest.mark.parametrize("id", OWN_ENVS)
def test_two_of_the_same_have_one_hash_so_that_jit_takes_their_methods(id):
    one, another = made(id), made(id)
    assert hash(one) == hash(another)
    assert one == another
    assert jax.jit(one.reset).eval_shape(jax.random.key(0)) == jax.eval_shape(another.reset, jax.random.key(0))


def test_environments_that_differ_in_an_array_alone_are_two_programs():
    open_, walled = (ks.make("CustomGrid-v0", map=map_) for map_ in ("S..\n..G", "S#.\n..G"))
    assert hash(open_) != hash(walled)
    key, action = jax.random.key(0), np.int32(1)
    ends = [jax.jit(env.step)(key, env.reset(key)[0], action)[1].obs for env in (open_, walled)]
    assert [int(end) for end in ends] == [1, 0]


def test_an_environment_that_holds_a_random_key_has_a_hash_too():
    keyed = [eqx.tree_at(lambda env: env.gravity, ks.make("CartPole-v1"), jax.random.key(seed)) for seed in (0, 0, 1)]
    assert hash(keyed[0]) == hash(keyed[1])
    assert hash(keyed[0]) != hash(keyed[2])


def test_a_time_limit_that_no_counter_holds_is_refused_by_each():
    limited = [id for id in ks.list_envs() if "time_limit" in ENVS.options(id) and id != "CustomGrid-v0"]
    assert len(limited) > 40
    for id in limited:
        with pytest.raises(ks.ConfigError, match=r"^time_limit: got 2147483648; use a .* at most"):
            ks.make(id, time_limit=2**31)
