"""One word, one thing: no name stands for two classes, refused words stay away, docstrings have one form."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from sources import tree_of

ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = ast.Module | ast.ClassDef | Function | ast.arg


@cache
def nodes() -> list[tuple[Path, Node]]:
    """Returns modules, classes, functions and arguments of the code, each with its file."""
    paths = sorted((ROOT / "src").rglob("*.py"))
    trees = ((path.relative_to(ROOT), tree_of(path)) for path in paths)
    return [(path, node) for path, tree in trees for node in ast.walk(tree) if isinstance(node, Node)]


REFUSED = {
    "apart": "what is done or measured: copied, split, the distance",
    "blank": "undefined",
    "crowd": "self_contacts",
    "decisive": "trace_affecting_config",
    "descend": "apply_gradients",
    "elementary": "libm",
    "hoist": "split_randomness",
    "judged": "evaluate_actions",
    "learner": "agent, or TrainState for its state",
    "ledger": "RunProgress",
    "lived": "FinalState",
    "nowhere": "ZERO3",
    "over_first": "scan_prefix",
    "ropes": "tendons",
    "scratch": "empty_unbatched",
    "seldom": "conditional",
    "sick": "non_finite",
    "somewhere": "any_lane",
    "sound": "finite",
    "tally": "MetricSums",
    "unturned": "IDENTITY",
    "wander": "random_rollout",
    "weighed": "normalise_advantages",
    "worth_together": "agents_per_vmap",
}
"""Words that no module, class, function or argument has in its name, and what to say instead."""

REFUSED_CLASSES = {
    "Blank": "Undef",
    "Closed": "Drained",
    "Cone": "EllipticCone",
    "Grip": "body_jacobian",
    "Guard": "FiniteCheck",
    "Hold": "Quadratic",
    "Known": "Constant",
    "Lane": "EnvSlot",
    "Lanes": "Population",
    "Law": "ConstraintCost",
    "Listed": "ContactList",
    "Memory": "Carry",
    "Push": "OneSided",
    "Pyramid": "PyramidalCone",
    "Recalled": "CachedTrace",
    "Rub": "Huber",
    "Six": "SpatialVec",
    "Swing": "rne_derivative",
}

REFUSED_IN = {
    "src/kousoku/nn": {"memory": "carry", "start": "initial_carry"},
    "src/kousoku/training/evaluation": {"memory": "carry"},
    "src/kousoku/viz": {"lane": "member", "lanes": "members"},
}
"""Words that are refused in some rooms only: elsewhere they are the right ones for something else."""

REFUSED_AS_TEXT = {"lane": "member, or slot", "lanes": "members, or slots"}
"""Words that no text which is a name, such as a key of a file, has outside of `compiler`: there it is a SIMD lane."""

FORMER_NAMES = ("src/kousoku/core/synonyms.py", "src/kousoku/training/io/former_")
"""Files whose text names what had another name before."""

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


def spelled(name: str) -> str:
    """Spells an identifier in small letters, each of its words between underscores."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower().strip('_')}_"


def names(path: Path, node: Node) -> tuple[str, ...]:
    """Returns the name of a class, a function or an argument; of a module also its folder's."""
    if isinstance(node, ast.Module):
        return (path.stem, path.parent.name)
    return (node.arg if isinstance(node, ast.arg) else node.name,)


def place(path: Path, node: Node) -> str:
    """Returns file and line, and the name that stands there."""
    return f"{path}:{getattr(node, 'lineno', 1)}: {names(path, node)[0]}"


def first_word(node: Node) -> str:
    """Returns the first word of a docstring; nothing without one."""
    text = "" if isinstance(node, ast.arg) else ast.get_docstring(node) or ""
    return text.split()[0].rstrip(".,:;") if text else ""


def is_property(function: Function) -> bool:
    """Tells whether it is read like an attribute, so that its docstring is a noun."""
    return any(ast.unparse(decorator).endswith(("property", ".setter")) for decorator in function.decorator_list)


def is_verb(word: str) -> bool:
    """Tells whether a word is a verb of the third person, as far as its letters say."""
    return bool(re.fullmatch(r"[A-Z][a-z]*[a-rt-z]s", word)) and word not in NO_VERBS.split()


def test_no_two_public_classes_share_a_name():
    homes = defaultdict(list)
    for path, node in nodes():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            homes[node.name].append(f"{path}:{node.lineno}")
    twice = [f"{' and '.join(places)}: {name}; rename one" for name, places in homes.items() if len(places) > 1]
    assert not twice, "\n".join(twice)


def test_refused_words_are_in_no_names():
    found = []
    for path, node in nodes():
        here = {
            word: use for room, pairs in REFUSED_IN.items() if path.is_relative_to(room) for word, use in pairs.items()
        }
        for name in names(path, node):
            text = spelled(name)
            found += [
                f"{place(path, node)} has the word {word!r}; use {use}"
                for word, use in (REFUSED | here).items()
                if f"_{word}_" in text
            ]
        if isinstance(node, ast.ClassDef) and node.name in REFUSED_CLASSES:
            found.append(f"{place(path, node)} is the name of a class; use {REFUSED_CLASSES[node.name]}")
    assert not found, "\n".join(found)


def test_refused_words_are_in_no_text_that_is_a_name():
    found = []
    for path in (path.relative_to(ROOT) for path in sorted((ROOT / "src").rglob("*.py"))):
        if path.is_relative_to("src/kousoku/compiler") or str(path).startswith(FORMER_NAMES):
            continue
        found += [
            f"{path}:{node.lineno}: {node.value!r} has the word {word!r}; use {use}"
            for node in ast.walk(tree_of(ROOT / path))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
            for word, use in REFUSED_AS_TEXT.items()
            if f"_{word}_" in spelled(node.value)
        ]
    assert not found, "\n".join(found)


def test_docstrings_of_functions_begin_with_a_verb():
    found = [
        f"{place(path, node)} begins with {word!r}; use a verb, such as 'Returns', 'Refuses' or 'Applies'"
        for path, node in nodes()
        if isinstance(node, Function) and (word := first_word(node)) and not is_verb(word) and not is_property(node)
    ]
    assert not found, "\n".join(found)


def test_docstrings_of_predicates_begin_alike():
    found = [
        f"{place(path, node)} begins with '{first_word(node)} whether'; use 'Returns whether'"
        for path, node in nodes()
        if isinstance(node, Function) and (ast.get_docstring(node) or "").startswith(PREDICATES)
    ]
    assert not found, "\n".join(found)


def test_docstrings_of_properties_begin_with_no_verb():
    found = [
        f"{place(path, node)} begins with {word!r}; say what it is, such as 'The number of rows' or 'Whether it ended'"
        for path, node in nodes()
        if isinstance(node, Function) and is_property(node) and is_verb(word := first_word(node))
    ]
    assert not found, "\n".join(found)


def test_docstrings_of_classes_and_modules_begin_with_a_noun():
    found = [
        f"{place(path, node)} begins with {word!r}; use a noun: say what it is"
        for path, node in nodes()
        if isinstance(node, ast.ClassDef | ast.Module) and (word := first_word(node)) in NO_NOUNS.split()
    ]
    assert not found, "\n".join(found)


def test_docstrings_of_classes_begin_with_no_verb():
    found = [
        f"{place(path, node)} begins with {word!r}; use a noun, such as 'An array in memory' or 'The facts of ...'"
        for path, node in nodes()
        if isinstance(node, ast.ClassDef) and is_verb(word := first_word(node)) and word not in PLURALS.split()
    ]
    assert not found, "\n".join(found)
