"""Functions are compared by what they do: not by their place, their words or their file, but by all that they hold."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from idle_agent import Idle
from still import Still

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.agents.options import describe
from kousoku.core.errors import RunWarning
from kousoku.training.io import env_config, files, provenance
from kousoku.training.io.agent_code import check_own, own_json
from kousoku.training.io.behaviour import DOES, behaviour_of, functions_of
from kousoku.training.io.env_config import check_same, env_json
from kousoku.training.io.rebuild import check_same_agent
from kousoku.viz.payload import _config


def written(text: str, **known: Any) -> Any:
    """Returns the function `f` of a source text, as another file has it."""
    space = {"__name__": "written", "jnp": jnp, **known}
    exec(compile(text, "written.py", "exec"), space)
    return space["f"]


def plus(value: Any) -> Any:
    return lambda x: x + value


def recursive(step: int) -> Any:
    def count(n: int) -> int:
        return 0 if n == 0 else step + count(n - 1)

    return count


def unset() -> Any:
    def function() -> Any:
        return later

    if False:
        later = 1
    return function


class Scale(eqx.Module):
    by: Any = 1.0

    def times(self, x: Any) -> Any:
        return x * self.by


class Plain:
    def times(self, x: Any) -> Any:
        return x


SAME = {
    "lines": ("f = lambda x: x * 2", "\n\n# further down\nf = lambda x: (\n    x * 2\n)"),
    "words": (
        "def f(x):\n  return x * 2",
        "def f(x) -> int:\n  '''Doubles.'''\n  # a comment\n  return x * 2",
    ),
    "docstring": ("def f(x):\n  '''One.'''\n  return 3", "def f(x):\n  '''Another.'''\n  return 3"),
    "locals": ("def f(x):\n  a = x + 1\n  return a", "def f(x):\n  b = x + 1\n  return b"),
    "within": ("def f(x):\n  return (lambda y: y + 1)(x)", "def f(x):\n\n\n  return (lambda y: y + 1)(x)"),
    "set": ("f = lambda x: x in {'a', 'b', 'c'}", "\nf = lambda x: x in {'a', 'b', 'c'}"),
    "arrays": (
        "def g(a): return lambda x: x + a\nf = g(jnp.arange(3.0))",
        "def h(b): return lambda x: x + b\nf = h(jnp.arange(3.0))",
    ),
}  # fmt: skip

OTHER = {
    "constant": ("f = lambda x: x * 2", "f = lambda x: x * 3"),
    "kind": ("f = lambda x: x * 1", "f = lambda x: x * True"),
    "zero": ("f = lambda x: x * 0.0", "f = lambda x: x * -0.0"),
    "operation": ("f = lambda x: x * 2", "f = lambda x: x + 2"),
    "attribute": ("f = lambda x: x.min", "f = lambda x: x.max"),
    "method": ("f = lambda x: x.min()", "f = lambda x: x.max()"),
    "global": ("f = lambda x: jnp.sin(x)", "f = lambda x: jnp.cos(x)"),
    "within": ("def f(x):\n  return (lambda y: y + 1)(x)", "def f(x):\n  return (lambda y: y + 2)(x)"),
    "default": ("def f(x, k=1): return x", "def f(x, k=2): return x"),
    "keyword default": ("def f(x, *, k=1): return x", "def f(x, *, k=2): return x"),
    "parameter": ("def f(x, *, k): return x", "def f(x, *, l): return x"),
    "kind of parameter": ("def f(x, k): return x", "def f(x, *k): return x"),
    "by place": ("def f(x, y): return x", "def f(x, y, /): return x"),
    "keywords": ("f = lambda g: g(a=1)", "f = lambda g: g(b=1)"),
    "order": ("f = lambda x, y: x - y", "f = lambda x, y: y - x"),
    "set": ("f = lambda x: x in {'a', 'b'}", "f = lambda x: x in {'a', 'c'}"),
    "tuple": ("f = lambda: (1, (2, 3))", "f = lambda: (1, (2, 4))"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_functions_that_do_the_same_are_the_same(one, other):
    assert behaviour_of(written(one)) == behaviour_of(written(other))


@pytest.mark.parametrize(("one", "other"), OTHER.values(), ids=OTHER)
def test_functions_that_do_something_else_are_others(one, other):
    assert behaviour_of(written(one)) != behaviour_of(written(other))


HELD = {
    "number": (plus, 1, 2),
    "text": (plus, "a", "b"),
    "array": (plus, jnp.zeros(2), jnp.array([0.0, 1.0])),
    "shape": (plus, np.zeros(2), np.zeros((2, 1))),
    "dtype": (plus, np.zeros(2, np.int32), np.zeros(2, np.float32)),
    "key": (plus, jax.random.key(0), jax.random.key(1)),
    "function": (plus, plus(1), plus(2)),
    "list": (plus, [1, {"a": 2}], [1, {"a": 3}]),
    "names": (plus, {"a": 1}, {"b": 1}),
    "module": (plus, Scale(1.0), Scale(2.0)),
    "class": (plus, Scale, Plain),
    "library": (plus, jnp, np),
    "partial": (plus, functools.partial(plus, 1), functools.partial(plus, 2)),
    "by name": (plus, functools.partial(max, key=1), functools.partial(max, key=2)),
    "bound": (plus, Scale(1.0).times, Scale(2.0).times),
    "itself": (recursive, 1, 2),
    "partial of it": (lambda by: functools.partial(plus(by), 3), 1, 2),
    "jitted": (lambda by: jax.jit(plus(by)), 1, 2),
    "cached": (lambda by: functools.cache(plus(by)), 1, 2),
    "in a module": (lambda by: Scale(plus(by)), 1, 2),
    "in a dict": (lambda by: {"a": [plus(by)]}, 1, 2),
    "method of a module": (lambda by: Scale(by).times, 1, 2),
}  # fmt: skip


@pytest.mark.parametrize(("make", "one", "other"), HELD.values(), ids=HELD)
def test_what_a_function_holds_is_a_part_of_it(make, one, other):
    assert behaviour_of(make(one)) == behaviour_of(make(one)) != behaviour_of(make(other))


def test_a_function_of_a_variable_without_a_value_is_told_and_without_functions_there_is_nothing():
    assert str(behaviour_of(unset())).startswith(DOES)
    assert behaviour_of(unset()) != behaviour_of(plus(1))
    assert [behaviour_of(each) for each in (None, 3, "a", Scale(2.0), jnp.zeros(2), [Plain], Plain())] == [None] * 7


def test_equal_parts_are_the_same_whether_or_not_they_are_one_object():
    part = (1, 2)
    assert behaviour_of(plus([part, part])) == behaviour_of(plus([(1, 2), (1, int("2"))]))


def test_sets_have_no_order():
    one, other = frozenset([0, 8]), frozenset([8, 0])
    assert repr(one) != repr(other)
    assert behaviour_of(plus(one)) == behaviour_of(plus(other)) != behaviour_of(plus(frozenset([0, 16])))


# ---- environments


class Held(Still):
    held: Any = eqx.field(static=True, default=None)


def kept(told: dict) -> dict:
    return files._infinite(json.loads(files.json_text(told)))


@pytest.mark.parametrize(("one", "other"), [(plus(1), plus(2)), (plus(jnp.zeros(2)), plus(jnp.ones(2)))])
def test_another_closure_of_an_environment_is_told(one, other):
    begun = kept(env_json(Held(held=one), {}))
    check_same(Held(held=one), begun)
    with pytest.warns(RunWarning, match="the code of Held is not what the run was started with"):
        check_same(Held(held=other), begun)


def test_runs_of_before_told_functions_by_their_code_alone():
    former = env_config._formerly_functions(Held(held=plus(1)))
    begun = kept(env_json(Held(held=plus(1)), {})) | {"functions": former}
    check_same(Held(held=plus(2)), begun)
    with pytest.warns(RunWarning, match="the code of Held is not what the run was started with"):
        check_same(Held(held=lambda x: x), begun)
    check_same(Held(), kept(env_json(Held(), {})) | {"functions": None})


# ---- agents


@dataclasses.dataclass(frozen=True)
class Options:
    """A part of a person's own."""

    size: int = 1
    shape: Any = None


class Holding(Idle):
    """An agent that learns nothing and holds something."""

    held: Any = eqx.field(static=True, default=None)
    learns_from: ks.Collector = ks.Rollouts(2, 4)


def config_of(agent: ks.Agent) -> dict[str, Any]:
    return kept({"agent": describe(agent), "steps": 8, **own_json(agent)})


def checked(agent: ks.Agent, config: dict[str, Any]) -> None:
    check_same_agent(agent, config)
    check_own(agent, config)


def elsewhere() -> Any:
    return lambda x: x * 2


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: (1, f), lambda f: {"a": f}, lambda f: Options(shape=f)])
def test_an_agent_whose_function_is_written_elsewhere_is_the_same(wrap):
    for one, other in ((lambda x: x * 2, elsewhere()), (elsewhere(), lambda x: x * 2)):
        checked(Holding(wrap(other)), config_of(Holding(wrap(one))))


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: (1, f), lambda f: {"a": f}, lambda f: Options(shape=f)])
@pytest.mark.parametrize(
    ("one", "other"), [(elsewhere(), lambda x: x * 3), (plus(1), plus(2))], ids=["code", "closure"]
)
def test_an_agent_whose_function_does_something_else_is_told(wrap, one, other):
    config = config_of(Holding(wrap(one)))
    with pytest.warns(RunWarning, match="the code of Holding is not what the run was started with: bits may differ"):
        checked(Holding(wrap(other)), config)
    config.pop("own_agent")  # as runs of before
    checked(Holding(wrap(other)), config)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Options(), Options(2)),
        (Scale(), Scale(2.0)),
        (functools.partial(max, 1), functools.partial(max, 2)),
        ({"a": 1}, {"a": 2}),
        ((1, [2]), (1, [3])),
        (Scale().times, Scale(2.0).times),
        (max, None),
    ],
)
def test_an_agent_of_which_a_part_is_another_is_refused(one, other):
    config = config_of(Holding(one))
    checked(Holding(one), config)
    with pytest.raises(ks.ConfigError, match=r"^agent's held(\[1\])?: got .*; the run was started with"):
        checked(Holding(other), config)


def test_a_run_keeps_what_it_was_begun_with():
    begun = ks.train(Holding(plus(1)), "CartPole-v1", steps=16, eval_episodes=0, out="run").record.config["own_agent"]
    assert begun["functions"].startswith(DOES)
    assert begun["code"] is not None
    with pytest.warns(RunWarning, match="the code of Holding is not what the run was started with") as told:
        record = ks.resume("run", agent=Holding(plus(2)), steps=32).record
    assert len(told) == 1
    assert json.loads(Path("run/config.json").read_text())["own_agent"] == begun
    assert "own_agent" not in str(_config(record))


def test_the_code_of_an_agents_class_counts(monkeypatch):
    config = config_of(Holding())
    checked(Holding(), config)
    monkeypatch.setattr(provenance, "code_of", lambda kind: "other")
    with pytest.warns(RunWarning, match="the code of Holding is not what the run was started with"):
        checked(Holding(), config)


def test_of_the_librarys_agents_nothing_is_told():
    made = [ks.make_agent(id) for id in AGENTS.ids()]
    assert [own_json(agent) for agent in made] == [{}] * len(made)


def test_classes_have_one_digest_together_and_none_where_the_source_of_one_cannot_be_read():
    assert provenance.codes_of((Holding, Still)) not in (None, provenance.codes_of((Holding,)))
    assert provenance.codes_of((Holding, type("Typed", (), {}))) is None
    assert provenance.codes_of(()) is None


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="instructions are other ones")
def test_digests_that_runs_keep_stay_what_they_are():
    """A run compares with them when it is gone on with, so another one would say that its code had changed."""
    function = written("def f(count, rate=1e-3):\n    return rate / (1.0 + count)")
    assert behaviour_of([function, plus(2.0)]) == "does 764b3d559ca4"


class Refusing:
    def __getattr__(self, name):
        raise OSError(name)


def deep(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [deep(5000), 10**5000, Refusing()], ids=["deep", "long", "refusing"])
def test_a_global_that_cannot_be_told_is_its_class(value):
    function = written("def f():\n    return THING", THING=value)
    digest = behaviour_of(function, with_globals=True)
    assert digest == behaviour_of(function, with_globals=True)
    assert digest != behaviour_of(written("def f():\n    return THING", THING=1.0), with_globals=True)
    assert behaviour_of(plus(value), with_globals=True) != behaviour_of(plus(1.0), with_globals=True)


def test_what_many_functions_name_is_told_once():
    """Else as often as there are ways to it, which are 2^60 here."""
    space: dict[str, Any] = {"__name__": "written"}
    for k in range(60):
        before = "0" if k == 0 else f"f{k - 1}() + f{k - 1}()" if k == 1 else f"f{k - 1}() + f{k - 2}()"
        exec(compile(f"def f{k}():\n    return {before}", "written.py", "exec"), space)
    shared: Any = ()
    for _ in range(60):
        shared = (shared, shared)
    space["SHARED"] = shared
    exec(compile("def f():\n    return f59(), SHARED", "written.py", "exec"), space)
    digest = behaviour_of(space["f"], with_globals=True)
    exec(compile("def f0():\n    return 1", "written.py", "exec"), space)
    assert behaviour_of(space["f"], with_globals=True) != digest


def test_a_function_around_another_one_is_told_too():
    """As a decorator's, which may hold what changed."""

    def scaled(factor):
        def around(function):
            return functools.wraps(function)(lambda self: factor * function(self))

        return around

    digests = [
        behaviour_of(list(functions_of(type("Own", (), {"f": scaled(x)(lambda self: 1.0)})))) for x in (1.0, 2.0)
    ]
    assert digests[0] != digests[1]
