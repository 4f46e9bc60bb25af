"""Films as plain JSON and plain arrays, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from ...core import scene as scenes
from ...core.scene import Trajectory2d
from ...core.scene3d import Body3d, Contacts3d, Cord, Geom, Trajectory3d

SHAPES = {kind.__name__: kind for kind in get_args(scenes.Shape)}

Film = Trajectory2d | Trajectory3d


def film_json(film: Film | None) -> dict[str, Any] | None:
    """Returns a film as JSON, all but its arrays; each different background of scenes once."""
    if film is None:
        return None
    told = {"name": film.name, "dt": film.dt, "values": list(film.values)}
    if isinstance(film, Trajectory3d):
        return told | {"body": dataclasses.asdict(film.body)}
    different = {id(scene): scene for scene in film.scenes}
    backgrounds = {
        background: i for i, background in enumerate(dict.fromkeys(s.background for s in different.values()))
    }
    frames = {
        same: {
            "width": scene.width,
            "height": scene.height,
            "background": backgrounds[scene.background],
            "foreground": _shapes_json(scene.foreground),
        }
        for same, scene in different.items()
    }
    return told | {
        "backgrounds": [_shapes_json(background) for background in backgrounds],
        "frames": [frames[id(scene)] for scene in film.scenes],
    }


def film_arrays(film: Film | None) -> dict[str, np.ndarray]:
    """Returns values [K, T] in the order of their names; in three dimensions also poses and contacts."""
    if film is None:
        return {}
    arrays = {"values": np.array([np.asarray(value, np.float64) for value in film.values.values()])}
    if isinstance(film, Trajectory3d):
        arrays |= {"positions": film.positions, "quaternions": film.quaternions}
        if film.contacts is not None:
            arrays |= {"points": film.contacts.points, "forces": film.contacts.forces}
    return arrays


def film_of(told: dict[str, Any] | None, arrays: dict[str, np.ndarray]) -> Film | None:
    """Returns the film that `film_json` and `film_arrays` were made of.

    Raises:
        KeyError, TypeError, ValueError: if something is missing or wrong.
    """
    if told is None:
        return None
    values = dict(zip(told["values"], arrays["values"], strict=True))
    if "body" not in told:
        return Trajectory2d(_scenes(told["backgrounds"], told["frames"]), told["dt"], values, told["name"])
    body = _body(told["body"])
    contacts = Contacts3d(arrays["points"], arrays["forces"]) if "points" in arrays else None
    return Trajectory3d(body, arrays["positions"], arrays["quaternions"], told["dt"], values, contacts, told["name"])


def frozen(value: Any) -> Any:
    """Turns JSON's lists into the tuples they were written from."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value


def _body(told: dict[str, Any]) -> Body3d:
    """Returns what a film shows; earlier versions knew no cords, nor what joints move."""
    geoms = tuple(_thawed(Geom, geom) for geom in told["geoms"])
    cords = tuple(_thawed(Cord, cord) for cord in told.get("cords", ()))
    return Body3d(geoms, told["name"], cords, frozen(told.get("jointed", [])))


def _scenes(backgrounds: Sequence[Any], frames: Sequence[Any]) -> tuple[scenes.Scene, ...]:
    grounds = tuple(_shapes(layer) for layer in backgrounds)
    return tuple(
        scenes.Scene(frame["width"], frame["height"], grounds[frame["background"]], _shapes(frame["foreground"]))
        for frame in frames
    )


def _shapes_json(layer: tuple[scenes.Shape, ...]) -> list[dict[str, Any]]:
    return [{"shape": type(shape).__name__, **vars(shape)} for shape in layer]


def _shapes(layer: list[dict[str, Any]]) -> tuple[scenes.Shape, ...]:
    return tuple(
        _thawed(SHAPES[item["shape"]], {name: value for name, value in item.items() if name != "shape"})
        for item in layer
    )


def _thawed(kind: Any, fields: dict[str, Any]) -> Any:
    return kind(**{name: frozen(value) for name, value in fields.items()})
