"""The options of an agent and of an environment that the shell makes by id."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from ..agents import AGENTS
from ..agents.exploration import EXPLORATIONS
from ..agents.options import may_be_scheduled, option_types, used_options
from ..core.errors import ConfigError, is_number
from ..core.sweep_names import ENV_PREFIX, env_name
from ..core.typed_number import THOUSANDS
from ..envs import ENVS
from ..training.presets import Preset
from .help_texts import described
from .maps import map_text
from .options import Option
from .values import as_typed, literal, numbers


def agent_options(id: str, preset: Preset) -> list[Option]:
    """Returns the agent's hyper-parameters, and those of every exploration it may use or of its network.

    Args:
        id: of the agent.
        preset: what its options are by default on an environment; an empty one for the agent's own defaults.
    """
    said, types = described(AGENTS.factory(id)), option_types(id)
    options = []
    for name, parameter in AGENTS.options(id).items():
        if name == "exploration":
            options += _exploration_options(type(parameter.default))
        elif name == "network":
            options += _network_options(parameter.default)
        else:
            told = said.get(name, f"hyper-parameter of {id}")
            options.append(_hyper_parameter(name, parameter.default, told, types[name]))
    used = used_options(id)
    return [
        dataclasses.replace(option, preset=_preset_text(preset, option.name), hidden=option.name not in used)
        for option in options
    ]


def _preset_text(preset: Preset, name: str) -> str | None:
    """Returns a preset's value of an option as it is typed, with the preset's word; None where it has none."""
    value = preset.options.get(name)
    return None if value is None else preset.text(as_typed(value))


def _exploration_options(default: type) -> list[Option]:
    own = next(name for name, kind in EXPLORATIONS.items() if kind is default)
    choice = Option("exploration", own, "NAME", f"the behaviour policy: one of {', '.join(EXPLORATIONS)}")
    return [choice] + [
        _hyper_parameter(
            field, inner.default, described(kind).get(field, f"of {label} exploration"), inner.annotation, "NUMBER"
        )
        for label, kind in EXPLORATIONS.items()
        for field, inner in inspect.signature(kind).parameters.items()
    ]


def _network_options(default: Any) -> list[Option]:
    said = described(type(default))
    fields = dataclasses.fields(default) if dataclasses.is_dataclass(default) else ()
    return [
        _hyper_parameter(field.name, getattr(default, field.name), said.get(field.name, "of the network"), field.type)
        for field in fields
    ]


def _hyper_parameter(name: str, default: Any, told: str, annotation: Any, metavar: str = "VALUE") -> Option:
    """Returns the option of a hyper-parameter: of several numbers where its type is a tuple, such as layers' widths."""
    several = "tuple" in str(annotation)
    return Option(name, default, metavar, told, several=several, scheduled=may_be_scheduled(annotation))


def env_options(id: str) -> list[Option]:
    """Returns the environment's options, with a prefix before their names."""
    said = described(ENVS.factory(id))
    return [
        Option(ENV_PREFIX + name, _shown(parameter.default), "VALUE", said.get(name, f"option of {id}"))
        for name, parameter in ENVS.options(id).items()
        if parameter.kind is not parameter.VAR_KEYWORD  # what another library takes beside is for Python
    ]


def _shown(default: Any) -> Any:
    """Returns a default as the help shows it; long ones (maps) are left out."""
    text = str(default)
    return None if default is inspect.Parameter.empty or len(text) > 40 or "\n" in text else default


def env_values(
    id: str, options: list[Option], given: Mapping[str, str | bool], sweep: bool
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Turns the words that were given for the environment's options into values.

    Returns:
        One value each, by the names that `make` takes; the lists of a sweep, by those that a sweep has.

    Raises:
        ConfigError: for a list where nothing is swept, or a value that cannot be read.
    """
    one, lists = {}, {}
    for option in options:
        if option.name not in given:
            continue
        own, text = env_name(option.name), str(given[option.name])
        default = ENVS.options(id)[own].default
        if is_number(default) and "," in text and sweep:
            lists[option.name] = numbers(option.flag, text)
        elif is_number(default) and "," in text and not THOUSANDS.fullmatch(text):
            raise ConfigError(option.flag, text, "give one value, without a comma; `kousoku sweep` takes lists")
        else:
            one[own] = map_text(option.flag, text) if own == "map" else literal(option.flag, text, default)
    return one, lists
