"""Wrappers by name with their values, as text: what the shell and a run folder have."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ...core.env import Env
from ...core.errors import ConfigError, check_keys
from ...core.synonyms import elsewhere
from ...core.wrapper import Wrapper
from .clip import ClipAction, ClipReward
from .flatten import FlattenObservation, ReshapeObservation
from .frame_stack import FrameStackObservation
from .images import GrayscaleObservation, ResizeObservation
from .repeat_action import RepeatAction, StickyAction
from .rescale import RescaleAction, RescaleObservation
from .standardise import StandardiseObservation
from .time_limit import TimeLimit

WRAPPERS: dict[str, type[Wrapper]] = {
    "clip_action": ClipAction,
    "clip_reward": ClipReward,
    "flatten": FlattenObservation,
    "frame_stack": FrameStackObservation,
    "grayscale": GrayscaleObservation,
    "repeat_action": RepeatAction,
    "rescale_action": RescaleAction,
    "rescale_observation": RescaleObservation,
    "reshape": ReshapeObservation,
    "resize": ResizeObservation,
    "standardise": StandardiseObservation,
    "sticky_action": StickyAction,
    "time_limit": TimeLimit,
}
"""{name: its class}."""


def wrapped(env: Env, names: Any) -> Env:
    """Puts wrappers around an environment, the first of them innermost.

    Args:
        env: the environment.
        names: of the wrappers, each with its values after colons, in their order or by name: "grayscale",
            "frame_stack:4", "frame_stack:4:axis=-1"; a shape has x between its numbers, "resize:42x42". One text may
            have several, with commas between them.

    Raises:
        ConfigError: for an unknown wrapper (with the nearest name), a value that is missing or one too many, or what
            the wrapper refuses.

    Examples:
        >>> import kousoku as ks
        >>> wrapped(ks.make("CartPole-v1"), "clip_reward:-1:1,frame_stack:4").observation_space.shape
        (4, 4)
    """
    texts = names.split(",") if isinstance(names, str) else names
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise ConfigError("wrap", names, "give names such as 'frame_stack:4'")
    for text in texts:
        env = _one(env, text)
    return env


def _one(env: Env, text: str) -> Env:
    """Puts the wrapper that a text names around an environment."""
    name, *words = text.strip().split(":")
    if name not in WRAPPERS and (told := elsewhere("wrapper", name)):
        raise ConfigError("wrap", name, told)
    check_keys("wrap", [name], WRAPPERS)
    kind: Any = WRAPPERS[name]
    fields = {field.name: field for field in dataclasses.fields(kind) if field.name != "env" and field.init}
    order, given = list(fields), {}
    for place, word in enumerate(words):
        own, equals, value = word.partition("=")
        if not equals:
            if place >= len(order):
                raise ConfigError("wrap", text, f"{name} takes {', '.join(order) or 'no value'}")
            own, value = order[place], word
        check_keys(f"value of {name}", [own], order)
        if own in given:
            raise ConfigError("wrap", text, f"{own} is given twice")
        given[own] = _value(value)
    needed = [own for own, field in fields.items() if not _has_default(field)]
    missing = [own for own in needed if own not in given]
    if missing:
        form = ":".join([name, *map(str.upper, needed)])
        raise ConfigError("wrap", text, f"{name} needs {', '.join(missing)}, as in {form}")
    return kind(env, **given)


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _value(word: str) -> Any:
    """Returns what a word stands for: a number, a shape, True or False, or itself."""
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    if "x" in word and all(part.isdecimal() for part in word.split("x")):
        return tuple(int(part) for part in word.split("x"))
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
