"""Cords: what is no cord is one line, whatever the numbers were made of."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.errors import ConfigError
from kousoku.core.scene3d import WORLD, Body3d, Cord, Trajectory3d

ENDS = ((WORLD, (0.0, 0.0, 1.0)), (0, (0.0, 0.0, 0.0)))


def test_numbers_become_pythons():
    points = [(np.int64(WORLD), np.array([0, 0, 1])), [0, jnp.zeros(3)]]
    cord = Cord(np.float32(0.5), points, np.full(4, 0.5), "string")
    assert cord == Cord(0.5, ENDS, (0.5, 0.5, 0.5, 0.5), "string")
    assert hash(cord) == hash(dataclasses.replace(cord))
    assert json.loads(json.dumps(dataclasses.asdict(Body3d((), "", [cord]))))["cords"][0]["points"][0] == [
        -1,
        [0, 0, 1],
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"radius": 0.0}, "radius"),
        ({"radius": float("inf")}, "radius"),
        ({"radius": np.ones(2)}, "radius"),
        ({"radius": "thick"}, "radius"),
        ({"radius": None}, "radius"),
        ({"color": (0.0, 0.0, 2.0, 1.0)}, "color[2]"),
        ({"color": (0.0, 0.0, 1.0)}, "color"),
        ({"points": ENDS[:1]}, "points"),
        ({"points": (*ENDS, (-2, (0.0, 0.0, 0.0)))}, "points[2].frame"),
        ({"points": (*ENDS, (0.5, (0.0, 0.0, 0.0)))}, "points[2].frame"),
        ({"points": (*ENDS, (0, (0.0, 0.0)))}, "points[2].position"),
        ({"points": (*ENDS, (0, (0.0, float("nan"), 0.0)))}, "points[2].position[1]"),
        ({"points": (*ENDS, 3)}, "points[2]"),
        ({"points": (*ENDS, (0.0, 0.0, 0.0))}, "points[2]"),
    ],
)
def test_what_is_no_cord(change, field):
    with pytest.raises(ConfigError) as caught:
        Cord(**({"radius": 0.1, "points": ENDS} | change))
    assert caught.value.field == field


def test_a_body_has_cords_in_frames_that_there_are():
    with pytest.raises(ConfigError, match=r"cords: got .*; give strings, each a Cord"):
        Body3d((), cords=(ENDS,))
    body = Body3d((), cords=(Cord(0.1, ENDS), Cord(0.1, (*ENDS, (2, (0.0, 0.0, 0.0))))))
    Trajectory3d(body, np.zeros((1, 3, 3)), np.ones((1, 3, 4)), 0.1)
    with pytest.raises(ConfigError) as caught:
        Trajectory3d(body, np.zeros((1, 2, 3)), np.ones((1, 2, 4)), 0.1)
    assert str(caught.value) == "cords[1].points[2]: got 2; there are 2 frames"
