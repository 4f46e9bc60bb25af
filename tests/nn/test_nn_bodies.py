"""Bodies against formulas in NumPy's float64, and what their leaves are."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.nn import ACTIVATIONS, CNN, GRU, LSTM, MLP, LayerNorm, body_for, flat_size, flattened
from kousoku.nn.cnn import smallest
from kousoku.nn.observation import pixel_scale

KEY = jax.random.key(0)
erf = np.vectorize(math.erf)

FORMULAS = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "identity": lambda x: x,
}


def shaken(network):
    """The same network with every parameter moved, so that no bias is 0 and no scale 1."""
    leaves, structure = jax.tree.flatten(network)
    keys = jax.random.split(jax.random.key(9), len(leaves))
    return jax.tree.unflatten(
        structure,
        [leaf + 0.3 * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)],
    )


def wide(x):
    return np.asarray(x, np.float64)


def count(network) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(network))


def mlp_formula(mlp, x):
    for k, layer in enumerate(mlp.layers):
        x = x @ wide(layer.weight) + wide(layer.bias)
        if mlp.norms:
            norm = mlp.norms[k]
            x = (x - x.mean()) / np.sqrt(x.var() + 1e-5) * wide(norm.scale) + wide(norm.shift)
        x = FORMULAS[mlp.activation](x)
    return x


@pytest.mark.by_default("gelu-False", "leaky_relu-False", "relu-False", "sigmoid-False", "silu-False", "softplus-False")
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_mlp_equals_its_formula(activation, layer_norm):
    mlp = shaken(MLP(5, (16, 8), key=KEY, activation=activation, layer_norm=layer_norm))
    x = jax.random.normal(jax.random.key(1), (5,))
    np.testing.assert_allclose(mlp(x), mlp_formula(mlp, wide(x)), atol=2e-5)


def test_every_activation_has_a_formula_here():
    assert set(ACTIVATIONS) == set(FORMULAS)


def test_layer_norm_has_mean_zero_and_variance_one():
    y = wide(LayerNorm(100)(3.0 + 2.0 * jax.random.normal(KEY, (100,))))
    assert abs(y.mean()) < 1e-6
    assert abs(y.var() - 1) < 1e-4


@pytest.mark.full("covered")
def test_mlp_layers_begin_orthogonal_with_gain_and_zero_bias():
    mlp = MLP(32, (64, 16), key=KEY)
    first, second = (wide(layer.weight) for layer in mlp.layers)
    np.testing.assert_allclose(first @ first.T, 2 * np.eye(32), atol=1e-5)
    np.testing.assert_allclose(second.T @ second, 2 * np.eye(16), atol=1e-5)
    assert not any(np.any(layer.bias) for layer in mlp.layers)
    assert not np.allclose(MLP(32, (32, 32), key=KEY).layers[0].weight, MLP(32, (32, 32), key=KEY).layers[1].weight)


def test_mlp_without_sizes_is_the_identity():
    mlp = MLP(3, (), key=KEY)
    assert (mlp.out_size, jax.tree.leaves(mlp)) == (3, [])
    assert mlp(jnp.arange(3.0)).tolist() == [0.0, 1.0, 2.0]


def test_a_batch_of_rows_is_one_matrix_product_a_layer():
    mlp = MLP(17, (64, 64), key=KEY)
    jaxpr = str(jax.make_jaxpr(jax.vmap(mlp))(jnp.zeros((128, 17))))
    assert jaxpr.count("dot_general[") == 2
    assert "transpose" not in jaxpr


def convolution_formula(convolution, x):
    w, b, s = wide(convolution.weight), wide(convolution.bias), convolution.stride
    k = w.shape[0]
    rows, columns = ((n - k) // s + 1 for n in x.shape[:2])
    y = np.empty((rows, columns, w.shape[3]))
    for i in range(rows):
        for j in range(columns):
            y[i, j] = np.tensordot(x[i * s : i * s + k, j * s : j * s + k], w, 3) + b
    return y


def cnn_formula(cnn, image):
    x = wide(image) * cnn.scale
    for convolution in cnn.convolutions:
        x = FORMULAS[cnn.activation](convolution_formula(convolution, x))
    return mlp_formula(cnn.dense, x.reshape(-1))


@pytest.mark.full("covered")
@pytest.mark.parametrize(("shape", "layout"), [((10, 10, 4), "small"), ((7, 5, 3), "small"), ((44, 36, 2), "nature")])
def test_cnn_equals_its_formula(shape, layout):
    cnn = shaken(CNN(shape, (12,), key=KEY, layout=layout, scale=1 / 255))
    image = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    np.testing.assert_allclose(cnn(jnp.asarray(image)), cnn_formula(cnn, image), rtol=1e-4, atol=1e-3)


@pytest.mark.full("covered")
def test_cnn_takes_bytes_truth_values_and_floats_alike():
    cnn = CNN((6, 6, 2), (8,), key=KEY)
    image = np.random.default_rng(0).integers(0, 2, (6, 6, 2))
    bytes_, truths, floats = (cnn(jnp.asarray(image.astype(kind))) for kind in (np.uint8, bool, np.float32))
    assert jnp.array_equal(bytes_, floats)
    assert jnp.array_equal(truths, floats)


def test_parameter_counts_are_those_of_the_papers():
    nature = CNN((84, 84, 4), (512,), key=KEY, init="zeros")
    assert count(nature.convolutions) == 8224 + 32832 + 36928
    assert count(nature) == 77984 + 3136 * 512 + 512
    minatar = CNN((10, 10, 4), (128,), key=KEY, init="zeros")
    assert count(minatar) == (9 * 4 + 1) * 16 + (8 * 8 * 16 + 1) * 128
    assert count(MLP(17, (64, 64), key=KEY)) == 18 * 64 + 65 * 64
    assert count(MLP(17, (64, 64), key=KEY, layer_norm=True)) == 18 * 64 + 65 * 64 + 4 * 64
    assert count(GRU(5, 8, key=KEY)) == 3 * 8 * (5 + 8 + 1) + 8
    assert count(LSTM(5, 8, key=KEY)) == 4 * 8 * (5 + 8 + 1)


def test_the_layout_follows_from_the_size_of_the_image():
    assert (smallest("nature"), smallest("small")) == (36, 3)
    assert [len(CNN((n, n, 1), (), key=KEY, init="zeros").convolutions) for n in (3, 35, 36)] == [1, 1, 3]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.full("covered")
def test_gru_equals_its_formula_over_steps():
    gru = shaken(GRU(3, 4, key=KEY))
    w, u, b, c = (wide(p) for p in (gru.cell.weight_ih.T, gru.cell.weight_hh.T, gru.cell.bias, gru.cell.bias_n))
    h, carry = np.zeros(4), gru.initial_carry()
    for x in jax.random.normal(jax.random.key(2), (5, 3)):
        a, d = wide(x) @ w + b, h @ u
        r, z = sigmoid(a[:4] + d[:4]), sigmoid(a[4:8] + d[4:8])
        n = np.tanh(a[8:] + r * (d[8:] + c))
        h = (1 - z) * n + z * h
        y, carry = gru(x, carry)
        np.testing.assert_allclose(y, h, atol=1e-6)
        np.testing.assert_allclose(carry, h, atol=1e-6)


def test_lstm_equals_its_formula_over_steps():
    lstm = shaken(LSTM(3, 4, key=KEY))
    w, u, b = (wide(p) for p in (lstm.cell.weight_ih.T, lstm.cell.weight_hh.T, lstm.cell.bias))
    h, cell, carry = np.zeros(4), np.zeros(4), lstm.initial_carry()
    for x in jax.random.normal(jax.random.key(2), (5, 3)):
        i, f, g, o = np.split(wide(x) @ w + h @ u + b, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(cell)
        y, carry = lstm(x, carry)
        np.testing.assert_allclose(y, h, atol=1e-6)
        np.testing.assert_allclose(carry[1], cell, atol=1e-6)
        np.testing.assert_allclose(carry[0], h, atol=1e-6)


def test_recurrent_weights_begin_orthogonal_gate_by_gate_and_the_forget_bias_at_one():
    lstm, gru = LSTM(5, 8, key=KEY), GRU(5, 8, key=KEY)
    for block in (*np.split(wide(lstm.cell.weight_hh), 4), *np.split(wide(gru.cell.weight_hh), 3)):
        np.testing.assert_allclose(block @ block.T, np.eye(8), atol=1e-5)
    assert lstm.cell.bias.tolist() == [0.0] * 8 + [1.0] * 8 + [0.0] * 16
    assert not np.any(gru.cell.bias)
    assert not np.any(gru.cell.bias_n)


SPACE = Dict({"b": Discrete(3), "a": Box(-1.0, 1.0, (2, 2)), "c": MultiDiscrete((2, 3))})


def test_an_observation_is_flattened_in_the_order_of_names():
    obs = {"c": jnp.array([1, 0]), "a": jnp.array([[1.0, 2.0], [3.0, 4.0]]), "b": jnp.int32(2)}
    flat = flattened(SPACE, obs)
    assert flat.tolist() == [1, 2, 3, 4, 0, 0, 1, 0, 1, 1, 0, 0]
    assert flat.dtype == jnp.float32
    assert flat_size(SPACE) == 12


@pytest.mark.by_default("Box0", "Dict", "Discrete", "MultiDiscrete")
@pytest.mark.parametrize(
    "space",
    [Discrete(4), MultiDiscrete((2, 5)), Box(-1.0, 1.0), Box(0, 255, (4, 3, 2), np.uint8), SPACE],
    ids=lambda space: type(space).__name__,
)
def test_flat_size_is_the_size_of_what_flattened_gives(space):
    flat = flattened(space, space.sample(KEY))
    assert flat.shape == (flat_size(space),)
    assert flat.dtype == jnp.float32


def test_only_bytes_to_255_are_scaled():
    spaces = (Box(0, 255, (4, 4, 1), np.uint8), Box(0, 1, (4, 4, 1), np.uint8), Box(0.0, 255.0, (4, 4, 1)), Discrete(3))
    assert [pixel_scale(space) for space in spaces] == [1 / 255, 1.0, 1.0, 1.0]


@pytest.mark.full("covered")
def test_a_body_is_a_cnn_where_observations_are_images():
    image, tiny, vector = Box(0, 255, (10, 10, 3), np.uint8), Box(0.0, 1.0, (2, 9, 3)), Box(-1.0, 1.0, (4,))
    kinds = [type(body_for(space, (8,), key=KEY)).__name__ for space in (image, tiny, vector, Discrete(3))]
    assert kinds == ["CNN", "VectorBody", "VectorBody", "VectorBody"]
    assert type(body_for(image, (8,), key=KEY, kind="mlp")).__name__ == "VectorBody"
    assert body_for(image, (8,), key=KEY).scale == 1 / 255


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MLP(3, (0,), key=KEY), r"^sizes\[0\]: got 0; use a whole number of at least 1$"),
        (lambda: MLP(3, (4,), key=KEY, activation="tahn"), r"^activation: got 'tahn'; did you mean 'tanh'\?"),
        (lambda: MLP(3, (4,), key=KEY, init="xavier"), r"^initialiser: got 'xavier'; use one of"),
        (lambda: CNN((10, 10, 3), (4,), key=KEY, layout="natur"), r"^layout: got 'natur'; did you mean 'nature'\?"),
        (lambda: CNN((10, 10, 3), (4,), key=KEY, layout="nature"), r"^body: got 'cnn'; .* at least 36 x 36 pixels$"),
        (lambda: CNN((2, 10, 3), (4,), key=KEY), r"^body: got 'cnn'; .* at least 3 x 3 pixels$"),
        (
            lambda: body_for(Box(-1.0, 1.0, (4,)), (4,), key=KEY, kind="cnn"),
            r"^body: got 'cnn'; use 'mlp': .* no image",
        ),
        (lambda: body_for(Discrete(4), (4,), key=KEY, kind="cnn"), r"^body: got 'cnn'; use 'mlp'"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(make, message):
    with pytest.raises(ConfigError, match=message) as error:
        make()
    assert "\n" not in str(error.value)
