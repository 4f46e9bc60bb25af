# %% [markdown]
# # Q-learning at the speed of light
#
# An environment, a policy, an agent; a Python loop; the same loop compiled; thirty agents at once; what they learned.
# Run it whole (`python examples/article.py`), or cell by cell in an editor that knows `# %%`.

# %%
from __future__ import annotations

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import kousoku as ks
from kousoku.ops.exploration import epsilon_greedy


# %% [markdown]
# ## The environment
#
# Eight rows, twelve columns, start bottom right, goal top left. An environment is a value with two pure functions, of
# one environment: no batch axis anywhere. `key` comes first, as everywhere in JAX.
# %%
def look_at_the_environment() -> int:
    """Takes one step to the left; returns the cell that it leads to."""
    env = ks.make("GridWorld-v0")
    reset_key, step_key = jax.random.split(jax.random.key(0))
    state, timestep = env.reset(reset_key)
    print("start in cell", timestep.obs, "of", env.observation_space)
    state, timestep = env.step(step_key, state, jnp.int32(3))
    print("left leads to", timestep.obs, "with reward", timestep.reward, "terminated", timestep.terminated)
    return int(timestep.obs)


# %% [markdown]
# ## The policy
#
# Epsilon-greedy with ties broken at random. With all values equal every action should be equally likely.
# %%
def look_at_the_policy(draws: int = 10_000) -> np.ndarray:
    """Counts how often each action is taken when all are equally good."""
    keys = jax.random.split(jax.random.key(1), draws)
    actions = jax.jit(jax.vmap(lambda key: epsilon_greedy(key, jnp.zeros(4), 0.1)))(keys)
    shares = np.bincount(np.asarray(actions), minlength=4) / draws
    print("shares of the four actions:", shares.round(3))
    return shares


# %% [markdown]
# ## The agent in a Python loop
#
# `init`, `act`, `update`: three pure functions. The loop is written out here once; `ks.train(..., loop="python")` is
# this loop, with every value checked.
# %%
def python_loop(steps: int) -> float:
    """Trains one agent step by step; returns steps per second."""
    env = ks.make("GridWorld-v0")
    agent = ks.make_agent("q_learning", learning_rate=0.1, discount=0.9, epsilon=0.1)
    act = jax.jit(lambda learned, obs, key: agent.act(learned, obs, (), key)[0])
    update = jax.jit(lambda learned, transition, key: agent.update(learned, transition, key)[0])
    reset, step = jax.jit(lambda key: env.reset(key)), jax.jit(lambda key, state, action: env.step(key, state, action))
    key = jax.random.key(2)
    learned = agent.init(env.spec, key)
    state, timestep = reset(jax.random.fold_in(key, 0))
    began = time.perf_counter()
    for i in range(1, steps + 1):
        act_key, env_key, update_key, reset_key = jax.random.split(jax.random.fold_in(key, i), 4)
        obs, action = timestep.obs, act(learned, timestep.obs, act_key)
        state, timestep = step(env_key, state, action)
        transition = ks.Transition(
            obs, action, timestep.reward, timestep.terminated, timestep.truncated, next_obs=timestep.obs
        )
        learned = update(learned, transition, update_key)
        if timestep.terminated:
            state, timestep = reset(reset_key)
    return steps / (time.perf_counter() - began)


# %% [markdown]
# ## The same, compiled: one agent, then thirty
#
# One program holds agent, environment, resets and updates. Thirty agents are thirty seeds of the same program; each of
# them learns, bit for bit, what it would have learned alone.
# %%
def compiled_loop(steps: int, seeds: int, out: str) -> ks.Run:
    """Trains `seeds` agents and keeps the run folder."""
    agent = ks.make_agent("q_learning", learning_rate=0.1, discount=0.9, epsilon=0.1)
    return ks.train(agent, "GridWorld-v0", steps=steps, seeds=seeds, out=out)


# %% [markdown]
# ## What they learned
# %%
def main(steps: int = 100_000, python_steps: int = 2_000, out: str = "runs/article") -> dict[str, float]:
    """Does all of it; returns what a reader would want to know."""
    ks.use_all_cores()
    look_at_the_environment()
    look_at_the_policy()
    slow = python_loop(python_steps)
    one = compiled_loop(steps, 1, f"{out}-one")
    thirty = compiled_loop(steps, 30, f"{out}-thirty")
    for name, speed in (("Python loop", slow), ("one agent", speed_of(one)), ("thirty agents", speed_of(thirty))):
        print(f"{name:>14}: {speed:>12,.0f} steps/s, {speed / slow:,.0f} times the Python loop")
    thirty.plot_values().savefig(Path(f"{out}-thirty") / "heat_map.png")
    greedy = thirty.evaluate(episodes=20)
    print(f"greedy: return {greedy.population.mean:.2f}, {greedy.lengths.mean():.1f} steps; the shortest way has 18")
    print("report:", thirty.report)
    return {"largest value": float(thirty.q_values.max()), "length": float(greedy.lengths.mean())}


def speed_of(run: ks.Run) -> float:
    """Steps per second of all agents, compilation left out."""
    facts = run.record.facts
    steps_after_first = facts["steps"] - run.record.config["record_every"]
    return steps_after_first * facts["members"] / (facts["seconds"] - facts["first_block_seconds"])


if __name__ == "__main__":
    main()
