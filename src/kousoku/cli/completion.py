"""`kousoku completion SHELL`: a script that completes what is typed.

A script holds every word and asks nobody when a key is pressed. It is one table, {place: words}, and a function that
looks up the place: "1" is that of the command, "1 --" of an option in its place, "train 2" the second word after it,
"ppo --" the options of an agent, "--loop" the value of an option.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence

from ..agents import AGENTS
from ..agents.exploration import EXPLORATIONS
from ..core.errors import ConfigError, check_choice
from ..envs import ENVS
from ..training.config import LOOPS
from ..training.presets import Preset
from . import COMMANDS, MODULES, cache, catalogue
from .bench import BENCHMARKS
from .completion_scripts import SCRIPTS
from .made_by_id import agent_options, env_options
from .options import OWN_CODE, Option, parse
from .resume import resume_options
from .train import RESUME, run_options

OPTIONS = (Option("shell", None, "|".join(SCRIPTS), "the shell", positional=True),)
TRAINING = ("train", "sweep")


def run(words: Sequence[str]) -> int:
    """Prints the script of a shell."""
    given = parse("completion", "Print a script that completes commands, ids and options in a shell.", OPTIONS, words)
    if "shell" not in given:
        raise ConfigError("shell", ..., f"name one of {', '.join(SCRIPTS)}: kousoku completion bash")
    check_choice("shell", given["shell"], SCRIPTS)
    print(SCRIPTS[str(given["shell"])](words_by_place()))
    return 0


def words_by_place() -> Mapping[str, list[str]]:
    """Returns the words that may stand in each place."""
    agents, envs = AGENTS.ids(), ENVS.ids()
    return {
        "1": [*COMMANDS, "help", "version"],
        "1 --": ["--help", "--version"],
        **{f"{command} 2": agents for command in TRAINING},
        **{f"{command} 3": envs for command in TRAINING},
        "list 2": [*catalogue.KINDS, *agents, *envs],
        "view 2": envs,
        "bench 2": list(BENCHMARKS),
        "completion 2": list(SCRIPTS),
        "help 2": list(COMMANDS),
        "--clear": list(cache.KINDS),
        "--exploration": list(EXPLORATIONS),
        "--loop": list(LOOPS),
        "--checkpoint": ["best"],
        **{f"{command} --": _flags(_options(command)) for command in COMMANDS},
        **{f"{id} --": _flags(agent_options(id, Preset())) for id in agents},
        **{f"{id} --": _flags(env_options(id)) for id in envs},
    }


def _options(command: str) -> Iterable[Option]:
    """Returns the options of a command that depend on no id."""
    if command in TRAINING:
        return (RESUME, *run_options(Preset())) if command == "train" else run_options(Preset())
    if command == "resume":
        return resume_options()
    module = importlib.import_module(f".{MODULES.get(command, command)}", __package__)
    return module.OPTIONS


def _flags(options: Iterable[Option]) -> list[str]:
    named = [option for option in options if not (option.positional or option.hidden)]
    switches = [option.negated for option in named if option.negated]
    return [*(option.flag for option in named), *switches, OWN_CODE.flag, "--help"]
