"""Films of scenes in the plane: as a moving SVG, a GIF, a video, a still, and a page with a player."""

import base64
import json
import re
import stat
import sys
import weakref
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import records
from PIL import Image

from kousoku import viz
from kousoku.core.errors import ConfigError
from kousoku.core.scene import Circle, Line, Polygon, Polyline, Rect, Scene, Text, Trajectory2d
from kousoku.viz import film2d, movie, svg
from kousoku.viz.film import film
from kousoku.viz.offline import asset
from kousoku.viz.sidebyside import joined


def two_backgrounds() -> tuple[Scene, ...]:
    day, night = (Rect(0, 0, 2, 1, "#ffffff"),), (Rect(0, 0, 2, 1, "#000000"),)
    grounds = (day, day, night, day)
    return tuple(Scene(2.0, 1.0, ground, (Circle(0.5 * i, 0.5, 0.2, "red"),)) for i, ground in enumerate(grounds))


def of_scenes(scenes: tuple[Scene, ...], seconds: float | None = 0.25, title: str = "") -> viz.Animation:
    return viz.Animation.of_scenes(scenes, seconds, title)


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


class TestSvg:
    def test_it_shows_one_frame_at_a_time_without_a_script_and_stays_at_the_end(self):
        animation = of_scenes(two_backgrounds(), 0.5)
        root = ET.fromstring(animation.svg())
        names = [node.tag.split("}")[1] for node in root.iter()]
        assert set(names) == {"svg", "g", "animate", "rect", "circle"}
        assert (names.count("rect"), names.count("circle")) == (2, 4)
        day, night, *frames = root
        assert day[0].get("values") == "visible;hidden;visible"
        assert day[0].get("keyTimes") == "0;0.333333;0.5"
        assert night[0].get("values") == "hidden;visible;hidden"
        assert [frame.get("visibility") for frame in frames] == ["visible", "hidden", "hidden", "hidden"]
        assert {node.get("dur") for node in root.iter() if node.tag.endswith("animate")} == {"3s"}
        assert animation._repr_html_() == animation.svg()


class TestGif:
    def test_it_has_every_frame_in_its_colours(self, tmp_path):
        path = of_scenes(two_backgrounds()).save(tmp_path / "x.gif", size=200)
        with Image.open(path) as gif:
            assert gif.size == (200, 100)
            assert gif.n_frames == 4
            for i, ground in enumerate((255, 255, 0, 255)):
                gif.seek(i)
                frame = np.asarray(gif.convert("RGB"))
                assert gif.info["duration"] == (250 if i < 3 else 1250)
                assert frame[5, 195].tolist() == [ground] * 3
                assert frame[50, min(50 * i, 199)].tolist() == [255, 0, 0]

    def test_areas_and_lines(self, tmp_path):
        half = Polygon(((0.0, 0.0), (2.0, 0.0), (0.0, 2.0)), "#ff0000")
        corner = Polyline(((0.2, 1.8), (1.8, 1.8), (1.8, 0.2)), 0.2, "#0000ff")
        back = (Rect(0, 0, 2, 2, "#ffffff"), Text(1.3, 0.7, "\u25a0", 0.3, "#000000"))
        path = of_scenes((Scene(2.0, 2.0, back, (half, corner)),)).save(tmp_path / "x.gif", size=200)
        with Image.open(path) as gif:
            frame = np.asarray(gif.convert("RGB"))
        assert frame[65:80, 122:140].min() < 100
        at = {"inside": (40, 40), "outside": (120, 120), "below": (180, 100), "corner": (180, 180), "right": (100, 180)}
        found = {name: frame[place].tolist() for name, place in at.items()}
        red, white, blue = [255, 0, 0], [255, 255, 255], [0, 0, 255]
        assert found == {"inside": red, "outside": white, "below": blue, "corner": blue, "right": blue}

    def test_of_fast_steps_it_shows_every_so_many(self, tmp_path):
        scenes = tuple(Scene(2.0, 1.0, (), (Circle(0.02 * i, 0.5, 0.2, "red"),)) for i in range(50))
        with Image.open(of_scenes(scenes, 0.01).save(tmp_path / "x.gif", size=100)) as gif:
            assert gif.n_frames == 14, "every fourth, and the last"
            assert gif.info["duration"] == 40


FFMPEG = """#!{python}
import sys
pixels = sys.stdin.buffer.read()
open(sys.argv[-1], "w").write(" ".join([*sys.argv[1:-1], str(len(pixels))]))
sys.stderr.write({errors!r})
sys.exit({code})
"""


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """A stand-in on the path that writes down what it was told."""

    def make(code: int = 0, errors: str = "") -> None:
        program = tmp_path / "bin" / "ffmpeg"
        program.parent.mkdir()
        program.write_text(FFMPEG.format(python=sys.executable, code=code, errors=errors))
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    return make


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")
class TestVideo:
    def test_ffmpeg_gets_every_frame_with_even_sides(self, ffmpeg, tmp_path):
        ffmpeg()
        told = of_scenes(two_backgrounds(), 0.05).save(tmp_path / "x.mp4", size=101).read_text().split()
        width, height = map(int, told[told.index("-s") + 1].split("x"))
        assert (width, height) == (100, 50)
        assert told[told.index("-r") + 1] == "20"
        assert int(told[-1]) == 4 * 3 * width * height
        assert "yuv420p" in told

    def test_what_it_complains_about_is_told(self, ffmpeg, tmp_path):
        ffmpeg(1, "Unknown encoder\n'libx264'")
        with pytest.raises(ConfigError, match="ffmpeg says: Unknown encoder 'libx264'"):
            of_scenes(two_backgrounds()).save(tmp_path / "x.mp4")

    def test_without_ffmpeg_it_says_what_to_install(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
        with pytest.raises(ConfigError, match=r"pip install imageio-ffmpeg.*\.gif and \.html need neither"):
            of_scenes(two_backgrounds()).save(tmp_path / "x.mp4")
        assert list(tmp_path.iterdir()) == []


class TestStill:
    def test_the_last_frame_or_the_one_asked_for(self, tmp_path):
        animation = of_scenes(two_backgrounds())
        for at, ground in ((None, 255), (2, 0)):
            with Image.open(animation.save(tmp_path / "x.png", size=200, at=at)) as png:
                assert png.size == (200, 100)
                assert png.convert("RGB").getpixel((100, 5)) == (ground,) * 3

    def test_a_frame_that_is_not_there(self, tmp_path):
        with pytest.raises(ConfigError, match="at: got 4; use a whole number of at least 0 and at most 3"):
            of_scenes(two_backgrounds()).save(tmp_path / "x.png", at=4)


class TestPage:
    def test_it_holds_the_frames_and_the_last_scene_for_readers_without_scripts(self, tmp_path):
        scenes = two_backgrounds()
        title = "</title><script>alert(1)</script>"
        path = of_scenes(scenes, 0.25, title).save(tmp_path / "x.HTML")
        page = path.read_text(encoding="utf-8")
        data = data_of(page)
        assert (data["title"], data["dt"], data["timed"], data["left"]) == (title, 0.25, True, 0)
        (run,) = data["runs"]
        assert (run["width"], run["height"]) == (2, 1)
        assert [frame["background"] for frame in run["frames"]] == [0, 0, 1, 0]
        assert run["frames"][1]["shapes"] == [["c", "red", 0.5, 0.5, 0.2]]
        assert page.count("<script") == page.count("</script>") == 2
        assert "default-src 'none'" in page
        assert svg.scene_svg(scenes[-1]) in page.split("<noscript>")[1].split("</noscript>")[0]
        assert set(re.findall(r"\w+://[^\"'\s`]*", page)) == {"http://www.w3.org/2000/svg"}

    def test_it_is_small(self):
        assert len(asset("flat.js")) < 30_000

    def test_values_come_back(self):
        reward = np.array([np.nan, 0.0, 1.0, 3.0])
        (run,) = film2d.payload([Trajectory2d(two_backgrounds(), None, {"reward": reward})], "")["runs"]
        (value,) = run["values"]
        steps = np.frombuffer(base64.b64decode(value["data"]), "<u2")
        assert (value["name"], value["low"], value["high"]) == ("reward", [0.0], [3.0])
        assert steps.tolist() == [65535, 0, 21845, 65534]

    def test_a_long_film_is_cut_with_its_values(self):
        many = tuple(Circle(0.1, 0.5, 0.2, "red") for _ in range(3000))
        scenes = tuple(Scene(2.0, 1.0, (), many) for _ in range(30))
        found = film2d.payload([Trajectory2d(scenes, None, {"reward": np.arange(30.0)})] * 2, "")
        assert found["left"] == 20
        assert [len(run["frames"]) for run in found["runs"]] == [10, 10]
        assert len(base64.b64decode(found["runs"][0]["values"][0]["data"])) == 20

    @pytest.mark.full("covered")
    def test_one_frame_of_very_many_shapes_is_shown(self):
        scene = Scene(2.0, 1.0, (), tuple(Circle(0.1, 0.5, 0.2, "red") for _ in range(61_000)))
        assert len(film((scene, scene))["frames"]) == 1

    @pytest.mark.parametrize(("count", "seconds"), [(10, 0.4), (50, 0.16), (1000, 0.06)])
    def test_without_a_time_of_its_own_a_long_film_is_faster(self, count, seconds):
        assert film2d.pace([Trajectory2d(two_backgrounds()[:1] * count)]) == pytest.approx(seconds)

    def test_every_shape(self):
        corners = ((0.0, 0.5), (1.0, 2.0), (3.0, 0.0))
        shapes = (Polygon(corners, "red"), Polyline(corners, 0.2, "url(#x)"), Text(1, 2, "<b>", 0.5, "blue"))
        (frame,) = film((Scene(3.0, 3.0, (), shapes),))["frames"]
        assert frame["shapes"] == [
            ["g", "red", 0, 0.5, 1, 2, 3, 0],
            ["p", "gray", 0.2, 0, 0.5, 1, 2, 3, 0],
            ["t", "blue", 1, 2, 0.5, "<b>"],
        ]


class TestSideBySide:
    def test_scenes_stand_in_rows_and_who_has_ended_stays(self):
        long, short = Trajectory2d(two_backgrounds()), Trajectory2d(two_backgrounds()[:2])
        scenes = joined([long, short, short])
        assert len(scenes) == 4
        first, second, third = (shape for shape in scenes[3].foreground if isinstance(shape, Circle))
        assert second.x - first.x == pytest.approx(2.16 - 1.0)  # the second one has stopped a metre before
        assert (first.y, third.y) == (pytest.approx(0.66), pytest.approx(0.66 + 1.16))
        assert (scenes[0].width, scenes[0].height) == (pytest.approx(2 * 2.16 + 0.16), pytest.approx(2 * 1.16 + 0.16))

    def test_every_shape_moves(self):
        corners = ((0.0, 0.5), (1.0, 2.0), (3.0, 0.0))
        shapes = (
            Rect(1, 1, 1, 1, "red"), Circle(1, 1, 1, "red"), Line(1, 1, 2, 2, 1, "red"), Text(1, 1, "a", 1, "red"),
            Polygon(corners, "red"), Polyline(corners, 1.0, "red"),
        )  # fmt: skip
        scene = Scene(4.0, 4.0, (), shapes)
        moved = joined([Trajectory2d((scene,)), Trajectory2d((scene,))])[0].foreground[6:]
        rect, circle, line, text, polygon, polyline = moved
        assert [rect.x, circle.x, text.x, line.x1] == pytest.approx([1 + 0.64 + 4] * 4)
        assert line.x2 - line.x1 == 1
        assert polygon.points == polyline.points
        assert polygon.points[1] == (pytest.approx(5.64), pytest.approx(2.32))


class TestAnimation:
    def test_of_a_record(self, tmp_path):
        record = records.single()
        animation = viz.animate(record, seconds_per_step=0.2)
        assert animation.films[0].scenes == record.film.scenes
        assert animation.seconds == 0.2
        assert animation.save(tmp_path / "x.svg").read_text() == animation.svg()
        assert repr(viz.animate(record)) == f"<Animation: 1 film of {len(record.film)} frames>"

    def test_says_what_is_wrong(self, tmp_path):
        with pytest.raises(ConfigError, match=r"\.html, \.gif, \.mp4, \.png or \.svg"):
            viz.animate(records.single()).save(tmp_path / "x.avi")
        with pytest.raises(ConfigError, match="scene"):
            viz.animate(records.bare())
        with pytest.raises(ConfigError, match="seconds_per_step"):
            viz.animate(records.single(), seconds_per_step=0.0)
        with pytest.raises(ConfigError, match="size"):
            viz.animate(records.single()).save(tmp_path / "x.gif", size=0)
        with pytest.raises(ConfigError, match="films"):
            viz.Animation(())

    def test_a_folder_is_no_file(self, tmp_path):
        (tmp_path / "x.html").mkdir()
        with pytest.raises(ConfigError, match=r"path: .*; that is a folder; name a file in it"):
            viz.animate(records.single()).save(tmp_path / "x.html")

    def test_a_file_in_no_folder(self, tmp_path):
        for name in ("x.html", "x.gif", "x.png", "x.svg"):
            with pytest.raises(ConfigError, match=r"path: .*; there is no folder .*none; make it first"):
                viz.animate(records.single()).save(tmp_path / "none" / name)

    def test_frames_that_there_are_not(self):
        for frames in ([99], [-1]):
            with pytest.raises(ConfigError, match=r"frames\[0\]: got .*; use a whole number of at least 0 and at most"):
                viz.animate(records.single()).pictures(frames=frames)
        for size in (-5, 15, 8193):
            with pytest.raises(
                ConfigError, match=f"size: got {size}; use a whole number of at least 16 and at most 8192"
            ):
                viz.animate(records.single()).pictures(size=size)

    def test_a_picture_that_a_gif_cannot_show_so_long(self, tmp_path):
        slow = viz.Animation((Trajectory2d(two_backgrounds(), 1000.0),))
        with pytest.raises(ConfigError, match=r"dt: got 1000.0; a \.gif shows a picture for at most 600 s"):
            slow.save(tmp_path / "x.gif")
        assert not list(tmp_path.iterdir())
        slow.save(tmp_path / "x.html")

    @pytest.mark.parametrize("shape", [lambda: Polyline(((0.0, 0.0),), 0.1, "red"), lambda: Polygon((), "red")])
    def test_lines_need_points(self, shape):
        with pytest.raises(ConfigError, match="points"):
            shape()

    def test_pictures_of_one_film_are_equally_large(self):
        with pytest.raises(ConfigError, match=r"scenes: got \[\(2.0, 1.0\), \(3.0, 1.0\)\]"):
            Trajectory2d((Scene(2.0, 1.0), Scene(3.0, 1.0)))

    def test_a_film_shows_more_than_one_frame(self, tmp_path):
        with pytest.raises(ConfigError, match="at: got 3; only a still"):
            viz.animate(records.single()).save(tmp_path / "x.gif", at=3)

    @pytest.mark.parametrize(
        ("size", "field"), [((0.0, 1.0), "width"), ((1.0, -1.0), "height"), ((np.nan, 1.0), "width")]
    )
    def test_a_scene_without_extent(self, size, field):
        with pytest.raises(ConfigError) as caught:
            Scene(*size)
        assert caught.value.field == field
        with pytest.raises(ConfigError, match="dt"):
            viz.Animation((Trajectory2d(two_backgrounds(), 0.1), Trajectory2d(two_backgrounds(), 0.2)))

    @pytest.mark.parametrize(
        ("change", "field"),
        [({"scenes": ()}, "scenes"), ({"dt": 0.0}, "dt"), ({"values": {"a": np.zeros(3)}}, "values['a']")],
    )
    def test_bad_trajectories(self, change, field):
        with pytest.raises(ConfigError) as caught:
            Trajectory2d(**({"scenes": two_backgrounds()} | change))
        assert caught.value.field == field


def test_a_gif_keeps_the_time_in_tens_of_milliseconds(tmp_path):
    pictures = [np.full((16, 16, 3), 10 * i, np.uint8) for i in range(9)]
    movie.write_gif(tmp_path / "x.gif", lambda frames: (pictures[i] for i in frames), range(9), 0.045)
    shown = []
    with Image.open(tmp_path / "x.gif") as gif:
        for i in range(gif.n_frames):
            gif.seek(i)
            shown.append(gif.info["duration"])
    assert set(shown[:-1]) == {40, 50}
    assert sum(shown[:8]) == 360
    assert shown[-1] > 1000


def test_a_gif_holds_no_more_than_a_few_pictures_at_once(tmp_path):
    drawn, alive = [], []

    def draw(frames):
        for i in frames:
            picture = np.zeros((16, 16, 3), np.uint8)
            picture[i // 16, i % 16] = 255
            drawn.append(weakref.ref(picture))
            alive.append(sum(one() is not None for one in drawn))
            yield picture

    movie.write_gif(tmp_path / "x.gif", draw, range(100), 0.05)
    with Image.open(tmp_path / "x.gif") as gif:
        assert gif.n_frames == 100
    assert max(alive) <= 3


def test_every_frame_or_every_so_many():
    assert movie.chosen(10, 0.05) == ([*range(10)], 0.05)
    assert movie.chosen(11, 1 / 60) == ([0, 2, 4, 6, 8, 10], 1 / 30)
    assert movie.chosen(10, 1 / 60) == ([0, 2, 4, 6, 8, 9], 1 / 30), "how it ended is not left out"
    assert movie.chosen(1, 1 / 60) == ([0], 1 / 30)
