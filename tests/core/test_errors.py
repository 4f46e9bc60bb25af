"""Messages for wrong input: one line that names the field, the value and what would do."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import in_a_new_process, without_types_checked

from kousoku.core.errors import (
    ConfigError,
    EnvError,
    check_all,
    check_choice,
    check_count,
    check_flag,
    check_keys,
    check_number,
    check_size,
    check_takes,
    nearest,
    shorten,
)
from kousoku.envs.contract import ContractError


def refusal(check, *arguments, **options) -> str:
    with pytest.raises(ConfigError) as caught:
        check("field", *arguments, **options)
    message = str(caught.value)
    assert message.startswith("field")
    assert "\n" not in message
    assert len(message) < 200
    return message


def test_a_message_names_field_value_and_fix():
    error = ConfigError("slip", 1.5, "use a number in [0, 1]")
    assert str(error) == "slip: got 1.5; use a number in [0, 1]"
    assert (error.field, error.given, error.fix) == ("slip", 1.5, "use a number in [0, 1]")
    assert isinstance(error, ValueError)


def test_a_notebook_shows_the_line_that_called_and_the_message(tmp_path):
    """In a process of its own: here, types are checked by frames that stand before the library's."""
    script = """
import json
from kousoku.core.errors import ConfigError, check_keys
def called():
    check_keys("option", ["slipp"], ["slip"])
try:
    called()
except ConfigError as error:
    print(json.dumps(error._render_traceback_()))
"""
    path = tmp_path / "script.py"
    path.write_text(script, encoding="utf-8")
    assert in_a_new_process(f"import runpy; runpy.run_path({str(path)!r})") == [
        'line 5: check_keys("option", ["slipp"], ["slip"])',
        "ConfigError: option: got 'slipp'; did you mean 'slip'?",
    ]
    assert ConfigError("slip", 1.5, "use less")._render_traceback_() == ["ConfigError: slip: got 1.5; use less"]


NOTEBOOK = """
import json
import kousoku as ks
from kousoku.collectors.host_slots import Telling
from kousoku.core.errors import EnvError, check_takes
from kousoku.envs.contract import ContractError
def step():
    json.loads("{")
def named(name):
    with Telling(name):
        step()
shown = []
for call in (lambda: named("Counter"), lambda: ks.check_env(3), lambda: check_takes("policy", step, ("obs",))):
    try:
        call()
    except (ks.ConfigError, ContractError, EnvError) as error:
        shown.append(error._render_traceback_())
print(json.dumps(shown))
"""


def test_a_notebook_shows_none_of_the_librarys_lines_and_all_of_ones_own_that_raised(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(NOTEBOOK, encoding="utf-8")
    calls = next(line for line in NOTEBOOK.splitlines() if line.startswith("for call"))
    failed, broken, refused = without_types_checked(f"import runpy; runpy.run_path({str(path)!r})")
    assert failed == [
        "line 10: with Telling(name):",
        "script.py, line 11: step()",
        'script.py, line 8: json.loads("{")',
        "EnvError: environment Counter raised JSONDecodeError: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
    ]
    assert broken == [f"line 13: {calls}", "ContractError: an environment must be a kousoku.Env, got int: subclass it"]
    assert refused == [f"line 13: {calls}", "ConfigError: policy: got 'step()'; use a function of (obs)"]


@pytest.mark.parametrize("kind", [EnvError, ContractError])
def test_an_error_without_a_cause_is_shown_by_its_message(kind):
    assert kind("it broke:\n  - twice")._render_traceback_() == [f"{kind.__name__}: it broke:\n  - twice"]
    assert isinstance(kind("x"), {EnvError: RuntimeError, ContractError: AssertionError}[kind])


def test_a_long_value_of_many_lines_is_cut_to_one_short_line():
    assert str(ConfigError("map", np.zeros((50, 50)), "fix")).count("\n") == 0
    assert len(shorten("x" * 1000)) == 60
    assert shorten("x" * 1000).endswith("...")
    assert shorten("short") == "'short'"
    assert shorten(10**5000) == "a number of thousands of digits"
    assert shorten((10**5000,)) == "tuple"


@pytest.mark.parametrize(
    "value", [0, 1, 0.5, np.float32(0.25), np.int64(1), Fraction(1, 3), jnp.float32(0.25), jnp.int32(1), np.array(0.5)]
)
def test_numbers_inside_an_interval_pass_also_in_arrays(value):
    check_number("field", value, low=0, high=1)


@pytest.mark.parametrize(
    "value",
    [np.array(-1.0), jnp.float32(7.0), jnp.float32(np.nan), jnp.int32(2), np.array("a"), jnp.complex64(1), 1j,
     np.array(True), np.array(None), np.datetime64("2020"), jax.random.key(0), 10**5000],
    ids=shorten,
)  # fmt: skip
def test_what_an_array_holds_is_checked(value):
    assert refusal(check_number, value, low=0, high=1).endswith("; use a number in [0, 1]")


@pytest.mark.parametrize("value", [np.ones(3), jnp.ones(1), np.zeros((2, 2)), jnp.ones(0)])
def test_an_array_of_several_numbers_is_no_number(value):
    assert refusal(check_number, value, low=0, high=1).endswith("; use one number in [0, 1]")


@pytest.mark.parametrize(
    ("value", "bounds", "fix"),
    [
        (math.inf, {"low": 0, "open_low": True, "open_high": True}, "use a finite number above 0"),
        (math.inf, {"low": 1, "open_high": True}, "use a finite number of at least 1"),
        (-math.inf, {"low": 1, "open_high": True}, "use a number of at least 1"),
        (math.inf, {"open_low": True, "open_high": True}, "use a number that is finite"),
        (math.inf, {"low": 0, "high": 1}, "use a number in [0, 1]"),
    ],
)
def test_infinity_is_told_that_it_may_not_be(value, bounds, fix):
    assert refusal(check_number, value, **bounds) == f"field: got {value}; {fix}"


def test_tracers_pass():
    jax.jit(lambda x: [check_number("field", x, low=0, high=1), x][1])(2.0)
    jax.vmap(lambda x: [check_number("field", x, low=0, high=1), x][1])(jnp.full(3, 2.0))
    check_number("field", jax.ShapeDtypeStruct((), jnp.float32), low=0, high=1)


@pytest.mark.parametrize("value", [10**400, -(10**309)])
def test_a_number_that_no_float_holds_is_as_infinity(value):
    check_number("field", value)
    assert refusal(check_number, value, open_low=True, open_high=True).endswith("use a number that is finite")
    assert "in [0, 10)" in refusal(check_number, value, low=0, high=10, open_high=True)
    if value > 0:
        check_number("field", value, low=0, open_low=True)


@pytest.mark.parametrize(
    "value", [-1e-9, 1.0001, math.nan, math.inf, -math.inf, True, None, "0.5", b"1", [0.5], 10**400, 1j, print]
)
def test_what_is_no_number_in_an_interval_is_refused(value):
    assert refusal(check_number, value, low=0, high=1).endswith("use a number in [0, 1]")


def test_open_ends_and_infinite_ends():
    assert "in (0, 1)" in refusal(check_number, 0, low=0, high=1, open_low=True, open_high=True)
    assert "in (0, 1)" in refusal(check_number, 1, low=0, high=1, open_low=True, open_high=True)
    assert "above 0" in refusal(check_number, 0, low=0, open_low=True)
    for tiny in (1e-60, 1e-46, np.float64(1e-300)):
        assert refusal(check_number, tiny, low=0, open_low=True).endswith("use a number above 0 that it keeps")
    for near in (1.0 - 1e-12, 0.999999999):
        assert "float32 rounds it to an end" in refusal(check_number, near, low=0, high=1, open_high=True)
    check_number("field", 1e-40, low=0, open_low=True)
    check_number("field", 1e-60, low=0)
    check_number("field", 1.0 - 1e-12, low=0, high=1)
    check_number("field", 0.9999999, low=0, high=1, open_high=True)
    check_number("field", 1e300, low=0, open_low=True)
    check_number("field", 3.4e38, low=0, open_high=True)
    for bounds in ({"low": 0, "open_high": True}, {"open_low": True, "open_high": True}):
        assert "rounds it to infinity; its largest" in refusal(check_number, 3.5e38, **bounds)
    assert "of at least 2" in refusal(check_number, 1, low=2)
    assert "in (-inf, 3]" in refusal(check_number, 4, high=3)
    assert "in (-inf, 3]" in refusal(check_number, -math.inf, high=3)
    assert "not NaN" in refusal(check_number, math.nan)
    for value in (math.inf, -math.inf, 10**400):
        check_number("field", value)
    check_number("field", math.inf, low=0)


@pytest.mark.parametrize(("value", "count"), [(1, 1), (5.0, 5), (np.int32(7), 7), (Fraction(4, 2), 2)])
def test_whole_numbers_become_ints(value, count):
    given = check_count("field", value)
    assert given == count
    assert type(given) is int


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, -math.inf, True, None, "3", [3]])
def test_what_is_no_count_is_refused(value):
    assert refusal(check_count, value).endswith("use a whole number of at least 1")


@pytest.mark.parametrize("value", [jnp.int32(3), np.array(3), np.array(3.0)])
def test_a_whole_number_in_an_array_is_to_be_written_as_an_int(value):
    assert refusal(check_count, value).endswith("it is an array; write int(...), a whole number of at least 1")


def test_a_number_that_is_traced_is_to_be_static():
    said = []
    jax.eval_shape(lambda x: said.append(refusal(check_count, x)), jnp.float32(3))
    told = "it is not known before the program runs: make a field that holds it eqx.field(static=True), and use"
    assert said[0].endswith(f"; {told} a whole number of at least 1")


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf])
def test_what_is_no_number_in_an_array_is_not_to_be_written_as_an_int(value):
    assert refusal(check_count, jnp.float32(value)).endswith("; use a whole number of at least 1")


@pytest.mark.parametrize("value", [(), None, 3])
def test_what_cannot_be_called_is_no_function(value):
    assert refusal(check_takes, value, ("a", "b"), ("c",)) == f"field: got {value!r}; use a function of (a, b, *, c)"


def test_a_count_has_an_upper_end_if_asked():
    assert check_count("field", 10**400) == 10**400
    assert refusal(check_count, 10**400, low=0, high=9).endswith("use a whole number of at least 0 and at most 9")


@pytest.mark.parametrize("value", [2**31, np.int64(2**31), 2**63, 1e300, 10**400, 10**5000], ids=shorten)
def test_a_size_is_one_that_int32_holds(value):
    assert check_size("field", 2**31 - 1) == 2**31 - 1
    assert refusal(check_size, value).endswith("; use a whole number of at most 2147483647")
    assert refusal(check_size, value, high=9).endswith("; use a whole number of at least 1 and at most 9")


@pytest.mark.parametrize("value", [0, 1, "no", "", None, np.bool_(True)])
def test_a_flag_is_a_bool(value):
    assert check_flag("field", False) is False
    assert refusal(check_flag, value).endswith("use True or False")


def test_a_choice_is_suggested():
    check_choice("field", "index", ["index", "window"])
    assert "did you mean 'window'? use one of 'index', 'window'" in refusal(
        check_choice, "Windoww", ["index", "window"]
    )
    assert "; use one of 'index', 'window'" in refusal(check_choice, "zzz", ["index", "window"])
    for other in (None, 3, ["index"], np.zeros(2), jnp.zeros(2)):
        assert "; use one of 'index', 'window'" in refusal(check_choice, other, ["index", "window"])


def test_the_first_unknown_key_is_named():
    check_keys("field", ["slip"], ["slip", "wind"])
    assert refusal(check_keys, ["slip", "winds", "x"], ["slip", "wind"]) == "field: got 'winds'; did you mean 'wind'?"
    assert refusal(check_keys, ["zzz"], ["slip", "wind"]) == "field: got 'zzz'; known: slip, wind"
    assert refusal(check_keys, ["zzz"], []) == "field: got 'zzz'; known: none"


def test_the_position_in_a_list_is_named():
    assert refusal(check_all, [1, 2, -1], check_count).startswith("field[2]: got -1; ")


def test_a_name_is_near_a_part_of_it():
    known = ["bandit_ucb", "ppo", "sep_cma_es", "bandit_thompson"]
    assert nearest("ucb", known) == ["bandit_ucb"]
    assert nearest("UCB", known) == ["bandit_ucb"]
    assert nearest("bandit", known) == ["bandit_ucb", "bandit_thompson"]
    assert nearest("ppoo", known) == ["ppo"]
    assert nearest("ucb", ["succubus_demon"]) == []


def test_nearest_names_come_best_first_whatever_their_case():
    known = ["CliffWalking-v1", "CliffGridWorld-v0", "GridWorld-v0"]
    assert nearest("gridworld-V0", known)[0] == "GridWorld-v0"
    assert nearest("cliffwalking", known)[0] == "CliffWalking-v1"
    assert nearest("?", known) == []
