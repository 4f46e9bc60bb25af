"""A policy does the same in Python, as a NumPy file and as an ONNX model."""

import ast
import importlib.util
import subprocess
import sys
from functools import partial
from inspect import unwrap
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
from fresh_process import without_types_checked
from laplace import LaplaceHead
from rollouts import tiny_ppo

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.cli import main
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.export.described import Described
from kousoku.export.numpy_file import numpy_file
from kousoku.export.program import trace
from kousoku.ops.normalisation import RunningMoments
from kousoku.training.evaluation.act import act_greedily
from kousoku.training.evaluation.policy import Policy

VECTOR, MOVES = Box(-2.0, 2.0, (4,)), Box((-1.0, 0.0), (1.0, 3.0), (2,))
TWO_AND_THREE = MultiDiscrete((2, 3))
IMAGE = Box(0, 255, (10, 10, 4), np.uint8)
NAMED = Dict({"a": VECTOR, "b'\n": MultiDiscrete((2, 3)), "c": Dict({"d": Discrete(3)})})

CASES = {
    "categorical": (tiny_ppo(normalise_observations=True), EnvSpec(VECTOR, Discrete(3))),
    "multi_categorical": (tiny_ppo(activation="silu"), EnvSpec(NAMED, MultiDiscrete((2, 3)))),
    "masked": (tiny_ppo(), EnvSpec(Dict({"a": VECTOR, "action_mask": Box(0, 1, (2, 3), np.uint8)}), TWO_AND_THREE)),
    "normal": (tiny_ppo(activation="elu"), EnvSpec(VECTOR, MOVES)),
    "tanh_normal": (tiny_ppo(policy="tanh_normal", activation="gelu", layer_norm=True), EnvSpec(VECTOR, MOVES)),
    "beta": (tiny_ppo(policy="beta", activation="relu"), EnvSpec(VECTOR, MOVES)),
    "laplace": (tiny_ppo(policy=LaplaceHead), EnvSpec(VECTOR, MOVES)),
    "box of numbers": (tiny_ppo(activation="leaky_relu"), EnvSpec(Discrete(7), Box(-1.0, 1.0, (2, 2)))),
    "cnn": (tiny_ppo(), EnvSpec(IMAGE, Discrete(3))),
    "gru": (tiny_ppo(recurrent="gru", recurrent_size=5), EnvSpec(VECTOR, MOVES)),
    "lstm": (tiny_ppo(recurrent="lstm", recurrent_size=5, shared=True), EnvSpec(VECTOR, Discrete(3))),
    "q_learning": (AGENTS.make("q_learning"), EnvSpec(Discrete(50), Discrete(3))),
    "double_q_learning": (AGENTS.make("double_q_learning"), EnvSpec(Discrete(50), Discrete(3))),
    "dqn": (ks.make_agent("dqn", hidden=(8,)), EnvSpec(VECTOR, Discrete(3))),
    "c51": (ks.make_agent("dqn", hidden=(8,), distribution="categorical", dueling=True), EnvSpec(VECTOR, Discrete(3))),
    "quantile": (ks.make_agent("dqn", hidden=(8,), distribution="quantile"), EnvSpec(VECTOR, Discrete(3))),
    "noisy": (ks.make_agent("dqn", hidden=(8,), noisy=True), EnvSpec(VECTOR, Discrete(3))),
    "pqn": (ks.make_agent("pqn", hidden=(8,)), EnvSpec(VECTOR, Discrete(3))),
    "pqn, gru": (ks.make_agent("pqn", hidden=(8,), recurrent="gru", recurrent_size=5), EnvSpec(VECTOR, Discrete(3))),
    "sac": (ks.make_agent("sac", hidden=(8,)), EnvSpec(VECTOR, MOVES)),
    "sac, images": (ks.make_agent("sac", hidden=(8,), actor_body="layer_norm"), EnvSpec(IMAGE, Box(-1.0, 1.0, (2, 2)))),
    "sac, discrete": (ks.make_agent("sac", hidden=(8,)), EnvSpec(VECTOR, Discrete(3))),
    "sac, crossq": (ks.make_agent("sac", hidden=(8,), actor_body="crossq"), EnvSpec(VECTOR, MOVES)),
    "td3, simba": (ks.make_agent("td3", hidden=(8, 8), actor_body="simba"), EnvSpec(NAMED, MOVES)),
    "td3": (ks.make_agent("td3", hidden=(8,)), EnvSpec(NAMED, MOVES)),
    "evolution": (AGENTS.make("ars"), EnvSpec(Discrete(50), Discrete(3))),
    "evolution, hidden": (ks.make_agent("ars", hidden=(8,)), EnvSpec(Discrete(50), MOVES)),
    "bandit": (AGENTS.make("bandit_ucb"), EnvSpec(Discrete(1), Discrete(3))),
}


def learned(leaf):
    """Something else in place of what an untrained agent has, so that every array counts."""
    if not jnp.issubdtype(leaf.dtype, jnp.floating) or leaf.size < 2:
        return leaf
    return leaf + jnp.asarray(0.3 * np.random.default_rng(leaf.size).normal(size=leaf.shape), leaf.dtype)


def observed(state):
    """A state with moments of observations, as after some steps."""
    if not isinstance(getattr(state, "observations", None), RunningMoments):
        return state
    count, start = jnp.array([0, 9], jnp.uint32), jnp.zeros(4)
    moments = RunningMoments(count, start + 0.5, start, jnp.arange(1.0, 5.0), start)
    return eqx.tree_at(lambda s: s.observations, state, moments)


@pytest.fixture(scope="module", params=CASES)
def policy(request):
    agent, spec = CASES[request.param]
    return Policy(agent, observed(jax.tree.map(learned, agent.init(spec, jax.random.key(3)))), spec, request.param)


def observations(policy, count):
    keys = jax.random.split(jax.random.key(1), count)
    return jax.tree.map(np.asarray, jax.vmap(policy.spec.observation_space.sample)(keys))


def imported(path):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(found, wanted):
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    if wanted.dtype.kind == "i":
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, atol=1e-5, rtol=0)


def count_for(policy):
    return 1000 if policy.title == "cnn" else 10_000


@pytest.mark.by_default("gru", "masked")
def test_numpy_file(policy):
    module = imported(policy.save("policy.py"))
    obs = observations(policy, count_for(policy))
    if not policy.recurrent:
        wanted = policy(obs)
        check(module.act(obs), wanted)
        check(np.asarray(module.act(jax.tree.map(lambda x: x[7], obs))), wanted[7])
        if policy.title != "bandit":
            assert len(np.unique(wanted)) > 1
        return
    ours, theirs = policy.initial_carry(10_000), module.initial_carry(10_000)
    for _ in range(3):
        (wanted, ours), (found, theirs) = policy.step(obs, ours), module.step(obs, theirs)
        check(found, wanted)
        for a, b in zip(theirs, ours, strict=True):
            check(a, b)
    one, carry = module.step(obs[7], module.initial_carry())
    check(np.asarray(one), np.asarray(policy.step(obs[7], policy.initial_carry())[0]))
    assert [x.shape for x in carry] == [x.shape for x in module.initial_carry()]


@pytest.mark.by_default("c51", "gru", "masked", "q_learning")
def test_onnx_model(policy):
    session = onnxruntime.InferenceSession(str(policy.save("policy.onnx")))
    obs = observations(policy, count_for(policy))
    parts = {".".join(["obs", *(part.key for part in path)]): x for path, x in jax.tree.leaves_with_path(obs)}
    carry = policy.initial_carry(count_for(policy))
    wanted, after = policy.step(obs, carry)
    found, *left = session.run(None, parts | {f"carry_{i}": x for i, x in enumerate(carry)})
    check(found, wanted)
    for a, b in zip(left, after, strict=True):
        check(a, b)


@pytest.mark.by_default("bandit")
def test_a_policy_does_what_the_agent_does_greedily(policy):
    agent, spec = CASES[policy.title]
    state, key = policy._state, jax.random.key(0)
    one = jax.tree.map(lambda x: jnp.asarray(x[3]), observations(policy, 20))
    found, _ = policy.step(jax.tree.map(np.asarray, one), policy.initial_carry())
    wanted = act_greedily(agent, state, one, agent.initial_carry(state), key, spec.action_space)[0]
    check(np.asarray(found), np.asarray(wanted))
    assert spec.action_space.contains(found)


@pytest.mark.parametrize("kind", ["python", "file"])
def test_what_is_no_observation_is_refused(kind):
    table, vector = made("q_learning"), made("categorical")
    use = (lambda p, name: p) if kind == "python" else (lambda p, name: imported(p.save(name)).act)
    error = ConfigError if kind == "python" else ValueError
    by_index, by_vector = use(table, "table.py"), use(vector, "vector.py")
    for bad in (50, -1, [0, 50], 1.5, "word", [[0]], None):
        with pytest.raises(error, match="observation: got"):
            by_index(bad)
    for bad in ([1, 2, 3], np.zeros((2, 3)), np.zeros((2, 2, 4)), [[1, 2], [3]], {"a": 1}, 0.5, ["a"] * 4):
        with pytest.raises(error, match="observation: got"):
            by_vector(bad)
    with pytest.raises(error, match=r"got \(3,\); use an array of shape \(4,\), or a batch"):
        by_vector([1, 2, 3])
    one, batch = np.arange(4.0), np.arange(12, dtype=np.float16).reshape(3, 4)
    one[1] = batch[2, 3] = np.nan
    for bad, told in ((one, r"\[1\]"), (one.tolist(), r"\[1\]"), (batch, r"\[2, 3\]"), ([np.nan] * 4, r"\[0\]")):
        with pytest.raises(error, match=f"^observation{told}: got nan; use a number: for NaN there is no action$"):
            by_vector(bad)
    assert by_vector([1, 2, np.inf, -np.inf]).shape == ()  # a Box without bounds has them
    assert by_vector([1, 2, 3, 4]).shape == ()
    assert by_vector(np.zeros((0, 4))).shape == (0,)


@pytest.mark.parametrize("kind", ["python", "file"])
@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("categorical", {"way": 1, "view": [0.0] * 4, "mission": "go"}, "'way', 'view', 'mission'~give obs['view']"),
        ("categorical", {"view": np.zeros((3, 4)), "way": [1, 2]}, "'view', 'way'~give obs['view']"),
        ("categorical", {"a": [0.0] * 4, "b": [1] * 4}, "'a', 'b'~give obs['a'] or obs['b']"),
        ("categorical", {"way": 1, "word": "abcd", "rows": [[1], [1, 2]]}, "'way', 'word'~use an array of shape (4,)"),
        ("categorical", {"view": {"view": [0.0] * 4}}, "'view'~use an array of shape (4,)"),
        ("categorical", {}, "nothing~use an array of shape (4,)"),
        ("categorical", None, "None~use an array of shape (4,), or a batch"),
        ("categorical", "word", "word~use an array of shape (4,), or a batch"),
        ("q_learning", {"word": "go", "place": 3}, "'word', 'place'~give obs['place']"),
        ("q_learning", None, "None~use int32"),
        ("q_learning", "go", "go~use int32"),
    ],
    ids=repr,
)
def test_a_dict_for_an_array_is_told_by_its_names_and_nothing_for_one_as_it_is(kind, name, given, told, tmp_path):
    policy = made(name)
    act = policy if kind == "python" else imported(policy.save(tmp_path / "policy.py")).act
    got, fix = told.split("~")
    with pytest.raises(ValueError, match=r"^observation: got ") as caught:
        act(given)
    first, _, rest = str(caught.value).removeprefix("observation: got ").partition("; ")
    assert got in first
    assert rest.startswith(fix)


class Column:
    """A column of a table with keys, as pandas has them: it is an array, and going over it gives numbers."""

    def __init__(self, numbers):
        self.numbers = numbers

    def keys(self):
        return range(len(self.numbers))

    def __iter__(self):
        return iter(self.numbers)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numbers, dtype)


@pytest.mark.parametrize("kind", ["python", "file"])
def test_a_table_with_names_is_an_array(kind, tmp_path):
    policy = made("categorical")
    act = policy if kind == "python" else imported(policy.save(tmp_path / "policy.py")).act
    numbers = [0.1, -0.2, 0.3, 0.4]
    assert np.asarray(act(Column(numbers))) == np.asarray(act(numbers))
    assert np.array_equal(act(Column([numbers, numbers[::-1]])), act([numbers, numbers[::-1]]))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.zeros(2), "observation: got 'ndarray'; give a part 'in'"),
        (None, "observation: got 'NoneType'; give a part 'in'"),
        ("pos", "observation: got 'str'; give a part 'in'"),
        (([0.0], 1), "observation: got 'tuple'; give a part 'in'"),
        ({"pos": [0.0]}, "observation: got \"a dict with 'pos'\"; give a part 'in'"),
        ({"pos": [0.0], "in": 1}, "observation['in']: got 'int'; give a part 'which'"),
        (
            {"pos": {"x": [0.0]}, "in": {"which": 1}},
            "observation['pos']: got \"a dict with 'x'\"; give obs['pos']['x']",
        ),
        (
            {"pos": [[1], [1, 2]], "in": {"which": 1}},
            "observation['pos']: got 'rows of different lengths'; use an array",
        ),
    ],
    ids=str,
)
def test_something_else_for_a_dict_is_told_where_it_is(given, told):
    spaces = {"pos": ks.Box(-1.0, 1.0, (1,)), "in": ks.Dict({"which": ks.Discrete(3)})}
    agent, spec = ks.make_agent("ppo", hidden=(8,), init="lecun_normal"), ks.EnvSpec(ks.Dict(spaces), ks.Discrete(2))
    policy = Policy(agent, agent.init(spec, jax.random.key(0)), spec)
    with pytest.raises(ConfigError) as caught:
        policy(given)
    assert str(caught.value).startswith(told)


def made(name, title=""):
    agent, spec = CASES[name]
    return Policy(agent, agent.init(spec, jax.random.key(0)), spec, title)


def test_a_recurrent_policy_is_used_by_steps_and_forgets_what_no_action_needs():
    policy = made("gru")
    assert [x.shape for x in policy.initial_carry()] == [(5,)]  # not the critic's
    with pytest.raises(ConfigError, match="it remembers"):
        policy(np.zeros(4))
    with pytest.raises(ConfigError, match="initial_carry"):
        policy.step(np.zeros((2, 4)), policy.initial_carry(3))
    with pytest.raises(ConfigError, match="initial_carry"):
        policy.step(np.zeros(4), ())


X = np.linspace(-2.0, 2.0, 24, dtype=np.float32).reshape(2, 3, 4)
WHOLE = (np.arange(24, dtype=np.int32).reshape(2, 3, 4) - 12) * np.int32(7)
OPERATIONS = {
    "elementary": lambda x: jnp.stack([jnp.sin(x), jnp.expm1(x), jnp.log1p(x * x), jnp.arctan(x), jnp.cosh(x)]),
    "roots": lambda x: jnp.stack([jax.lax.rsqrt(x * x + 1), x**3, (x + 3) ** -2, jnp.cbrt(x), jax.lax.exp2(x)]),
    "erf": lambda x: jnp.stack([jax.lax.erf(x), jax.lax.erfc(x), jax.nn.gelu(x, approximate=False)]),
    "rounding": lambda x: jnp.stack([jnp.round(x), jax.lax.round(x * 1.5), jnp.floor(x), jnp.ceil(x), jnp.sign(x)]),
    "order": lambda x: jnp.sort(x, axis=0) + jnp.flip(x, 1) + jnp.cumsum(x, 0),
    "from the end": lambda x: jax.lax.cumsum(x, 0, reverse=True) + jax.lax.cumsum(x, 1, reverse=True),
    "remainders": lambda x: jax.lax.rem(x * 3.0, jnp.full_like(x, 0.75)) + jax.lax.rem(x, jnp.full_like(x, -0.4)),
    "near zero": lambda x: 1e9 * jnp.stack([jnp.log1p(x * 1e-9), jnp.expm1(x * 1e-9), jnp.log1p(x * 0.0)]),
    "softmax": lambda x: jax.nn.softmax(x, axis=-1) + jax.nn.log_softmax(x, axis=0),
    "products": lambda x: jnp.einsum("ij,kj->ik", x, x) + x @ x.T + jnp.tensordot(x, x, ([1], [1])),
    "transposed product": lambda x: jax.lax.dot_general(x, jnp.arange(8.0).reshape(2, 4), (((1,), (1,)), ((), ()))),
    "logic": lambda x: ((x > 0) & ~(x < 1) | jnp.isnan(x)).astype(jnp.float32) + jnp.where(jnp.isfinite(x), x, 0.0),
    "reductions": lambda x: jnp.prod(x, 0) * jnp.any(x > 0) - jnp.all(x > 0) + jnp.min(x) + jnp.argmin(x, 0),
    "indexing": lambda x: x[jnp.array([2, 0])] + x[jnp.argmax(x[:, 0]), 1:3].sum() + x.at[...].get()[1:, ::-1],
    "taking along": lambda x: jnp.take_along_axis(x, jnp.argsort(np.arange(3))[:, None], 1) + x[-1][jnp.argmax(x[0])],
    "padding": lambda x: jnp.pad(x, ((1, 2), (0, 1)), constant_values=3.0),
    "scan": lambda x: jax.lax.scan(lambda c, row: (jnp.tanh(c + row), c), x[0], x, reverse=True)[1],
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * 0.5 + x[i], x),
    "convolution": lambda x: jax.lax.conv_general_dilated(
        x[None, :, :, None], jnp.arange(8.0).reshape(2, 2, 1, 2), (1, 2), ((1, 0), (0, 1)), rhs_dilation=(1, 2),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    ),
    "grouped convolution": lambda x: jax.lax.conv_general_dilated(
        x.T[None], jnp.arange(8.0).reshape(4, 1, 2), (1,), "SAME", feature_group_count=4
    ),
}  # fmt: skip


@pytest.fixture
def lenient():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kind", ["numpy", "onnx"])
def test_operations_of_a_network_of_ones_own(name, kind, lenient, tmp_path):
    function = OPERATIONS[name]
    wanted = np.asarray(jax.jit(jax.vmap(function))(X))
    program = trace(lambda x: (function(x),), [jax.ShapeDtypeStruct((3, 4), np.float32)])
    described = Described(name, program, (((), (3, 4), "float32", None, None),), ())
    if kind == "numpy":
        (tmp_path / "f.py").write_text(numpy_file(described))
        found = imported(tmp_path / "f.py").act(X)
    else:
        from kousoku.export.onnx_file import onnx_file

        if name in ("roots", "order"):
            with pytest.raises(ConfigError, match="the ONNX export has no rule"):
                onnx_file(described)
            return
        (found,) = onnxruntime.InferenceSession(onnx_file(described)).run(None, {"obs": X})
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)


def of_whole_numbers(i):
    five = jnp.full_like(i, 5)
    return jnp.stack([i // 5, i % 5, jax.lax.rem(i, five), i << 2, i & 6, i ^ 3, ~i, i * i * i * i * i * i, -i])


@pytest.mark.by_default("onnx-uint32")
@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize("kind", ["numpy", "onnx"])
def test_whole_numbers_wrap_around_as_they_do_in_jax(kind, dtype, lenient, tmp_path):
    x = (
        WHOLE.astype(dtype) if dtype == "int32" else (WHOLE.astype(np.int64) % (2**31 - 1)).astype(dtype)
    )  # as spaces go
    wanted = np.asarray(jax.vmap(of_whole_numbers)(x))
    program = trace(lambda x: (of_whole_numbers(x),), [jax.ShapeDtypeStruct((3, 4), dtype)])
    described = Described("whole", program, (((), (3, 4), dtype, -(2**31), 2**32),), ())
    if kind == "numpy":
        (tmp_path / "f.py").write_text(numpy_file(described))
        found = imported(tmp_path / "f.py").act(x)
    else:
        from kousoku.export.onnx_file import onnx_file

        (found,) = onnxruntime.InferenceSession(onnx_file(described)).run(None, {"obs": x})
    np.testing.assert_array_equal(found, wanted)


def test_without_onnx_one_line_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnx"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ConfigError, match=r"onnx: got nothing; install it: pip install 'kousoku\[onnx\]'"):
        made("q_learning").save("policy.onnx")


def test_an_operation_without_a_rule_is_named():
    program = trace(lambda x: (jax.lax.lgamma(x),), [jax.ShapeDtypeStruct((2,), np.float32)])
    with pytest.raises(ConfigError, match="export: got 'lgamma'; the NumPy export has no rule"):
        numpy_file(Described("", program, (((), (2,), "float32", None, None),), ()))


HOSTILE = 'CartPole"""\n\'\'\'\nimport os; os.system("touch owned")  # \\\N{LINE SEPARATOR}x'


def test_names_are_never_code(tmp_path):
    space = Dict({HOSTILE: VECTOR})
    agent = tiny_ppo()
    spec = EnvSpec(space, Discrete(2))
    policy = Policy(agent, agent.init(spec, jax.random.key(0)), spec, HOSTILE)
    path = policy.save("policy.py")
    names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
    assert "os" not in names
    module = imported(path)
    assert module.TITLE == HOSTILE
    assert module.act({HOSTILE: np.zeros(4)}) == policy({HOSTILE: np.zeros(4)})
    assert not (tmp_path / "owned").exists()


WHOLE_KEYS = """
import json, runpy
import jax, numpy as np, onnxruntime, kousoku as ks
spec = ks.EnvSpec(ks.Dict({{2: ks.Box(-1, 1, (4,)), 1: ks.Discrete(3)}}), ks.Discrete(3))
agent = ks.make_agent("ppo", hidden=(8,), init="lecun_normal")
policy = ks.Policy(agent, agent.init(spec, jax.random.key(0)), spec)
obs = {{2: np.linspace(-9, 9, 20, dtype=np.float32).reshape(5, 4), 1: np.arange(5, dtype=np.int32) % 3}}
session = onnxruntime.InferenceSession(str(policy.save({folder!r} + "/policy.onnx")))
found = session.run(None, {{f"obs.{{name}}": x for name, x in obs.items()}})
act = runpy.run_path(str(policy.save({folder!r} + "/policy.py")))["act"]
print(json.dumps([act(obs).tolist(), found[0].tolist()]))
"""


def test_parts_may_have_whole_numbers_for_keys(tmp_path):
    """In a process of its own: types are checked here, and those of names are texts."""
    by_numpy, by_onnx = without_types_checked(WHOLE_KEYS.format(folder=str(tmp_path)))
    assert by_numpy == by_onnx


@pytest.mark.parametrize(
    ("name", "fix"),
    [("nowhere/policy.py", "make it first"), ("folder.py", "that is a folder"), ("policy.txt", "ends in .py or .onnx")],
)
def test_a_policy_is_saved_where_a_file_can_be(name, fix):
    Path("folder.py").mkdir()
    with pytest.raises(ConfigError, match=f"^path: got '{name}'; .*{fix}"):
        made("q_learning").save(name)


def test_what_a_file_held_stays_where_the_new_one_cannot_be_written(tmp_path, monkeypatch):
    """As on a disk that is full."""
    before = made("q_learning").save("policy.py").read_bytes()

    def full(self, data):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        made("q_learning").save("policy.py")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [before]


def test_the_file_needs_only_numpy(tmp_path):
    made("cnn").save(tmp_path / "policy.py")
    script = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import numpy as np
before = set(sys.modules)
import policy
policy.act(np.zeros((10, 10, 4), np.uint8))
print(*(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert {name.split(".")[0] for name in done.stdout.split()} <= {"policy", "base64", "binascii", "numpy"}


def test_policies_are_equal_where_they_learned_the_same():
    run = ks.train(
        tiny_ppo(num_steps=16), "CartPole-v1", steps=512, seeds=2, out="run", progress=False, eval_episodes=2
    )
    one, other = (ks.load_policy("run", member) for member in (0, 1))
    assert [run.policy(member) for member in (0, 1)] == [one, other]
    assert one != other
    assert {one: "one", other: "other"}[run.policy(1)] == "other"


@pytest.mark.full("whole way")
def test_from_training_to_a_file(capsys):
    run = ks.train(tiny_ppo(num_steps=16), "CartPole-v1", steps=2048, seeds=2, out="run", progress=False)
    policy = ks.load_policy("run")
    assert repr(policy) == f"<Policy: ppo on CartPole-v1, agent {run.record.best_member}>"
    obs = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    wanted = policy(obs)
    assert len(np.unique(wanted)) == 2
    np.testing.assert_array_equal(ks.load_policy(run)(obs), wanted)
    assert main(["export", "run", "--out", "agent.py"]) == 0
    assert "agent.py" in capsys.readouterr().out
    np.testing.assert_array_equal(imported("agent.py").act(obs), wanted)
    other = 1 - run.record.best_member
    assert (ks.load_policy("run", member=other)(obs) != wanted).any()
    assert main(["export", "run"]) == 0
    before = Path("policy.py").read_bytes()
    assert main(["export", "run", "--member", "1"]) == 2
    assert "--out: got 'policy.py'; the file is there already" in capsys.readouterr().err
    assert Path("policy.py").read_bytes() == before
    assert main(["export", "run", "--out", "agent.txt"]) == 2
    with pytest.raises(ConfigError, match="member"):
        ks.load_policy("run", member=2)


def test_a_wrong_carry_count_or_part_is_named_in_python_and_in_the_file(tmp_path):
    agent = ks.make_agent("ppo", hidden=(8,), recurrent="gru", recurrent_size=8)
    spec = ks.EnvSpec(ks.Dict({"pos": ks.Box(-1.0, 1.0, (1,)), "which": ks.Discrete(3)}), ks.Discrete(2))
    policy = Policy(agent, agent.init(spec, jax.random.key(0)), spec)
    module = imported(policy.save(tmp_path / "policy.py"))
    obs = {"pos": [0.0], "which": 1}
    for step, initial_carry, error in (
        (partial(unwrap(Policy.step), policy), partial(unwrap(Policy.initial_carry), policy), ConfigError),
        (module.step, module.initial_carry, ValueError),
    ):
        for carry in (None, 3, (["a"] * 8,), initial_carry(2), ()):
            with pytest.raises(error, match=r"^carry: got "):
                step(obs, carry)
        for count in (-1, 1.5, "3", True):
            with pytest.raises(error, match=r"^count: got .*; use a whole number of at least 0"):
                initial_carry(count)
        with pytest.raises(error, match=r"^observation\['which'\]: got '?3'?; use whole numbers from 0 to 2"):
            step({"pos": [0.0], "which": 3}, initial_carry())
        with pytest.raises(error, match=r"^observation\['pos'\]: got \(2,\); use an array of shape \(1,\)"):
            step({"pos": [0.0, 0.0], "which": 1}, initial_carry())
        with pytest.raises(error, match=r"^observation\['pos'\]\[0\]: got nan; use a number: "):
            step({"pos": [np.nan], "which": 1}, initial_carry())
        assert step(obs, initial_carry())[0] in (0, 1)
        assert len(initial_carry(0)[0]) == 0
