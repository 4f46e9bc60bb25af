"""The front door: train, evaluate, load, and what a run can do."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from . import envs, viz
from .agents.options import describe, make_agent, rebuild
from .core.agent import Agent, AnyAgent, RolloutAgent
from .core.env import Env
from .core.errors import ConfigError, check_count, check_keys
from .core.record import RunRecord
from .ops.statistics import MeanInterval, mean_interval
from .training import checkpoints, compile_cache, files, run_folder
from .training.checkpoints import RunWarning
from .training.config import TrainConfig
from .training.evaluate import Lived, evaluate_lanes
from .training.film import MAX_FRAMES, MOST_FILMS, is_drawable, lane_film, policy_film
from .training.lanes import Lanes, make_lanes
from .training.lanes import lane as lane_agent
from .training.memory import check_episodes
from .training.policies import Policy
from .training.presets import Preset, preset
from .training.results import KEPT, Trained
from .training.states import from_arrays
from .training.trainer import train as train_lanes
from .training.trainer import unfinished
from .viz import headline
from .viz.animation import Animation
from .viz.tables import lane_name

RESUMED = ("seeds", "sweep", "record", "log", *KEPT)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Evaluation:
    """Greedy episodes of every lane.

    Attributes:
        returns: [N, E] undiscounted return of each episode.
        lengths: [N, E] steps of each episode.
        truncated: [N, E] whether a time limit ended it.
        best_lane: the lane with the highest mean return.
    """

    returns: np.ndarray
    lengths: np.ndarray
    truncated: np.ndarray

    @property
    def best_lane(self) -> int:
        return int(np.argmax(self.returns.mean(axis=1)))

    @property
    def best(self) -> MeanInterval:
        """Mean return of the best lane, with a 95% interval over its episodes."""
        return mean_interval(self.returns[self.best_lane])

    @property
    def lanes(self) -> MeanInterval:
        """Mean return over lanes, with a 95% interval over the lanes' means."""
        return mean_interval(self.returns.mean(axis=1))


class Run:
    """A training run: what was learned, pictures of it, and the folder that it lies in.

    Attributes:
        record: everything as NumPy arrays and plain Python; see `kousoku.core.record.RunRecord`.
    """

    def __init__(
        self,
        record: RunRecord,
        trained: Trained | None,
        state_leaves: list[np.ndarray],
        agent: AnyAgent | None = None,
        env: Env | None = None,
    ) -> None:
        self.record = record
        self._trained = trained
        self._state_leaves = state_leaves
        self._agent, self._env = agent, env

    def __repr__(self) -> str:
        facts, config = self.record.facts, self.record.config
        what = f"{config['agent']['id']} on {config['env']['id']}"
        return f"<Run {what}: {facts['lanes']} agents x {facts['steps']} steps, {facts['status']}, {self.path}>"

    @property
    def path(self) -> Path | None:
        """The run folder; None if it was not saved."""
        return self.record.path

    @property
    def report(self) -> Path | None:
        """The report's file; None if the run was not saved."""
        return None if self.path is None else self.path / "report.html"

    @property
    def q_values(self) -> np.ndarray:
        """[N, S, A] every agent's action values."""
        if "q" not in self.record.tables:
            raise ConfigError("q_values", self.record.config["agent"]["id"], "this agent has no table of action values")
        return self.record.tables["q"]

    @property
    def curves(self) -> dict[str, np.ndarray]:
        """Learning curves: "step" [R], and "return", "length", "reward", "td_error" [R, N] as far as recorded."""
        return self.record.curves

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the run early."""
        return self.record.facts["status"] == "interrupted"

    @property
    def stopped_by(self) -> int | None:
        """The number of the signal that stopped the run early, if it ran in this process."""
        return None if self._trained is None else self._trained.stopped_by

    def plot_values(self, lane: int | None = None) -> Figure:
        """Heat map of max Q with greedy arrows: of one agent, or of the mean over all."""
        return viz.plot_values(self.record, lane)

    def plot_returns(self) -> Figure:
        """Learning curve over all agents with a 95% interval."""
        return viz.plot_returns(self.record)

    def animate(self, agents: int = 1) -> Animation:
        """Greedy episodes of the best agents, side by side.

        It shows itself in a notebook; `.save("x.html")` writes a page with a player, and .gif, .mp4, .png and (in the
        plane) .svg work too.

        Raises:
            ConfigError: if the environment cannot be drawn, or there are not so many agents.
        """
        check_count("agents", agents, high=min(self.record.num_lanes, MOST_FILMS))
        if agents == 1 and self.record.film is not None:
            return viz.animate(self.record)
        env, lanes, lived = self._restore()
        if not is_drawable(env):
            return viz.animate(self.record)
        best = np.argsort(-self.record.scores, kind="stable")[:agents]
        films = [lane_film(lanes, lived, env, int(i), lane_name(self.record, int(i))) for i in best]
        return Animation(tuple(film for film in films if film is not None), headline.title(self.record))

    def evaluate(self, episodes: int = 100, *, seed: int = 0, max_steps: int = 1000) -> Evaluation:
        """Greedy episodes of every agent; see `kousoku.evaluate`."""
        check_count("episodes", episodes)
        check_count("seed", seed, low=0)
        check_count("max_steps", max_steps)
        compile_cache.enable()
        env, lanes, lived = self._restore()
        check_episodes("episodes", env, lanes.count, episodes)
        keys = jax.vmap(lambda key: jax.random.fold_in(key, seed))(lanes.keys)
        played = evaluate_lanes(lanes.structure, lanes.numbers, lived, env, keys, episodes, max_steps)
        return Evaluation(played.episode_return, played.length, played.truncated)

    def policy(self, lane: int | None = None) -> Policy:
        """What one agent does greedily; see `kousoku.load_policy`."""
        env, lanes, lived = self._restore()
        chosen = self.record.best_lane if lane is None else lane
        check_count("lane", chosen, low=0, high=lanes.count - 1)
        agent, config = lane_agent(lanes.numbers, lanes.structure, chosen), self.record.config
        state = jax.tree.map(lambda leaf: leaf[chosen], lived.agent_state)
        title = f"{config['agent']['id']} on {config['env']['id']}, lane {chosen}"
        return Policy(agent, state, env.spec, title)

    def _restore(self) -> tuple[Env, Lanes, Lived]:
        """The environment, the agents and what they have learned; rebuilt from the folder if need be."""
        if self._trained is not None:
            return self._trained.env, self._trained.lanes, self._trained.lived
        config = self.record.config
        agent, env = _made(config, self._agent, self._env)
        lanes = make_lanes(agent, TrainConfig(steps=1, seeds=config["seeds"], sweep=config["sweep"]))
        one = lane_agent(lanes.numbers, lanes.structure, 0)  # a sweep gives numbers where the agent may have none
        return env, lanes, _restore_lived(one, env, lanes, self._state_leaves)


def train(
    agent: str | AnyAgent,
    env: str | Env,
    *,
    env_options: Mapping[str, Any] | None = None,
    command: str | None = None,
    **settings: Any,
) -> Run:
    """Train agents on an environment: seeds x sweep points in one compiled program.

    Args:
        agent: an id ("q_learning"), or an agent made with its class or `make_agent`. By id, and with an environment by
            id, it is made with the settings tuned for the two, if there are any (`kousoku.preset`).
        env: an id ("GridWorld-v0"), or an environment.
        env_options: options of the environment, where it is given by id.
        command: the shell command that does the same, for the report.
        settings: the fields of `kousoku.training.config.TrainConfig`: steps, seeds, sweep, record, record_every,
            loop, eval_episodes, eval_max_steps, eval_every, checkpoint_every, keep_checkpoints, stop_on_nan, devices,
            out, log, progress.

    Returns:
        The run; its folder holds the report.

    Raises:
        ConfigError: for anything that cannot work, in one line, before anything is written.

    Examples:
        >>> run = train("q_learning", "GridWorld-v0", steps=5000, seeds=4, out="")
        >>> run.q_values.shape
        (4, 96, 4)
    """
    check_keys("train setting", settings, [field.name for field in dataclasses.fields(TrainConfig)])
    tuned = preset(agent, env) if isinstance(agent, str) and isinstance(env, str) else Preset()
    if tuned.steps is not None:
        settings.setdefault("steps", tuned.steps)
    config = TrainConfig(**settings)
    env_config = {"id": env if isinstance(env, str) else type(env).__name__, "options": dict(env_options or {})}
    if not isinstance(env, str) and env_options:
        raise ConfigError("env_options", dict(env_options), "give the environment by id, or make it with its options")
    if not isinstance(env, (str, Env)):
        raise ConfigError("env", env, "give an id or a kousoku.Env")
    if not isinstance(agent, (str, Agent, RolloutAgent)):
        raise ConfigError("agent", agent, "give an id or a kousoku.Agent")
    made_env = envs.make(env, **dict(env_options or {})) if isinstance(env, str) else env
    env_config["registered"] = isinstance(env, str)
    made_agent = make_agent(agent, **tuned.options) if isinstance(agent, str) else agent
    return _reported(train_lanes(made_agent, made_env, config, _jsonable(env_config), command))


def resume(
    path: str | Path,
    *,
    steps: int | None = None,
    agent: AnyAgent | None = None,
    env: Env | None = None,
    devices: int | None = None,
    progress: bool | None = None,
) -> Run:
    """Go on with a run that was stopped or killed, or that has come to its end and is to be longer.

    It goes on from its last whole checkpoint, and ends with the bits of a run that was never stopped, whatever happened
    to it. What a tabular agent learns is the same on any number of devices. A learner from rollouts goes on on as many
    as before; where it cannot, or is told another number, there is a warning, as sums over devices are rounded.

    Args:
        path: the run folder.
        steps: of each lane in all; by default as many as were asked for.
        agent, env: what the run was started with, where it was made in Python and has no id to be made by.
        devices: JAX devices to spread the lanes over; by default all, or as many as before.
        progress: show a progress bar; by default when the output is a terminal.

    Raises:
        ConfigError: if there is no run or another process works in it, if it has come to its end, if it cannot be
            rebuilt, or if no checkpoint is whole.

    Examples:
        >>> run = train("q_learning", "GridWorld-v0", steps=2000, out="my-longer-run")
        >>> resume("my-longer-run", steps=3000)
        <Run q_learning on GridWorld-v0: 1 agents x 3000 steps, finished, my-longer-run>
    """
    config, facts = run_folder.read_config(path), run_folder.status(files.typed(path))
    made_agent, made_env, asked = _asked(path, config, agent, env, steps=steps, devices=devices, progress=progress)
    env_config, command = config["env"], config.get("command")
    if asked.steps < config["steps"]:
        raise ConfigError("steps", steps, f"the run was asked for {config['steps']}; ask for more")
    if facts.get("status") == "finished" and facts["steps"] >= asked.steps:
        raise ConfigError("resume", str(path), f"it has come to its end, {facts['steps']} steps; ask for more steps")
    _check_agent(made_agent, config)
    return _reported(train_lanes(made_agent, made_env, asked, env_config, command, files.typed(path)))


def _asked(
    path: str | Path, config: dict[str, Any], agent: AnyAgent | None, env: Env | None, **changes: Any
) -> tuple[AnyAgent, Env, TrainConfig]:
    """What a run was asked to do, with the changes that are not None.

    Raises:
        ConfigError: if its configuration is damaged, or names what cannot be made by an id.
    """
    try:
        kept = {name: config[name] for name in RESUMED if name in config} | {"steps": config["steps"]}
        changed = {name: value for name, value in changes.items() if value is not None}
        return *_made(config, agent, env), TrainConfig(**(kept | changed))
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError("run", str(path), f"its {run_folder.CONFIG} is damaged ({error!r})") from error


def _reported(trained: Trained) -> Run:
    run = Run(trained.record, trained, [])
    if run.path is not None:
        viz.write_report(run.record, run.path)
    return run


def _made(config: dict[str, Any], agent: AnyAgent | None, env: Env | None) -> tuple[AnyAgent, Env]:
    """The agent and the environment that a run was started with: as given, or made by their ids.

    Raises:
        ConfigError: if what is given is not what the run was started with, or what is not given has no id.
    """
    if agent is None:
        agent = rebuild(config["agent"])
    else:
        _check_agent(agent, config)
    if env is None:
        return agent, _rebuild_env(config["env"])
    if config["env"].get("registered") and not eqx.tree_equal(env, _rebuild_env(config["env"])):
        begun = f"{config['env']['id']} with the options {config['env']['options']}"
        raise ConfigError("env", env, f"the run was started with {begun}")
    return agent, env


def _check_agent(agent: AnyAgent, config: dict[str, Any]) -> None:
    """Refuse another agent than that of a run.

    Raises:
        ConfigError: naming the first hyper-parameter that differs.
    """
    now, then = describe(agent), config["agent"]
    for name in (*then, *now):
        if now.get(name, ...) != then.get(name, ...):
            fix = f"the run was started with {then.get(name, 'none')!r}"
            raise ConfigError(f"agent's {name}", now.get(name, ...), fix)


def load(
    path: str | Path,
    *,
    agent: AnyAgent | None = None,
    env: Env | None = None,
    checkpoint: str | int | None = None,
) -> Run:
    """Read a run folder.

    A run that was killed, or that is still on its way, is read as its last whole checkpoint holds it, with a warning.
    Read as a checkpoint, a run has the status "unfinished", and no evaluation but those made on the way.

    Args:
        path: the folder.
        agent, env: what the run was started with, where it was made in Python and has no id to be made by.
        checkpoint: "best", or the step of one that was kept; by default the end of the run.

    Raises:
        ConfigError: if there is no run or no such checkpoint, a file is missing or damaged, there is neither an end nor
            a checkpoint, or the run was started with another agent or environment.
    """
    folder = files.typed(path)
    if checkpoint is not None or not run_folder.has_ended(path):
        config = run_folder.read_config(path)
        saved = checkpoints.newest(folder) if checkpoint is None else checkpoints.kept(folder, checkpoint)
        if saved is not None:
            trained = unfinished(*_asked(path, config, agent, env), config, folder, saved)
            if checkpoint is None:
                at = f"it is read as its checkpoint at step {saved.ledger.step} holds it"
                warnings.warn(f"{folder} has not come to its end: {at}", RunWarning, stacklevel=2)
            return Run(trained.record, trained, [])
    record, leaves = run_folder.load(path)
    return Run(record, None, leaves, agent, env)


def load_policy(run: Run | str | Path, lane: int | None = None, **how: Any) -> Policy:
    """What an agent of a run does greedily, as a small function from observations to actions.

    Args:
        run: a run, or its folder; one that was killed, or is still on its way, as its last checkpoint holds it.
        lane: which of its agents; by default the best one.
        how: of a folder, `agent`, `env` and `checkpoint` as `load` takes them.

    Raises:
        ConfigError: for a folder that is no run, a lane that there is not, or a run whose agent or environment has no
            id to be made by and is not given.

    Examples:
        >>> run = train("q_learning", "GridWorld-v0", steps=2000, out="")
        >>> policy = load_policy(run)
        >>> policy
        <Policy: q_learning on GridWorld-v0, lane 0>
        >>> policy([0, 1, 2]).shape
        (3,)
    """
    return _loaded(run, how).policy(lane)


def evaluate(
    run: Run | str | Path, episodes: int = 100, *, seed: int = 0, max_steps: int = 1000, **how: Any
) -> Evaluation:
    """Play whole greedy episodes with every agent of a run.

    Each episode has a key of its own, counts once whatever its length, and teaches the agents nothing.

    Args:
        run: a run, or its folder.
        episodes: of each agent.
        seed: of the evaluation; the same seed plays the same episodes.
        max_steps: where an episode is cut if the environment has no time limit.
        how: of a folder, `agent`, `env` and `checkpoint` as `load` takes them.

    Raises:
        ConfigError: for a folder that is no run, or a run whose agent or environment has no id to be made by and is not
            given.
    """
    return _loaded(run, how).evaluate(episodes, seed=seed, max_steps=max_steps)


def _loaded(run: Run | str | Path, how: Mapping[str, Any]) -> Run:
    """A run, or what is read from its folder."""
    if not isinstance(run, Run):
        check_keys("argument", how, ("agent", "env", "checkpoint"))
        return load(run, **how)
    check_keys("argument", how, ())
    return run


def animate(
    env: str | Env,
    policy: Callable[[Any, Any], Any] | None = None,
    *,
    episodes: int = 1,
    max_steps: int = MAX_FRAMES,
    seed: int = 0,
    title: str | None = None,
) -> Animation:
    """Episodes of an environment, side by side: to look at what one has made, before or without training.

    Args:
        env: an id, or an environment.
        policy: from an observation and a key to an action; None for random actions.
        episodes: how many, each with a key of its own.
        max_steps: where an episode is cut.
        seed: of everything random.
        title: above the picture; by default the environment's name.

    Raises:
        ConfigError: if the environment cannot be drawn, or the policy gives what is no action of it.

    Examples:
        >>> import jax.numpy as jnp
        >>> animate("CartPole-v1", lambda obs, key: jnp.where(obs[2] > 0, 1, 0), episodes=2)
        <Animation: 2 films of ... frames>
    """
    check_count("episodes", episodes, high=MOST_FILMS)
    check_count("max_steps", max_steps)
    check_count("seed", seed, low=0)
    made = envs.make(env) if isinstance(env, str) else env
    if isinstance(made, type):
        raise ConfigError("env", made.__name__, f"that is the class; make one of it: {made.__name__}(...)")
    if not is_drawable(made):
        raise ConfigError("env", env, "it has to have a `scene` or a `poses` method to be drawn")
    if policy is not None and not callable(policy):
        raise ConfigError("policy", policy, "give a function from an observation and a key to an action")
    chosen = policy or (lambda obs, key: made.action_space.sample(key))
    keys = jax.random.split(jax.random.key(seed), episodes)
    films = tuple(policy_film(made, chosen, key, f"episode {i + 1}", max_steps) for i, key in enumerate(keys))
    return Animation(films, (env if isinstance(env, str) else type(made).__name__) if title is None else title)


def _rebuild_env(config: dict[str, Any]) -> Env:
    if not config.get("registered"):
        fix = "it was made in Python and has no id; make it again and give it, or register it"
        raise ConfigError("env", config.get("id"), fix)
    return envs.make(config["id"], **config["options"])


def _restore_lived(agent: AnyAgent, env: Env, lanes: Lanes, leaves: list[np.ndarray]) -> Lived:
    """The agents' states and their environments', from a file's arrays."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    one = jax.eval_shape(lambda key: Lived(agent.init(env.spec, key), env.reset(key)[0]), key)
    return from_arrays(f"{describe(agent)['id']} on this environment", lanes.count, one, leaves)


def _jsonable(value: Any) -> Any:
    """Options as JSON: tuples and arrays as lists, keys as text."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_jsonable(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
