"""Pictures as text: pixels and drawings in data URLs, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import kousoku as ks
from kousoku.core.image_file import EXACT, LONGEST, data_url, is_data_url, pixels_of, svg_url
from kousoku.core.scene import Image, Scene

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}"><rect/></svg>'


@given(arrays.arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12), st.just(3))))
def test_small_pictures_come_back_exactly(pixels):
    url = data_url(pixels)
    assert is_data_url(url)
    np.testing.assert_array_equal(pixels_of(url), pixels)


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1)])
def test_greys_become_colours(shape):
    greys = np.arange(35, dtype=np.uint8).reshape(shape)
    np.testing.assert_array_equal(pixels_of(data_url(greys)), np.repeat(greys.reshape(5, 7, 1), 3, axis=2))


def test_large_pictures_become_small_and_keep_their_colours_nearly():
    y, x = np.mgrid[:480, :640]
    pixels = np.stack([x // 3, y // 2, (x + y) // 5], axis=-1).astype(np.uint8)
    pixels[::7, ::5] = 255
    url = data_url(pixels)
    seen = pixels_of(url)
    assert url.startswith("data:image/webp")
    assert seen.shape == (LONGEST * 480 // 640, LONGEST, 3)
    assert abs(seen.astype(float).mean((0, 1)) - pixels.mean((0, 1))).max() < 4


def test_the_shorter_file_is_kept():
    noise = np.random.default_rng(0).integers(0, 256, (100, 100, 3)).astype(np.uint8)
    flat = np.zeros((300, 300, 3), np.uint8)
    assert data_url(noise).startswith("data:image/webp")
    assert len(data_url(flat)) < EXACT
    assert data_url(flat).startswith("data:image/png")


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((2, 2, 3)),
        np.zeros((2, 2, 2), np.uint8),
        np.zeros((2, 2, 3, 1), np.uint8),
        np.zeros((0, 2, 3), np.uint8),
        np.zeros(3, np.uint8),
        None,
        "picture",
    ],
)
def test_what_is_no_picture_is_refused_in_one_line(pixels):
    with pytest.raises(ks.ConfigError, match=r"^pixels: got .*; give uint8 \[height, width, 3\]") as caught:
        Scene.of_pixels(pixels)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("width", "size"), [("20", 20.0), ("20px", 20.0), ("15pt", 20.0), (" 20 px ", 20.0)])
def test_drawings_tell_their_size(width, size):
    url, found, height = svg_url(SVG.format(width, 10))
    assert is_data_url(url)
    assert (found, height) == (size, 10.0)


@pytest.mark.parametrize("svg", ["", "<svg", "<svg/>", SVG.format("100%", 10), SVG.format("3em", 10)])
def test_what_is_no_drawing_is_refused_in_one_line(svg):
    with pytest.raises(ks.ConfigError, match=r"^svg: got .*; give the text of an SVG"):
        Scene.of_svg(svg)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "https://example.org/x.png",
        'data:image/png;base64,AA"onload="alert(1)',
        "data:text/html;base64,AAAA",
        "data:image/png;base64,",
        "data:image/png;base64,AAAA\n",
        "data:image/png;base64,AAAAA",
        "data:image/png;base64,JSFQUy1BZG9iZS0zLjAgRVBTRi0zLjAK",  # PostScript, which programs run
        "data:image/svg+xml;base64,iVBORw0KGgo=",
    ],
)
def test_nothing_else_can_be_an_image(data):
    with pytest.raises(ks.ConfigError, match=r"^data: got "):
        Image(0.0, 0.0, 1.0, 1.0, data)
