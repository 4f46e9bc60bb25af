"""Convolutional bodies for images [height, width, channels]."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, PRNGKeyArray, Shaped

from ..core.errors import ConfigError, check_choice
from .initialise import initialiser
from .layers import ACTIVATIONS, check_activation
from .mlp import MLP

LAYOUTS: Mapping[str, tuple[tuple[int, int, int], ...]] = MappingProxyType(
    {
        "nature": ((32, 8, 4), (64, 4, 2), (64, 3, 1)),
        "small": ((16, 3, 1),),
    }
)
"""(filters, kernel, stride) of every convolution, without padding."""


SMALL = 8192
"""Numbers in all windows of an image up to which they are copied side by side."""


class Convolution(eqx.Module):
    """A convolution without padding: y[i, j] = sum over the k x k window at (i s, j s) of x W, plus b.

    Attributes:
        weight: W.
        bias: b; begins at 0.
        stride: s.
    """

    weight: Float32[Array, "k k i o"]
    bias: Float32[Array, " o"]
    stride: int = eqx.field(static=True)

    def __init__(
        self,
        in_channels: int,
        filters: int,
        kernel: int,
        stride: int,
        *,
        key: PRNGKeyArray,
        gain: float = 1.0,
        init: str = "orthogonal",
    ) -> None:
        self.weight = initialiser(init)(key, (kernel, kernel, in_channels, filters), gain)
        self.bias = jnp.zeros(filters, jnp.float32)
        self.stride = stride

    def __call__(self, x: Float[Array, "h w i"]) -> Float[Array, "h2 w2 o"]:
        return self.products(x) + self.bias[None, None, :]

    def products(self, x: Float[Array, "h w i"]) -> Float[Array, "h2 w2 o"]:
        """Computes the sums over windows: of small images as one product of matrices, a row for each window.

        Its backward pass then is products too, which kernels have tiles for (see `kousoku.kernel`); XLA's convolutions
        of images of 10 x 10 take several times as long on a processor. Windows of large images would take much memory.
        """
        kernel, strides = self.weight.shape[0], (self.stride, self.stride)
        height, width = ((n - kernel) // self.stride + 1 for n in x.shape[:2])
        if height * width * self.weight[..., 0].size > SMALL:
            layout = ("NHWC", "HWIO", "NHWC")
            return jax.lax.conv_general_dilated(x[None], self.weight, strides, "VALID", dimension_numbers=layout)[0]
        rows, columns = (self.stride * (n - 1) + 1 for n in (height, width))
        windows = [
            x[i : i + rows : self.stride, j : j + columns : self.stride] for i in range(kernel) for j in range(kernel)
        ]
        flat = jnp.concatenate(windows, axis=2).reshape(height * width, -1)
        return (flat @ self.weight.reshape(flat.shape[1], -1)).reshape(height, width, -1)


class CNN(eqx.Module):
    """Convolutions, then the dense layers of an MLP over all that they give, every one with the activation.

    Layouts: "nature" is that of the Nature DQN (32 8x8 stride 4, 64 4x4 stride 2, 64 3x3 stride 1; its dense layer
    has 512 units), "small" that of MinAtar (16 3x3; dense 128).

    Attributes:
        convolutions: the convolutions.
        dense: the dense layers.
        activation: by name.
        scale: what pixels are multiplied by; 1/255 for bytes.

    References:
        Mnih et al., Nature 518 (2015), methods. Young and Tian, "MinAtar", arXiv:1903.03176, section 4.

    Examples:
        >>> cnn = CNN((10, 10, 4), (128,), key=jax.random.key(0))
        >>> cnn(jnp.zeros((10, 10, 4), bool)).shape
        (128,)
    """

    convolutions: tuple[Convolution, ...]
    dense: MLP
    activation: str = eqx.field(static=True)
    scale: float = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, int, int],
        sizes: Sequence[int],
        *,
        key: PRNGKeyArray,
        layout: str = "auto",
        activation: str = "relu",
        gain: float = math.sqrt(2.0),
        layer_norm: bool = False,
        init: str = "orthogonal",
        scale: float = 1.0,
    ) -> None:
        convolutions_key, dense_key = jax.random.split(key)
        self.activation = check_activation("activation", activation)
        self.scale = float(scale)
        parts = LAYOUTS[layout_for(shape, layout)]
        keys = jax.random.split(convolutions_key, len(parts))
        made, (height, width, channels) = [], shape
        for (filters, kernel, stride), k in zip(parts, keys, strict=True):
            made.append(Convolution(channels, filters, kernel, stride, key=k, gain=gain, init=init))
            height, width, channels = (height - kernel) // stride + 1, (width - kernel) // stride + 1, filters
        self.convolutions = tuple(made)
        self.dense = MLP(
            height * width * channels,
            sizes,
            key=dense_key,
            activation=activation,
            gain=gain,
            layer_norm=layer_norm,
            init=init,
        )

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.dense.out_size

    def __call__(self, image: Shaped[Array, "h w c"]) -> Float[Array, " o"]:
        x = image.astype(jnp.float32) * self.scale
        for convolution in self.convolutions:
            x = ACTIVATIONS[self.activation](convolution(x))
        return self.dense(x.reshape(-1))


def layout_for(shape: tuple[int, ...], layout: str = "auto") -> str:
    """Returns the layout itself, or for "auto" the largest that the image has room for.

    Raises:
        ConfigError: for an unknown layout, or an image that is none or too small.
    """
    check_choice("layout", layout, ("auto", *LAYOUTS))
    if len(shape) != 3:
        raise ConfigError(
            "body", "cnn", f"use 'mlp': observations of shape {shape} are no image [height, width, channels]"
        )
    least = {name: smallest(name) for name in LAYOUTS}
    room = min(shape[0], shape[1])
    fitting = [name for name in LAYOUTS if room >= least[name] and layout in ("auto", name)]
    if not fitting:
        need = least["small" if layout == "auto" else layout]
        raise ConfigError("body", "cnn", f"use 'mlp', or images of at least {need} x {need} pixels")
    return fitting[0]


def smallest(layout: str) -> int:
    """Returns the least height and width of an image that a layout can take."""
    size = 1
    for _, kernel, stride in reversed(LAYOUTS[layout]):
        size = (size - 1) * stride + kernel
    return size
