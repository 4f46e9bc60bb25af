"""Drawings, panels and solids hold Python's own numbers, whatever they were made of: they are written down as JSON."""

import dataclasses
import json
import warnings

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core import scene as scenes
from kousoku.core.errors import ConfigError
from kousoku.core.panel import Panel, check_panels
from kousoku.core.scene3d import Body3d, Geom
from kousoku.envs.contract import ContractError

NUMBERS = [np.float32(0.5), np.int64(2), jnp.float32(0.5), jnp.sin(jnp.float32(1)), np.array(0.5), True, 3, 0.25]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
def test_any_number_of_a_shape_becomes_pythons(number):
    shapes = [
        scenes.Rect(number, number, number, number, "red"),
        scenes.Circle(number, number, number, "red"),
        scenes.Line(number, number, number, number, number, "red"),
        scenes.Text(number, number, "words", number, "red"),
        scenes.Polygon(np.full((3, 2), number), "red"),
        scenes.Polyline([(number, number)] * 2, number, "red"),
    ]
    scene = scenes.Scene(number, number, shapes, shapes)
    told = json.dumps(dataclasses.asdict(scene), allow_nan=False)
    assert json.loads(told)["background"][0]["x"] == pytest.approx(float(number))
    assert hash(scene) == hash(dataclasses.replace(scene))
    geom = Geom("box", size=np.full(3, number), frame=np.int64(0), position=jnp.full(3, number))
    assert json.dumps(dataclasses.asdict(Body3d([geom])))


@pytest.mark.parametrize("wrong", [np.nan, jnp.float32(jnp.inf), "1", None, np.zeros(2)], ids=str)
def test_what_is_no_finite_number_is_one_line(wrong):
    with pytest.raises(ConfigError) as caught:
        scenes.Circle(wrong, 0, 1, "red")
    assert str(caught.value).startswith("x: got ")
    with pytest.raises(ConfigError, match="points: got"):
        scenes.Polygon([(0, 0), (1, 1), (2, wrong)], "red")
    with pytest.raises(ConfigError, match="foreground: got"):
        scenes.Scene(1, 1, (), [wrong])
    with pytest.raises(ConfigError, match="geoms: got"):
        Body3d([wrong])
    with pytest.raises(ConfigError, match=r"Panel\.title: got"):
        Panel(5, ((0,),))
    with pytest.raises(ConfigError, match="color: got"):
        scenes.Circle(0, 0, 1, (255, 0, 0))


class Drawn(ks.Env):
    """An environment whose drawing is made of what its state is."""

    spoilt: bool = eqx.field(static=True, default=False)
    time_limit: int | None = eqx.field(static=True, default=5)
    observation_space = ks.Discrete(2)
    action_space = ks.Discrete(2)

    def reset(self, key):
        return jnp.float32(1.0), ks.Timestep(jnp.int32(0), 0.0, False, False)

    def step(self, key, state, action):
        return state + 1.0, ks.Timestep(jnp.int32(0), 1.0, False, False)

    def scene(self, state):
        x = state * jnp.nan if self.spoilt else state
        return scenes.Scene(np.float32(10), 10, [scenes.Rect(0, 0, 1, 1, "red")], [scenes.Circle(x, 5, 1, "red")])


@pytest.mark.films
def test_a_drawing_of_the_states_numbers_is_filmed_and_kept(tmp_path):
    ks.train("q_learning", Drawn(), steps=20, eval_episodes=1, out=str(tmp_path / "run"), progress=False)
    film = ks.load(tmp_path / "run", env=Drawn()).record.film
    assert [scene.foreground[0].x for scene in film.scenes] == [1, 2, 3, 4, 5, 6]


@pytest.mark.films
def test_a_drawing_that_is_no_number_costs_the_film_alone(tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ks.train("q_learning", Drawn(spoilt=True), steps=20, eval_episodes=1, out=str(tmp_path / "run"), progress=False)
    assert any("there is no film: ConfigError: x: got nan" in str(each.message) for each in told)
    assert (tmp_path / "run" / "report.html").is_file()


def test_panels_become_plain():
    panel = Panel(
        "", np.arange(4).reshape(2, 2), [(np.int64(0), 1, "S")], np.zeros((1, 4)), action_arrows=[None, (1, 0)]
    )
    assert panel == Panel(
        "", ((0, 1), (2, 3)), ((0, 1, "S"),), ((0.0, 0.0, 0.0, 0.0),), action_arrows=(None, (1.0, 0.0))
    )
    json.dumps(dataclasses.asdict(panel))


@pytest.mark.parametrize("states", [((0, 1), (2,)), (), ((),), ((0.5,),), ((-2,),), (("a",),)], ids=str)
def test_panels_are_rectangles_of_states(states):
    with pytest.raises(ConfigError, match=r"Panel\.states"):
        Panel("", states)


class Chain(ks.Env):
    """Four states in a row, with an exact model, and panels as they are given."""

    shown: object = eqx.field(static=True, default=())
    time_limit: int | None = eqx.field(static=True, default=9)
    observation_space = ks.Discrete(4)
    action_space = ks.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), ks.Timestep(jnp.int32(0), 0.0, False, False)

    def step(self, key, state, action):
        state = jnp.minimum(state + 1, 3)
        return state, ks.Timestep(state, 1.0, state == 3, False)

    def model(self):
        follows = np.array([1, 2, 3, 3])
        parts = (np.ones(4), follows, np.ones(4), follows == 3)
        each = [np.broadcast_to(x[:, None, None], (4, 2, 1)) for x in parts]
        return ks.TabularModel(*each, np.array([1.0, 0.0, 0.0, 0.0]))

    def panels(self):
        if self.shown is None:
            raise ValueError("no panels today")
        return self.shown


SINGLE = Panel("", ((0, 1, 2, 3),))


def test_panels_are_looked_at_before_anything_is_trained(tmp_path):
    assert check_panels([SINGLE], 4) == (SINGLE,)
    out = tmp_path / "run"
    for shown, told in (
        (SINGLE, "use a tuple of"),
        ((Panel("", ((0, 9),)),), "got 9; there are 4 states"),
        (None, "ValueError: no panels today"),
    ):
        with pytest.raises(ConfigError) as caught:
            ks.train("q_learning", Chain(shown=shown), steps=20, out=str(out), progress=False)
        assert told in str(caught.value)
        assert not out.exists()
        with pytest.raises(ContractError) as broken:
            ks.check_env(Chain(shown=shown), steps=2)
        assert told in str(broken.value)
    ks.train("q_learning", Chain(shown=(SINGLE,)), steps=20, eval_episodes=0, out=str(out), progress=False)
    assert ks.load(out, env=Chain(shown=(SINGLE,))).record.panels == (SINGLE,)
