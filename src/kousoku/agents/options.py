"""An agent's hyper-parameters by name: to set them, to sweep them, to write them down and to read them back.

A name is a field of the agent ("learning_rate"), of its behaviour policy ("epsilon") or of its network's config
("hidden"): the latter two need no prefix.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx

from ..collectors import COLLECTORS
from ..core.agent import Agent
from ..core.arguments import in_our_names
from ..core.collector import Collector
from ..core.dataset import Dataset, DatasetFile
from ..core.dataset_file import SUFFIX, of_described
from ..core.errors import ConfigError, check_choice, check_keys, check_number, is_number, nearest
from ..core.former import FORMERLY, values_before
from ..core.ours import is_ours
from ..core.plain_number import plain_number
from ..nn import NETWORK_CONFIGS, PolicyConfig
from ..ops.schedules import SCHEDULES, Schedule, parse_schedule
from . import AGENTS
from .exploration import EXPLORATIONS, Exploration
from .ids import AgentId
from .needed_options import lacks

REFUSED_LATER = ("policy", "recurrent")
"""Options that an agent refuses with its reason when it is to begin, as that may depend on the environment."""
_SCHEDULE = re.compile(r"Schedule|Callable|\bAny\b")
"""What stands in a type whose values may be schedules: its name, what it stands for, or anything."""
_NUMBER = re.compile(r"\b(int|float|ScalarOrSchedule)\b")
"""What stands in a type whose values may be numbers."""


def make_agent(id: AgentId | str, **options: Any) -> Agent:
    """Makes an agent by id.

    Args:
        id: such as "q_learning"; `list_agents()` names all.
        options: hyper-parameters of the agent, of its exploration or of its network; `exploration` may be a name
            ("softmax"); a number may be a schedule, also as text ("linear:1.0:0.05:10_000"), and a count may be written
            as 1e6. Names of other libraries that mean exactly the same are understood ("gamma" is "discount").

    Raises:
        ConfigError: for an unknown id or hyper-parameter (with the nearest name), a bad value, or one that changes
            nothing without another option.

    Examples:
        >>> make_agent("q_learning", learning_rate=0.5, epsilon=0.2).exploration.epsilon
        0.2
    """
    agent = _made(id, options)
    given = in_our_names(options, option_names(id))
    for name in idle_options(id, given):
        raise ConfigError(name, given[name], f"it changes nothing without {_lacks(id, name, given)}; give that, too")
    return agent


def _check_one(name: str, value: Any, annotation: Any) -> None:
    """Refuses an array of several numbers where one is meant.

    Raises:
        ConfigError: with what trains several agents.
    """
    if getattr(value, "ndim", 0) and _NUMBER.search(str(annotation)) and "tuple" not in str(annotation):
        several = "" if "int" in str(annotation) else f'; sweep={{"{name}": [...]}} trains several agents'
        raise ConfigError(name, value, f"use one number{several}")


def _made(id: str, options: Mapping[str, Any]) -> Agent:
    """Returns an agent with options, also such as change nothing: a folder tells those that it was made with."""
    known, types = AGENTS.options(id), option_types(id)
    given = in_our_names(options, list(types))
    read = {name: _parsed(name, value, types.get(name, inspect.Parameter.empty)) for name, value in given.items()}
    if is_ours(AGENTS.factory(id)):
        for name, value in read.items():
            _check_one(name, value, types.get(name, inspect.Parameter.empty))
    own = {name: _whole(known[name], value) for name, value in read.items() if name in known}
    nested = {name: value for name, value in read.items() if name not in known}
    if "exploration" in known:
        own["exploration"] = _exploration(id, own.get("exploration", known["exploration"].default), nested, known)
    elif "network" in known:
        own["network"] = _network(id, own.get("network", known["network"].default), nested, known)
    else:
        check_keys(f"option of {id}", nested, known)
    try:
        agent = AGENTS.make(id, **own)
    except TypeError as error:
        raise ConfigError(f"options of {id}", options, str(error)) from error
    _check_used(id, nested, known)
    return agent


def idle_options(id: str, options: Mapping[str, Any]) -> list[str]:
    """Returns those of an agent's options that are not as by default and change nothing, for want of another one.

    Raises:
        ConfigError: for an unknown id.
    """
    types = option_types(id)
    lacking = [name for name in options if name in types and _lacks(id, name, options) is not None]
    return [name for name in lacking if _differs(_parsed(name, options[name], types[name]), _usual(id, name))]


def check_swept(id: str, options: Mapping[str, Any], swept: Mapping[str, Any]) -> None:
    """Refuses a sweep over an option that changes nothing beside an agent's others.

    Raises:
        ConfigError: naming what it lacks.
    """
    given = in_our_names(options, option_names(id))
    for name, values in swept.items():
        lacking = _lacks(id, name, given)
        if lacking is not None:
            raise ConfigError(f"sweep[{name!r}]", values, f"it changes nothing without {lacking}; give that, too")


def beside(id: str, preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a preset's options without those that change nothing beside what is given: nobody asked for them."""
    ours = in_our_names(given, option_names(id))
    idle = idle_options(id, {**preset, **ours})
    return {name: value for name, value in preset.items() if name in ours or name not in idle}


def _differs(value: Any, usual: Any) -> bool:
    return _described(value) != _described(usual)


def _lacks(id: str, name: str, options: Mapping[str, Any]) -> str | None:
    """Returns what an option lacks to change something, beside others; None if nothing, or if it is not one of ours."""
    if not is_ours(AGENTS.factory(id)):
        return None
    default = AGENTS.options(id).get("network")
    network = options.get("network", default and default.default)

    def value_of(other: str) -> Any:
        usual = _usual(id, other)
        return options.get(other, getattr(network, other, usual) if isinstance(network, NETWORK_CONFIGS) else usual)

    return lacks(name, value_of, isinstance(network, PolicyConfig))


def _usual(id: str, name: str) -> Any:
    """Returns the default of an agent's option, or of its network's; `...` where there is none."""
    known = AGENTS.options(id)
    if name in known:
        return known[name].default
    return getattr(known["network"].default, name, ...) if "network" in known else ...


def option_names(id: str) -> list[str]:
    """Returns the names of the hyper-parameters of an agent, of each exploration that it may use and of its network.

    Raises:
        ConfigError: for an unknown id.
    """
    return list(option_types(id))


def option_types(id: str) -> dict[str, Any]:
    """Returns {name: what stands for its type} of `option_names`; of one without a type what `inspect` has for that.

    Raises:
        ConfigError: for an unknown id.
    """
    known, made = AGENTS.options(id), AGENTS.factory(id)
    nested: list[Any] = list(EXPLORATIONS.values()) if "exploration" in known else []
    if "network" in known and isinstance(known["network"].default, NETWORK_CONFIGS):
        nested.append(known["network"].default)
    # The arguments of a class have the types that its converters take, which is any; its fields have their own.
    fields = {field.name: field.type for field in _fields(made)} if dataclasses.is_dataclass(made) else {}
    own = {name: fields.get(name, parameter.annotation) for name, parameter in known.items()}
    return own | {field.name: field.type for each in nested for field in _fields(each) if field.name not in own}


def used_options(id: str) -> list[str]:
    """Returns those of `option_names` that change something in the agent: not what its network has no part for.

    Raises:
        ConfigError: for an unknown id.
    """
    unused = _unused(id)
    return [name for name in option_names(id) if name not in unused]


def _unused(id: str) -> tuple[str, ...]:
    """Returns the options that an agent's network has no part for; of one that a function makes it is not known."""
    return getattr(AGENTS.factory(id), "unused_options", ())


def _check_used(id: str, nested: Mapping[str, Any], known: Mapping[str, inspect.Parameter]) -> None:
    """Refuses what an agent's network has no part for, where the agent itself has not; defaults are no matter.

    Raises:
        ConfigError: naming the option.
    """
    unused = set(_unused(id)) - set(REFUSED_LATER)
    for name, value in nested.items():
        if name in unused and value != getattr(known["network"].default, name):
            raise ConfigError(name, value, f"{id} has no part that it could change; leave it out")


def hyper_parameters(agent: Agent) -> list[str]:
    """Returns the names of an agent's hyper-parameters, with those of its exploration and of its network's config."""
    return [field.name for module in (agent, *_nested(agent), *_networks(agent)) for field in _fields(module)]


def with_number(agent: Agent, name: str, value: float) -> Agent:
    """Replaces one number of an agent, checked by its constructor; a schedule and None give way to the number.

    Raises:
        ConfigError: if the agent has no number of that name, or the value is bad.
    """
    _check_is_number_of(agent, name)
    check_number(f"sweep[{name!r}]", value)
    if any(field.name == name for field in _fields(agent)):
        made = dataclasses.replace(agent, **{name: value})
        if getattr(made, name) != value and isinstance(getattr(made, name), int):
            raise ConfigError(f"sweep[{name!r}]", value, f"it is a whole number, {getattr(made, name)} or another one")
        return made
    holder = next(f.name for f in _fields(agent) if isinstance(getattr(agent, f.name), Exploration))
    return dataclasses.replace(agent, **{holder: dataclasses.replace(getattr(agent, holder), **{name: value})})


def _check_is_number_of(agent: Agent, name: str) -> None:
    """Refuses what is no number of an agent, and names the nearest one.

    Raises:
        ConfigError: for structure, and for a name that it does not have.
    """
    known = _numbers(agent)
    if name in known:
        return
    if name in hyper_parameters(agent):
        fix = f"it is structure; sweep {', '.join(known)}, and train a run for each value of this one"
        raise ConfigError("sweep", name, fix)
    close = nearest(name, known, 1)
    all_known = f"the numbers of this agent are {', '.join(known)}; those of an environment are written env.NAME"
    raise ConfigError("sweep", name, f"did you mean {close[0]!r}?" if close else all_known)


def _numbers(agent: Agent) -> list[str]:
    """Returns the names of hyper-parameters that are numbers, or that may be: what a sweep can vary."""
    fields = [(field, getattr(module, field.name)) for module in (agent, *_nested(agent)) for field in _fields(module)]
    return [field.name for field, held in fields if not field.metadata.get("static", False) and _is_number(held)]


def _is_number(held: Any) -> bool:
    """Returns whether it is a number, or stands where one may: a schedule, or None."""
    number = is_number(held) or eqx.is_inexact_array(held)
    return number or held is None or (callable(held) and not isinstance(held, Exploration))


def describe(agent: Agent) -> dict[str, Any]:
    """Returns the agent as JSON: its id, or its class's name if it has none, and every hyper-parameter.

    A limit may be infinite, for which `training.io.files` writes a word.

    A function (such as a raw optax schedule) is written by name only and cannot be read back.
    """
    options = {field.name: _described(getattr(agent, field.name)) for field in _fields(agent)}
    return {"id": AGENTS.id_of(type(agent)) or type(agent).__name__, **options}


def rebuild(config: dict[str, Any]) -> Agent:
    """Rebuilds the agent that `describe` wrote down.

    Raises:
        ConfigError: for an id that is not registered, or a hyper-parameter that was a function.
    """
    if config["id"] not in AGENTS.ids():
        again = "give it again as `agent`, or import what registers it, in the shell by --import FILE"
        fix = f"it is not registered here; if it was made in Python, {again}"
        raise ConfigError("agent id", config["id"], fix)
    known = AGENTS.options(config["id"])
    told = values_before(AGENTS.factory(config["id"])) | {name: value for name, value in config.items() if name != "id"}
    own = {name: value for name, value in told.items() if name not in known or _described(known[name].default) != value}
    options = {name: _rebuilt(name, value) for name, value in own.items()}
    return _made(config["id"], options)


def with_defaults(value: Any, told: Mapping[str, Any], usual: Any = None) -> Any:
    """Returns an agent with the defaults of what was not told of it: the fields that it has gained since.

    Args:
        value: the agent; or its exploration, a network's config, or another of its parts.
        told: what `describe` wrote down, maybe in an earlier version.
        usual: the default of such a part, if it has one.
    """
    changes: dict[str, Any] = {}
    for field in _fields(value):
        held, of_held = getattr(value, field.name), told.get(field.name, ...)
        default = getattr(usual, field.name) if type(usual) is type(value) else field.default
        default = field.metadata.get(FORMERLY, default)
        if of_held is ... and field.init and default is not dataclasses.MISSING:
            changes[field.name] = default
        elif isinstance(of_held, dict) and of_held.get("type") == type(held).__name__ and isinstance(held, _parts()):
            changes[field.name] = with_defaults(held, of_held, default)
    return dataclasses.replace(value, **changes)


def _parts() -> tuple[type, ...]:
    """Returns the types of an agent's values that have fields of their own."""
    return (Collector, Exploration, Schedule, *NETWORK_CONFIGS)


def _fields(module: Any) -> tuple[Any, ...]:
    return dataclasses.fields(module)


def _nested(agent: Agent) -> list[Exploration]:
    values = [getattr(agent, field.name) for field in _fields(agent)]
    return [value for value in values if isinstance(value, Exploration)]


def _networks(agent: Agent) -> list[Any]:
    values = [getattr(agent, field.name) for field in _fields(agent)]
    return [value for value in values if isinstance(value, NETWORK_CONFIGS)]


def _parsed(name: str, value: Any, annotation: Any) -> Any:
    """Returns the schedule of a text, where one may be; a number of Python's for a scalar of NumPy's or JAX's.

    All else is as it is.
    """
    value = plain_number(value)
    scheduled = isinstance(value, str) and may_be_scheduled(annotation) and is_schedule(value)
    return parse_schedule(name, value) if scheduled else value


def _whole(parameter: inspect.Parameter, value: Any) -> Any:
    """Returns a count that is written as a float, as 1e6, as the int that it is; anything else as it is."""
    counts = str(parameter.annotation) in ("int", "int | None", str(int))
    return int(value) if counts and isinstance(value, float) and value.is_integer() else value


def may_be_scheduled(annotation: Any) -> bool:
    """Returns whether a hyper-parameter may be a schedule: where its type says so or may be any, or it has none.

    Examples:
        >>> may_be_scheduled("ScalarOrSchedule"), may_be_scheduled(inspect.Parameter.empty), may_be_scheduled("str")
        (True, True, False)
    """
    return annotation is inspect.Parameter.empty or _SCHEDULE.search(str(annotation)) is not None


def is_schedule(text: str) -> bool:
    """Returns whether a text in a number's place is meant as a schedule: not if it names a data set's file."""
    return ":" in text and not text.endswith(SUFFIX)


def _exploration(id: str, choice: Any, options: dict[str, Any], known: Any) -> Exploration:
    if isinstance(choice, str):
        check_choice("exploration", choice, EXPLORATIONS)
        choice = EXPLORATIONS[choice]()  # pyright: ignore[reportCallIssue]
    if not isinstance(choice, Exploration):
        raise ConfigError("exploration", choice, f"use an Exploration, or one of {', '.join(map(repr, EXPLORATIONS))}")
    fields = [field.name for field in _fields(choice)]
    for name, kind in EXPLORATIONS.items():
        for other in (field.name for field in _fields(kind)):
            if other in options and other not in fields:
                raise ConfigError(f"option of {type(choice).__name__}", other, f"it belongs to exploration={name!r}")
    check_keys(f"option of {id}", options, [*known, *fields])
    return dataclasses.replace(choice, **options) if options else choice


def _network(id: str, choice: Any, options: dict[str, Any], known: Any) -> Any:
    """Returns the config of a network with some fields replaced; any other builder takes no options."""
    if not isinstance(choice, NETWORK_CONFIGS):
        usual = known["network"].default
        config = isinstance(usual, NETWORK_CONFIGS)
        check_keys(f"option of {id}", options, [*known, *(field.name for field in (_fields(usual) if config else ()))])
        if options and callable(choice):
            fix = f"it has no {', '.join(options)} to be given; leave that out, or the network"
            raise ConfigError("network", choice, fix)
        return choice  # the agent tells of what is no builder at all
    check_keys(f"option of {id}", options, [*known, *(field.name for field in _fields(choice))])
    return dataclasses.replace(choice, **options) if options else choice


def _described(value: Any) -> Any:
    if isinstance(value, (Dataset, DatasetFile)):
        return value.described()
    if isinstance(value, _parts()):
        fields = {field.name: _described(getattr(value, field.name)) for field in _fields(value)}
        return {"type": type(value).__name__, **fields}
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, tuple):
        return [_described(part) for part in value]
    if is_number(value) or eqx.is_array(value):
        return float(value)
    return {"function": getattr(value, "__qualname__", repr(type(value)))}


def untold(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields of an agent the parts that `describe` tells nothing of but a name, with the field that each is in.

    Such are functions, and objects of a person's own.
    """
    if isinstance(value, tuple):
        for i, part in enumerate(value):
            yield from untold(part, f"{name}[{i}]")
    elif not name or isinstance(value, _parts()):
        for field in _fields(value):
            yield from untold(getattr(value, field.name), f"{name}.{field.name}".lstrip("."))
    elif "function" in (told if isinstance(told := _described(value), dict) else {}):
        yield name, value


def _rebuilt(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_rebuilt(name, part) for part in value)
    if not isinstance(value, dict):
        return value
    if value.get("type") == Dataset.__name__:
        return of_described(value)
    if "function" in value:
        raise ConfigError(
            name, value["function"], "a function cannot be read from a file; make the agent in Python, and give it"
        )
    known = {
        kind.__name__: kind for kind in (*EXPLORATIONS.values(), *SCHEDULES.values(), *NETWORK_CONFIGS, *COLLECTORS)
    }
    check_choice(f"{name}.type", value.get("type"), known)
    kind = known[value["type"]]
    fields = {key: _rebuilt(f"{name}.{key}", part) for key, part in value.items() if key != "type"}
    return kind(**(values_before(kind) | fields))
