"""Pictures of trajectories in three dimensions without a display: where rays meet solids, views, shadows, films."""

import dataclasses
import itertools

import figures
import numpy as np
import pytest
from PIL import Image

from kousoku import viz
from kousoku.core.errors import ConfigError
from kousoku.core.scene3d import Body3d, Geom, Trajectory3d
from kousoku.viz import film3d
from kousoku.viz.camera import stage_of
from kousoku.viz.render3d import Renderer
from kousoku.viz.solids import MEET, bound
from kousoku.viz.view3d import followed_frames, moving_frames, view_of

SIZES = {
    "plane": (0.7, 0.4, 1.0), "sphere": (0.5, 0.0, 0.0), "capsule": (0.3, 0.6, 0.0), "cylinder": (0.4, 0.5, 0.0),
    "box": (0.3, 0.5, 0.7), "ellipsoid": (0.3, 0.5, 0.7),
}  # fmt: skip


def distance(kind: str, size: tuple[float, ...], p: np.ndarray) -> np.ndarray:
    """From points to a solid's surface, or something that is zero just there; negative inside."""
    a, b, _ = size
    x, y, z = p.T
    match kind:
        case "sphere":
            return np.linalg.norm(p, axis=1) - a
        case "ellipsoid":
            return np.linalg.norm(p / size, axis=1) - 1.0
        case "capsule":
            return np.linalg.norm(p - np.stack([0 * z, 0 * z, np.clip(z, -b, b)], axis=1), axis=1) - a
        case "cylinder":
            return np.maximum(np.hypot(x, y) - a, np.abs(z) - b)
        case "box":
            return (np.abs(p) - size).max(axis=1)
        case _:
            return np.maximum(np.maximum(np.abs(x) - a, np.abs(y) - b), np.abs(z))


@pytest.mark.parametrize("kind", MEET)
class TestSolids:
    def rays(self, count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(3)
        origin = rng.normal(size=(count, 3))
        origin *= 3 / np.linalg.norm(origin, axis=1, keepdims=True)
        direction = rng.uniform(-0.9, 0.9, (count, 3)) - origin
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return origin.astype(np.float32), direction.astype(np.float32)

    def test_rays_end_on_the_surface_where_they_first_meet_it(self, kind):
        size = SIZES[kind]
        origin, direction = self.rays()
        t, normal = MEET[kind](origin, direction, size)
        met = np.isfinite(t)
        assert 300 < met.sum() < 3900
        place = origin[met] + t[met, None] * direction[met]
        np.testing.assert_allclose(distance(kind, size, place), 0.0, atol=2e-5)
        assert ((normal[met] * direction[met]).sum(axis=1) < 1e-3).all()
        for share in np.linspace(0.0, 0.999, 40):
            before = origin[met] + share * t[met, None] * direction[met]
            assert (distance(kind, size, before) > -1e-4).all()

    def test_what_misses_is_never_inside(self, kind):
        size = SIZES[kind]
        origin, direction = self.rays()
        missed = ~np.isfinite(MEET[kind](origin, direction, size)[0])
        for t in np.linspace(0.0, 6.0, 300):
            assert (distance(kind, size, origin[missed] + t * direction[missed]) > -2e-3).all()

    def test_normals_point_away_from_the_surface(self, kind):
        size = SIZES[kind]
        origin, direction = self.rays()
        t, normal = MEET[kind](origin, direction, size)
        met = np.isfinite(t)
        place = origin[met] + t[met, None] * direction[met]
        normal = normal[met] / np.linalg.norm(normal[met], axis=1, keepdims=True)
        out, within = (distance(kind, size, place + step * normal) for step in (1e-2, -1e-2))
        assert (out > 1e-3).all()
        assert kind == "plane" or (within < -1e-3).mean() > 0.99

    def test_a_capsule_holds_all_of_it(self, kind):
        size = SIZES[kind]
        radius, half = bound(kind, size)
        p = np.random.default_rng(0).uniform(-1.5, 1.5, (20_000, 3))
        inside = p[distance(kind, size, p) < (0.02 if kind == "plane" else 0.0)]
        assert len(inside)
        assert (distance("capsule", (radius, half, 0.0), inside) < 0.01).all()


def still_life(*geoms: Geom) -> Trajectory3d:
    """Solids that stand, and one that moves a little far below, so that the view is known."""
    return Trajectory3d(Body3d(geoms), np.zeros((1, 1, 3)), np.array([[[1.0, 0, 0, 0]]]), 0.1)


class TestPicture:
    def test_a_ball_stands_in_the_middle_with_its_shadow_on_the_floor(self):
        floor, ball = (
            Geom("plane", (0.0, 0.0, 1.0)),
            Geom("sphere", (0.5, 0, 0), color=(1, 0, 0, 1), position=(0, 0, 1)),
        )
        picture = Renderer((still_life(floor, ball),), 200).draw(0).astype(int)
        assert picture.shape == (150, 200, 3)
        red = (picture[..., 0] > 100) & (picture[..., 1] < 0.6 * picture[..., 0])
        y, x = red.nonzero()
        assert (x.mean(), y.mean()) == (pytest.approx(99.5, abs=1), pytest.approx(74.5, abs=1))
        bare = Renderer((still_life(floor, dataclasses.replace(ball, color=(1, 0, 0, 0.4))),), 200).draw(0).astype(int)
        dark = (picture.sum(axis=-1) < 0.9 * bare.sum(axis=-1)) & ~red
        shadow_y, shadow_x = dark.nonzero()
        assert 0.1 * red.sum() < dark.sum() < 3 * red.sum()
        assert shadow_y.mean() > y.mean()
        assert shadow_x.mean() > x.mean()  # the sun stands on the left

    def test_the_lowest_plane_is_the_floor_and_others_are_solids(self):
        platform = Geom("plane", (6.0, 6.0, 1.0), color=(1, 0, 0, 1), position=(0, 0, 1))
        ball = Geom("sphere", (0.5, 0, 0), position=(0, 0, 1.5))
        for planes in ((platform, Geom("plane", (0.0, 0.0, 1.0))), (Geom("plane", (0.0, 0.0, 1.0)), platform)):
            trajectory = still_life(*planes, ball)
            assert stage_of((trajectory,)).floor == 0.0
            picture = Renderer((trajectory,), 100).draw(0).astype(int)
            assert ((picture[..., 0] > 90) & (picture[..., 1] < 0.6 * picture[..., 0])).mean() > 0.3

    def test_the_lit_side_is_brighter_and_red_is_red(self):
        ball = Geom("sphere", (0.5, 0, 0), color=(1, 0, 0, 1))
        picture = Renderer((still_life(ball),), 200).draw(0).astype(int)
        column = picture[:, 100]
        red = np.flatnonzero((column[:, 0] > 60) & (column[:, 1] < 0.6 * column[:, 0]))
        assert column[red[len(red) // 6], 0] > 1.3 * column[red[-len(red) // 6], 0]

    def test_what_is_nearer_hides_what_is_behind_and_glass_lets_it_through(self):
        behind = Geom("sphere", (0.3, 0, 0), color=(0, 0, 1, 1))
        eye = stage_of((still_life(behind),)).camera(0, 4 / 3)
        ahead = tuple((0.5 * (eye.place - eye.target) / np.linalg.norm(eye.place - eye.target)).tolist())
        middle = {}
        for alpha in (1.0, 0.5):
            geom = Geom("box", (0.2, 0.2, 0.2), color=(0, 1, 0, alpha), position=ahead)
            trajectory = still_life(geom, behind)
            middle[alpha] = Renderer((trajectory,), 120).draw(0)[45, 60].astype(int)
        assert middle[1.0][2] < 60 < middle[1.0][1]
        assert middle[0.5][2] > 80 < middle[0.5][1]

    def test_edges_are_smooth(self):
        ball = Geom("sphere", (0.5, 0, 0), color=(0, 0, 0, 1))
        picture = Renderer((still_life(ball),), 200).draw(0).astype(int).sum(axis=-1)[:70]
        between = (picture > 250) & (picture < 480)  # grey between black and the floor
        assert between.any(axis=1).sum() > 20

    @pytest.mark.full("covered")
    def test_every_kind_of_geom_and_many_environments(self):
        runs = tuple(figures.walk(12, name=f"seed {i}") for i in range(7))
        picture = Renderer(runs, 160).draw(11)
        assert picture.shape == (90, 160, 3)
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 300

    def test_it_stays_with_what_walks(self):
        pictures = [Renderer((figures.walk(40, speed=1.0),), 160).draw(t).astype(int) for t in (0, 30)]
        for picture in pictures:
            red = (picture[..., 0] > 100) & (picture[..., 1] < 0.5 * picture[..., 0])
            assert red.sum() > 30
            assert abs(np.flatnonzero(red.any(axis=0)).mean() - 80) < 40


def body_of(positions: np.ndarray, *geoms: Geom) -> Trajectory3d:
    quaternions = np.tile([1.0, 0, 0, 0], (*positions.shape[:2], 1))
    return Trajectory3d(Body3d(geoms), positions, quaternions, 0.1)


class TestView:
    def moved(self, step: tuple[float, float, float], *still: Geom, count: int = 20) -> Trajectory3d:
        positions = np.arange(count)[:, None, None] * np.array(step)
        return body_of(positions, Geom("sphere", (0.5, 0, 0), 0), *still)

    def test_what_leaves_is_followed_and_as_large_as_it_is(self):
        view = view_of(self.moved((0.3, 0.0, 0.0)))
        assert view.travels
        assert view.size == pytest.approx(np.sqrt(3))

    def test_what_stays_is_not_and_all_of_its_way_is_seen(self):
        view = view_of(self.moved((0.05, 0.0, 0.0)))
        assert not view.travels
        assert view.size == pytest.approx(np.sqrt(1 + 1 + 1.95**2))
        assert view.middle == pytest.approx((0.475, 0.0, 0.0))
        assert view.low == -0.5

    def test_an_arena_is_shown_and_a_landscape_is_not(self):
        arena = Geom("box", (2.0, 2.0, 0.1))
        assert view_of(self.moved((0.05, 0.0, 0.0), arena)).size == pytest.approx(np.sqrt(16 + 16 + 1))
        assert not view_of(self.moved((0.1, 0.0, 0.0), arena)).travels
        land = Geom("box", (200.0, 200.0, 0.1))
        assert view_of(self.moved((0.05, 0.0, 0.0), land)).size < 3

    def test_flat_things_are_seen_from_above_and_planar_ones_from_the_side(self):
        arm = Geom("capsule", (0.05, 1.0, 0.0), 0, quaternion=(1.0, 1.0, 0.0, 0.0))
        positions = np.zeros((5, 2, 3))
        positions[:, 0, 1] = np.linspace(0.0, 0.1, 5)
        assert view_of(body_of(positions, arm)).elevation > 0.9
        runner = view_of(self.moved((0.3, 0.0, 0.01)))
        assert (runner.azimuth, runner.elevation) == (pytest.approx(-1.3), pytest.approx(0.16))
        assert view_of(self.moved((0.3, 0.1, 0.0))).azimuth == pytest.approx(-1.02)

    def test_what_falls_is_followed_as_well(self):
        view = view_of(self.moved((0.0, 0.0, -0.5)))
        assert view.travels
        assert view.size == pytest.approx(np.sqrt(3))

    def test_what_leaves_the_others_is_let_go(self):
        """A ball rolls away from three that stay, or nearly; or falls."""
        for way in ((1.0, 0.0, 0.0), (0.0, 0.0, -2.0)):
            positions = np.array([[0.0, 0, 0], [0.5, 0, 0], [1.0, 0, 0], [1.5, 0, 0]]) + np.zeros((30, 4, 3))
            positions[:, :3, 1] = 0.01 * np.arange(30)[:, None]
            positions[:, 3] += np.arange(30)[:, None] * np.array(way)
            trajectory = body_of(positions, *(Geom("sphere", (0.2, 0, 0), n) for n in range(4)))
            assert followed_frames(trajectory, [0, 1, 2, 3]) == [0, 1, 2]
            assert not view_of(trajectory).travels
            assert view_of(trajectory).size < 2
            assert abs(stage_of((trajectory,)).camera(29, 1.5).target[0]) < 1

    @pytest.mark.parametrize("frame", [-1, 1])
    @pytest.mark.parametrize("name", ["target", "target_ball", "goal"])
    def test_goals_are_in_the_picture_with_what_leaves(self, name, frame):
        """Whether the world carries them or a frame of their own, and though nothing else that stands is shown."""
        positions = np.zeros((20, 2, 3))
        positions[:, 0, 0] = 0.3 * np.arange(20)
        ball = Geom("sphere", (0.5, 0, 0), 0)
        goal = Geom("sphere", (0.5, 0, 0), frame, name=name, position=(-9.0, 0.0, 0.0))
        view = view_of(body_of(positions, ball, goal))
        assert not view.travels
        assert view.middle == pytest.approx(((5.7 - 9.0) / 2, 0.0, 0.0))
        assert view.elevation == pytest.approx(0.95)  # seen from above, all of it is flat
        assert view_of(body_of(positions, ball, dataclasses.replace(goal, name="stone"))).travels
        assert view_of(body_of(positions, ball, dataclasses.replace(goal, color=(1, 0, 0, 0)))).travels

    def test_what_joints_move_is_followed_where_it_stays_too(self):
        geoms = Geom("sphere", (0.5, 0, 0), 0), Geom("sphere", (0.5, 0, 0), 1), Geom("box", (9.0, 9.0, 0.1))
        positions = np.array([[0.0, 0, 0], [2.0, 0, 0]]) + np.zeros((5, 2, 3))
        positions[:, 1, 2] = 0.1 * np.arange(5)
        identity = np.tile([1.0, 0, 0, 0], (5, 2, 1))
        for jointed, followed, middle in (((), [1], 2.0), ((0,), [0, 1], 1.0), ((0, 1), [0, 1], 1.0)):
            trajectory = Trajectory3d(Body3d(geoms, jointed=jointed), positions, identity, 0.1)
            assert moving_frames(trajectory) == followed
            assert followed_frames(trajectory, moving_frames(trajectory)) == followed
            assert view_of(trajectory).middle[0] == pytest.approx(middle)

    @pytest.mark.parametrize("aspect", [0.5, 1.0, 4 / 3])
    @pytest.mark.parametrize("far", [0.1, 1.0, 30.0])
    def test_one_steps_back_from_what_would_not_be_in_the_picture(self, far, aspect):
        stage = stage_of([self.moved((0.05, 0.0, 0.0))])
        middle = np.array([1.0, 2.0, 3.0])
        points = middle + np.array([[far, -far, far], [0.0, 0.0, 0.0]])
        seen = stage.seen_at(middle, points, aspect)
        camera = seen.camera(0, aspect)
        away = points - camera.place
        for side in (camera.right, camera.up):
            assert (np.abs(away @ side) <= 1.0001 * (away @ camera.forward) * (side @ side)).all()
        assert seen.size == stage.size if far == 0.1 else seen.size >= stage.size
        assert stage.seen_at(middle, points[:0], aspect).size == stage.size

    def test_what_is_not_drawn_is_not_followed(self):
        """A mesh, of which there is no picture, flies away from a ball that swings, or from one that stays."""
        positions = np.zeros((30, 2, 3))
        positions[:, 0, 0] = np.arange(30)
        for swing in (0.1, 0.0):
            positions[:, 1, 2] = swing * np.sin(np.arange(30))
            trajectory = body_of(positions, Geom("sphere", (0.2, 0, 0), 1))
            assert not view_of(trajectory).travels
            assert np.abs(stage_of((trajectory,)).camera(29, 1.5).target).max() < 1
            (run,) = film3d.payload([trajectory], "")["runs"]
            assert run["view"]["size"] < 1

    @pytest.mark.parametrize("aspect", [0.5, 1.0, 16 / 9])
    @pytest.mark.parametrize("count", [2, 4, 6, 7, 9, 12])
    @pytest.mark.parametrize("high", [0.1, 1.0])
    def test_several_environments_are_all_in_the_picture(self, count, aspect, high):
        """Flat ones are seen from above."""
        positions = np.linspace(0.0, 0.1, 5)[:, None, None] + np.zeros((5, 1, 3))
        corner = Geom("box", (0.5, 0.5, 0.5 * high), 0)
        stage = stage_of([body_of(positions, corner)] * count)
        camera = stage.camera(4, aspect)
        corners = np.array(list(itertools.product((-0.5, 0.5), (-0.5, 0.5), (-0.5 * high, 0.5 * high))))
        for offset in stage.offsets:
            from_eye = offset + positions[4, 0] + corners - camera.place
            depth = from_eye @ camera.forward
            for side in (camera.right, camera.up):
                assert (np.abs(from_eye @ side) <= depth * (side @ side)).all()

    def test_nothing_at_all(self):
        assert view_of(body_of(np.zeros((3, 1, 3)))).size == 1.0
        assert Renderer((body_of(np.zeros((3, 1, 3))),), 64).draw(2).shape == (48, 64, 3)

    def test_the_player_is_told(self):
        (run,) = film3d.payload([self.moved((0.3, 0.0, 0.0))], "")["runs"]
        assert run["view"]["travels"] is True
        assert run["view"]["size"] == pytest.approx(np.sqrt(3))

    def test_the_camera_is_calm(self):
        positions = np.zeros((60, 1, 3))
        positions[:, 0, 0] = 0.3 * np.arange(60)
        positions[::2, 0, 2] = 1.0
        (path,) = stage_of((body_of(positions, Geom("sphere", (0.5, 0, 0), 0)),)).paths
        assert np.ptp(path[10:-10, 2]) < 0.1
        np.testing.assert_allclose(path[10:-10, 0], positions[10:-10, 0, 0], atol=1e-9)


class TestFilm:
    def test_gif_and_still(self, tmp_path):
        animation = viz.Animation((figures.walk(6, dt=0.1),), "walk")
        with Image.open(animation.save(tmp_path / "x.gif", size=100)) as gif:
            assert (gif.size, gif.n_frames) == ((100, 76), 6)
            first = np.asarray(gif.convert("RGB")).astype(int)
        with Image.open(animation.save(tmp_path / "x.png", size=100, at=0)) as png:
            still = np.asarray(png.convert("RGB")).astype(int)
        assert np.abs(first - still).mean() < 3
        assert (first[..., 0] - first[..., 1]).max() > 100  # the palette keeps the red of a small head

    def test_page_and_notebook(self, tmp_path):
        animation = viz.Animation((figures.walk(6),), "<b>walk</b>")
        page = animation.save(tmp_path / "x.html").read_text(encoding="utf-8")
        assert page == film3d.page(animation.films, "<b>walk</b>")
        shown = animation._repr_html_()
        assert shown.startswith('<iframe sandbox="allow-scripts"')
        assert shown.count("<") == 2

    def test_says_what_is_wrong(self, tmp_path):
        animation = viz.Animation((figures.walk(3),))
        with pytest.raises(ConfigError, match=r"use a name that ends in \.html, \.gif, \.mp4 or \.png$"):
            animation.save(tmp_path / "x.svg")
        with pytest.raises(ConfigError, match="three dimensions"):
            animation.svg()
