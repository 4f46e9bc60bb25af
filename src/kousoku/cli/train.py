"""`kousoku train AGENT ENV`: train, evaluate, report."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..agents import AGENTS
from ..agents.exploration import EXPLORATIONS
from ..agents.options import make_agent
from ..core.errors import ConfigError
from ..envs import ENVS
from ..training.config import Kind, OnResume, TrainConfig, settings
from ..training.devices import use_all_cores
from ..training.presets import preset
from .options import Option, described, hyper_parameter, literal, number, numbers, parse

WHAT = "Train agents on an environment, evaluate them greedily, and write a run folder with a report."
RESUME = "Go on with a run that was stopped or killed, or make one longer: it ends as if it had never stopped."


@functools.cache
def setting_options() -> tuple[Option, ...]:
    """Returns an option for each setting of a run that the shell has."""
    told, defaults = described(TrainConfig), {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    return tuple(
        Option(name, _shown_default(each.kind, defaults[name]), each.kind.value, told[name])
        for name, each in settings().items()
        if each.kind is not Kind.PYTHON
    )


def _shown_default(kind: Kind, default: Any) -> Any:
    """Returns a default as the help shows it; the description says what stands for none."""
    return ",".join(default) or None if kind is Kind.NAMES else default


def resume_options() -> list[Option]:
    """Returns the run to go on with, and what may be changed of it."""
    changeable = [option for option in setting_options() if settings()[option.name].on_resume is OnResume.CHANGEABLE]
    steps = Option(
        "steps", None, "NUMBER", "environment steps of each agent in all; by default as many as were asked for"
    )
    run = Option("resume", None, "RUN", "the run folder")
    return [run, *(steps if option.name == "steps" else option for option in changeable)]


def run(words: Sequence[str], sweep: bool = False) -> int:
    """Trains as the words of the command say; with `sweep`, numbers may be lists with commas."""
    from .. import api

    name = "sweep" if sweep else "train"
    if words and words[0].partition("=")[0] == "--resume":
        return _resume(words)
    agent_id, env_id, rest = _ids(name, words)
    agent_options, env_options = _agent_options(agent_id), _env_options(env_id)
    what = WHAT if not sweep else f"{WHAT} A number may be a list, as in 0.1,0.5: every combination is trained."
    given = parse(f"{name} {agent_id} {env_id}", what, [*setting_options(), *agent_options, *env_options], rest)
    asked = {option.name: given[option.name] for option in setting_options() if option.name in given}
    chosen = {option.name: str(given[option.name]) for option in agent_options if option.name in given}
    defaults = {option.name: option.default for option in agent_options}
    lists = {key: text for key, text in chosen.items() if "," in text and not isinstance(defaults[key], tuple)}
    if lists and not sweep:
        key, text = next(iter(lists.items()))
        raise ConfigError(f"--{key.replace('_', '-')}", text, "give one value; `kousoku sweep` takes lists")
    hyper = {k: hyper_parameter(k, text, defaults[k]) for k, text in chosen.items() if k not in lists}
    tuned = preset(agent_id, env_id)
    agent = make_agent(agent_id, **tuned.options | hyper)
    if tuned.steps is not None:
        asked.setdefault("steps", str(tuned.steps))
    use_all_cores()
    run = api.train(
        agent,
        env_id,
        env_options={o.name[4:]: _env_value(env_id, o, str(given[o.name])) for o in env_options if o.name in given},
        command=" ".join(["kousoku", name, *map(shlex.quote, words)]),
        sweep={key: numbers(key, text) for key, text in lists.items()},
        **_settings(asked),
    )
    return _end(run)


def _resume(words: Sequence[str]) -> int:
    """Resumes a run as the words of the command say."""
    from .. import api
    from .notices import on_one_line

    asked = _settings(parse("train", RESUME, resume_options(), words))
    use_all_cores()
    with on_one_line():
        return _end(api.resume(asked.pop("resume"), **asked))


def _end(run: Any) -> int:
    """Prints what came out; returns the exit status."""
    _tell(run)
    if run.record.facts["trouble"]:
        print(f"kousoku: stopped: {run.record.facts['trouble']}", file=sys.stderr)
        return 1
    return 0 if run.stopped_by is None else 128 + run.stopped_by


def _ids(name: str, words: Sequence[str]) -> tuple[str, str, list[str]]:
    """Returns (agent, environment, the other words); the two ids come first."""
    ids = [word for word in words[:2] if not word.startswith("-")]
    if len(ids) < 2:
        if {"-h", "--help"} & set(words):
            print(f"usage: kousoku {name} AGENT ENV [options]\n\n{WHAT}\n")
            print(f"agents: {', '.join(AGENTS.ids())}\nenvironments: {', '.join(ENVS.ids())}\n")
            print(f"`kousoku {name} q_learning GridWorld-v0 --help` shows the options of both.")
            print("`kousoku train --resume RUN` goes on with a run that was stopped or killed.")
            raise SystemExit(0)
        missing = "agent" if not ids else "environment"
        raise ConfigError(missing, ..., f"say which: kousoku {name} AGENT ENV; `kousoku list` shows them")
    AGENTS.factory(ids[0])
    ENVS.factory(ids[1])
    return ids[0], ids[1], list(words[2:])


def _agent_options(id: str) -> list[Option]:
    """Returns the agent's hyper-parameters, and those of every exploration it may use."""
    said = described(AGENTS.factory(id))
    options = []
    for name, parameter in AGENTS.options(id).items():
        if name == "exploration":
            options += _exploration_options(type(parameter.default))
        elif name == "network":
            options += _network_options(parameter.default)
        else:
            options.append(Option(name, parameter.default, "VALUE", said.get(name, f"hyper-parameter of {id}")))
    return options


def _exploration_options(default: type) -> list[Option]:
    own = next(name for name, kind in EXPLORATIONS.items() if kind is default)
    choice = Option("exploration", own, "NAME", f"the behaviour policy: one of {', '.join(EXPLORATIONS)}")
    return [choice] + [
        Option(field, inner.default, "NUMBER", described(kind).get(field, f"of {label} exploration"))
        for label, kind in EXPLORATIONS.items()
        for field, inner in inspect.signature(kind).parameters.items()
    ]


def _network_options(default: Any) -> list[Option]:
    said = described(type(default))
    fields = dataclasses.fields(default) if dataclasses.is_dataclass(default) else ()
    return [
        Option(field.name, _widths(field, default), "VALUE", said.get(field.name, "of the network")) for field in fields
    ]


def _widths(field: Any, default: Any) -> Any:
    """Returns a field's default; for one that takes several numbers always a tuple."""
    value = getattr(default, field.name)
    return () if value is None and "tuple" in str(field.type) else value


def _env_options(id: str) -> list[Option]:
    said = described(ENVS.factory(id))
    return [
        Option(f"env.{name}", _shown(parameter.default), "VALUE", said.get(name, f"option of {id}"))
        for name, parameter in ENVS.options(id).items()
    ]


def _shown(default: Any) -> Any:
    """Returns a default as the help shows it; long ones (maps) are left out."""
    text = str(default)
    return None if default is inspect.Parameter.empty or len(text) > 40 or "\n" in text else default


def _env_value(id: str, option: Option, text: str) -> Any:
    name = option.name[4:]
    if name == "map":
        path = Path(text)
        return path.read_text() if path.is_file() else text.replace("/", "\n")
    default = ENVS.options(id)[name].default
    return literal(f"--{option.name}", text, default)


def _settings(given: dict[str, str | bool]) -> dict[str, Any]:
    """Turns the words that were given for settings into values, each by its kind."""
    known = settings()
    return {name: _value(name, known[name].kind, text) if name in known else text for name, text in given.items()}


def _value(name: str, kind: Kind, text: str | bool) -> Any:
    flag, words = f"--{name.replace('_', '-')}", str(text)
    if kind is Kind.COUNT:
        return number(flag, words)
    if kind is Kind.NUMBERS:
        return numbers(flag, words) if "," in words else number(flag, words)
    return [part for part in words.split(",") if part] if kind is Kind.NAMES else text


def _tell(run: Any) -> None:
    """Prints what came out, on one screen."""
    from ..ops.statistics import mean_interval
    from ..training.metrics.progress import readable

    facts, record = run.record.facts, run.record
    print(f"{facts['status']}: {facts['lanes']} agents x {facts['steps']} steps in {facts['seconds']:.2f} s", end=" ")
    print(f"({readable(facts['steps_per_second'])} steps/s, {readable(facts['episodes'])} episodes)")
    if facts.get("blown_up"):
        print(f"blown up: the physics of {facts['blown_up']:,} episodes, which were terminated there")
    if "return" in record.evaluation:
        for i, point in enumerate(record.points):
            returns = record.evaluation["return"][record.member_point == i].mean(axis=1)
            mean, low, high, count = (float(part) for part in mean_interval(returns))
            spread = f" [{low:.4g}, {high:.4g}] over {count:.0f} agents" if count > 1 else ""
            label = ", ".join(f"{k} = {v:g}" for k, v in point.items())
            print(f"greedy return{' at ' + label if label else ''}: {mean:.4g}{spread}")
    if run.path is not None:
        print(f"report: {run.report}")
    sys.stdout.flush()
