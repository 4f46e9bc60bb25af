"""How much an element of MJCF may ask MuJoCo's compiler to make: as much as that, and not one more."""

import pytest

from kousoku.physics.mjcf.bounds import too_large

KINDS = ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")


@pytest.mark.parametrize(
    ("fits", "most"),
    [
        ({"count": "20 20 50"}, 20_000),
        ({"cellcount": "-20000"}, 20_000),
        ({"actdim": "1000"}, 1000),
        ({"nsample": "10000"}, 10_000),
        ({"dim": "10000"}, 10_000),
        ({"num": "100 100"}, 10_000),
        ({"params": "10000"}, 10_000),
        ({"resolution": "8192 8192"}, 67_108_864),
        ({"width": "8192", "height": "8192"}, 67_108_864),
        ({"nrow": "4096", "ncol": "4096"}, 16_777_216),
        ({"nkey": "10000"}, 10_000),
        ({"nuserdata": "1048576"}, 1_048_576),
        *(
            ({f"nuser_{of}": "1000"}, 1000)
            for of in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
        ),
    ],
)
def test_an_element_may_ask_for_so_much_and_no_more(fits, most):
    assert too_large("any", fits) is None
    (first, words), *others = fits.items()
    word, *rest = words.split()
    more = " ".join([str(int(word) + (1 if int(word) > 0 else -1)), *rest])
    told = " ".join([f"{first}={more}", *(f"{name}={given}" for name, given in others)])
    assert too_large("any", {first: more, **dict(others)}) == (told, f"at most {most} can be made")
    assert too_large("any", {first: "many", **dict(others)}) is None  # the compiler says what is wrong with it
    assert too_large("any", {first: "nan", **dict(others)}) is not None


@pytest.mark.parametrize(
    ("attributes", "steps"),
    [
        ({}, None),
        ({"inttotal": "10000"}, None),
        ({"inttotal": "10001"}, "1.0001e+06 steps"),
        ({"inttotal": "10", "timestep": "1e-5"}, None),
        ({"timestep": "9e-6"}, "1.11111e+06 steps"),
        ({"timestep": "0"}, "1e+10 steps"),
    ],
)
def test_a_length_range_may_take_a_million_steps(attributes, steps):
    assert too_large("lengthrange", attributes) == (steps and (steps, "at most 1000000 can be made"))
    assert too_large("option", attributes) is None
