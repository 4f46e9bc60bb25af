"""Spaces: samples are elements, uniform, functions of the key; nothing else is an element."""

import collections
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kousoku import Box, ConfigError, Dict, Discrete, MultiDiscrete
from kousoku.core.spaces import element_like

SHAPES = [(), (3,), (2, 2)]
BOUNDS = st.one_of(
    st.floats(width=32, allow_nan=False, allow_subnormal=False), st.sampled_from([-math.inf, math.inf, 0.0, 0.1])
)
keys = st.integers(0, 2**31 - 1).map(jax.random.key)
few = settings(max_examples=20, deadline=None)


def is_element(space, key) -> bool:
    """A sample is an element, has the shape and dtype that the space says, and comes again for the same key."""
    sample = space.sample(key)
    for like in (sample, element_like(space)):
        assert like.shape == space.shape
        assert like.dtype == space.dtype
    assert np.array_equal(sample, space.sample(key))
    return space.contains(jax.device_get(sample)) and space.contains(sample)


@few
@given(st.integers(1, 2**31 - 1), keys)
def test_samples_of_discrete_are_elements(n, key):
    assert is_element(Discrete(n), key)


@few
@given(st.lists(st.integers(1, 2**31 - 1), min_size=3, max_size=3), keys)
def test_samples_of_multi_discrete_are_elements(nvec, key):
    assert is_element(MultiDiscrete(nvec), key)


@pytest.mark.full("covered")
@few
@given(BOUNDS, BOUNDS, st.sampled_from(SHAPES), keys)
def test_samples_of_a_float_box_are_elements_for_any_bounds(a, b, shape, key):
    low, high = min(a, b), max(a, b)
    if low == math.inf or high == -math.inf:
        with pytest.raises(ConfigError, match=r"^Box: got"):
            Box(low, high, shape)
        return
    assert is_element(Box(low, high, shape), key)


@few
@given(st.sampled_from(["int8", "uint8", "int16", "uint16", "int32"]), st.data(), keys)
def test_samples_of_an_integer_box_are_elements(dtype, data, key):
    limits = np.iinfo(dtype)
    whole = st.integers(int(limits.min), min(int(limits.max), 2**31 - 2))
    low, high = sorted([data.draw(whole), data.draw(whole)])
    assert is_element(Box(low, high, (2,), dtype), key)


def test_samples_of_a_float16_box_are_elements():
    space = Box(-60000.0, 60000.0, (50,), "float16")
    assert all(is_element(space, jax.random.key(seed)) for seed in range(5))


def test_samples_of_the_widest_box_of_int32_are_elements():
    assert is_element(Box(-(2**31), 2**31 - 2, (50,), "int32"), jax.random.key(0))


def test_box_reaches_both_ends_of_a_range_of_whole_numbers():
    samples = Box(-1, 2, (4000,), "int8").sample(jax.random.key(0))
    assert stats.chisquare(np.bincount(np.asarray(samples) + 1, minlength=4)).pvalue > 1e-4


def test_box_is_uniform_exponential_or_normal():
    key = jax.random.key(3)
    for box, law in [
        (Box(-2.0, 6.0, (2000,)), stats.uniform(-2.0, 8.0)),
        (Box(-2.0, math.inf, (2000,)), stats.expon(-2.0)),
        (Box(-math.inf, math.inf, (2000,)), stats.norm()),
    ]:
        assert stats.kstest(np.asarray(box.sample(key)), law.cdf).pvalue > 1e-4
    mirrored = -np.asarray(Box(-math.inf, 2.0, (2000,)).sample(key))
    assert stats.kstest(mirrored, stats.expon(-2.0).cdf).pvalue > 1e-4


@pytest.mark.by_default("10", "3")
@pytest.mark.parametrize("n", [2, 3, 10])
def test_discrete_is_uniform(n):
    samples = jax.vmap(Discrete(n).sample)(jax.random.split(jax.random.key(n), 20_000))
    assert stats.chisquare(np.bincount(np.asarray(samples), minlength=n)).pvalue > 1e-4


def test_multi_discrete_is_uniform_and_its_components_are_independent():
    samples = np.asarray(jax.vmap(MultiDiscrete((3, 4)).sample)(jax.random.split(jax.random.key(0), 20_000)))
    assert stats.chisquare(np.bincount(samples[:, 0] * 4 + samples[:, 1], minlength=12)).pvalue > 1e-4


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (Discrete(4), -1),
        (Discrete(4), 4),
        (Discrete(4), 1.0),
        (Discrete(4), True),
        (Discrete(4), [1]),
        (Discrete(4), "1"),
        (Discrete(4), None),
        (Discrete(4), math.nan),
        (Discrete(4), 2**70),
        (Discrete(4), [[1], [1, 2]]),
        (MultiDiscrete((2, 3)), [0, 3]),
        (MultiDiscrete((2, 3)), [-1, 0]),
        (MultiDiscrete((2, 3)), [0.0, 0.0]),
        (MultiDiscrete((2, 3)), [0]),
        (MultiDiscrete((2, 3)), [[0, 0]]),
        (MultiDiscrete((2, 3)), [[0], 1]),
        (Box(-1.0, 1.0, (2,)), [0.0, 1.1]),
        (Box(-1.0, 1.0, (2,)), [0.0, math.nan]),
        (Box(-math.inf, math.inf), math.nan),
        (Box(-1.0, 1.0, (2,)), 0.0),
        (Box(-1.0, 1.0, (2,)), ["a", "b"]),
        (Box(-1.0, 1.0, (2,)), [True, False]),
        (Box(-1.0, 1.0, (2,)), [0.0, 1.0 + 1.0j]),
        (Box(-1.0, 1.0, (2,)), [[0.0], 0.0]),
        (Box(0, 9, (), "int32"), 1.5),
        (Box((0.0, -math.inf), (1.0, math.inf), (2,)), [1.1, 0.0]),
        (Box((0, 5), (4, 9), (2,), "int32"), [4, 4]),
        (Box(-1.0, 1.0), 1e300),
        (Box(0, 9, (), "uint8"), 10),
        (Dict({"a": Discrete(2)}), {"a": 2}),
        (Dict({"a": Discrete(2)}), {}),
        (Dict({"a": Discrete(2)}), {"a": 0, "b": 0}),
        (Dict({"a": Discrete(2)}), 0),
    ],
)
def test_what_is_no_element(space, value):
    assert space.contains(value) is False


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (Discrete(4), 3),
        (Discrete(4), np.uint8(0)),
        (MultiDiscrete((2, 3)), (1, 2)),
        (Box(-1.0, 1.0, (2,)), [-1, 1]),
        (Box(-1.0, 1.0), np.float64(0.3)),
        (Box(-math.inf, math.inf), math.inf),
        (Box(0, 9, (), "uint8"), 9),
        (Box((0.0, -math.inf), (1.0, math.inf), (2,)), [1.0, 1e9]),
        (Box((0, 5), (4, 9), (2,), "int32"), [4, 5]),
        (Box(((0.0,), (2.0,)), 3.0, (2, 1)), [[0.0], [2.0]]),
        (Box(0.0, 0.6), np.float32(0.6)),
        (Box(0.3, 1.0), 0.3),
        (Dict({"a": Discrete(2), "b": Box(0.0, 1.0)}), {"b": 0.5, "a": 1}),
    ],
)
def test_what_is_an_element(space, value):
    assert space.contains(value) is True


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Discrete(0), "Discrete.n"),
        (lambda: Discrete(-3), "Discrete.n"),
        (lambda: Discrete(2.5), "Discrete.n"),
        (lambda: Discrete(True), "Discrete.n"),
        (lambda: Discrete(2**31), "Discrete.n"),
        (lambda: Discrete(5, start=1), "Discrete.start"),
        (lambda: MultiDiscrete((2, 0)), "MultiDiscrete.nvec[1]"),
        (lambda: MultiDiscrete((2.5, 2)), "MultiDiscrete.nvec[0]"),
        (lambda: Box(1.0, 0.0), "Box"),
        (lambda: Box((0.0, 1.0), (1.0, 0.0), (2,)), "Box"),
        (lambda: Box((0.0, 1.0), 2.0, (3,)), "Box"),
        (lambda: Box((0.0, 1.0), 2.0), "Box"),
        (lambda: Box(((0.0, 1.0), (0.0,)), 2.0, (2, 2)), "Box"),
        (lambda: Box((0, 0), (1, 1.5), (2,), "int32"), "Box"),
        (lambda: Box(math.nan, 0.0), "Box"),
        (lambda: Box(0.0, 1e39), "Box"),
        (lambda: Box(0.0, 1.0, (-1,)), "Box.shape[0]"),
        (lambda: Box(0.0, 1.0, (), "bool"), "Box.dtype"),
        (lambda: Box(0.0, 1.0, (), "bfloat16"), "Box.dtype"),
        (lambda: Box(0, math.inf, (), "int32"), "Box"),
        (lambda: Box(0.5, 2, (), "int32"), "Box"),
        (lambda: Box(0, 256, (), "uint8"), "Box"),
        (lambda: Box(-1, 2, (), "uint8"), "Box"),
        (lambda: Box(0, 2**31 - 1, (), "int32"), "Box"),
        (lambda: Discrete(None), "Discrete.n"),
        (lambda: Dict({"a": Dict({"b": 3})}), "Dict.spaces['b']"),
        (lambda: Dict({"a": {"b": Discrete(2)}}), "Dict.spaces['a']"),
        (lambda: Dict({"a": Discrete}), "Dict.spaces['a']"),
        (lambda: Dict({1: Discrete(2), "a": Discrete(2)}), "Dict.spaces"),
    ],
)
def test_what_is_no_space_is_refused_in_one_line(make, field):
    with pytest.raises(ConfigError) as caught:
        make()
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


NO_BOUNDS = ["a", "1.5", b"1", None, 1j, np.complex64(1), np.array(1j), {}, {1.0}, 10**400, [0.0, "a"], [None, 0.0]]


@pytest.mark.parametrize("bound", NO_BOUNDS, ids=repr)
@pytest.mark.parametrize("end", ["low", "high"])
def test_what_is_no_bound_is_refused(bound, end):
    with pytest.raises(ConfigError, match=rf"^Box\.{end}: got .*; use a number, or one for each entry$"):
        Box(**({"low": 0.0, "high": 1.0, "shape": (2,)} | {end: bound}))


@pytest.mark.parametrize("dtype", ["zzz", "", "(", "f4,,", None, 3], ids=repr)
def test_what_is_no_dtype_is_refused(dtype):
    with pytest.raises(ConfigError, match=r"^Box\.dtype: got .*; use one of NumPy's for numbers, such as 'float32'$"):
        Box(0, 1, (2,), dtype)


@pytest.mark.parametrize(
    ("listed", "fix"),
    [
        (2, r"use \(2,\)"),
        (2.0, r"use \(2,\)"),
        (np.int64(2), r"use \(2,\)"),
        *[(n, "use a tuple of whole") for n in (-1, 2.5, True, None, "ab", b"ab", math.nan, 10**400, {2}, {"a": 2})],
        *[(n, "use a tuple of whole") for n in (np.array(2), jnp.array(2))],
    ],
    ids=repr,
)
def test_what_is_no_tuple_of_whole_numbers_is_refused(listed, fix):
    for field, make in (("Box.shape", partial(Box, 0, 1)), ("MultiDiscrete.nvec", MultiDiscrete)):
        with pytest.raises(ConfigError, match=f"^{field}: got .*; {fix}") as caught:
            make(listed)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("listed", [[2, 3], range(2, 4), np.array([2, 3])], ids=repr)
def test_whole_numbers_may_be_listed_in_any_way(listed):
    assert MultiDiscrete(listed) == MultiDiscrete((2, 3))


@pytest.mark.parametrize("given", [3, None, "ab", Discrete(2), [("a", Discrete(2))]], ids=repr)
def test_what_is_no_dict_of_spaces_is_refused(given):
    with pytest.raises(ConfigError, match=r"^Dict\.spaces: got .*; use a dict of spaces by name$"):
        Dict(given)


def test_a_dict_is_its_own_and_without_an_order_of_its_names():
    given = collections.OrderedDict(b=Discrete(2), a=Discrete(3))
    space = Dict(given)
    given.clear()
    assert space == Dict({"a": Discrete(3), "b": Discrete(2)})
    assert jax.tree.structure(space) == jax.tree.structure(Dict({"a": Discrete(3), "b": Discrete(2)}))


def test_gymnasiums_start_of_0_says_nothing():
    assert Discrete(5, start=0) == Discrete(n=5)


def test_samples_of_a_dict_use_one_key_each_and_do_not_depend_on_the_order_of_its_names():
    one, other = Dict({"b": Discrete(1000), "a": Discrete(1000)}), Dict({"a": Discrete(1000), "b": Discrete(1000)})
    draws = [(one.sample(key), other.sample(key)) for key in jax.random.split(jax.random.key(0), 20)]
    for left, right in draws:
        assert one.contains(left)
        assert int(left["a"]) == int(right["a"])
        assert int(left["b"]) == int(right["b"])
    assert any(int(left["a"]) != int(left["b"]) for left, _ in draws)
    assert Dict({}).sample(jax.random.key(0)) == {}


@pytest.mark.full("covered")
def test_a_space_samples_the_same_compiled_and_under_vmap():
    space = Dict({"z": Box(-1.0, 1.0, (2,)), "a": MultiDiscrete((4, 9)), "k": Discrete(7)})
    keys = jax.random.split(jax.random.key(0), 5)
    batch = jax.jit(jax.vmap(space.sample))(keys)
    for i in range(5):
        alone = space.sample(keys[i])
        assert all(np.array_equal(batch[name][i], alone[name]) for name in alone)


def test_spaces_compare_by_value_and_survive_flattening():
    assert Discrete(3) == Discrete(3)
    assert Discrete(3) != Discrete(4)
    assert Box(0, 1) == Box(0.0, 1.0)
    space = Dict({"b": Discrete(2), "a": Box(0.0, 1.0)})
    again = jax.tree.map(lambda leaf: leaf, space)
    assert jnp.array_equal(again.sample(jax.random.key(0))["a"], space.sample(jax.random.key(0))["a"])


@pytest.mark.full("covered")
def test_a_box_with_a_bound_for_each_entry_samples_each_by_its_own():
    space = Box((0.0, -math.inf, 5.0, -math.inf), (1.0, math.inf, math.inf, -2.0), (4,))
    draws = np.asarray(jax.vmap(space.sample)(jax.random.split(jax.random.key(0), 4000)), np.float64)
    for column, law in zip(draws.T, (stats.uniform(), stats.norm(), stats.expon(loc=5.0)), strict=False):
        assert stats.kstest(column, law.cdf).pvalue > 1e-4
    assert stats.kstest(-2.0 - draws[:, 3], stats.expon().cdf).pvalue > 1e-4
    assert np.abs(np.corrcoef(draws.T) - np.eye(4)).max() < 0.08
    whole = Box((0, 5), (4, 6), (2,), "uint8")
    pairs = np.asarray(jax.vmap(whole.sample)(jax.random.split(jax.random.key(1), 500)))
    assert pairs.dtype == np.uint8
    assert [sorted(set(column.tolist())) for column in pairs.T] == [[0, 1, 2, 3, 4], [5, 6]]


def test_bounds_may_be_given_as_arrays_and_compare_by_value():
    space = Box(np.array([0, 1]), np.float32(2.5), (2,))
    assert (space.low, space.high) == ((0.0, 1.0), 2.5)
    assert space == Box((0.0, 1.0), 2.5, (2,))
    assert hash(space) == hash(Box([0.0, 1.0], 2.5, (2,)))
