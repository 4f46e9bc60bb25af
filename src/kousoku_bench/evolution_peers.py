"""Other libraries' evolution strategies, each measured in the process that calls; each may be absent or broken.

Every function takes plain arguments and returns figures, so that `run_in_subprocess` can call it in a new process.
"""

from __future__ import annotations

import importlib
import time
import warnings
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp

Figures = dict[str, float]
LENGTHS = {"gymnax": 500, "brax": 1000}
"""Steps of each episode in evosax's loop."""


class TimeIsOver(Exception):
    """The end of a training of SB3-contrib's between two generations."""


def figures(score: float, steps: int, seconds: float, compile_seconds: float | None = None) -> Figures:
    """Returns the figures of a training whose compiling is not in `seconds`, and of its evaluation."""
    found = {"steps_per_second": steps / seconds, "return": score, "steps": steps, "seconds": seconds}
    return found if compile_seconds is None else {**found, "compile_seconds": compile_seconds}


def sb3_contrib(env: str, options: dict[str, Any], processes: int, seconds: float, episodes: int) -> Figures:
    """Measures SB3-contrib's ARS with observations normalised, on Gymnasium's environments in processes of their own.

    Args:
        env: Gymnasium's id.
        options: of its `ARS`.
        processes: each with an environment.
        seconds: of training; at least one generation.
        episodes: of the evaluation after it.
    """
    warnings.simplefilter("ignore")
    importlib.import_module("torch").set_num_threads(1)
    contrib = importlib.import_module("sb3_contrib")
    asynchronous = importlib.import_module("sb3_contrib.common.vec_env").AsyncEval
    evaluate = importlib.import_module("stable_baselines3.common.evaluation").evaluate_policy
    model = contrib.ARS("LinearPolicy", _normalised(env), seed=0, **options)
    workers = asynchronous([lambda: _normalised(env)] * processes, model.policy)
    began = time.perf_counter()
    with suppress(TimeIsOver):
        model.learn(10**9, callback=_until(began + seconds), async_eval=workers, log_interval=None)
    spent = time.perf_counter() - began
    workers.close()
    model.env.training = False
    score, _ = evaluate(model, model.env, n_eval_episodes=episodes, warn=False)
    return figures(float(score), model.num_timesteps, spent)


def _normalised(env: str) -> Any:
    """Makes one of Gymnasium's environments, whose observations are scaled by their running moments."""
    vec_envs = importlib.import_module("stable_baselines3.common.vec_env")
    made = importlib.import_module("stable_baselines3.common.env_util").make_vec_env(env, 1, seed=0)
    return vec_envs.VecNormalize(made, norm_obs=True, norm_reward=False)


def _until(end: float) -> Any:
    """Returns a callback that ends the training before the first generation after that time."""
    base = importlib.import_module("stable_baselines3.common.callbacks").BaseCallback

    class Until(base):
        generations = 0

        def _on_rollout_start(self) -> None:
            if self.generations and time.perf_counter() >= end:
                raise TimeIsOver
            self.generations += 1

        def _on_step(self) -> bool:
            return True

    return Until()


def evosax(
    strategy: str, population: int, hidden: tuple[int, ...], library: str, env: str, seconds: float, episodes: int
) -> Figures:
    """Measures evosax's own loop: ask, its problem's `eval`, tell; one compiled call a generation.

    Args:
        strategy: a class of `evosax.algorithms`, with its default settings.
        population: candidates of a generation.
        hidden: widths of the policy's hidden layers, with tanh.
        library: "gymnax" or "brax".
        env: the environment's name in there.
        seconds: of training; at least one generation.
        episodes: of the evaluation after it.
    """
    problem = _problem(library, env, tuple(hidden), 1)
    key = jax.random.key(0)
    solution = problem.sample(key)
    algorithm = getattr(importlib.import_module("evosax.algorithms"), strategy)(population, solution)
    params = algorithm.default_params

    @jax.jit
    def generation(key: Any, search: Any, stats: Any) -> tuple[Any, Any, Any]:
        key, ask_key, eval_key, tell_key = jax.random.split(key, 4)
        candidates, search = algorithm.ask(ask_key, search, params)
        fitness, stats, _ = problem.eval(eval_key, candidates, stats)
        search, _ = algorithm.tell(tell_key, candidates, -fitness, search, params)
        return key, search, stats

    state = key, algorithm.init(key, solution, params), problem.init(key)
    (_, search, stats), generations, spent, compile_seconds = _timed(generation, state, seconds)
    evaluation = _problem(library, env, tuple(hidden), episodes)
    mean = jax.tree.map(lambda x: x[None], algorithm.get_mean(search))
    score, _, _ = evaluation.eval(jax.random.key(1), mean, stats)
    return figures(float(score[0]), generations * population * LENGTHS[library], spent, compile_seconds)


def _timed(generation: Any, state: Any, seconds: float) -> tuple[Any, int, float, float]:
    """Times a function of `jax.jit`, which makes the next state of one.

    Returns:
        The state after as many generations as the time takes, their number, their seconds, and those of compiling.
    """
    began = time.perf_counter()
    run = generation.lower(*state).compile()
    compile_seconds = time.perf_counter() - began
    began, made = time.perf_counter(), 0
    while not made or time.perf_counter() - began < seconds:
        state = jax.block_until_ready(run(*state))
        made += 1
    return state, made, time.perf_counter() - began, compile_seconds


def _problem(library: str, env: str, hidden: tuple[int, ...], rollouts: int) -> Any:
    """Makes evosax's problem of an environment: deterministic policies, observations normalised.

    Brax's physics is its positional one.
    """
    networks = importlib.import_module("evosax.problems.networks")
    module = importlib.import_module(f"evosax.problems.rl.{library}")
    if library == "gymnax":
        made, _ = importlib.import_module("gymnax").make(env)
        policy = networks.MLP((*hidden, made.num_actions), output_fn=lambda x, key: jnp.argmax(x))
        return module.GymnaxProblem(env, policy, LENGTHS[library], rollouts)
    kwargs = {"backend": "positional"}
    actions = importlib.import_module("brax.envs").get_environment(env, **kwargs).action_size
    policy = networks.MLP((*hidden, actions), output_fn=networks.tanh_output_fn)
    return module.BraxProblem(env, policy, LENGTHS[library], rollouts, env_kwargs=kwargs)
