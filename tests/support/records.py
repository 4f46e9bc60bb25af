"""Made-up run records for tests of everything that draws: exact values plus noise, without any training."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from kousoku.core.model import TabularModel
from kousoku.core.panel import Panel
from kousoku.core.record import RunRecord
from kousoku.core.scene import Trajectory2d
from kousoku.envs.gridworld.env import GridState, GridWorld, gridworld

GRID = """
G.......
..##....
..#...#.
..#.P.#.
....##..
.##.....
...#..#.
.......S
"""
NOTHING: tuple[dict[str, float], ...] = ({},)
HOSTILE = ("<script>alert(1)</script>", "</script><script>alert(2)</script>", '"><img src=x onerror=alert(3)>')


def grid_env(rows: str = GRID, **options: Any) -> GridWorld:
    return gridworld(rows, **({"step_reward": 0.0, "goal_reward": 1.0} | options))


def exact_tables(model: TabularModel, discount: float) -> dict[str, np.ndarray]:
    """Values by plain value iteration, and the states that can be reached and are not terminal."""
    p, nxt, r = (np.asarray(x) for x in (model.probability, model.next_state, model.reward))
    going = ~np.asarray(model.terminated)
    v = np.zeros(model.num_states)
    for _ in range(3000):
        q = (p * (r + discount * going * v[nxt])).sum(-1)
        v, old = q.max(-1), v
        if np.abs(v - old).max() < 1e-10:
            break
    reached, frontier = np.asarray(model.start) > 0, list(np.flatnonzero(model.start))
    while frontier:
        s = frontier.pop()
        for t in np.unique(nxt[s][(p[s] > 0) & going[s]]):
            if not reached[t]:
                reached[t] = True
                frontier.append(t)
    return {"exact_q": q.astype(np.float32), "exact_v": v.astype(np.float32), "reachable": reached}


def curves(
    rng: np.random.Generator, members: int, steps: int, reports: int, speed: np.ndarray
) -> dict[str, np.ndarray]:
    """Curves that rise to 1 at the speed of each member; the first reports see no episode end."""
    step = np.linspace(steps / reports, steps, reports).astype(np.int64)
    learned = 1.0 - np.exp(-speed[None] * step[:, None] / steps)
    noise = rng.normal(size=(reports, members))
    returns = np.clip(learned + 0.12 * noise * (1.05 - learned), -1.0, 1.0)
    returns[: max(1, reports // 40)] = np.nan
    episodes = np.where(np.isnan(returns), 0, rng.integers(1, 30, returns.shape))
    return {
        "step": step,
        "return": returns.astype(np.float32),
        "length": (14 + 300 * np.exp(-1.5 * speed * step[:, None] / steps) + 3 * np.abs(noise)).astype(np.float32),
        "reward": (returns / 20).astype(np.float32),
        "episodes": episodes,
        "td_error": (0.3 * np.exp(-speed * step[:, None] / steps) + 0.003 * np.abs(noise)).astype(np.float32),
    }


def scenes(env: GridWorld, q: np.ndarray, limit: int = 200) -> tuple[Any, ...]:
    """The greedy walk from the first start."""
    model = env.model()
    s, frames = int(np.flatnonzero(model.start)[0]), []
    for _ in range(limit):
        frames.append(env.scene(GridState(jnp.int32(s))))
        a = int(q[s].argmax())
        s, ended = int(model.next_state[s, a, 0]), bool(model.terminated[s, a, 0])
        if ended:
            frames.append(env.scene(GridState(jnp.int32(s))))
            break
    return tuple(frames)


def make(
    env: Any,
    *,
    members: int = 30,
    points: tuple[dict[str, float], ...] = NOTHING,
    discount: float = 0.95,
    steps: int = 20_000,
    reports: int = 120,
    noise: float = 0.02,
    seed: int = 0,
    agent: str = "q_learning",
    env_id: str = "GridWorld-v0",
) -> RunRecord:
    """A record of `members` agents for each sweep point."""
    rng = np.random.default_rng(seed)
    total = members * len(points)
    exact = exact_tables(env.model(), discount)
    member_point = np.repeat(np.arange(len(points)), members)
    quality = np.linspace(1.0, 0.4, len(points))[member_point] * rng.uniform(0.8, 1.2, total)
    wrong = noise * rng.standard_normal((total, *exact["exact_q"].shape)) * np.abs(exact["exact_v"])[:, None]
    q = (exact["exact_q"] * (1 - noise * rng.random((total, 1, 1))) + wrong / quality[:, None, None]).astype(np.float32)
    q[:, ~exact["reachable"]] = 0.0
    near = np.abs(exact["exact_v"]) ** 2 * exact["reachable"]
    visits = rng.poisson(
        steps * (near / near.sum())[:, None] * (0.1 + rng.dirichlet(np.ones(q.shape[2]), q.shape[1])), q.shape
    )
    episodes = 20
    returns = np.clip(quality[:, None] + 0.05 * rng.standard_normal((total, episodes)), -1, 1).round(2)
    film = Trajectory2d(scenes(env, exact["exact_q"])) if isinstance(env, GridWorld) else None
    return RunRecord(
        path=None,
        config={
            "agent": {
                "id": agent, "learning_rate": 0.1, "discount": discount,
                "exploration": {"type": "EpsilonGreedy", "epsilon": 0.1}, "initial_value": 0.0,
            },
            "env": {"id": env_id, "options": {}},
            "steps": steps, "seeds": members, "sweep": {}, "record": ["returns", "td_errors", "visits"],
            "record_every": steps // reports, "loop": "compiled", "eval_episodes": episodes,
            "command": f"kousoku train {agent} {env_id} --steps {steps:_} --seeds {members}",
        },
        facts={
            "status": "finished", "steps": steps, "members": total, "episodes": int(12.3 * total * steps / 300),
            "seconds": 0.4123, "compile_seconds": 1.31, "steps_per_second": total * steps / 0.4123,
            "started": "2026-11-21T09:14:00+00:00",
            "versions": {"python": "3.11.7", "kousoku": "0.1.0", "jax": "0.10.2", "numpy": "2.4.6"},
            "device": {"platform": "cpu", "kind": "cpu", "count": 2, "cores": 2, "machine": "x86_64"},
        },
        points=points,
        member_seed=np.tile(np.arange(members), len(points)),
        member_point=member_point,
        curves=curves(rng, total, steps, reports, 12 * quality**2),
        tables={"q": q, "visits": visits, **exact},
        evaluation={
            "return": returns.astype(np.float32),
            "length": rng.integers(14, 17, returns.shape),
            "truncated": np.zeros(returns.shape, bool),
        },
        panels=env.panels(),
        film=film,
    )  # fmt: skip


def replaced(record: RunRecord, **changes: Any) -> RunRecord:
    return dataclasses.replace(record, **changes)


def grid() -> RunRecord:
    return make(grid_env(), noise=0.01)


def sweep() -> RunRecord:
    points = tuple({"learning_rate": a, "epsilon": e} for a in (0.5, 0.1, 0.02) for e in (0.1, 0.3))
    record = make(grid_env(), members=5, points=points)
    asked = {"learning_rate": [0.5, 0.1, 0.02], "epsilon": [0.1, 0.3]}
    return replaced(record, config=record.config | {"sweep": asked})


def single() -> RunRecord:
    return make(grid_env("S..G\n.#..\n...."), members=1, reports=40)


def evaluated_once(members: int = 5) -> RunRecord:
    """Agents with networks whose only evaluation is the one after training, which is above all that was seen before."""
    record = network(members=members)
    returns = np.linspace(1.0, 1.6, members, dtype=np.float32)[:, None].repeat(10, axis=1)
    curves = {name: values for name, values in record.curves.items() if not name.startswith("eval_")}
    return replaced(record, curves=curves, evaluation={"return": returns, "length": returns})


def cut_short(members: int = 5, limit: int = 250) -> RunRecord:
    """Agents that train on the beginnings of episodes, and are judged by whole ones, worth ten times as much."""
    record = network(members=members, evaluations=3)
    agent = record.config["agent"] | {"max_episode_steps": limit}
    whole = record.evaluation["return"] * 10.0
    curves = record.curves | {"eval_return": record.curves["eval_return"] * 10.0}
    evaluation = record.evaluation | {"return": whole, "length": np.full(whole.shape, 4 * limit)}
    return replaced(record, config=record.config | {"agent": agent}, curves=curves, evaluation=evaluation)


def bandit(members: int = 30, arms: int = 10) -> RunRecord:
    rng = np.random.default_rng(3)
    means = rng.normal(size=(1, arms)).astype(np.float32)
    record = make(grid_env("S" + "." * 8 + "G"), members=members, env_id="Bandit-v0", agent="epsilon_greedy")
    q = means + 0.1 * rng.standard_normal((members, 1, arms)).astype(np.float32)
    share = np.exp(3 * means) / np.exp(3 * means).sum()
    tables = {
        "q": q, "visits": rng.poisson(20_000 * share, (members, 1, arms)), "exact_q": means, "exact_v": means.max(-1),
        "reachable": np.ones(1, bool),
    }  # fmt: skip
    rise = record.curves | {"return": np.full_like(record.curves["return"], np.nan), "length": record.curves["return"]}
    rise["reward"] = np.nan_to_num(1.4 * record.curves["return"])
    kept = {name: rise[name] for name in ("step", "return", "reward")}
    return replaced(record, tables=tables, curves=kept, evaluation={}, panels=(), film=None)


def interrupted() -> RunRecord:
    record = make(grid_env(), members=4, reports=20)
    cut = {name: values[:9].copy() for name, values in record.curves.items()}
    cut["return"][:] = np.nan
    q = record.tables["q"].copy()
    q[1, 5] = [np.inf, -np.inf, np.nan, 0.0]
    q[2] = np.nan
    facts = record.facts | {"status": "interrupted", "steps": 9_000}
    return replaced(record, curves=cut, facts=facts, evaluation={}, film=None, tables=record.tables | {"q": q})


def bare() -> RunRecord:
    """An environment without a model and a picture."""
    record = make(grid_env(), members=8)
    tables = {"q": record.tables["q"]}
    return replaced(record, tables=tables, panels=(), film=None, curves={"step": record.curves["step"]})


def deep() -> RunRecord:
    """An agent without a table."""
    return replaced(make(grid_env(), members=8), tables={}, panels=())


def network(members: int = 5, reports: int = 60, evaluations: int = 10, points: Any = NOTHING) -> RunRecord:
    """An agent with a network, as PPO reports it: losses, the time of each report, greedy evaluations."""
    record = replaced(
        make(grid_env(), members=members, reports=reports, points=points, agent="ppo"), tables={}, panels=()
    )
    rng, shape = np.random.default_rng(8), (reports, members * len(points))
    t = np.linspace(0.0, 1.0, reports)[:, None]
    noise = rng.normal(size=shape)
    losses = {
        "approx_kl": 0.008 + 0.002 * noise, "clipfrac": 0.1 + 0.02 * noise, "entropy": 0.69 - 0.5 * t + 0.01 * noise,
        "explained_variance": 1 - np.exp(-5 * t) + 0.02 * noise, "gradient_norm": 0.5 + 0.1 * noise,
        "learning_rate": np.full(shape, 3e-4), "policy_loss": 0.01 * noise, "value_loss": np.exp(-3 * t) + 0.05 * noise,
        "return_std": 2.0 + 0.1 * noise, "update_norm": np.exp(-2 * t) + 0.01 * noise,
        "noise_std": np.full(shape, 0.03), "step_size": 0.1 + 0.01 * noise,
        **{name: np.exp(-2 * t) + 0.01 * noise for name in ("td_loss", "qf_loss", "alpha", "alpha_loss", "epsilon")},
        **dict.fromkeys(("q_values", "qf_values", "actor_loss"), 50.0 * t + noise), "of_my_own": noise,
    }  # fmt: skip
    known = np.linspace(0, reports - 1, evaluations + 1).astype(int)[1:]
    evals = {
        "eval_step": record.curves["step"][known],
        "eval_return": np.clip(np.nan_to_num(record.curves["return"][known]) + 0.1, -1, 1).astype(np.float32),
        "eval_length": record.curves["length"][known],
    }
    curves = {**record.curves, **{name: np.asarray(x, np.float32) for name, x in losses.items()}, **evals}
    del curves["td_error"]
    curves["seconds"] = 40.0 + 15.0 * t[:, 0]
    settings = {
        "id": "ppo", "num_envs": 64, "normalise_observations": True, "learning_rate": 3e-4,
        "network": {"type": "ActorCriticConfig", "hidden": [64, 64], "critic_hidden": None, "recurrent_size": 128},
    }  # fmt: skip
    return replaced(record, curves=curves, config=record.config | {"agent": settings})


def large_maze(size: int = 50, members: int = 30) -> RunRecord:
    rng = np.random.default_rng(5)
    cells = np.where(rng.random((size, size)) < 0.27, "#", ".")
    for i in range(size):
        cells[i, min(i // 7 * 7, size - 1)] = cells[min(i // 7 * 7, size - 1), i] = "."
    cells[0, 0], cells[-1, :] = "S", "."
    cells[:, -1] = "."
    cells[-1, -1] = "G"
    return make(grid_env("\n".join("".join(row) for row in cells)), members=members, discount=0.97, noise=0.002)


def taxi_like() -> RunRecord:
    """Twenty panels of 5 x 5, four moves and two actions that have names only."""
    rng = np.random.default_rng(6)
    record = make(grid_env(), members=10, env_id="Taxi-v4")
    here = np.array([(i // 5, i % 5) for i in range(25)])
    places = {"R": (0, 0), "G": (0, 4), "Y": (4, 0), "B": (4, 3)}
    exact, panels = np.zeros((500, 6)), []
    arrows = ((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), None, None)
    for k, (source, goal) in enumerate((s, g) for s in [*places, "taxi"] for g in places):
        target = np.array(places[goal] if source in ("taxi", goal) else places[source])
        distance = np.abs(here - target).sum(1)
        states = range(25 * k, 25 * k + 25)
        exact[states, :4] = (18.0 - distance - (4 if source != "taxi" else 0))[:, None] - 1.5
        for a, move in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
            closer = np.abs(here + move - target).sum(1) < distance
            exact[np.array(states)[closer], a] += 1.0
        exact[states, 4:] = exact[states, :4].max(1, keepdims=True) - 9.0
        exact[states[int(distance.argmin())], 5 if source == "taxi" else 4] += 11.0
        panels.append(
            Panel(
                title=f"passenger {'in ' if source == 'taxi' else 'at '}{source}, to {goal}",
                states=tuple(tuple(states[5 * r + c] for c in range(5)) for r in range(5)),
                labels=tuple((*cell, letter) for letter, cell in places.items()),
                action_names=("south", "north", "east", "west", "pickup", "dropoff"),
                action_arrows=arrows,
            )
        )
    q = exact + 0.15 * rng.standard_normal((10, 500, 6)) * (rng.random((10, 500, 1)) < 0.6)
    tables = {
        "q": q.astype(np.float32), "visits": rng.poisson(np.exp(exact / 4) * 3, (10, 500, 6)),
        "exact_q": exact.astype(np.float32), "exact_v": exact.max(1).astype(np.float32),
        "reachable": np.ones(500, bool),
    }  # fmt: skip
    return replaced(record, tables=tables, panels=tuple(panels), film=None)


def blackjack_like() -> RunRecord:
    """Two panels of 10 x 10 with ticks, actions without arrows."""
    rng = np.random.default_rng(7)
    record = make(grid_env(), members=12, env_id="Blackjack-v1", agent="monte_carlo")
    player, dealer = np.arange(12, 22)[:, None], np.arange(1, 11)[None]
    stick = np.tanh((player - 17.5 - 0.15 * (dealer - 5)) / 2)
    hit = np.tanh((15.2 + 0.25 * dealer - player) / 4) * 0.4 - 0.15
    exact = np.stack([np.stack([stick, hit], -1), np.stack([stick, hit + 0.3], -1)]).reshape(200, 2)
    panels = tuple(
        Panel(
            title=title,
            states=tuple(tuple(100 * k + 10 * r + c for c in range(10)) for r in range(9, -1, -1)),
            row_label="player's sum",
            column_label="dealer shows",
            row_ticks=tuple(str(n) for n in range(21, 11, -1)),
            column_ticks=("A", *map(str, range(2, 11))),
            action_names=("stick", "hit"),
            action_arrows=(None, None),
        )
        for k, title in enumerate(("no usable ace", "usable ace"))
    )
    q = exact + 0.06 * rng.standard_normal((12, 200, 2))
    tables = {
        "q": q.astype(np.float32), "visits": rng.poisson(400, (12, 200, 2)), "exact_q": exact.astype(np.float32),
        "exact_v": exact.max(1).astype(np.float32), "reachable": np.ones(200, bool),
    }  # fmt: skip
    return replaced(record, tables=tables, panels=panels, film=None)


def hostile() -> RunRecord:
    """Markup wherever a user's own text can get into a page."""
    record = sweep()
    panel = dataclasses.replace(record.panels[0], title=HOSTILE[0], labels=((0, 1, HOSTILE[2]),))
    config = record.config | {
        "env": {"id": HOSTILE[0], "options": {"map": HOSTILE[1], HOSTILE[2]: "x\u2028y\u2029z"}},
        "agent": {"id": HOSTILE[2]},
        "command": f"kousoku train '{HOSTILE[1]}'",
    }
    points = tuple({HOSTILE[0]: point["learning_rate"], "epsilon": point["epsilon"]} for point in record.points)
    return replaced(record, config=config, panels=(panel,), points=points)


def cliff_like() -> RunRecord:
    """Returns that begin at minus thousands, a map that is wide and low, and values below zero."""
    rows = "\n".join([*["." * 12] * 3, "S" + "C" * 10 + "G"])
    env = grid_env(rows, step_reward=-1.0, goal_reward=0.0, cliff_reward=-99.0)
    record = make(env, members=30, discount=1.0, env_id="CliffWalking-v1", agent="sarsa", noise=0.05)
    late = record.curves["return"]
    returns = (-17 - 40 * (1 - late) - 3000 * np.exp(-np.arange(len(late))[:, None] / 1.2)).astype(np.float32)
    return replaced(record, curves=record.curves | {"return": returns})


ALL = {
    "grid": grid, "sweep": sweep, "single": single, "bandit": bandit, "interrupted": interrupted, "bare": bare,
    "deep": deep, "maze": large_maze, "taxi": taxi_like, "blackjack": blackjack_like, "hostile": hostile,
    "cliff": cliff_like, "network": network,
}  # fmt: skip
