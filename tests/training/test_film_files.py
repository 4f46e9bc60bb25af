"""Films in files: all of their bodies comes back, and films of versions that knew less."""

import json

import numpy as np
import pytest

from kousoku.core.scene3d import WORLD, Body3d, Cord, Geom, Trajectory3d
from kousoku.training.io.film_files import film_arrays, film_json, film_of

STRING = Cord(0.01, ((WORLD, (0.0, 0.0, 1.0)), (0, (0.0, 0.1, 0.0))), (1.0, 0.0, 0.0, 0.5), "string")


@pytest.mark.parametrize(("cords", "jointed"), [((), ()), ((STRING,), (0,)), ((STRING, STRING), (0,))])
def test_a_film_in_space_comes_back(cords, jointed):
    body = Body3d((Geom("sphere", (0.1, 0.0, 0.0), 0),), "ball", cords, jointed)
    film = Trajectory3d(body, np.zeros((2, 1, 3)), np.ones((2, 1, 4)), 0.1, {"x": np.arange(2.0)})
    told = json.loads(json.dumps(film_json(film)))
    assert film_of(told, film_arrays(film)).body == body
    former = told | {"body": {name: part for name, part in told["body"].items() if name not in ("cords", "jointed")}}
    assert film_of(former, film_arrays(film)).body == Body3d(body.geoms, "ball")
