"""Reading options: tyro finds the words and writes the help.

Every value reaches us as text, which `values` reads, so that a mistake is answered by one line that names the option,
what was given and what would do.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..core.errors import ConfigError, check_keys
from ..core.output_file import output_file
from ..core.synonyms import our_name
from ..core.typed_number import typed_number
from ..viz.offline import is_our_page
from .command_line import command_line
from .values import as_typed, count

DASHED_VALUE = re.compile(r"-([\d._].*|(inf|infinity|nan)(,.*)?)?", re.IGNORECASE | re.DOTALL)
"""What is a value though it begins with a dash: a number, several, what begins like one, or the dash alone."""
FRAME = re.compile(r"[\u2500-\u257f]+")
"""Lines of a box."""


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes:
        name: as in Python; the shell writes dashes for underscores.
        default: None where there is none to show.
        metavar: what stands for the value in the help; "" for a switch.
        help: one line.
        positional: given by place instead of by name.
        preset: what a preset has in the place of the default, and where from, in words; None for none.
        joined: whether it may be given several times, its values with commas between; else that is refused.
        several: whether its value is several numbers, with commas between.
        scheduled: whether its value may be a schedule.
        hidden: whether the help leaves it out: it is read, so that what refuses it can say why.
    """

    name: str
    default: Any
    metavar: str
    help: str
    positional: bool = False
    preset: str | None = None
    joined: bool = False
    several: bool = False
    scheduled: bool = False
    hidden: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.words

    @property
    def negated(self) -> str | None:
        """The flag that says no, of a switch and of an option that is true or false; None of any other."""
        return f"--no-{self.words}" if not self.metavar or isinstance(self.default, bool) else None

    @property
    def words(self) -> str:
        """The name as the shell writes it; Python's `lambda_` is just lambda."""
        return self.name.rstrip("_").replace("_", "-")


RUN = Option("run", None, "RUN", "the run folder", positional=True)
CHECKPOINT = Option("checkpoint", None, "STEP", "step of a kept checkpoint, or best (default: the end of the run)")


OWN_CODE = Option("import_", None, "FILE", "a file, or a module, that registers what is your own", joined=True)
"""The option of every command, which `kousoku.cli.main` reads before the others."""


def named_run(given: Mapping[str, str | bool], usage: str) -> str:
    """Returns the run folder that was given for `RUN`.

    Raises:
        ConfigError: if none was, saying how the command is used.
    """
    if RUN.name not in given:
        raise ConfigError(RUN.name, ..., f"name the run folder: kousoku {usage}")
    return str(given[RUN.name])


def checkpoint(given: Mapping[str, str | bool]) -> str | int | None:
    """Returns what was given for `CHECKPOINT`: "best", a step, or None.

    Raises:
        ConfigError: for anything else.
    """
    text = given.get(CHECKPOINT.name)
    return None if text is None else "best" if text == "best" else count(CHECKPOINT.flag, str(text))


def target(given: Mapping[str, str | bool], default: str | Path) -> Path:
    """Returns the file that `--out` names, in a folder that exists; a page that none was named for may be a newer one.

    Raises:
        ConfigError: for a folder, a file in a folder that does not exist, or where no name was given and another file
            has the usual one.
    """
    path = output_file("--out", str(given.get("out", default)))
    if "out" not in given and path.suffix == ".html" and path.exists() and not is_our_page(path):
        raise ConfigError("--out", str(path), "that is there, and no page of Kousoku's; name another file")
    return path


def parse(command: str, description: str, options: Sequence[Option], words: Sequence[str]) -> dict[str, str | bool]:
    """Returns the options given, by name, as text (switches as bool); `--help` prints the help and exits with 0.

    Raises:
        ConfigError: for an unknown option, one that is given twice, a missing value, or one word too many.
    """
    options = [*options, OWN_CODE]
    if {"-h", "--help"} & set(words):
        words = ["--help"]
        options = [option for option in options if not option.hidden]
    else:
        ours = _with_yes_and_no(options, _in_our_words(options, words))
        _check_words(options, ours, f"`kousoku {command} --help` shows all")
        _check_once(options, words, ours)
        words = _joined(options, ours)
    fields = [(option.name.replace(".", "__"), _annotation(option), _field(option)) for option in options]
    kind = dataclasses.make_dataclass("Options", fields, kw_only=True)
    kind.__doc__ = description
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            read, unknown = tyro.cli(
                kind, args=list(words), prog=f"kousoku {command}", description=description, return_unknown_args=True
            )
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        told = FRAME.sub(" ", errors.getvalue())
        raise ConfigError("options", " ".join(words), " ".join(told.split())) from None
    if unknown:
        switches = {option.flag for option in options if option.metavar == ""}
        raise ConfigError("argument", unknown[0], _one_too_many(words, unknown[0], switches))
    switched = {word.replace("--no-", "--") for word in words}
    values = {option.name: getattr(read, option.name.replace(".", "__")) for option in options}
    given = {option.name for option in options if option.metavar or option.flag in switched}
    given -= {OWN_CODE.name}
    return {name: value for name, value in values.items() if name in given and value is not None}


def _in_our_words(options: Sequence[Option], words: Sequence[str]) -> list[str]:
    """Returns the words with the flags of other libraries that mean exactly the same replaced by ours."""
    ours = {option.name: option.flag for option in options if not option.positional}
    translated = []
    for word in words:
        flag, equals, value = word.partition("=")
        name = our_name(flag.removeprefix("--").replace("-", "_"), ours) if flag.startswith("--") else ""
        translated.append(ours[name] + equals + value if name in ours else word)
    return translated


def _with_yes_and_no(options: Sequence[Option], words: Sequence[str]) -> list[str]:
    """Returns words with `--flag` alone as `--flag=true` and `--no-flag` as `--flag=false`, of those with values."""
    values = [option for option in options if option.metavar and option.negated]
    yes, no = {option.flag for option in values}, {option.negated: option.flag for option in values}
    no = {flag: meant for flag, meant in no.items() if flag not in {option.flag for option in options}}
    alone = [i + 1 == len(words) or words[i + 1].startswith("--") for i in range(len(words))]
    return [
        f"{word}=true" if word in yes and last else f"{no[word]}=false" if word in no else word
        for word, last in zip(words, alone, strict=True)
    ]


def _one_too_many(words: Sequence[str], word: str, switches: Collection[str]) -> str:
    """Says what to do with a word that belongs to no option; between several numbers of one there are commas."""
    for flag, after in itertools.pairwise(words):
        if after == word and flag in switches:
            return f"{flag} {_alone(flag)}"
    for i, flag in enumerate(words):
        values = list(itertools.takewhile(lambda each: not each.startswith("--"), words[i + 1 :]))
        if flag.startswith("--") and word in values[1:] and all(map(_is_typed_number, values)):
            return f"it stands alone; put commas between several values: {flag} {','.join(values)}"
    return "it is one too many; options begin with --"


def _alone(switch: str) -> str:
    """Says how a switch is written, or its opposite."""
    name = switch.removeprefix("--no-").removeprefix("--")
    return f"takes no value: write --{name}, or --no-{name}"


def _is_typed_number(text: str) -> bool:
    try:
        typed_number(text)
    except ValueError:
        return False
    return True


def _joined(options: Sequence[Option], words: Sequence[str]) -> list[str]:
    """Returns the words with the values of an option that is given several times as one, of those that are joined."""
    joined = {option.flag: list[str]() for option in options if option.joined}
    rest: list[str] = []
    following = iter(words)
    for word in following:
        flag, equals, value = word.partition("=")
        if flag in joined:
            joined[flag].append(value if equals else next(following))
        else:
            rest.append(word)
    return [*rest, *(f"{flag}={','.join(values)}" for flag, values in joined.items() if values)]


def _check_once(options: Sequence[Option], words: Sequence[str], ours: Sequence[str]) -> None:
    """Refuses an option that is given twice, maybe in two words for the same; those that are joined may be.

    Args:
        options: all that there are.
        words: as they were typed.
        ours: the same, with our flags.

    Raises:
        ConfigError: naming the second one.
    """
    switches = {option.negated: option.flag for option in options if option.negated}
    several = {option.flag for option in options if option.joined}
    given: dict[str, str] = {}
    for typed, word in zip(words, ours, strict=True):
        flag = word.partition("=")[0].rstrip("_").replace("_", "-")
        flag, typed = switches.get(flag, flag), typed.partition("=")[0]
        if not flag.startswith("--") or flag in several:
            continue
        if flag in given:
            other = f"{given[flag]!r} is given, too; give one of the two"
            raise ConfigError("option", typed, "it is given twice; give it once" if given[flag] == typed else other)
        given[flag] = typed


def _check_words(options: Sequence[Option], words: Sequence[str], where: str) -> None:
    """Refuses a flag that there is not, one without its value, and a switch with one.

    Args:
        options: all that there are; those that are hidden may be given, but are no one's advice.
        words: what was typed, with our flags.
        where: all flags are shown.

    Raises:
        ConfigError: naming the flag.
    """
    switches = {option.flag for option in options if option.metavar == ""}
    flags = [option.flag for option in options if not option.positional]
    hidden = {option.flag for option in options if option.hidden}
    shown = [*(flag for flag in flags if flag not in hidden), *(f"--no-{switch[2:]}" for switch in switches)]
    for i, word in enumerate(words):
        if not word.startswith("--"):
            continue
        flag, equals, value = word.partition("=")
        if flag.rstrip("_").replace("_", "-") not in hidden:
            check_keys("option", [flag.rstrip("_").replace("_", "-")], shown, where)
        if equals and (flag in switches or flag not in flags):
            raise ConfigError(flag, value, f"it {_alone(flag)}")
        if equals or flag in switches or (flag.startswith("--no-") and flag not in flags):
            continue
        following = words[i + 1] if i + 1 < len(words) else "--"
        if following.startswith("--"):
            raise ConfigError(flag, ..., "give it a value")
        if following.startswith("-") and not DASHED_VALUE.fullmatch(following):
            raise ConfigError(flag, following, f"write {flag}={command_line([following])}")


def _annotation(option: Option) -> Any:
    own = None if option.default is None else as_typed(option.default)
    default = own if option.preset is None else option.preset
    shown = "" if default is None or not option.metavar else f"(default: {default})"
    words = tyro.conf.arg(name=option.words, metavar=option.metavar or None, help=option.help, help_behavior_hint=shown)
    if not option.metavar:
        return Annotated[bool, words]
    return Annotated[str | None, words, tyro.conf.Positional] if option.positional else Annotated[str | None, words]


def _field(option: Option) -> Any:
    return dataclasses.field(default=None if option.metavar else False)
