"""Ids: only ever looked up, and a wrong one is answered with what was meant."""

import importlib
import re

import pytest
from fresh_process import refusals

import kousoku as ks
from kousoku.core.env import Env
from kousoku.core.errors import ConfigError
from kousoku.core.registry import Registry
from kousoku.envs import ENVS


def room(width: int = 3, *, height: int, colour: str = "red") -> tuple:
    return width, height, colour


def anything(first: int, *rest: int, **others: int) -> tuple:
    return first, rest, others


@pytest.fixture
def things() -> Registry:
    registry = Registry("thing")
    registry.register("Room-v0", room, height=2)
    registry.register("Room-v1", room)
    registry.register("Path-v3", "os.path:join", a="x")
    return registry


@pytest.fixture
def _own_environments(monkeypatch):
    monkeypatch.setattr(ENVS, "_entries", dict(ENVS._entries))


@pytest.mark.parametrize(
    ("id", "hint"),
    [
        ("GridWorld-v7", "the versions that exist are GridWorld-v0"),
        ("FrozenLake-v0", "the versions that exist are FrozenLake-v1"),
        ("gridworld-v0", "did you mean GridWorld-v0"),
        ("GRIDWORLD-V0", "did you mean GridWorld-v0"),
        ("GridWorld", "the versions that exist are GridWorld-v0"),
        ("CliffWalkin-v1", "CliffWalking-v1"),
        ("", "name one of the"),
        ("os.path", "`kousoku list`"),
        ("../x", "`kousoku list`"),
        ("kousoku.envs:make", "`kousoku list`"),
        ("kousoku.envs.gridworld.env:gridworld", "kousoku"),
        ("GridWorld-v0\n", "GridWorld-v0"),
        ("-v7-", "`kousoku list`"),
        ("Gymnasium:CartPole-v1", "did you mean 'gymnasium:CartPole-v1'?"),
        ("gym:CartPole-v1", "did you mean 'gymnasium:CartPole-v1'?"),
        ("gymnaxx:Catch-bsuite", "did you mean 'gymnax:Catch-bsuite'?"),
        ("MuJoCo-Playground:CheetahRun", "did you mean 'playground:CheetahRun'?"),
        ("ALE:Pong-v5", "'gymnasium:ALE/Pong-v5' with ale-py"),
        ("x" * 10_000, "`kousoku list`"),
    ],
)
def test_an_unknown_id_is_refused_in_one_line_and_nothing_is_imported(id, hint, monkeypatch):
    monkeypatch.setattr(importlib, "import_module", lambda *_: pytest.fail("something is imported"))
    with pytest.raises(ConfigError) as caught:
        ENVS.make(id)
    message = str(caught.value)
    assert message.startswith("environment id: got ")
    assert hint in message
    assert "\n" not in message
    assert len(message) < 250


def test_an_id_that_is_no_word_is_refused():
    ids = ["None", "3", "['GridWorld-v0']", "{'a': 1}", "b'GridWorld-v0'"]
    messages = refusals({id: f"kousoku.make({id})" for id in ids}, "import kousoku")
    for id in ids:
        assert re.match(rf"environment id: got {re.escape(id)}; name one of the \d+ environments", messages[id])


def test_versions_are_listed_together(things):
    with pytest.raises(ConfigError, match=r"the versions that exist are Room-v0, Room-v1$"):
        things.make("Room-v2")


def test_defaults_may_be_overridden(things):
    assert things.make("Room-v0") == (3, 2, "red")
    assert things.make("Room-v0", height=9, colour="blue") == (3, 9, "blue")
    assert things.make("Room-v0") == (3, 2, "red")
    assert things.options("Room-v0")["height"].default == 2
    assert things.options("Room-v0")["width"].default == 3
    assert things.options("Room-v1")["height"].default is things.options("Room-v1")["height"].empty


def test_an_entry_is_imported_when_it_is_asked_for(things):
    assert things.make("Path-v3") == "x"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heigth": 2}, "option of Room-v0: got 'heigth'; did you mean 'height'?"),
        ({"HEIGHT": 2}, "option of Room-v0: got 'HEIGHT'; did you mean 'height'?"),
        ({"zzzzz": 2}, "option of Room-v0: got 'zzzzz'; known: width, height, colour"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_name(things, options, message):
    with pytest.raises(ConfigError) as caught:
        things.make("Room-v0", **options)
    assert str(caught.value) == message


def test_a_missing_option_is_named(things):
    with pytest.raises(ConfigError, match=r"^option 'height' of Room-v1: got nothing; give it a value"):
        things.make("Room-v1")
    with pytest.raises(ConfigError, match=r"^option 'map' of CustomGrid-v0"):
        ks.make("CustomGrid-v0")


def test_a_factory_that_takes_any_option_gets_any_option(things):
    things.register("Anything-v0", anything)
    assert things.make("Anything-v0", first=1, second=2) == (1, (), {"second": 2})
    with pytest.raises(ConfigError, match=r"^option 'first' of Anything-v0"):
        things.make("Anything-v0")


@pytest.mark.parametrize("id", ["", "a b", "../x", "a:b", "-x", ".x", "é", "x\n"])
def test_an_id_of_other_characters_cannot_be_registered(things, id):
    with pytest.raises(ConfigError, match="use letters, digits"):
        things.register(id, room)


def test_an_id_is_registered_once(things):
    with pytest.raises(ConfigError, match=r"^thing id: got 'Room-v0'; it is registered already"):
        things.register("Room-v0", room)


def test_only_what_can_be_called_is_registered(things):
    for factory in ("os.path", "a:b:c"):
        with pytest.raises(ConfigError, match=r"^factory of New-v0: got .*; use a function or a class"):
            things.register("New-v0", factory)
    assert things.ids() == ["Path-v3", "Room-v0", "Room-v1"]


def test_id_of_a_factory(things):
    assert things.id_of(room) == "Room-v0"
    assert things.id_of(test_id_of_a_factory) is None


@pytest.mark.usefixtures("_own_environments")
def test_an_environment_of_ones_own_has_an_id():
    def corridor(length: int = 4, slip: float = 0.0) -> Env:
        return ks.gridworld("S" + "." * (length - 2) + "G", slip=slip)

    ks.register("Corridor-v0", corridor, length=6)
    assert "Corridor-v0" in ks.list_envs()
    assert ks.make("Corridor-v0").observation_space.n == 6
    assert ks.make("Corridor-v0", length=3).observation_space.n == 3
    with pytest.raises(ConfigError, match="it is registered already"):
        ks.register("GridWorld-v0", corridor)


def test_ids_are_listed_sorted():
    assert ks.list_envs() == sorted(ks.list_envs())
    for id in ("GridWorld-v0", "CustomGrid-v0", "Maze-v0", "FourRooms-v0"):
        assert id in ks.list_envs()


def test_a_prefix_hands_the_rest_of_an_id_to_the_function_that_makes_that_librarys_things():
    registry = Registry("thing")
    registry.register_library("paths", "posixpath:join")
    registry.register_library("rooms", f"{__name__}:room")
    assert registry.make("paths:a/b:c") == "a/b:c"
    assert registry.make("rooms:wide", height=4) == ("wide", 4, "red")
    assert list(registry.options("rooms:wide")) == ["height", "colour"]
    assert registry.ids() == []
    assert registry.summary("rooms:wide") == ""
    with pytest.raises(ConfigError, match="paint"):
        registry.make("rooms:wide", height=4, paint="wet")
    with pytest.raises(ConfigError, match="no such name"):
        registry.make("floors:wide")


def test_a_library_tells_its_ids_and_its_numbers(monkeypatch):
    registry = Registry("thing")
    registry.register_library("rooms", f"{__name__}:any_room")
    monkeypatch.setitem(globals(), "ids", lambda: ["wide", "low"])
    monkeypatch.setitem(globals(), "numbers", lambda id: {"height": 2} if id == "wide" else {})
    assert registry.library_ids("rooms") == ["rooms:wide", "rooms:low"]
    assert {name: option.default for name, option in registry.options("rooms:wide").items()} == {"height": 2}
    assert list(registry.options("rooms:low")) == []
    assert registry.make("rooms:wide", paint="wet") == ("wide", {"paint": "wet"})
    assert [registry.library_of(id) for id in ("rooms:wide", "floors:wide", "wide", None)] == [
        "rooms",
        None,
        None,
        None,
    ]


def any_room(id, **options):
    return id, options


@pytest.mark.parametrize("id", ["Suite/Room-v1", "A/b"])
def test_an_id_may_begin_with_the_name_of_its_suite(things, id):
    things.register(id, room)
    assert things.make(id, height=1) == (3, 1, "red")


@pytest.mark.parametrize("id", ["/Room", "Suite/", "a//b", "a/b/c", "../b", "a/..", "a:b"])
def test_an_id_is_no_path(things, id):
    with pytest.raises(ConfigError, match="MySuite/MyGrid-v0"):
        things.register(id, room)
