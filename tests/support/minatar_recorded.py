"""Episodes of the package `minatar`, recorded: what our games have to do without it.

`python tests/support/minatar_recorded.py`, with the package installed, makes the recordings anew. Chance is words of
NumPy's PCG64, so that a recording holds a seed in their place, and of every observation a checksum.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from recordings import checksum, write

import kousoku as ks
from kousoku.envs.minatar.game import MinAtar

PATH = Path(__file__).with_name("minatar_recorded.json")
STEPS, SEEDS, NOISE = 400, 40, 0.05


def words_of(env: MinAtar, seed: int, steps: int) -> np.ndarray:
    """Returns random words: for each step of the step's own and then of the start that may follow; first of a start."""
    width = 1 + env.words_to_play + env.words_to_start
    raw = np.random.PCG64(seed).random_raw((steps + 1) * width)
    return (raw >> np.uint64(32)).astype(np.uint32).reshape(steps + 1, width)


def play(env: MinAtar, words: Any, choose: Any, given: Any) -> Any:
    """Plays with these words: returns what `choose(state, given)` chose, and of every step state, restart and timestep.

    Restarts follow where an episode terminated.
    """
    split = 1 + env.words_to_play
    start, _ = env.begin(words[0, split:], jnp.int32(0))

    def step(state: Any, now: Any) -> Any:
        words, given = now
        action = choose(state, given)
        after, timestep = env.respond(words[:split], state, action)
        again, _ = env.begin(words[split:], after.last_action)
        following = jax.tree.map(lambda a, b: jnp.where(timestep.terminated, a, b), again, after)
        return following, (action, after, again.game, timestep)

    return start, jax.lax.scan(step, start, (words[1:], given))[1]


def record(name: str) -> dict[str, Any]:
    """Lets the package play the best of several players, and writes down what it says."""
    from minatar_package import Peer, minimal
    from minatar_players import noisy_player

    env = ks.make(f"MinAtar/{name}-v1")
    words = np.stack([words_of(env, seed, STEPS) for seed in range(SEEDS)])
    player = noisy_player(NOISE)
    keys = jax.random.split(jax.random.key(0), (SEEDS, STEPS))
    program = jax.jit(jax.vmap(lambda w, k: play(env, w, lambda state, key: player(env, state, key), k)))
    starts, (actions, _, restarts, timesteps) = jax.tree.map(np.asarray, program(words, keys))
    worth = timesteps.reward.sum(axis=1) + 3.0 * np.minimum(timesteps.terminated.sum(axis=1), 2)
    seed = int(worth.argmax())

    def draws(word: Any) -> Any:
        return jax.tree.map(np.asarray, env.draw(jnp.asarray(word[1 : 1 + env.words_to_play])))

    peer = Peer(name)
    peer.begin(jax.tree.map(lambda x: x[seed], starts.game))
    rewards, ends, sums = [], [], []
    for t in range(STEPS):
        word = words[seed, t + 1]
        sticky = int(word[0] >> np.uint32(8)) * 2.0**-24
        reward, terminal = peer.step(sticky, draws(word), minimal(env, actions[seed, t]))
        rewards.append(int(reward))
        sums.append(checksum(peer.game.state()))
        if terminal:
            ends.append(t)
            peer.begin(jax.tree.map(lambda x, t=t: x[seed, t], restarts))
    told = "".join(map(str, actions[seed])), "".join(map(str, rewards))
    return {"seed": seed, "actions": told[0], "rewards": told[1], "ends": ends, "checksums": "".join(sums)}


def main() -> None:
    """Writes the recordings of all games."""
    from minatar_package import GAMES

    made = {name: record(name) for name in GAMES}
    write(PATH, made)
    for name, one in made.items():
        sys.stdout.write(f"{name}: reward {sum(map(int, one['rewards']))}, ends {one['ends']}\n")


if __name__ == "__main__":
    main()
