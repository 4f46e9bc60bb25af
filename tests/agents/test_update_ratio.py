"""One number for how often is learned: the shortest round that has it, exactly."""

from fractions import Fraction

import numpy as np
import pytest

from kousoku.agents.deep.update_ratio import LEAST, MOST, MOST_STEPS, steps_of_ratio
from kousoku.core.errors import ConfigError


@pytest.mark.parametrize("num_envs", [1, 7, 8, 64, 1000])
def test_a_round_has_the_ratio_exactly_and_is_the_shortest(num_envs):
    ratios = [Fraction(1, 2**i) for i in range(10)] + [Fraction(n) for n in range(1, 21)]
    ratios += [Fraction(1, 3), Fraction(5, 7), Fraction(511, 512), Fraction(39, 2)]
    for ratio in ratios:
        for given in (ratio, float(ratio), str(ratio)):
            num_steps, gradient_steps = steps_of_ratio(given, num_envs)
            assert Fraction(gradient_steps, num_envs * num_steps) == ratio
            assert num_steps <= MOST_STEPS
            assert not any((ratio * num_envs * shorter).denominator == 1 for shorter in range(1, num_steps))


def test_what_one_environment_cannot_several_can():
    assert steps_of_ratio("3/1024", 8) == (128, 3)
    with pytest.raises(ConfigError, match=r"^update_ratio: got '3/1024'; with 1 environments the nearest is"):
        steps_of_ratio("3/1024", 1)


@pytest.mark.parametrize("given", [0.3337, "0.1234567", 1.0001])
def test_another_is_refused_with_the_nearest_which_will_do(given):
    with pytest.raises(ConfigError, match=r"^update_ratio: got .*the nearest is \d+(/\d+)?$") as refused:
        steps_of_ratio(given, 8)
    named = refused.value.fix.split()[-1]
    num_steps, gradient_steps = steps_of_ratio(named, 8)
    assert Fraction(gradient_steps, 8 * num_steps) == Fraction(named)
    assert abs(Fraction(named) - Fraction(given)) < Fraction(1, 2 * 8 * MOST_STEPS)


@pytest.mark.parametrize("given", [0, -1, 20.5, 1e-3, float("nan"), float("inf"), "", "often", "1/0", None, True, [1]])
def test_what_is_no_ratio_is_refused(given):
    with pytest.raises(
        ConfigError, match=r"^update_ratio: got .*; use a number of gradient steps per environment step"
    ):
        steps_of_ratio(given, 8)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_number_of_numpys_is_that_which_it_rounds(kind):
    for ratio, made in ((0.5, (1, 4)), (1 / 3, (3, 8)), (0.1, (5, 4)), (19.7, (5, 788)), (1 / 512, (64, 1))):
        if kind is not np.float16 or ratio in (0.5, 1 / 512):  # others are far from it in 11 bits
            assert steps_of_ratio(kind(ratio), 8) == made
    for whole in (np.int8(2), np.int64(2), np.uint8(2)):
        assert steps_of_ratio(whole, 8) == (1, 16)
        assert all(type(number) is int for number in steps_of_ratio(whole, 8))
    for bad in (kind("nan"), kind(21), kind(0)):
        with pytest.raises(ConfigError, match=r"^update_ratio: got .*; use a number of gradient steps"):
            steps_of_ratio(bad, 8)
    if kind is not np.float16:
        with pytest.raises(ConfigError, match="the nearest is"):
            steps_of_ratio(kind(0.33337), 8)


def test_a_text_without_end_is_refused_at_once():
    for huge in ("1e999999999", "1e-999999999"):
        with pytest.raises(ConfigError, match=r"^update_ratio: got .*; use a number of gradient steps"):
            steps_of_ratio(huge, 8)


def test_the_ends_are_allowed():
    assert steps_of_ratio(str(LEAST), 1) == (512, 1)
    assert steps_of_ratio(str(MOST), 1) == (1, 20)
