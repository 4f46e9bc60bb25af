"""`kousoku train AGENT ENV`: train, evaluate, report."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..agents import AGENTS
from ..agents.options import is_schedule
from ..core.dataset_file import SUFFIX
from ..core.errors import ConfigError
from ..core.typed_number import THOUSANDS
from ..envs import ENVS
from ..training.arguments import check_ids
from ..training.config import Kind
from ..training.devices import use_all_cores
from ..training.presets import Preset, preset
from .command_line import command_line
from .made_by_id import agent_options, env_options, env_values
from .options import Option, parse
from .settings import SEED, setting_options, setting_values
from .values import hyper_parameter, numbers
from .wrapped import fill

WHAT = "Train agents on an environment, evaluate them greedily, and write a run folder with a report."
LISTS = "A number may be a list, as in 0.1,0.5: every combination is trained."
GO_ON = "`kousoku resume RUN` goes on with a run that was stopped."
DATASET = "dataset"
"""The hyper-parameter that names a file."""
RESUME = Option("resume", None, "RUN", "the run folder")
WRAP = Option(
    "wrap",
    None,
    "NAMES",
    "wrappers around the environment, the first innermost, with their values: grayscale,resize:42x42,frame_stack:4",
)


def run(words: Sequence[str], sweep: bool = False) -> int:
    """Trains as the words of the command say; with `sweep`, numbers may be lists with commas."""
    name = "sweep" if sweep else "train"
    if words and words[0].partition("=")[0] == RESUME.flag:
        return _resume(words)
    ids, rest = _ids(words)
    what = f"{WHAT} {LISTS}" if sweep else WHAT
    if len(ids) < 2:
        _show_help(name, what, ids, rest)
    agent_id, env_id = ids
    use_all_cores()  # before options are listed, for which an environment of another library is made
    chosen = preset(agent_id, env_id)
    if chosen.options or chosen.steps:
        whose = "Tuned defaults" if chosen.source is None else f"Defaults {chosen.word}"
        what += f" {whose} are those for {env_id}; `kousoku {name} {agent_id} --help` shows the agent's own."
    of_run, of_agent, of_env = _settings(chosen), agent_options(agent_id, chosen), env_options(env_id)
    given = parse(f"{name} {agent_id} {env_id}", what, [*of_run, WRAP, *of_agent, *of_env], rest)
    if sweep:
        _check_settings(of_run, given)
    hyper, swept = _hyper_parameters(of_agent, given, sweep)
    of_made_env, env_swept = env_values(env_id, of_env, given, sweep)
    if sweep and not (swept or env_swept):
        _refuse_sweep([*of_agent, *of_env], given)
    if WRAP.name in given:
        of_made_env[WRAP.name] = str(given[WRAP.name]).split(",")
    return _train(
        agent_id,
        env_id,
        words,
        agent_options=hyper,
        env_options=of_made_env,
        command=command_line(["kousoku", name, *words]),
        sweep=swept | env_swept,
        **setting_values({option.name: given[option.name] for option in of_run if option.name in given}),
    )


def run_options(chosen: Preset) -> list[Option]:
    """Returns the options that every agent and environment has, with the steps of a preset."""
    return [*_settings(chosen), WRAP]


def _settings(chosen: Preset) -> list[Option]:
    """Returns the settings of the run."""
    steps, *others = setting_options()
    return [dataclasses.replace(steps, preset=chosen.text(chosen.steps)), *others[:1], SEED, *others[1:]]


def _check_settings(of_run: list[Option], given: Mapping[str, str | bool]) -> None:
    """Refuses several values of a setting that has one: a comma, which elsewhere stands between thousands.

    Raises:
        ConfigError: naming the setting.
    """
    for option in of_run:
        text = str(given.get(option.name, ""))
        if option.metavar == Kind.COUNT.value and "," in text:
            one = f"; of thousands write {text.replace(',', '_')}" if THOUSANDS.fullmatch(text) else ""
            raise ConfigError(option.flag, text, f"a setting of the run cannot be swept, give one value{one}")


def _refuse_sweep(options: list[Option], given: Mapping[str, str | bool]) -> NoReturn:
    """Refuses to sweep nothing.

    Raises:
        ConfigError: naming what has a comma but is no number, if anything has; else saying how to sweep.
    """
    how = "give a number several values, as in --learning-rate 0.1,0.5"
    for option in options:
        text = str(given.get(option.name, ""))
        if "," in text:
            fix = "it is structure, for which programs are compiled, and no number to sweep; give each a run of its own"
            raise ConfigError(option.flag, text, fix)
    raise ConfigError("sweep", ..., how)


def _train(agent_id: str, env_id: str, words: Sequence[str], **arguments: Any) -> int:
    from .. import api
    from .notices import end

    return end(api.train(agent_id, env_id, **arguments), words)


def _hyper_parameters(
    options: list[Option], given: Mapping[str, str | bool], sweep: bool
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Returns (one value each, the lists of a sweep) of the hyper-parameters that were given.

    Raises:
        ConfigError: for a list where nothing is swept, or a value that cannot be read.
    """
    one, lists = {}, {}
    for option in options:
        text = str(given.get(option.name, ""))
        if option.name not in given:
            continue
        is_file = option.name == DATASET and (not sweep or Path(text).is_file())
        one_text = is_file or (sweep and isinstance(option.default, (str, bool)))
        if "," not in text or option.several or one_text:
            like = option.default if isinstance(option.default, tuple) or not option.several else []
            one[option.name] = hyper_parameter(option.flag, text, like, option.scheduled)
        elif sweep:
            _check_numbers_alone(option, text)
            lists[option.name] = numbers(option.flag, text)
        else:
            raise ConfigError(option.flag, text, "give one value, without a comma; `kousoku sweep` takes lists")
    return one, lists


def _check_numbers_alone(option: Option, text: str) -> None:
    """Refuses a schedule, or a data set, among the values of a sweep.

    Raises:
        ConfigError: naming it.
    """
    for part in text.split(","):
        if option.scheduled and is_schedule(part):
            raise ConfigError(option.flag, part, "schedules cannot be swept, only numbers; give each a run of its own")
        if part.endswith(SUFFIX) or option.name == DATASET:
            raise ConfigError(option.flag, part, "a data set cannot be swept, only numbers; give each a run of its own")


def _resume(words: Sequence[str]) -> int:
    """Does what `kousoku resume` does, in the words of `train`."""
    from .resume import WHAT as WHAT_RESUME
    from .resume import resume, resume_options

    given = parse("train", WHAT_RESUME, [RESUME, *resume_options()], words)
    return resume({"run" if name == RESUME.name else name: text for name, text in given.items()}, words)


def _ids(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns (the ids of agent and environment, as far as they are there, the other words); the ids come first.

    Raises:
        ConfigError: for ids that do not exist, or that have changed places.
    """
    count = next((i for i, word in enumerate(words[:2]) if word.startswith("-")), min(len(words), 2))
    ids = list(words[:count])
    check_ids(ids[0] if ids else None, ids[1] if len(ids) > 1 else None)
    for id, registry in zip(ids, (AGENTS, ENVS), strict=False):
        registry.factory(id)
    return ids, list(words[count:])


def _show_help(name: str, what: str, ids: list[str], words: list[str]) -> NoReturn:
    """Shows the help of an agent, or of no id at all, and exits.

    Raises:
        ConfigError: if no help is asked for, so that an id is missing.
    """
    if not {"-h", "--help"} & set(words):
        missing = "environment" if ids else "agent"
        raise ConfigError(missing, ..., f"say which: kousoku {name} AGENT ENV; `kousoku list` shows them")
    if ids:
        parse(f"{name} {ids[0]} ENV", what, [*run_options(Preset()), *agent_options(ids[0], Preset())], words)
    print(f"usage: kousoku {name} AGENT ENV [options]\n\n{fill(what)}\n")
    print(fill(f"agents: {', '.join(AGENTS.ids())}"))
    print(fill(f"environments: {', '.join(ENVS.ids())}") + "\n")
    of_both = f"`kousoku {name} ppo CartPole-v1 --help` those of both, with the preset for the two"
    print(fill(f"`kousoku {name} ppo --help` shows the options of an agent, and {of_both}. {GO_ON}"))
    raise SystemExit(0)
