"""The settings of a run as options of the shell."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from ..training.config import Kind, OnResume, TrainConfig, settings
from .help_texts import described
from .options import Option
from .values import number, numbers

SEED = Option("seed", None, "NUMBER", "the one seed of this number, in the place of --seeds")


@functools.cache
def setting_options() -> tuple[Option, ...]:
    """Returns an option for each setting of a run that the shell has."""
    told, defaults = described(TrainConfig), {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    return tuple(
        Option(name, _shown_default(each.kind, defaults[name]), each.kind.value, told[name])
        for name, each in settings().items()
        if each.kind is not Kind.PYTHON
    )


def changeable_options() -> list[Option]:
    """Returns the options of what may be changed of a run when it is resumed."""
    steps = Option(
        "steps", None, "NUMBER", "environment steps of each agent in all; by default as many as were asked for"
    )
    changeable = [option for option in setting_options() if settings()[option.name].on_resume is OnResume.CHANGEABLE]
    return [steps if option.name == "steps" else option for option in changeable]


def setting_values(given: dict[str, str | bool]) -> dict[str, Any]:
    """Turns the words that were given for settings into values, each by its kind."""
    known = settings()
    kinds = {name: known[name].kind for name in known} | {SEED.name: Kind.COUNT}
    return {name: _value(name, kinds[name], text) for name, text in given.items()}


def _shown_default(kind: Kind, default: Any) -> Any:
    """Returns a default as the help shows it; the description says what stands for none."""
    return ",".join(default) or None if kind is Kind.NAMES else default


def _value(name: str, kind: Kind, text: str | bool) -> Any:
    flag, words = f"--{name.replace('_', '-')}", str(text)
    if kind is Kind.COUNT:
        return number(flag, words)
    if kind is Kind.NUMBERS:
        return numbers(flag, words) if "," in words else number(flag, words)
    return [part for part in words.split(",") if part] if kind is Kind.NAMES else text
