"""Torsos: an observation to features, by a body for its space, and a recurrent cell if one is wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..core.action_mask import ACTION_MASK
from ..core.errors import check_choice, check_size
from ..core.flat import flat_size, flattened
from ..core.spaces import Box, Dict, Space
from .cnn import CNN, layout_for, smallest
from .mlp import MLP
from .observation import is_image, pixel_scale
from .recurrent import GRU, LSTM

BODIES = ("auto", "mlp", "cnn")
RECURRENT = ("gru", "lstm")
RECURRENT_OPTIONS = ("recurrent", "recurrent_size")
"""The fields of a network's config that are of a cell."""


class VectorBody(eqx.Module):
    """An MLP over the flattened observation of any space.

    Attributes:
        space: the observation space.
        mlp: the MLP.
    """

    space: Space
    mlp: MLP

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.mlp.out_size

    def __call__(self, obs: Any) -> Float[Array, " F"]:
        return self.mlp(flattened(self.space, obs))


class UnmaskedCNN(eqx.Module):
    """A CNN over the image in an observation of an image and an action mask.

    Attributes:
        cnn: the CNN.
        name: of the image.
    """

    cnn: CNN
    name: str = eqx.field(static=True)

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.cnn.out_size

    def __call__(self, obs: Any) -> Float[Array, " F"]:
        return self.cnn(obs[self.name])


Body = VectorBody | CNN | UnmaskedCNN


def body_for(
    space: Space,
    sizes: Sequence[int],
    *,
    key: PRNGKeyArray,
    kind: str = "auto",
    activation: str = "tanh",
    gain: float = math.sqrt(2.0),
    layer_norm: bool = False,
    init: str = "orthogonal",
) -> Body:
    """Makes the body of an observation space: for images a CNN (its dense layers have the sizes), otherwise an MLP.

    Args:
        space: the observation space.
        sizes: widths of the dense layers.
        key: randomness.
        kind: one of `BODIES`; "auto" takes a CNN for a Box of three axes that has room for its kernels, alone or beside
            an action mask.
        activation: of every layer.
        gain: of every weight.
        layer_norm: whether dense layers are normalised.
        init: how the weights begin.

    Raises:
        ConfigError: for an unknown kind, or "cnn" where observations are no images or too small.
    """
    check_choice("body", kind, BODIES)
    options: dict[str, Any] = {"activation": activation, "gain": gain, "layer_norm": layer_norm, "init": init}
    name, image = _image(space)
    if kind == "cnn":
        layout_for(image.shape if isinstance(image, Box) else ())
    if kind == "cnn" or (kind == "auto" and _room(image)):
        cnn = CNN(image.shape, sizes, key=key, scale=pixel_scale(image), **options)  # pyright: ignore
        return cnn if name is None else UnmaskedCNN(cnn, name)
    return VectorBody(space, MLP(flat_size(space), sizes, key=key, **options))


def _image(space: Space) -> tuple[str | None, Space]:
    """Returns where an image would be: the name of all that there is beside an action mask, or None, and its space."""
    if isinstance(space, Dict) and len(space.spaces) == 2 and ACTION_MASK in space.spaces:
        (name,) = space.spaces.keys() - {ACTION_MASK}
        return name, space.spaces[name]
    return None, space


def _room(space: Space) -> bool:
    return is_image(space) and min(space.shape[:2]) >= smallest("small")  # pyright: ignore


class Torso(eqx.Module):
    """A body and perhaps a recurrent cell after it.

    Attributes:
        body: from the observation to features.
        cell: from features and carry to features and carry; None for none.
    """

    body: Body
    cell: GRU | LSTM | None

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.body.out_size if self.cell is None else self.cell.out_size

    def initial_carry(self) -> PyTree[Array]:
        """Returns the carry at the beginning of an episode."""
        return () if self.cell is None else self.cell.initial_carry()

    def __call__(self, obs: Any, carry: PyTree[Array]) -> tuple[Float[Array, " F"], PyTree[Array]]:
        x = self.body(obs)
        return (x, carry) if self.cell is None else self.cell(x, carry)


def cell_for(kind: str | None, in_size: int, size: int, *, key: PRNGKeyArray) -> GRU | LSTM | None:
    """Makes the recurrent cell of this name; None for None.

    Raises:
        ConfigError: for another name, or a size below 1.
    """
    if kind is None:
        return None
    check_choice("recurrent", kind, RECURRENT)
    return (GRU if kind == "gru" else LSTM)(in_size, check_size("recurrent_size", size), key=key)


def torso_for(
    space: Space, sizes: Sequence[int], *, key: PRNGKeyArray, recurrent: str | None, recurrent_size: int, **options: Any
) -> Torso:
    """Makes a body (`options` are those of `body_for`) and its cell."""
    body_key, cell_key = jax.random.split(key)
    body = body_for(space, sizes, key=body_key, **options)
    return Torso(body, cell_for(recurrent, body.out_size, recurrent_size, key=cell_key))
