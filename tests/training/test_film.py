"""Episodes as films: of environments in the plane and in space, recorded by training, saved, shown by the shell."""

import json
import shutil

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import refusals

import kousoku as ks
from kousoku import cli
from kousoku.core.scene import Circle, Scene, Trajectory2d
from kousoku.core.scene3d import Body3d, Drawable3d, Geom, Touching3d, Trajectory3d
from kousoku.training.evaluation.film import film, is_drawable, play, random_policy
from kousoku.training.io import film_files, run_folder
from kousoku.viz.payload import payload

END = 4


RAN = """
import kousoku as ks
run = ks.train("q_learning", "FrozenLake-v1", steps=10, out="", eval_episodes=0)
"""


class RailInfo(eqx.Module):
    place: jax.Array
    bonus: jax.Array


class Rail(ks.Env):
    """A ball on a rail of five places; at the right end it is done."""

    broken_after: int = eqx.field(static=True, default=1000)
    time_limit: int | None = eqx.field(static=True, default=30)

    @property
    def observation_space(self):
        return ks.Discrete(END + 1)

    @property
    def action_space(self):
        return ks.Discrete(2)

    @property
    def dt(self):
        return 0.25

    def reset(self, key):
        del key
        return jnp.int32(0), ks.Timestep(jnp.int32(0), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        del key
        place = jnp.clip(state + jnp.where(action == 1, 1, -1), 0, END).astype(jnp.int32)
        done = place == END
        info = RailInfo(place.astype(jnp.float32), jnp.float32(0.5))
        return place, ks.Timestep(place, jnp.where(done, 1.0, -0.1).astype(jnp.float32), done, jnp.array(False), info)


class Rail3d(Rail):
    def body3d(self):
        return Body3d((Geom("plane", (0.0, 0.0, 1.0)), Geom("sphere", (0.3, 0, 0), 0, name="</script>ball")), "rail")

    def poses(self, state):
        x = jnp.where(state >= self.broken_after, jnp.nan, state.astype(jnp.float32))
        zero = jnp.zeros_like(x)
        return jnp.stack([x, zero, zero + 0.3])[None], jnp.stack([zero + 1.0, zero, zero, zero])[None]

    def contacts3d(self, state, action):
        x = state.astype(jnp.float32)
        there = jnp.stack([x, jnp.zeros_like(x), jnp.zeros_like(x)])
        return there[None], jnp.stack([x * 0, x * 0, 10.0 + action.astype(jnp.float32)])[None]

    def readings(self, state):
        return {"z</script>": state.astype(jnp.float32), "a": -state.astype(jnp.float32)}


class Rail2d(Rail):
    def scene(self, state):
        return Scene(5.0, 1.0, (), (Circle(float(state) + 0.5, 0.5, 0.3, "red"),))


def right(env, obs, carry, key):
    del env, obs, key
    return jnp.int32(1), carry


def left(env, obs, carry, key):
    del env, obs, key
    return jnp.int32(0), carry


class Die(Rail2d):
    """Its state is what the last action was."""

    def step(self, key, state, action):
        del key, state
        return action, ks.Timestep(action, jnp.float32(0), jnp.array(False), jnp.array(False))


def thrown(env, obs, carry, key):
    del env, obs
    return jax.random.randint(key, (), 0, 2**30), carry + 1


class TestPlaying:
    def test_an_episode_has_a_state_more_than_actions(self):
        played = play(Rail2d(), right, jax.random.key(0))
        assert played.states.tolist() == [0, 1, 2, 3, 4]
        assert played.said.terminated.tolist() == [False] * 3 + [True]
        assert len(played.actions) == 4

    @pytest.mark.by_default("7-8")
    @pytest.mark.parametrize(("max_steps", "frames"), [(7, 8), (1000, 31)])
    def test_it_is_cut(self, max_steps, frames):
        assert len(play(Rail2d(), left, jax.random.key(0), max_steps=max_steps).states) == frames

    def test_keys_are_fresh(self):
        actions = play(Die(), thrown, jax.random.key(0), carry=jnp.int32(0)).actions
        assert len(set(actions.tolist())) == len(actions) == 30


class TestFilms:
    def test_in_space(self):
        env = Rail3d()
        assert isinstance(env, Drawable3d)
        assert isinstance(env, Touching3d)
        made = film(env, play(env, right, jax.random.key(0)), "one")
        assert isinstance(made, Trajectory3d)
        assert made.positions[:, 0, 0].tolist() == [0, 1, 2, 3, 4]
        assert (made.dt, made.name) == (0.25, "one")
        assert list(made.values) == ["reward", "return", "place", "bonus", "action", "z</script>", "a"]
        np.testing.assert_allclose(made.values["reward"], [np.nan, -0.1, -0.1, -0.1, 1.0], rtol=1e-6)
        np.testing.assert_allclose(made.values["return"], [0, -0.1, -0.2, -0.3, 0.7], rtol=1e-6)
        np.testing.assert_array_equal(made.values["place"], [np.nan, 1, 2, 3, 4])
        np.testing.assert_array_equal(made.values["action"], [1, 1, 1, 1, np.nan])
        np.testing.assert_array_equal(made.values["a"], [0, -1, -2, -3, -4])
        assert made.contacts is not None
        assert made.contacts.points[:, 0, 0].tolist() == [0, 1, 2, 3, 4]
        assert made.contacts.forces[:, 0, 2].tolist() == [11] * 5

    def test_what_is_no_number_ends_it(self):
        env = Rail3d(broken_after=3)
        made = film(env, play(env, right, jax.random.key(0)))
        assert len(made) == 3
        assert len(made.values["reward"]) == len(made.contacts.points) == 3

    def test_in_the_plane(self):
        made = film(Rail2d(), play(Rail2d(), right, jax.random.key(0)))
        assert isinstance(made, Trajectory2d)
        assert [scene.foreground[0].x for scene in made.scenes] == [0.5, 1.5, 2.5, 3.5, 4.5]
        assert made.dt == 0.25

    def test_numbers_of_a_state_are_shown(self):
        env = ks.make("CartPole-v1")
        made = film(env, play(env, right, jax.random.key(0)))
        assert made.dt == pytest.approx(0.02)
        assert list(made.values)[-4:] == ["x", "x_dot", "theta", "theta_dot"]
        assert (np.diff(made.values["x_dot"]) > 0).all()

    def test_the_same_state_is_drawn_once_and_told_once(self, monkeypatch):
        env, drawn, told = Rail2d(), [], []
        draw, shapes = Rail2d.scene, film_files._shapes_json
        monkeypatch.setattr(Rail2d, "scene", lambda env, state: drawn.append(int(state)) or draw(env, state))
        monkeypatch.setattr(film_files, "_shapes_json", lambda layer: told.append(layer) or shapes(layer))
        for act, places in ((left, [0]), (right, [0, 1, 2, 3, 4])):
            drawn.clear()
            told.clear()
            played = play(env, act, jax.random.key(0))
            made = film(env, played)
            assert drawn == places
            assert made.scenes == tuple(draw(env, state) for state in played.states)
            kept = film_files.film_json(made)
            backgrounds = {scene.background for scene in made.scenes}
            assert len(told) == len(places) + len(backgrounds)
            back = film_files.film_of(json.loads(json.dumps(kept)), film_files.film_arrays(made))
            assert back.scenes == made.scenes

    def test_nothing_to_draw(self):
        assert not is_drawable(Rail())
        with pytest.raises(ks.ConfigError, match="scene"):
            ks.animate(Rail())


def test_random_actions_are_legal_where_there_is_a_mask():
    choose = random_policy(ks.Discrete(5))
    keys = jax.random.split(jax.random.key(0), 50)
    mask = jnp.array([0, 1, 0, 1, 0])
    assert {int(choose({"action_mask": mask}, key)) for key in keys} == {1, 3}
    assert {int(choose(None, key)) for key in keys} == set(range(5))
    choose, mask = random_policy(ks.MultiDiscrete((3, 2))), jnp.array([[0, 1, 1], [0, 1, 1]])
    drawn = jax.vmap(lambda key: choose({"action_mask": mask}, key))(keys)
    assert {tuple(action) for action in drawn.tolist()} == {(1, 1), (2, 1)}
    box = ks.Box(-1.0, 1.0, (2,))
    assert random_policy(box)({"action_mask": mask}, keys[0]).tolist() == box.sample(keys[0]).tolist()


class TestAnimate:
    @pytest.mark.full("covered")
    def test_episodes_of_an_environment_side_by_side(self):
        found = ks.animate(Rail2d(), episodes=3, seed=1)
        assert [made.name for made in found.films] == ["episode 1", "episode 2", "episode 3"]
        assert found.title == "Rail2d"
        wrapped = ks.animate(ks.wrappers.TimeLimit(Rail2d(), 3), episodes=1)
        assert wrapped.title == "TimeLimit(Rail2d)"
        assert len({tuple(made.values["action"][:4]) for made in found.films}) > 1  # random, each in its own way
        again = ks.animate(Rail2d(), episodes=3, seed=1)
        assert [len(made) for made in again.films] == [len(made) for made in found.films]

    @pytest.mark.full("covered")
    def test_by_id_with_a_policy_and_a_title(self):
        found = ks.animate("Balls-v0", lambda obs, key: jnp.zeros(1), max_steps=5, title="Fall")
        assert (len(found.films[0]), found.title, found.seconds) == (6, "Fall", pytest.approx(0.01))

    @pytest.mark.parametrize("change", [{"episodes": 0}, {"max_steps": 0}, {"seed": -1}])
    def test_bad_input(self, change):
        with pytest.raises(ks.ConfigError, match=next(iter(change))):
            ks.animate(Rail2d(), **change)

    @pytest.mark.parametrize(
        ("policy", "said"),
        [
            (lambda obs: 0, r"use a function of \(obs, key\)"),
            (lambda obs, key: 0.5, r"got 0\.5; it should give an action of Discrete\(n=2\)"),
            (lambda obs, key: jnp.zeros(3, int), r"got int\d+\[3\]; it should give"),
            (lambda obs, key: None, "got None; it should give"),
            (lambda obs, key: 7, r"got 7; the action space is Discrete\(n=2\)"),
        ],
    )
    def test_what_is_no_policy_is_refused(self, policy, said):
        with pytest.raises(ks.ConfigError, match=said):
            ks.animate("CartPole-v1", policy, max_steps=3)

    def test_whole_numbers_are_in_a_box_of_fractions(self):
        assert len(ks.animate("Pendulum-v1", lambda obs, key: jnp.ones(1, int), max_steps=3).films[0]) == 4

    def test_a_class_is_no_environment(self):
        said = refusals(
            {"env": "ks.animate(GridWorld)"}, "import kousoku as ks; GridWorld = type(ks.make('GridWorld-v0'))"
        )
        assert "that is the class; make one of it: GridWorld(...)" in said["env"]


@pytest.fixture(scope="module")
def solid(tmp_path_factory):
    """A small run in three dimensions."""
    folder = tmp_path_factory.mktemp("films") / "run"
    return ks.train("q_learning", Rail3d(), steps=2000, seeds=3, out=str(folder))


@pytest.mark.reports
class TestRuns:
    def test_the_best_agent_is_filmed_and_comes_back_from_the_folder(self, solid):
        made, again = solid.record.film, ks.load(solid.path).record.film
        assert isinstance(made, Trajectory3d)
        assert made.positions[:, 0, 0].tolist() == [0, 1, 2, 3, 4]
        assert again.body == made.body
        assert (again.dt, again.name, list(again.values)) == (made.dt, made.name, list(made.values))
        for one, other in zip(again.values.values(), made.values.values(), strict=True):
            np.testing.assert_array_equal(one, other)
        for name in ("positions", "quaternions"):
            np.testing.assert_array_equal(getattr(again, name), getattr(made, name))
        np.testing.assert_array_equal(again.contacts.forces, made.contacts.forces)

    def test_several_agents_side_by_side_the_best_first(self, solid):
        found = solid.animate(agents=2)
        assert len(found.films) == 2
        assert {made.name for made in found.films} < {"seed 0", "seed 1", "seed 2"}
        scores = solid.record.scores
        assert found.films[0].values["return"][-1] == pytest.approx(scores.max(), abs=1e-5)
        with pytest.raises(ks.ConfigError, match=r"agents: got 4; .* at most 3"):
            solid.animate(agents=4)

    def test_a_file_is_named_when_it_is_saved(self):
        told = refusals({"file": "run.animate('film.html')"}, RAN)
        assert told["file"] == "agents: got 'film.html'; say how many to film, and write it with .save('film.html')"

    @pytest.mark.full("covered")
    def test_without_evaluation_it_is_played_when_asked_for(self):
        run = ks.train("q_learning", Rail2d(), steps=500, seeds=1, eval_episodes=0, out="")
        assert run.record.film is None
        assert len(run.animate().films[0]) > 1

    def test_the_report_plays_it_in_three_dimensions(self, solid):
        film = payload(solid.record)["player"]["film"]
        assert film["runs"][0]["frames"] == len(solid.record.film)
        report = (solid.path / "report.html").read_text(encoding="utf-8")
        assert "webgl2" in report
        assert "</script>" not in report.split('id="data">')[1].split("</script>")[0]

    def test_a_damaged_film_is_refused(self, solid, tmp_path):
        shutil.copytree(solid.path, tmp_path, dirs_exist_ok=True)
        picture = tmp_path / run_folder.PICTURE
        picture.write_text(picture.read_text().replace('"sphere"', '"sphinx"'))
        with pytest.raises(ks.ConfigError, match="its files are damaged"):
            ks.load(tmp_path)


@pytest.mark.reports
class TestShell:
    def run(self, capsys, *words: str) -> str:
        assert cli.main(["view", *words, "--no-open"]) == 0
        return capsys.readouterr().out.strip()

    def test_a_run_as_a_film(self, solid, capsys, tmp_path):
        assert self.run(capsys, str(solid.path)) == str(solid.path / "report.html")
        assert self.run(capsys, str(solid.path), "--film") == str(solid.path / "film.html")
        assert self.run(capsys, str(solid.path), "--no-film") == str(solid.path / "report.html")
        out = tmp_path / "x.png"
        assert self.run(capsys, str(solid.path), "--out", str(out)) == str(out)
        assert out.read_bytes().startswith(b"\x89PNG")

    @pytest.mark.full("covered")
    def test_an_environment_at_random(self, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert self.run(capsys, "GridWorld-v0", "--episodes", "2") == "GridWorld-v0.html"
        assert '"name":"episode 2"' in (tmp_path / "GridWorld-v0.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--out", "x.avi"], "path: got 'x.avi'"),
            (["--episodes", "0"], "episodes: got 0"),
            (["--episodes", "4"], "episodes: got 4"),
        ],
    )
    def test_bad_input(self, solid, capsys, words, said):
        assert cli.main(["view", str(solid.path), *words]) == 2
        assert said in capsys.readouterr().err
