"""Our games beside the package `minatar`: the same draws and actions give the same states, rewards and ends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback
from minatar_package import GAMES, Peer, minimal, numbers_of, numbers_of_ours, play_ours
from minatar_players import in_the_midst

import kousoku as ks

pytestmark = [pytest.mark.peers, pytest.mark.reference]

SLOTS = 100
CHUNK = 100
NOISES = (0.02, 0.05, 0.3, 1.0)
"""Probabilities of a random action: of each slot's player one of these."""


@pytest.fixture(autouse=True, scope="module")
def _package():
    pytest.importorskip("minatar")


@pytest.mark.parametrize("ramping", [True, False])
@pytest.mark.parametrize("game", GAMES)
def test_twenty_thousand_steps(game, ramping):
    compare(game, 2 if ramping else 1, {"difficulty_ramping": ramping})


@pytest.mark.full("larger")
@pytest.mark.parametrize("game", GAMES)
def test_a_million_steps(game):
    compare(game, 100, {})


@pytest.mark.parametrize("game", ["Breakout", "Asterix"])
def test_other_options(game):
    compare(game, 1, {"sticky_action_prob": 0.5})
    compare(game, 1, {"sticky_action_prob": 0.0, "use_minimal_action_set": False})


@pytest.mark.parametrize("version", ["v0", "v1"])
@pytest.mark.parametrize("game", GAMES)
def test_spaces_are_those_of_its_gymnasium_ids(game, version):
    gymnasium = pytest.importorskip("gymnasium")
    from minatar.gym import register_envs

    id = f"MinAtar/{game}-{version}"
    if id not in gymnasium.registry:
        register_envs()
    spec = gymnasium.spec(id)
    theirs = gymnasium.envs.registration.load_env_creator(spec.entry_point)(**spec.kwargs)
    env = ks.make(id)
    assert theirs.observation_space.shape == env.observation_space.shape
    assert theirs.action_space.n == env.action_space.n
    assert spec.max_episode_steps == env.time_limit
    codes = [minimal(env, a) for a in range(env.action_space.n)]
    assert codes == theirs.action_set
    assert tuple(theirs.game.env.channels) == env.channels


def compare(name, chunks, options):
    """Asserts that `chunks` times a hundred steps in a hundred slots are the package's."""
    env = ks.make(f"MinAtar/{name}-v1", **options)
    noises = jnp.array(NOISES, jnp.float32)[jnp.arange(SLOTS) % len(NOISES)]

    def begin(key, state):
        return in_the_midst(env, key, state.last_action)

    keys = jax.random.split(jax.random.key(0), SLOTS)
    states = jax.vmap(lambda key: in_the_midst(env, key, jnp.int32(0)))(keys)
    prob = float(env.sticky_action_prob)
    peers = [Peer(name, prob, env.difficulty_ramping) for _ in range(SLOTS)]
    for i, peer in enumerate(peers):
        peer.begin(jax.tree.map(lambda x, i=i: np.asarray(x[i]), states.game))
    program = jax.jit(lambda states, keys: play_ours(env, noises, states, keys, begin, CHUNK))
    for chunk in range(chunks):
        with no_fallback():
            states, played = program(states, jax.random.split(jax.random.key(chunk + 1), SLOTS))
        check(name, env, peers, jax.tree.map(np.asarray, played))


def check(name, env, peers, played):
    """Lets the package's instances take the same steps."""
    ours = numbers_of_ours(name, played.state)
    leaves, structure = jax.tree.flatten(played.draws)
    again, game_structure = jax.tree.flatten(played.restart)
    theirs = np.zeros_like(ours)
    obs = np.zeros(played.obs.shape, bool)
    told = np.zeros((*played.reward.shape, 3), np.int64)
    for i, peer in enumerate(peers):
        for t in range(CHUNK):
            draws = jax.tree.unflatten(structure, [leaf[i, t] for leaf in leaves])
            code = minimal(env, played.action[i, t])
            reward, terminal = peer.step(played.sticky[i, t], draws, code)
            theirs[i, t] = numbers_of(name, peer.game)
            obs[i, t] = peer.game.state()
            told[i, t] = reward, terminal, peer.outer.last_action
            if terminal:
                peer.begin(jax.tree.unflatten(game_structure, [leaf[i, t] for leaf in again]))
    np.testing.assert_array_equal(played.reward, told[..., 0])
    np.testing.assert_array_equal(played.terminated, told[..., 1])
    np.testing.assert_array_equal(played.state.last_action, told[..., 2])
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(played.obs, obs)
