"""Other libraries' PPO, each measured in the process that calls; each may be absent or broken.

Every function takes plain arguments and returns figures, so that `run_in_subprocess` can call it in a new process.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax

from kousoku.interop.out.sb3_vector import to_sb3_vec

from .ppo_settings import PPOSettings

ORDER_FLAG = "--xla_cpu_enable_concurrency_optimized_scheduler=false"
BRAX_NAMES = {"HalfCheetah-v5": "halfcheetah", "Ant-v5": "ant"}
BRAX_EPOCHS = 3
HIDDEN = (64, 64)

Figures = dict[str, float]


def figures(steps: int, seconds: float, compile_seconds: float | None) -> Figures:
    """Returns the figures of a training whose compiling is not in `seconds`."""
    made = {"steps_per_second": steps / seconds, "steps": steps, "seconds": seconds}
    return made if compile_seconds is None else {**made, "compile_seconds": compile_seconds}


def compiled(function: Callable[[Any], Any], argument: Any, steps: int, seconds: float) -> Figures:
    """Measures a training that is one program in JAX, repeated as a whole until the time is over."""
    began = time.perf_counter()
    run = jax.jit(function).lower(argument).compile()
    compile_seconds = time.perf_counter() - began
    spent, made = 0.0, 0
    while not made or spent < seconds:
        began = time.perf_counter()
        jax.block_until_ready(run(argument))
        spent += time.perf_counter() - began
        made += steps
    return figures(made, spent, compile_seconds)


def purejaxrl(id: str, given: dict[str, Any], seeds: int, seconds: float, folder: str) -> Figures:
    """Measures PureJaxRL's ppo.py, from a folder with its source.

    Its orthogonal initialisation is a batched QR where seeds are trained together, which some versions of JAX hang in
    on a CPU unless XLA keeps to another order of its operations.
    """
    if seeds > 1:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ORDER_FLAG}".strip()
    settings = PPOSettings(**given)
    sys.path.insert(0, str(Path(folder).expanduser() / "purejaxrl"))
    config = {
        "ENV_NAME": id, "LR": settings.learning_rate, "ANNEAL_LR": settings.last_rate == 0,
        "NUM_ENVS": settings.num_envs, "NUM_STEPS": settings.num_steps, "TOTAL_TIMESTEPS": settings.steps,
        "UPDATE_EPOCHS": settings.epochs, "NUM_MINIBATCHES": settings.minibatches, "GAMMA": 0.99, "GAE_LAMBDA": 0.95,
        "CLIP_EPS": settings.value_clip, "ENT_COEF": settings.entropy, "VF_COEF": 0.5, "MAX_GRAD_NORM": 0.5,
        "ACTIVATION": "tanh",
    }  # fmt: skip
    train = importlib.import_module("ppo").make_train(config)
    steps = settings.steps // settings.rollout * settings.rollout
    if seeds == 1:
        return compiled(train, jax.random.PRNGKey(0), steps, seconds)
    return compiled(jax.vmap(train), jax.random.split(jax.random.PRNGKey(0), seeds), steps * seeds, seconds)


def rejax(id: str, given: dict[str, Any], seconds: float) -> Figures:
    """Measures rejax's PPO, without its evaluations."""
    settings = PPOSettings(**given)
    made = importlib.import_module("rejax").PPO.create(
        env=id, num_envs=settings.num_envs, num_steps=settings.num_steps, num_minibatches=settings.minibatches,
        num_epochs=settings.epochs, learning_rate=settings.learning_rate, total_timesteps=settings.steps,
        eval_freq=settings.steps, skip_initial_evaluation=True, max_grad_norm=0.5, ent_coef=settings.entropy,
        clip_eps=settings.value_clip, agent_kwargs={"activation": "tanh", "hidden_layer_sizes": HIDDEN},
    )  # fmt: skip
    algo = made.replace(eval_callback=lambda *_: jax.numpy.zeros(()))
    steps = -(-settings.steps // settings.rollout) * settings.rollout
    return compiled(algo.train, jax.random.PRNGKey(0), steps, seconds)


def stable_baselines(library: str, id: str, given: dict[str, Any], threads: int, seconds: float) -> Figures:
    """Measures Stable-Baselines3's PPO ("stable_baselines3") or its twin in JAX ("sbx"), on Gymnasium in this process.

    The first rollout and its update are not counted; what they take longer than the others is compiling in sbx.

    Args:
        library: the module's name.
        id: of the environment; ours after "kousoku/".
        given: `PPOSettings`, as JSON.
        threads: of PyTorch; 0 for its own choice.
        seconds: of training, at least one rollout.
    """
    settings = PPOSettings(**given)
    warnings.simplefilter("ignore")
    if threads:
        importlib.import_module("torch").set_num_threads(threads)
    vec_envs = importlib.import_module("stable_baselines3.common.vec_env")
    env = _vec_env(vec_envs, id, settings.num_envs)
    model = importlib.import_module(library).PPO(
        "MlpPolicy",
        vec_envs.VecNormalize(env) if settings.normalise else env,
        n_steps=settings.num_steps, batch_size=settings.minibatch, n_epochs=settings.epochs,
        learning_rate=settings.learning_rate, ent_coef=settings.entropy, clip_range_vf=settings.value_clip,
        device="cpu", seed=0,
    )  # fmt: skip
    timer = watch(seconds)
    model.learn(10**9, callback=timer)
    began, ended = timer.marks[1], timer.marks[-1]
    steps, taken = ended.steps - began.steps, ended.seconds - began.seconds
    first = began.seconds - timer.marks[0].seconds - taken / (len(timer.marks) - 2)
    found = figures(steps, taken, max(first, 0.0) if library == "sbx" else None)
    return {**found, "cpu_microseconds": 1e6 * (ended.cpu_seconds - began.cpu_seconds) / steps}


def _vec_env(vec_envs: Any, id: str, count: int) -> Any:
    """Returns Stable-Baselines3's vector of an environment of Gymnasium's, or of ours after "kousoku/"."""
    if id.startswith("kousoku/"):
        return vec_envs.VecMonitor(to_sb3_vec(id.partition("/")[2], count))
    make = importlib.import_module("stable_baselines3.common.env_util").make_vec_env
    return make(id, count, seed=0, vec_env_cls=vec_envs.DummyVecEnv)


class Mark(NamedTuple):
    """A moment at which a rollout begins.

    Attributes:
        seconds: of the clock.
        steps: of all environments up to there.
        cpu_seconds: of this process, all threads together.
    """

    seconds: float
    steps: int
    cpu_seconds: float


def watch(seconds: float, first: int = 0) -> Any:
    """Returns a callback that notes when rollouts begin, from so many steps on, and ends the training at the first one
    that is `seconds` after the second.
    """
    base = importlib.import_module("stable_baselines3.common.callbacks").BaseCallback

    class Watch(base):
        def __init__(self) -> None:
            super().__init__()
            self.marks: list[Mark] = []

        def _on_rollout_start(self) -> None:
            if self.num_timesteps >= first:
                self.marks.append(Mark(time.perf_counter(), self.num_timesteps, time.process_time()))

        def _on_step(self) -> bool:
            return len(self.marks) < 3 or self.marks[-1].seconds - self.marks[1].seconds < seconds

    return Watch()


def brax(id: str, given: dict[str, Any], backend: str) -> Figures:
    """Measures Brax's trainer on its own robot. Each epoch is one rollout and its update; the first compiles and does
    not count.

    Brax counts a minibatch in pieces of `num_steps` steps.
    """
    settings = PPOSettings(**given)
    envs = importlib.import_module("brax.envs")
    networks = importlib.import_module("brax.training.agents.ppo.networks")
    marks: list[float] = []

    def network(*args: Any, **options: Any) -> Any:
        layers = {f"{part}_hidden_layer_sizes": HIDDEN for part in ("policy", "value")}
        return networks.make_ppo_networks(*args, **options, **layers, activation=jax.numpy.tanh)

    importlib.import_module("brax.training.agents.ppo.train").train(
        environment=envs.get_environment(BRAX_NAMES[id], backend=backend),
        num_timesteps=BRAX_EPOCHS * settings.rollout, num_evals=BRAX_EPOCHS + 1, run_evals=False,
        episode_length=1000, num_envs=settings.num_envs, unroll_length=settings.num_steps,
        batch_size=settings.minibatch // settings.num_steps, num_minibatches=settings.minibatches,
        num_updates_per_batch=settings.epochs, normalize_observations=settings.normalise, max_grad_norm=0.5,
        learning_rate=settings.learning_rate, discounting=0.99, clipping_epsilon=0.2, network_factory=network,
        progress_fn=lambda step, metrics: marks.append(metrics["training/sps"]) if step else None,
    )  # fmt: skip
    first, rest = settings.rollout / marks[0], [settings.rollout / rate for rate in marks[1:]]
    return figures(settings.rollout * len(rest), sum(rest), first - sum(rest) / len(rest))
