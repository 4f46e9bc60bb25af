"""`kousoku bench ppo`: steps a second of PPO from end to end, beside other libraries' with the same settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kousoku.core.errors import ConfigError

from . import ppo_start
from .contender import Contender, measure_parts
from .ppo_settings import PUREJAXRL, PPOSettings, of_preset
from .ppo_start import StartupContender
from .table import COMPILE, SPEED, Section, TableColumn, TableRow

TITLE = "PPO: training from end to end"
ABOUT = (
    "Steps of all environments in a second of training: acting, stepping, advantages, all epochs, and the returns of "
    "episodes. Each contender runs in a process of its own and trains for about {seconds:g} s or one whole training "
    "once everything is compiled; compile time is apart, and without a cache. Actor and critic have two hidden layers "
    "of 64 tanh units each. Nobody evaluates."
)
ALONE = "One agent, and {seeds} seeds trained together in one program, with our preset."
SHARED = (
    "The settings of PureJaxRL's script for everybody: 500,000 steps, a learning rate that goes down to 0 (constant in "
    "rejax, SB3 and sbx), an entropy bonus, clipped values, nothing normalised. PureJaxRL and rejax run gymnax's "
    "environment, SB3 and sbx Gymnasium's in one process, PyTorch on one thread."
)
ROBOT = (
    "Our preset, and others with its network, epochs, minibatches, samples of a minibatch, and normalisation of "
    "observations. SB3 and sbx, whose rewards are normalised too as ours are, make the same rollout with {envs} of "
    "Gymnasium's environments in one process. Brax trains its own robot of that name, in as many environments as ours."
)
COLUMNS = (
    TableColumn("agents", "seeds", ",d"),
    SPEED,
    TableColumn("environments", "environments", ",d"),
    TableColumn("rollout", "steps a rollout", ",d"),
    TableColumn("minibatch", "samples a minibatch", ",d"),
    TableColumn("epochs", "epochs", ",d"),
    COMPILE,
    TableColumn("seconds", "measured, s", ",.1f"),
)
CARTPOLE = "CartPole-v1"
ENVS = (CARTPOLE, "HalfCheetah-v5", "Ant-v5")
PARTS = (*ENVS, ppo_start.PART)
SEEDS, GYMNASIUM_ENVS = 30, 8
LIBRARIES = {"SB3": "stable_baselines3", "sbx": "sbx"}
BACKENDS = ("spring", "generalized")
NAMES = (
    "gymnasium", "gymnax", "mujoco", "stable-baselines3", "torch", "sbx-rl", "rejax", "brax", "flax", "distrax",
)  # fmt: skip
NO_FOLDER = "name a folder that holds its source with --purejaxrl"


@dataclass(frozen=True)
class PPOBudget:
    """The time that the benchmark takes.

    Attributes:
        seconds: of training, of each contender.
        limit: seconds after which a contender's process is stopped, compiling and all.
        purejaxrl: the folder that holds PureJaxRL's source; None without.
    """

    seconds: float = 20.0
    limit: float = 400.0
    purejaxrl: str | None = None


def bench(out: Path, budget: PPOBudget, only: str | None = None, say: Callable[[str], None] = print) -> list[Section]:
    """Measures all, or one of `PARTS`, and saves ppo.md and ppo.json (or ppo_PART) after each contender.

    Raises:
        ConfigError: for a folder without PureJaxRL, before anything is measured.
    """
    folder = budget.purejaxrl
    if folder is not None and not (Path(folder).expanduser() / "purejaxrl" / "ppo.py").is_file():
        raise ConfigError("--purejaxrl", folder, "name a folder that holds purejaxrl/ppo.py")
    name, parts = ("ppo", PARTS) if only is None else (f"ppo_{only}", (only,))
    about = "" if only == ppo_start.PART else ABOUT.format(seconds=budget.seconds)
    return measure_parts(out, name, TITLE, about, _parts(parts, budget), budget.limit, NAMES, _line, say)


def _line(section: Section, row: TableRow) -> str:
    found, measure = row.figures.get(section.measure.key), section.measure
    who = f"{row.name}, {row.figures['agents']}" if "agents" in row.figures else row.name
    return f"{row.name}: {row.note}" if found is None else f"{who}: {found:{measure.form}} {measure.heading}"


def _parts(
    parts: tuple[str, ...], budget: PPOBudget
) -> Iterator[tuple[Section, Sequence[Contender | StartupContender]]]:
    """Yields tables without rows, and the contenders that their rows are of."""
    for part in parts:
        if part == ppo_start.PART:
            yield ppo_start.section(), [StartupContender(id) for id in ppo_start.IDS]
        elif part == CARTPOLE:
            yield (
                Section(f"{part}, our preset", ALONE.format(seeds=SEEDS), COLUMNS, [], "kousoku"),
                _alone(part, budget),
            )
            yield Section(f"{part}, PureJaxRL's settings", SHARED, COLUMNS, [], "PureJaxRL"), _shared(part, budget)
        else:
            yield Section(part, ROBOT.format(envs=GYMNASIUM_ENVS), COLUMNS, [], "SB3"), _robot(part, budget)


def _alone(env: str, budget: PPOBudget) -> list[Contender]:
    own = of_preset(env)
    return [*_both(env, own, 1, budget), *_both(env, own, SEEDS, budget)]


def _shared(env: str, budget: PPOBudget) -> list[Contender]:
    given, settings = PUREJAXRL, PUREJAXRL.as_dict()
    arguments = env, settings, budget.seconds
    theirs = [
        Contender(
            "PureJaxRL",
            "ppo_peers",
            "purejaxrl",
            (env, settings, seeds, budget.seconds, budget.purejaxrl),
            _sizes(given, seeds),
            "gymnax" if seeds == 1 else "gymnax, vmap",
            NO_FOLDER if budget.purejaxrl is None else None,
        )
        for seeds in (1, SEEDS)
    ]
    return [
        _ours(env, given, 1, False, budget),
        theirs[0],
        Contender("rejax", "ppo_peers", "rejax", arguments, _sizes(given), "gymnax; its evaluations left out"),
        *(_stable(name, env, given, 1, budget) for name in LIBRARIES),
        *_both(env, given, SEEDS, budget),
        theirs[1],
    ]


def _robot(env: str, budget: PPOBudget) -> list[Contender]:
    own = of_preset(env)
    few = own.with_envs(GYMNASIUM_ENVS)
    in_brax = [
        Contender(f"Brax {kind}", "ppo_peers", "brax", (env, own.as_dict(), kind), _sizes(own), "its own robot")
        for kind in BACKENDS
    ]
    return [*_both(env, own, 1, budget), *(_stable(name, env, few, 0, budget) for name in LIBRARIES), *in_brax]


def _ours(env: str, settings: PPOSettings, seeds: int, spread: bool, budget: PPOBudget) -> Contender:
    """Describes our run; `spread`: the cores are devices and share the seeds, or the environments of one, as in the
    shell.
    """
    arguments = env, settings.as_dict(), seeds, spread, budget.seconds
    note = "every core a device" if spread else "one device"
    return Contender("kousoku", "ppo_ours", "measure", arguments, _sizes(settings, seeds), note)


def _both(env: str, settings: PPOSettings, seeds: int, budget: PPOBudget) -> list[Contender]:
    return [_ours(env, settings, seeds, spread, budget) for spread in (True, False)]


def _stable(name: str, env: str, settings: PPOSettings, threads: int, budget: PPOBudget) -> Contender:
    arguments = LIBRARIES[name], env, settings.as_dict(), threads, budget.seconds
    return Contender(name, "ppo_peers", "stable_baselines", arguments, _sizes(settings), "DummyVecEnv")


def _sizes(settings: PPOSettings, seeds: int = 1) -> dict[str, float]:
    """Returns the figures of a row that are known before it is measured."""
    learning = {"rollout": settings.rollout, "minibatch": settings.minibatch, "epochs": settings.epochs}
    return {"agents": seeds, "environments": settings.num_envs, **learning}
