"""Docstrings have one form, and those that become help are understood without what stands around them."""

import ast
import re
from collections.abc import Iterator

import pytest
from sources import Documented, Function, docstrings, files_below, place, tree_of

from kousoku.agents import AGENTS
from kousoku.cli.made_by_id import agent_options, env_options
from kousoku.cli.settings import setting_options
from kousoku.envs import ENVS
from kousoku.training.presets import Preset

NO_VERBS = """
    Actions Agents Always Arguments Arms Arrays As Axes Backgrounds Bodies Bytes Codes Columns Devices Directions Edges
    Environments Forces Frames Functions Images Indices Iterations Its Keys Lanes Limits Lines Means Members Metrics
    Numbers Observations Operations Options Parts Pictures Points Positions Powers Properties Quantities Rollouts
    Rotations Samples Scalars Seconds Settings Shapes Spaces States Steps Statistics Terms This Thus Tables Trajectories
    Transitions Units Values Versions Vertices Weights Words Zeros
"""
"""Words that end in s as such verbs do, but are none."""

PLURALS = """
    Backups Bins Constraints Convolutions Divers Elements Episodes Facts Features Flags Heads Ids Mechanics Minibatches
    Moments Pixels Places Residuals Results Rewards Rivers Rows Rules Scenes Scores Sums Targets Vectors Windows
"""
"""Nouns that end in s as verbs do, and some of them are such as well: a class may begin with one."""

PREDICATES = ("Gives whether", "Says whether", "Shows whether", "Tells whether")
"""Beginnings of docstrings for which there is one form: "Returns whether"."""

NO_NOUNS = """
    About Above Across After Against Along Among Around At Before Behind Below Beneath Beside Between Beyond By Down
    During For From How If In Inside Into Of Off On Onto Out Outside Over Per Since So Than That Through Throughout To
    Toward Towards Under Until Up Upon Via What Whatever When Whenever Where Whether Which While Who Whoever Whom Whose
    Why With Within Without
"""
"""Prepositions and question words: a docstring that begins with one does not say what the thing is."""

NOUNS_TOO = "Action Check Code Compile Place Run Sum Transition"
"""Words with which functions' docstrings begin once an s is added, and which are nouns as well."""

HANGING = re.compile(
    r"(?:above|after|along|among|at|before|behind|below|beside|between|beyond|by|during|for(?! each)|from|in|into|of|on"
    r"|onto|per|since|to|towards?|until|upon|with|within|without|his|its|their|that of|those of)\b"
    r"|(?:the )?\w+(?:'s|s')(?:[,;.]|$)"  # whose, and nothing else
    r"|(?:\w{1,2}(?:_\w+)?|alpha|beta|gamma|delta|epsilon|eta|theta|kappa|lambda(?! of)|nu|sigma|tau)"
    r"(?:[.,;]| (?:of|in) |$)"  # a symbol, in letters or in words
)
"""Beginnings of a line of help that needs its option's name, or the docstring's equation, to be understood."""


def first_word(text: str) -> str:
    """Returns the first word of a docstring."""
    return text.split()[0].rstrip(".,:;")


def is_property(node: Documented) -> bool:
    """Tells whether it is read like an attribute, so that its docstring is a noun."""
    return isinstance(node, Function) and any(
        ast.unparse(decorator).endswith(("property", ".setter")) for decorator in node.decorator_list
    )


def is_verb(word: str) -> bool:
    """Tells whether a word is a verb of the third person, as far as its letters say."""
    return bool(re.fullmatch(r"[A-Z][a-z]*[a-rt-z]s", word)) and word not in NO_VERBS.split()


def test_those_of_functions_begin_with_a_verb():
    found = [
        f"{place(path, node)} begins with {word!r}; use a verb, such as 'Returns', 'Refuses' or 'Applies'"
        for path, node, text in docstrings()
        if isinstance(node, Function) and not is_verb(word := first_word(text)) and not is_property(node)
    ]
    assert not found, "\n".join(found)


def test_those_of_predicates_begin_alike():
    found = [
        f"{place(path, node)} begins with '{first_word(text)} whether'; use 'Returns whether'"
        for path, node, text in docstrings()
        if isinstance(node, Function) and text.startswith(PREDICATES)
    ]
    assert not found, "\n".join(found)


def test_those_of_properties_begin_with_no_verb():
    found = [
        f"{place(path, node)} begins with {word!r}; say what it is, such as 'The number of rows' or 'Whether it ended'"
        for path, node, text in docstrings()
        if is_property(node) and is_verb(word := first_word(text))
    ]
    assert not found, "\n".join(found)


def test_those_of_classes_and_modules_begin_with_a_noun():
    found = [
        f"{place(path, node)} begins with {word!r}; use a noun: say what it is"
        for path, node, text in docstrings()
        if isinstance(node, ast.ClassDef | ast.Module) and (word := first_word(text)) in NO_NOUNS.split()
    ]
    assert not found, "\n".join(found)


def test_those_of_classes_begin_with_no_verb():
    found = [
        f"{place(path, node)} begins with {word!r}; use a noun, such as 'An array in memory' or 'The facts of ...'"
        for path, node, text in docstrings()
        if isinstance(node, ast.ClassDef) and is_verb(word := first_word(text)) and word not in PLURALS.split()
    ]
    assert not found, "\n".join(found)


def test_those_of_classes_and_modules_command_nothing():
    third = {first_word(text) for _, node, text in docstrings() if isinstance(node, Function)}
    commands = {word.removesuffix(ending) for word in third for ending in ("s", "es") if word.endswith(ending)}
    found = [
        f"{place(path, node)} begins with {word!r}; use a noun: say what it is"
        for path, node, text in docstrings()
        if not isinstance(node, Function) and (word := first_word(text)) in commands - {*NOUNS_TOO.split()}
    ]
    assert not found, "\n".join(found)


def test_those_of_modules_ask_nothing():
    found = [
        f"{place(path, node)} asks; say what it holds"
        for path, node, text in docstrings()
        if isinstance(node, ast.Module) and "?" in text.splitlines()[0]
    ]
    assert not found, "\n".join(found)


def literal_help() -> Iterator[tuple[str, str]]:
    """Returns the lines of help that stand in the shell's own code, each with its place."""
    for path in files_below("src/kousoku/cli", "py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Option" and len(node.args) > 3:
                text = node.args[3].values[0] if isinstance(node.args[3], ast.JoinedStr) else node.args[3]
                if isinstance(text, ast.Constant):
                    yield f"{path.name}:{node.lineno}", text.value


def test_help_of_commands_is_understood_without_their_names():
    found = [f"{where}: {text!r}; say what it is" for where, text in literal_help() if HANGING.match(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", ["run", "agents", "envs"])
def test_help_is_understood_without_the_names_and_equations_around_it(kind):
    options = {
        "run": lambda: [("run", option) for option in setting_options()],
        "agents": lambda: [(id, option) for id in AGENTS.ids() for option in agent_options(id, Preset())],
        "envs": lambda: [(id, option) for id in ENVS.ids() for option in env_options(id)],
    }[kind]()
    found = {f"{option.flag}: {option.help!r}": id for id, option in options if HANGING.match(option.help)}
    assert not found, "\n".join(f"{line} (of {id}); say what it is" for line, id in sorted(found.items()))
