"""Environments of one's own that a run is gone on with: whatever makes another one of it is refused, or told."""

import dataclasses
import enum
import functools
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from still import Still

import kousoku as ks
from kousoku.core.errors import RunWarning
from kousoku.envs import ENVS
from kousoku.training.io import env_config, files, provenance
from kousoku.training.io.env_config import check_same, env_json


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Params:
    friction: float = 0.1
    shape: Any = None


def one(x):
    return x


def two(x):
    return x + x


class Held(Still):
    """One that holds something."""

    held: Any = eqx.field(static=True, default=None)
    number: Any = 0.0


class Heir(Held):
    """One that adds nothing."""


PASS = lambda x: x  # noqa: E731
TURN = lambda x: -x  # noqa: E731

DIFFERENT = [
    (Params(), Params(0.3)),
    (Params(shape=(1, one)), Params(shape=(1, two))),
    (Mode.SLOW, Mode.FAST),
    (Level.LOW, Level.HIGH),
    (one, two),
    (functools.partial(one), functools.partial(two)),
    (functools.partial(one, x=1), functools.partial(one, x=2)),
    (b"ab", b"cd"),
    (frozenset("ab"), frozenset("ac")),
    (range(3), range(4)),
    ((Mode.SLOW, 1), (Mode.FAST, 1)),
]


SOME = "a", PASS, Params(shape=PASS), functools.partial(PASS, x=1), {"f": (PASS,)}
OTHERS = "a", TURN, Params(shape=TURN), functools.partial(TURN, x=1), {"f": (TURN,)}


def kept(told: dict) -> dict:
    """JSON as a run's folder gives it back."""
    return files._infinite(json.loads(files.json_text(told)))


@pytest.mark.parametrize(("before", "after"), DIFFERENT)
def test_what_it_holds_is_told_apart(before, after):
    begun = kept(env_json(Held(held=before), {}))
    check_same(Held(held=before), begun)
    with pytest.raises(ks.ConfigError, match=r"^env's held: got .*; the run was started with"):
        check_same(Held(held=after), begun)


@pytest.mark.parametrize(("before", "after"), [*zip(SOME[1:], OTHERS[1:], strict=True)])
def test_functions_of_one_name_that_do_something_else_are_told(before, after):
    """They are not refused: a function that is written anew in a script is the same environment's."""
    begun = kept(env_json(Held(held=before), {}))
    with pytest.warns(RunWarning, match="the code of Held is not what the run was started with"):
        check_same(Held(held=after), begun)
    begun.pop("functions")  # runs of before
    check_same(Held(held=after), begun)


def test_a_function_that_is_written_elsewhere_is_the_same():
    def anew(
        x,
    ):
        # as in a script that goes on with a run
        return x

    anew.__qualname__ = PASS.__qualname__
    check_same(Held(held=anew), kept(env_json(Held(held=PASS), {})))


def within():
    """Functions that are written within another one, like those at the top of this file."""

    def one(x):
        return x

    def two(x):
        return x + x

    return {"one": one, "two": two, "pass": lambda x: x, "turn": lambda x: -x}


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: ("a", f), lambda f: {"f": [f]}, lambda f: Params(shape=f)])
@pytest.mark.parametrize(("before", "after"), [(PASS, "pass"), (one, "one")], ids=["lambda", "named"])
def test_where_a_function_is_written_is_no_part_of_it(before, after, wrap):
    for then, now in ((before, within()[after]), (within()[after], before)):
        check_same(Held(held=wrap(now)), kept(env_json(Held(held=wrap(then)), {})))


def test_another_function_that_is_written_elsewhere_is_told_or_refused():
    with pytest.warns(RunWarning, match="the code of Held is not what the run was started with"):
        check_same(Held(held=within()["turn"]), kept(env_json(Held(held=PASS), {})))
    with pytest.raises(
        ks.ConfigError, match=r"^env's held: got 'within\.<locals>\.two'; the run was started with 'one'"
    ):
        check_same(Held(held=within()["two"]), kept(env_json(Held(held=one), {})))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, jnp.array([1.0, np.nan, np.inf])])
def test_numbers_that_are_not_finite_are_told_as_they_are(number):
    begun = kept(env_json(Held(number=number), {}))
    check_same(Held(number=number), begun)
    told = r"^env's number: got 0\.5; the run was started with '?\[?(1\.0, '?)?-?(nan|inf)"
    with pytest.raises(ks.ConfigError, match=told):
        check_same(Held(number=0.5), begun)


@pytest.mark.parametrize(("before", "after"), DIFFERENT)
def test_runs_that_told_less_are_gone_on_with(before, after):
    env = Held(held=before)
    begun = kept(env_json(env, {})) | {"fields": kept(env_config._all_fields(env, env_config._formerly_told))}
    check_same(Held(held=before), begun)


def test_numbers_were_told_by_a_digest_where_they_are_not_finite():
    env = Held(number=jnp.array([1.0, np.inf]))
    fields = kept(env_config._all_fields(env, env_config._formerly_told))
    assert fields["number"].startswith("float32[2] ")
    check_same(env, kept(env_json(env, {})) | {"fields": fields})


def test_the_code_of_what_it_inherits_from_counts():
    whole = provenance.code_of(Heir)
    alone = provenance.code_of(Held)
    assert whole not in (None, alone)
    assert provenance.code_of(type("Typed", (Held,), {})) is None


class TestIds:
    """Environments that a user has registered."""

    @pytest.fixture(autouse=True)
    def _registered(self, monkeypatch):
        monkeypatch.setattr(ENVS, "_entries", dict(ENVS._entries))
        self.now: Any = Params()
        ks.register("Held-v7", lambda **options: Held(held=self.now, **options))
        ks.train("q_learning", "Held-v7", steps=80, eval_episodes=0, out="run")

    def test_another_one_behind_the_id_is_refused(self):
        self.now = Params(0.3)
        for reads in (lambda: ks.resume("run", steps=160), lambda: ks.load("run").animate()):
            with pytest.raises(ks.ConfigError, match=r"^env's held: got .*0.3.*; the run was started with .*0.1"):
                reads()

    def test_the_same_is_gone_on_with(self):
        assert ks.resume("run", steps=160).record.facts["steps"] == 160

    def test_changed_code_is_told(self, monkeypatch):
        monkeypatch.setattr(provenance, "code_of", lambda kind: "other")
        with pytest.warns(RunWarning, match="the code of Held-v7 is not what the run was started with"):
            ks.resume("run", steps=160)

    def test_runs_of_before_tell_nothing_and_are_gone_on_with(self):
        config = json.loads(Path("run/config.json").read_text())
        assert config["env"].pop("fields")["time_limit"] == 8
        assert config["env"].pop("code")
        Path("run/config.json").write_text(json.dumps(config))
        self.now = Params(0.3)
        with pytest.warns(RunWarning, match=r"config.json is not what this checkpoint was made with") as told:
            assert ks.resume("run", steps=160).record.facts["steps"] == 160
        assert len(told) == 1, "a checkpoint of today knows what was taken out here; one of before knows nothing"


def test_ours_are_told_by_their_ids_alone():
    assert set(env_json("CartPole-v1", {}, ks.make("CartPole-v1"))) == {"id", "options", "registered"}
