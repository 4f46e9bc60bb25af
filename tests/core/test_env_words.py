"""Common mistakes in an environment of one's own, told in words that name the fix."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corridor import Corridor, said

import kousoku as ks
from kousoku import Box, ConfigError, Dict, Discrete, MultiDiscrete
from kousoku.core.env_shapes import check_shapes
from kousoku.envs.contract import ContractError

USE = "use Discrete, MultiDiscrete, Box or Dict of kousoku"
METHOD = "is a method: write @property above it"


def check(env, told):
    """`train` and `check_env` say the same."""
    with pytest.raises(ConfigError) as caught:
        check_shapes(env)
    assert str(caught.value) == f"env: got {type(env).__name__!r}; {told}; kousoku.check_env tells all"
    with pytest.raises(ContractError) as listed:
        ks.check_env(env)
    assert f"\n  - {told}\n" in f"{listed.value}\n"


def method(self):
    return Discrete(10)


class Timed(ks.Env):
    """Its time limit is a method."""

    observation_space, action_space = Discrete(10), Discrete(2)

    def time_limit(self):
        return 20

    def reset(self, key):
        return jnp.int32(0), said(jnp.int32(0))

    def step(self, key, state, action):
        return state, said(state)


@pytest.mark.parametrize("name", ["observation_space", "action_space"])
@pytest.mark.parametrize("written", [method, lambda self: Discrete(10), classmethod(method)])
def test_a_method_without_property_is_told_to_have_one(name, written):
    check(type("Walk", (Corridor,), {name: written})(), f"{name} {METHOD}")


def test_a_time_limit_without_property_is_told_to_have_one():
    check(Timed(), f"time_limit {METHOD}")


@pytest.mark.parametrize("name", ["observation_space", "action_space"])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Discrete, ": that is the class; make one of it: Discrete(...)"),
        (Box, ": that is the class; make one of it: Box(...)"),
        (MultiDiscrete, ": that is the class; make one of it: MultiDiscrete(...)"),
        (Dict, ": that is the class; make one of it: Dict(...)"),
        (int, f" is the class int: {USE}"),
        (eqx.nn.Linear, f" is the class equinox.Linear: {USE}"),
        (2, f" is 2: {USE}"),
        (True, f" is True: {USE}"),
        (0.5, f" is 0.5: {USE}"),
        (None, f" is None: {USE}"),
        ("Discrete(2)", f" is 'Discrete(2)': {USE}"),
        ([2, 3], f" is [2, 3]: {USE}"),
        ({"a": 2}, f" is {{'a': 2}}: {USE}"),
        (jnp.int32(2), f" is an array, int32[]: {USE}"),
        (jnp.zeros(2), f" is an array, float32[2]: {USE}"),
        (np.int64(2), f" is a numpy.int64: {USE}"),
        (len, f" is a builtin_function_or_method: {USE}"),
        (eqx.nn.Identity(), f" is an equinox.Identity: {USE}"),
    ],
)
def test_what_is_no_space_is_named(name, given, told):
    spaces = {"observation_space": Discrete(10), "action_space": Discrete(2), name: given}
    walk = type(
        "Walk", (Corridor,), {each: property(lambda self, space=space: space) for each, space in spaces.items()}
    )
    check(walk(), f"{name}{told}")


def test_a_part_of_a_space_is_named_by_its_key():
    space = Dict({"a": Discrete(2)})
    space.spaces["a"] = Discrete
    told = "observation_space['a']: that is the class; make one of it: Discrete(...)"
    check(type("Walk", (Corridor,), {"observation_space": space})(), told)


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda cell, timestep: cell, "int32[]"),
        (lambda cell, timestep: jnp.zeros((2, 3)), "float32[2, 3]"),
        (lambda cell, timestep: timestep, "a Timestep"),
        (lambda cell, timestep: {"cell": cell}, "a dict of 'cell'"),
        (lambda cell, timestep: (timestep, cell), "a tuple of 2"),
        (lambda cell, timestep: None, "None"),
    ],
)
@pytest.mark.parametrize("where", ["reset", "step"])
def test_what_a_method_returned_is_told_by_dtype_and_shape(where, change, got):
    env = Corridor(lambda at, key, before, result: change(*result) if at == where else result)
    with pytest.raises(ConfigError) as caught:
        check_shapes(env)
    assert str(caught.value).split("; ")[1] == f"{where} must return (state, Timestep), got {got}"


def test_a_key_that_is_returned_alone_is_told_as_one():
    with pytest.raises(ConfigError, match=r"got key<fry>\[\]"):
        check_shapes(Corridor(lambda at, key, before, result: jax.random.split(key)[0]))
