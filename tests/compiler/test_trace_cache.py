"""Functions that an earlier process has traced: not traced again, unless something they depend on is another.

Each script runs in a process of its own, where no types are checked: the checker's own functions would be inside all
of the library's, and of functions that are not the library's nothing is kept.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fast_compile import fast_compile_flags
from forked import in_a_forked_process

SETUP = """
import json
import jax, jax.numpy as jnp, numpy as np
import kousoku as ks
from kousoku.compiler.tracing import trace

trace.__dict__["WORTH_SECONDS"] = 0.0
traces, make = [], jax.make_jaxpr
def counting(f, *args, **kwargs):
    traces.append(f)
    return make(f, *args, **kwargs)
jax.make_jaxpr = counting

def stepped(env, lanes=16):
    \"\"\"What a step leads to, by a kernel that nobody has called yet; and how often something was traced for it.\"\"\"
    keys = jax.random.split(jax.random.key(0), lanes)
    state, first = jax.vmap(env.reset)(keys)
    action = jnp.zeros(lanes, jnp.int32)
    del traces[:]
    return jax.vmap(ks.kernel(env.step))(keys, state, action), len(traces)

def words(tree):
    return [np.asarray(leaf).tobytes().hex() for leaf in jax.tree.leaves(tree)]

env = ks.make("CartPole-v1")
"""
STEP = """
found, count = stepped(env)
print(json.dumps([words(found), count, str(jax.tree.structure(found))]))
"""


@dataclass
class Processes:
    """Processes that share a cache."""

    folder: Path

    def run(self, script: str, *, new: bool = False, **variables: str) -> Any:
        """What a script prints as JSON, after the set-up; new: in a process that is not forked as the others are."""
        chosen = {
            **os.environ,
            "KOUSOKU_COMPILATION_CACHE": str(self.folder),
            "XLA_FLAGS": fast_compile_flags(),
            **variables,
        }
        return in_a_forked_process(SETUP + script, chosen, new=new)

    @property
    def records(self) -> list[Path]:
        """What was kept of functions."""
        return list((self.folder / "traces").glob("*"))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A process that has stepped CartPole, and what it said."""
    made = Processes(tmp_path_factory.mktemp("first"))
    return made, made.run(STEP)


@pytest.fixture
def after(first, tmp_path):
    """Processes that find what the first one kept."""
    return Processes(Path(shutil.copytree(first[0].folder, tmp_path / "cache")))


@pytest.mark.full("processes")
def test_the_second_process_traces_nothing(first, after):
    """And gets the same bits, in the same tree."""
    (_, (bits, count, tree)), (again, none, same) = first, after.run(STEP, new=True)
    assert count > 0
    assert none == 0
    assert (again, same) == (bits, tree)
    assert len(after.records) == 1


@pytest.mark.full("processes")
def test_its_operations_are_there_when_they_are_asked_for(after):
    """Derivatives, another number of lanes, and code that is gone: each as if it had been traced."""
    script = """
found, none = stepped(env)
assert none == 0
more, count = stepped(env, 3)  # which makes another gang on every processor
assert count > 0
keys = jax.random.split(jax.random.key(0), 16)
state, _ = jax.vmap(env.reset)(keys)
action = jnp.zeros(16, jnp.int32)
plain = jax.vmap(env.step)(keys, state, action)
for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True):
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)

def seen(step, start):
    _, timestep = jax.vmap(step)(keys, start, action)
    return sum(jnp.sum(part) for part in jax.tree.leaves(timestep.obs))

ours, theirs = (jax.grad(lambda s: seen(f, s), allow_int=True)(state) for f in (ks.kernel(env.step), env.step))
slopes = [(a, b) for a, b in zip(*map(jax.tree.leaves, (ours, theirs))) if b.dtype == np.float32]
assert any(np.abs(b).sum() > 0 for _, b in slopes)
for a, b in slopes:
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
print(json.dumps("right"))
"""
    assert after.run(script) == "right"
    for file in (after.folder / "kernels").glob("*"):
        file.unlink()
    assert after.run(STEP)[1] > 0


@pytest.mark.full("processes")
def test_what_it_depends_on_is_part_of_what_it_is(after):
    """Numbers of the environment, JAX's settings, a class of the user's: none may be taken for another."""
    counts = after.run("""
import dataclasses
counts = {"the same": stepped(env)[1]}
with jax.numpy_dtype_promotion("strict"):
    counts["settings"] = stepped(env)[1]
with jax.enable_x64(True):
    counts["x64"] = stepped(env)[1]
counts["time limit"] = stepped(dataclasses.replace(env, time_limit=7))[1]

class Mine(type(env)):
    def step(self, key, state, action):
        state, timestep = super().step(key, state, action)
        return state, dataclasses.replace(timestep, reward=timestep.reward + 1.0)

mine = Mine(**{f.name: getattr(env, f.name) for f in dataclasses.fields(env) if f.init})
found, counts["a class of the user's"] = stepped(mine)
assert float(found[1].reward[0]) == 2.0
counts["the same at last"] = stepped(env)[1]
print(json.dumps(counts))
""")
    assert {name for name, count in counts.items() if count == 0} == {"the same", "the same at last"}


@pytest.mark.full("processes")
def test_what_somebody_puts_into_the_library_is_seen(after):
    """A method, by a function that pretends to be the one that it wraps; a constant of a module."""
    (file,) = after.records
    before = file.read_bytes()
    script = """
import dataclasses, functools
original = type(env).step

@functools.wraps(original)
def step(self, key, state, action):
    state, timestep = original(self, key, state, action)
    return state, dataclasses.replace(timestep, reward=timestep.reward + 4.0)

type(env).step = step
patched, first = stepped(env)
type(env).step = original
_, second = stepped(env)
from kousoku.envs import fields
fields.LARGEST = 2e6
_, third = stepped(env)
fields.LARGEST = 1e6
_, fourth = stepped(env)
for mine in (functools.partial(step), [step], {"step": step}, type("Mine", (), {}), jax.jit(step)):
    fields.MINE = mine
    assert stepped(env)[1] > 0, mine
del fields.MINE
print(json.dumps([first, float(patched[1].reward[0]), second, third, fourth]))
"""
    first, reward, second, third, fourth = after.run(script)
    assert first > 0
    assert reward == 5.0
    assert second == 0
    assert third > 0
    assert fourth > 0, "the last one kept was that with another constant"
    assert after.run(STEP, new=True)[1] == 0
    assert file.read_bytes() == before


@pytest.mark.full("processes")
def test_a_damaged_record_is_made_anew(first, after):
    (file,) = after.records
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    bits, count, _ = after.run(STEP)
    assert count > 0
    assert bits == first[1][0]
    assert after.run(STEP)[1] == 0


@pytest.mark.full("processes")
def test_nothing_that_training_imports_keeps_traces_from_being_kept(tmp_path):
    """Every name in every module of the library is its own or of a known dependency: one other ends it."""
    script = """
import importlib, pkgutil
from kousoku.compiler.tracing.fingerprint import modules

for found in pkgutil.walk_packages(ks.__path__, "kousoku."):
    importlib.import_module(found.name)
print(json.dumps(sorted(name for name, held in modules().items() if held is None)))
"""
    assert Processes(tmp_path).run(script) == []


@pytest.mark.full("processes")
def test_nothing_is_kept_where_the_cache_is_off(tmp_path):
    off = Processes(tmp_path / "cache")
    assert off.run(STEP, KOUSOKU_COMPILATION_CACHE="off", XDG_CACHE_HOME=str(off.folder))[1] > 0
    assert not off.folder.exists()


def test_identities(after):
    """What tells two things apart, and what has none."""
    script = """
import enum, functools, threading
from kousoku.compiler.tracing.fingerprint import Unknown, fingerprint

known = [
    1, 1.0, True, "1", b"1", None, (1,), [1], ((),), [[]], {"a": 1}, {1: "a"}, {1}, -0.0, 0.0, float("nan"),
    np.arange(3), np.arange(3.0), np.arange(4), jnp.arange(3), np.array([[0, 1, 2]]), np.array(["a"], object),
    jnp.float32(1), np.float32(1), jnp.asarray(1.0),
    jax.random.key(1), jax.random.key(2), jax.random.key(1, impl="rbg"),
    jax.ShapeDtypeStruct((3,), jnp.int32), jax.ShapeDtypeStruct((3,), jnp.float32), np.dtype("int32"),
    jax.typeof(jnp.arange(3)), jax.typeof(jnp.float32(1)), jax.typeof(jnp.asarray(1.0)),
    env.step, env.reset, ks.make("CartPole-v0").step, type(env).step, type(env), env, jnp.sin, np.sin, jax.nn.tanh,
    functools.partial(jnp.sum, axis=0), functools.partial(jnp.sum, axis=1), jax.jit, open,
]
found = [fingerprint(thing) for thing in known]
assert found == [fingerprint(thing) for thing in known]
same = [(a, b) for i, a in enumerate(known) for j, b in enumerate(known[:i]) if found[i] == found[j]]
assert not same, same
ring = []
ring.append(ring)
assert fingerprint(ring) == fingerprint(ring)

def is_known(thing):
    try:
        fingerprint(thing)
    except (Unknown, RecursionError):
        return False
    return True

def mine(x):
    return x

@functools.wraps(jnp.sin)
def dressed(x):
    return x

class Colour(enum.Enum):
    RED = 1

deep = []
for _ in range(5000):
    deep = [deep]
unknown = [mine, lambda: 0, dressed, Colour, Colour.RED, functools.partial(mine, 1), (1, [mine]), {"a": {"b": mine}},
           (i for i in ()), threading.Lock(), jax.jit(mine), functools.cache(mine), deep]
assert not [thing for thing in unknown if is_known(thing)]
tracers = []
make(lambda x: tracers.append(is_known(x)) or x)(1.0)
assert tracers == [False]
print(json.dumps("right"))
"""
    assert after.run(script) == "right"


@pytest.mark.full("processes")
def test_a_robot_is_ready_without_being_traced(tmp_path):
    """The case for which it was made: thousands of operations, and a model that is part of what the function is."""
    script = """
env = ks.make("InvertedPendulum-v5")
keys = jax.random.split(jax.random.key(0), 16)
state, first = jax.vmap(ks.kernel(env.reset))(keys)
found = jax.vmap(ks.kernel(env.step))(keys, state, jnp.full((16, 1), 0.5))
print(json.dumps([words(found), len(traces)]))
"""
    processes = Processes(tmp_path)
    (bits, count), (again, none) = processes.run(script), processes.run(script)
    assert again == bits
    assert count > none == 0


ORDERS = ([(16, True)], [(16, True), (2, False)], [(2, True)], [(2, False)], [(16, False), (16, True)])


@pytest.mark.parametrize("last", [1, pytest.param(len(ORDERS), marks=pytest.mark.full("more cases"))])
def test_what_is_traced_again_is_traced_under_the_same_settings(last, tmp_path):
    """Derivations and other lanes of a function that was recalled, asked for in another context than its own."""
    script = """
def begun(step, lanes, other):
    with jax.threefry_partitionable(not other):
        keys = jax.random.split(jax.random.key(0), lanes)
        return np.asarray(jax.vmap(step)(keys)[1].obs)

def compare(step):
    for lanes, other in asked:
        np.testing.assert_allclose(begun(step, lanes, other), begun(env.reset, lanes, other), atol=1e-6)

asked = %s
one = ks.kernel(env.reset)
compare(one)
compare(one)
compare(ks.kernel(env.reset))
print(json.dumps("right"))
"""
    processes = Processes(tmp_path)
    for asked in ORDERS[:last]:
        assert processes.run(script % asked) == "right", asked


@pytest.mark.full("processes")
def test_functions_with_what_is_hard_to_tell(tmp_path):
    """A key that a function holds, under `jit`; arguments whose class computes; a file with the name of Python's."""
    (tmp_path / "sched.py").write_text("def more(x):\n    return x + 2.0\n")
    script = f"""
import dataclasses, functools, sys
sys.path.insert(0, {str(tmp_path)!r})
import sched
from kousoku.compiler.tracing.fingerprint import Unknown, fingerprint

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Pair:
    x: object
    def __post_init__(self):
        self.twice = self.x + self.x

held = functools.partial(env.reset, jax.random.key(3))
state, _ = jax.jit(lambda: ks.kernel(held)())()
assert words(state) == words(env.reset(jax.random.key(3))[0])
assert float(ks.kernel(lambda pair: pair.x * 2.0)(Pair(jnp.float32(3)))) == 6.0
try:
    fingerprint(sched.more)
    raise SystemExit("it has an identity")
except Unknown:
    pass
print(json.dumps("right"))
"""
    assert Processes(tmp_path / "cache").run(script) == "right"


@pytest.mark.full("processes")
def test_nothing_is_kept_of_source_that_was_edited_meanwhile(tmp_path):
    script = """
from kousoku.compiler.tracing import fingerprint
fingerprint.__dict__["IMPORTED"] = fingerprint.datetime.fromtimestamp(0, fingerprint.UTC)
"""
    processes = Processes(tmp_path)
    assert processes.run(script + STEP)[1] > 0
    assert not processes.records


def test_what_modules_hold_is_read_while_another_thread_imports():
    script = """
import json, sys, threading
from kousoku.compiler.tracing import fingerprint
def change():
    while not done.is_set():
        for i in range(99):
            setattr(fingerprint, f"lately_{i}", i)
            sys.modules[f"lately_{i}"] = sys
        for i in range(99):
            delattr(fingerprint, f"lately_{i}")
            del sys.modules[f"lately_{i}"]
done = threading.Event()
other = threading.Thread(target=change)
sys.setswitchinterval(1e-6)
other.start()
try:
    held = [fingerprint.modules()["kousoku"] for _ in range(4)]
finally:
    done.set()
    other.join()
print(json.dumps(len(set(held))))
"""
    assert in_a_forked_process(script) == 1
