"""Scenes of pixels: on pages, in drawings that move, in films, side by side, in a run's folder."""

import numpy as np
import pytest
from PIL import Image as Picture

import kousoku as ks
from kousoku.core.scene import Circle, Image, Rect, Scene, Trajectory2d
from kousoku.training.io import film_files
from kousoku.viz import Animation
from kousoku.viz import film as film_json

RED, BLUE = (255, 0, 0), (0, 0, 255)


def plain(color, height=20, width=30) -> Scene:
    return Scene.of_pixels(np.full((height, width, 3), color, np.uint8))


def film(*scenes: Scene, name: str = "") -> Trajectory2d:
    return Trajectory2d(scenes, 0.1, {"reward": np.arange(float(len(scenes)))}, name)


def test_a_frame_is_drawn_in_its_colours_and_its_places():
    halves = np.zeros((20, 30, 3), np.uint8)
    halves[:10], halves[10:, 15:] = RED, BLUE
    (seen,) = Animation((film(Scene.of_pixels(halves)),)).pictures(300)
    assert seen.shape == (200, 300, 3)
    assert [tuple(seen[y, x]) for y, x in ((5, 5), (95, 290), (105, 5), (195, 290))] == [RED, RED, (0, 0, 0), BLUE]


def test_what_stands_later_in_a_background_lies_on_top():
    image = plain(RED).background[0]
    scene = Scene(30.0, 20.0, (Rect(0.0, 0.0, 30.0, 20.0, "white"), image, Rect(0.0, 0.0, 10.0, 20.0, "#0000ff")))
    (seen,) = Animation((film(scene),)).pictures(300)
    assert [tuple(seen[100, x]) for x in (50, 200)] == [BLUE, RED]


def test_side_by_side_every_picture_is_in_its_place():
    (seen,) = Animation((film(plain(RED), name="a"), film(plain(BLUE), name="b"))).pictures(400)
    colors = {tuple(color) for color in seen.reshape(-1, 3)[::7]}
    assert {RED, BLUE, (255, 255, 255)} <= colors


def test_a_picture_is_written_once_however_often_it_is_shown():
    red, blue = plain(RED), plain(BLUE)
    told = film_json.film([red, blue, red, plain(RED)])
    assert len(told["backgrounds"]) == 2
    assert [frame["background"] for frame in told["frames"]] == [0, 1, 0, 0]
    assert told["backgrounds"][0][0][:7] == ["i", "", 0, 0, 30, 20, 0]


def test_many_large_pictures_are_left_out_of_a_page_and_counted():
    noise = np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3)).astype(np.uint8)
    scenes = [Scene.of_pixels(each) for each in noise]
    one = len(scenes[0].background[0].data) // film_json.SHAPE_LETTERS
    told = film_json.film(scenes, max_shapes=3 * one + 20)
    assert (len(told["frames"]), told["left"]) == (3, 5)


def test_a_saved_film_is_the_film():
    made = film(plain(RED), plain(BLUE), plain(RED))
    again = film_files.film_of(film_files.film_json(made), film_files.film_arrays(made))
    assert again.scenes == made.scenes


def test_an_svg_shows_it(tmp_path):
    text = Animation((film(plain(RED), plain(BLUE)),)).save(tmp_path / "x.svg").read_text()
    assert text.count("<image ") == 2
    assert 'href="data:image/png;base64,' in text
    assert 'image-rendering="pixelated"' in text


def test_a_gif_shows_it(tmp_path):
    made = Animation((film(plain(RED), plain(BLUE)),)).save(tmp_path / "x.gif", size=60)
    with Picture.open(made) as opened:
        opened.seek(1)
        color = opened.convert("RGB").getpixel((30, 20))
    assert np.abs(np.subtract(color, BLUE)).max() < 8


def test_drawings_are_for_pages(tmp_path):
    drawing = Scene.of_svg('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><circle r="3"/></svg>')
    made = Animation((film(drawing),))
    assert "data:image/svg+xml;base64," in made.html()
    assert "data:image/svg+xml;base64," in made.svg()
    with pytest.raises(
        ks.ConfigError, match=r"picture: got 'an SVG drawing'; pages \(\.html\) and \.svg files show it"
    ):
        made.save(tmp_path / "x.png")


def test_large_pictures_are_smooth_and_small_ones_squares():
    small, large = np.zeros((160, 160, 3), np.uint8), np.zeros((161, 20, 3), np.uint8)
    assert (Image.of(small).smooth, Image.of(large).smooth) == (False, True)


def test_shapes_can_stand_on_pixels():
    scene = Scene(30.0, 20.0, plain(RED).background, (Circle(15.0, 10.0, 5.0, "#0000ff"),))
    (seen,) = Animation((film(scene),)).pictures(300)
    assert [tuple(seen[100, x]) for x in (150, 20)] == [BLUE, RED]
