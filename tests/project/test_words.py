"""One word, one thing: no name stands for two things, and refused words stay away."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import ROOT, Function, documented, files_below, nodes_of, place, text_of, tree_of

REFUSED = {
    "apart": "what is done or measured: split, the distance, the error",
    "blank": "undefined",
    "crowd": "self_contacts",
    "decisive": "trace_affecting_config",
    "hoist hoisted": "split_randomness",
    "judge judged judges judging": "evaluate_actions, outcome, or held_out",
    "learner learners": "agent, or TrainState for its state",
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
    "tally tallies": "MetricSums",
    "trouble": "failure",
    "unturned": "IDENTITY",
    "wander wandered wanders": "random_rollout",
    "weighed": "weighted, or normalise_advantages",
    "worth_together": "agents_per_vmap",
}
"""Words that no name has: of a module, a class, a function, an argument, a constant, a local; what to say instead."""

IN_SENTENCES = ("apart", "judge", "judged", "judges", "nowhere", "seldom", "somewhere", "sound", "trouble")
"""Words of plain English that the names of tests may have, as these are sentences."""

REFUSED_CLASSES = {
    "Blank": "Undef",
    "Closed": "Drained",
    "Cone": "EllipticCone",
    "Figure": "HeadlineNumber",
    "Follows": "NextActions",
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
    "Told": "what is told: MeanInterval",
    "Verdict": "StepOutcome",
}

REFUSED_IN = {
    "src/kousoku/agents": {"weigh": "normalise_advantages, or weighted", "descend": "apply_gradients"},
    "src/kousoku/compiler": {"elementary": "libm"},
    "src/kousoku/nn": {"memory": "carry", "start": "initial_carry"},
    "src/kousoku/physics": {"held": "stop_gradient"},
    "src/kousoku/training": {"choosing": "selection"},
    "src/kousoku/training/evaluation": {"memory": "carry"},
    "src/kousoku/viz": {"lane": "member", "lanes": "members", "choosing": "selection"},
}
"""Words that are refused in some rooms only: elsewhere they are the right ones for something else."""

REFUSED_AS_TEXT = {"lane": "member, or slot", "lanes": "members, or slots"}
"""Words that no text which is a name, such as a key of a file, has outside of `compiler`: there it is a SIMD lane."""

FORMER_NAMES = ("src/kousoku/core/synonyms.py", "src/kousoku/training/io/former_")
"""Files whose text names what had another name before."""

WORDS = {word: use for words, use in REFUSED.items() for word in words.split()}
ANY = re.compile("|".join(sorted(WORDS, key=len, reverse=True)), re.IGNORECASE)
TEXT = r'"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'"
NO_NAMES = {
    "py": re.compile(rf'"""(?:\\.|[^\\])*?"""|{TEXT}|#[^\n]*'),
    "ts": re.compile(rf"{TEXT}|`(?:\\.|[^`\\])*`|//[^\n]*|/\*(?s:.*?)\*/"),
}
"""Texts and comments, by a file's ending."""


def spelled(name: str) -> str:
    """Spells an identifier in small letters, each of its words between underscores."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower().strip('_')}_"


def names_with_refused_words(path: Path) -> Iterator[tuple[int, str, str]]:
    """Finds names in a file, its own and those within: (line, name, word)."""
    yield from ((1, path.stem, word) for word in WORDS if f"_{word}_" in spelled(path.stem))
    text = text_of(path)
    if not ANY.search(text):
        return
    code = NO_NAMES[path.suffix[1:]].sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in ANY.finditer(code):
        before, after = re.search(r"\w*\Z", code[: match.start()]), re.match(r"\w*", code[match.end() :])
        name, word = f"{before[0] if before else ''}{match[0]}{after[0] if after else ''}", match[0].lower()
        if f"_{word}_" in spelled(name) and not (name.startswith("test_") and word in IN_SENTENCES):
            yield code.count("\n", 0, match.start()) + 1, name, word


def own_names(path: Path) -> Iterator[tuple[int, str]]:
    """Finds the names that a file of Python gives: (line, name)."""
    yield from ((1, part) for part in (path.stem, path.parent.name))
    for node in nodes_of(path):
        if isinstance(node, ast.ClassDef | Function):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def test_no_two_public_classes_share_a_name():
    homes = defaultdict(list)
    for path, node in documented():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            homes[node.name].append(f"{path}:{node.lineno}")
    twice = [f"{' and '.join(places)}: {name}; rename one" for name, places in homes.items() if len(places) > 1]
    assert not twice, "\n".join(twice)


def imported_elsewhere() -> Iterator[tuple[str, Path]]:
    """Finds the functions that other rooms import by their bare names: (name, file that they come from)."""
    paths = files_below("src", "py")
    homes = {(path, node.name) for path in paths for node in tree_of(path).body if isinstance(node, Function)}
    for path in paths:
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom):
                folder = ROOT / "src" if not node.level else path.parents[node.level - 1]
                origin = folder.joinpath(*(node.module or "").split("."))
                for home in (origin.with_suffix(".py"), origin / "__init__.py"):
                    if room(home) != room(path):
                        yield from ((each.name, home) for each in node.names if (home, each.name) in homes)


def room(path: Path) -> str:
    """Returns the package below `kousoku` that a file is in."""
    return "/".join(path.relative_to(ROOT / "src").with_suffix("").parts[:2])


def test_no_two_functions_that_other_rooms_import_share_a_name():
    homes = defaultdict(set)
    for name, home in imported_elsewhere():
        homes[name].add(str(home.relative_to(ROOT)))
    homes.pop("train")  # the front door has the name of what lies behind it
    twice = [f"{' and '.join(sorted(places))}: {name}; rename one" for name, places in homes.items() if len(places) > 1]
    assert not twice, "\n".join(twice)


def test_no_function_is_written_twice():
    """A method may be as another class's if it is short: agents and environments are read beside a page of a book."""
    homes = defaultdict(list)
    for path, node in documented():
        if isinstance(node, Function):
            statements = node.body[bool(ast.get_docstring(node)) :] or node.body
            lines = text_of(ROOT / path).splitlines()[statements[0].lineno - 1 : statements[-1].end_lineno]
            body = "".join("".join(lines).split())
            if len(body) > (150 if node.col_offset else 80):
                homes[body].append(f"{path}:{node.lineno}: {node.name}")
    twice = [" and ".join(places) + "; keep one" for places in homes.values() if len(places) > 1]
    assert not twice, "\n".join(twice)


@pytest.mark.parametrize(
    ("folder", "ending"), [("src", "py"), ("tests", "py"), ("tools", "py"), ("examples", "py"), ("viewer/src", "ts")]
)
def test_refused_words_are_in_no_names(folder, ending):
    found = {
        (path, name): f"{path.relative_to(ROOT)}:{line}: {name} has the word {word!r}; use {WORDS[word]}"
        for path in files_below(folder, ending)
        for line, name, word in names_with_refused_words(path)
    }
    assert not found, "\n".join(found.values())


@pytest.mark.parametrize("where", REFUSED_IN)
def test_words_that_are_refused_in_a_room_are_in_none_of_its_names(where):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name} has the word {word!r}; use {use}"
        for path in files_below(where, "py")
        for line, name in own_names(path)
        for word, use in REFUSED_IN[where].items()
        if f"_{word}_" in spelled(name)
    ]
    assert not found, "\n".join(found)


def test_refused_names_of_classes_are_not_given():
    found = [
        f"{path}:{node.lineno}: {node.name}; use {REFUSED_CLASSES[node.name]}"
        for path, node in documented()
        if isinstance(node, ast.ClassDef) and node.name in REFUSED_CLASSES
    ]
    assert not found, "\n".join(found)


def test_told_is_no_name_that_users_see():
    found = [
        f"{path}:{child.lineno}: {node.name}.{name}; say what it is"
        for path, node in documented()
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for child in node.body
        if "_told_" in spelled(name := attribute(child)) and not name.startswith("_")
    ]
    assert not found, "\n".join(found)


def test_what_warns_says_so():
    found = [
        f"{place(path, node)}; use warn_..."
        for path, node in documented()
        if isinstance(node, Function) and node.name.lstrip("_").startswith("tell_") and "training" in path.parts
    ]
    assert not found, "\n".join(found)


def attribute(statement: ast.stmt) -> str:
    """Returns the field or method that a statement of a class's body makes; nothing where it makes none."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    return statement.name if isinstance(statement, Function) else ""


def test_refused_words_are_in_no_text_that_is_a_name():
    found = []
    for path in files_below("src", "py"):
        here = str(path.relative_to(ROOT))
        if here.startswith(("src/kousoku/compiler/", *FORMER_NAMES)):
            continue
        found += [
            f"{here}:{node.lineno}: {node.value!r} has the word {word!r}; use {use}"
            for node in nodes_of(path)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
            for word, use in REFUSED_AS_TEXT.items()
            if f"_{word}_" in spelled(node.value)
        ]
    assert not found, "\n".join(found)
