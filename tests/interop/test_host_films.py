"""Films of environments on the host, which draw themselves."""

import warnings

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from host_worlds import Counter, Rooms

import kousoku as ks
from kousoku.core.errors import RunWarning
from kousoku.core.image_file import pixels_of
from kousoku.core.scene import Trajectory2d
from kousoku.training.evaluation import film as films

SMALL = {"num_envs": 2, "num_steps": 8, "minibatches": 2, "epochs": 1, "hidden": (8,)}


class Shown(Counter):
    """Draws the number of its step as a grey, and its last action beside it."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(self, render_mode="rgb_array", **options):
        super().__init__(**options)
        self.render_mode, self.action = render_mode, 0

    def step(self, action):
        self.action = int(action)
        return super().step(action)

    def render(self):
        picture = np.zeros((2, 4, 3), np.uint8)
        picture[:, :2], picture[:, 2:] = 10 * self.step_number, 100 + self.action
        return picture


class Undrawn(Shown):
    """Says that it can be drawn, and cannot."""

    def render(self):
        raise ImportError("pygame is not installed, run `pip install pygame`")


def greys(film: Trajectory2d) -> list[tuple[int, int]]:
    """The step and the action that each frame shows."""
    seen = [pixels_of(scene.background[0].data) for scene in film.scenes]
    return [(int(frame[0, 0, 0]) // 10, int(frame[0, 3, 0]) - 100) for frame in seen]


@pytest.mark.films
def test_a_run_has_a_film_of_what_its_best_agent_does():
    run = ks.train("ppo", ks.from_gymnasium(Shown), steps=64, seeds=2, eval_episodes=2, out="", **SMALL)
    film = run.record.film
    steps, actions = zip(*greys(film), strict=True)
    assert steps == (0, 1, 2, 3, 4)
    assert actions[1:] == tuple(film.values["action"][:4])
    assert film.dt == 0.05
    np.testing.assert_allclose(film.values["reward"][1:], film.values["action"][:4] + np.arange(1, 5) / 10)
    np.testing.assert_allclose(film.values["return"], [0, *np.cumsum(film.values["reward"][1:])])
    both = run.animate(agents=2)
    assert len(both.films) == 2
    assert greys(both.films[0]) == greys(film)


def test_a_policy_is_filmed_from_an_observation_and_a_key():
    made = ks.animate(ks.from_gymnasium(Shown), lambda obs, key: jnp.int32(obs[2]) % 3, episodes=2)
    assert [greys(film) for film in made.films] == [[(0, 0), (1, 0), (2, 1), (3, 2), (4, 0)]] * 2


def test_random_actions_and_a_cut():
    made = ks.animate(ks.from_gymnasium(lambda: Shown(ends=50)), max_steps=9)
    assert len(made.films[0]) == 10
    assert {action for _, action in greys(made.films[0])[1:]} == {0, 1, 2}


def test_drawing_that_takes_long_ends_the_film(monkeypatch):
    monkeypatch.setattr(films, "DRAWING_SECONDS", 0.0)
    with pytest.warns(RunWarning, match="the film ends after 2 pictures, before the episode does: drawing took 0 s"):
        assert len(ks.animate(ks.from_gymnasium(Shown)).films[0]) == 2
    with pytest.warns(RunWarning, match="the film ends after 1 picture, "):
        assert len(ks.animate("CartPole-v1").films[0]) == 1


def test_what_a_policy_raises_is_its_own():
    def wrong(obs, key):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine\b"):
        ks.animate(ks.from_gymnasium(Shown), wrong)


@pytest.mark.parametrize("world", [Counter, Rooms, lambda: Shown(render_mode="human")])
def test_what_does_not_draw_itself_has_no_film(world):
    env = ks.from_gymnasium(world)
    with pytest.raises(ks.ConfigError, match="to be drawn"):
        ks.animate(env)


@pytest.mark.films
def test_what_was_learned_is_kept_where_drawing_fails_and_a_line_says_so():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = ks.train("ppo", ks.from_gymnasium(Undrawn), steps=64, eval_episodes=2, out="", **SMALL)
    (said,) = [str(warning.message) for warning in caught if issubclass(warning.category, RunWarning)]
    assert said.startswith("there is no film: EnvError: environment Undrawn raised ImportError: pygame is not")
    assert run.record.film is None
    assert run.record.facts["status"] == "finished"
    assert run.record.evaluation["return"].shape == (1, 2)


def test_animate_says_what_the_environment_raised():
    with pytest.raises(ks.EnvError, match="environment Undrawn raised ImportError: pygame is not installed"):
        ks.animate(ks.from_gymnasium(Undrawn))


def test_one_with_a_spec_is_made_again_so_that_it_draws():
    gymnasium.register("ShownWorld-v0", lambda render_mode=None, **options: Shown(render_mode, **options))
    try:
        undrawn = gymnasium.make("ShownWorld-v0", ends=2)
        assert undrawn.render_mode is None
        for env in (ks.from_gymnasium(undrawn), ks.make("gymnasium:ShownWorld-v0", ends=2)):
            assert len(ks.animate(env).films[0]) == 3
    finally:
        del gymnasium.registry["ShownWorld-v0"]
