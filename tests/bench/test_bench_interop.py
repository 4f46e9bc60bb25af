"""`kousoku bench interop`: each environment has its row; what fails or is missing is told; actions are allowed ones."""

import importlib.util
import json
import pkgutil
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.interop import jax_envs
from kousoku_bench import interop
from kousoku_bench.interop import InteropBudget
from kousoku_bench.interop_loops import LOOPS, opponent, own_loop, random_action, stepped
from kousoku_bench.peers import foreign
from kousoku_bench.subprocess_timing import SubprocessFailed

SMALL = InteropBudget(count=4, steps=3, repeats=1, least_seconds=0.0)


@pytest.fixture
def made_up(monkeypatch):
    """Measurements: one kernel makes six times the steps of others' own, one in each step three times; of chess their
    program fails."""

    def run_in_subprocess(module, function, who, library, id, *how, limit):
        assert (module, function) == ("kousoku_bench.interop", "figures")
        assert how[0] == SMALL.count
        if (who, id) == ("own", "chess"):
            raise SubprocessFailed("MemoryError: 5 | 6 GiB")
        speed = {"whole": 6e6, "advance": 3e6, "own": 1e6}[who]
        told = ["no rule for sort"] if who != "own" and id == "hex" else []
        return {"steps_per_second": speed, "compile_seconds": 2.0, "warnings": told}

    monkeypatch.setattr(interop, "run_in_subprocess", run_in_subprocess)
    find = importlib.util.find_spec
    there = {interop.module_of(name) for name in LOOPS} - {"navix"}
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: object() if name in there else None if name == "navix" else find(name),
    )


def test_every_environment_gets_its_row_and_what_fails_is_told(made_up, tmp_path):
    said = []
    sections = interop.bench(tmp_path, SMALL, say=said.append)
    assert [section.title for section in sections] == list(LOOPS)
    assert 40 <= sum(len(section.rows) for section in sections) <= 50
    rows = {f"{section.title}:{row.name}": row for section in sections for row in section.rows}
    assert rows["gymnax:CartPole-v1"].figures["times"] == pytest.approx(6.0)
    assert rows["gymnax:CartPole-v1"].figures["advance_times"] == pytest.approx(3.0)
    assert rows["pgx:hex"].note == "no rule for sort"
    failed = rows["pgx:chess"]
    assert "times" not in failed.figures
    assert failed.figures["whole"] == 6e6
    assert failed.note == "own: MemoryError: 5 / 6 GiB"
    assert rows["navix:Navix-Empty-8x8-v0"].note == "not installed: pip install 'kousoku[navix]'"
    text = (tmp_path / "interop.md").read_text(encoding="utf-8")
    assert "own: MemoryError: 5 / 6 GiB" in text
    assert "pgx:hex: 6.00 times their own (no rule for sort)" in said
    assert "pgx:chess: did not run (own: MemoryError: 5 / 6 GiB)" in said
    assert json.loads((tmp_path / "interop.json").read_text())["sections"][0]["title"] == "gymnax"


def test_one_library_can_be_asked_for(made_up, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(interop, "InteropBudget", lambda **given: SMALL)
    assert main(["bench", "interop", "--only", "xminigrid", "--out", str(tmp_path)]) == 0
    assert "MiniGrid-DoorKey-8x8" in (tmp_path / "interop_xminigrid.md").read_text(encoding="utf-8")
    assert main(["bench", "interop", "--only", "atari"]) == 2
    assert "gymnax" in capsys.readouterr().err


def test_there_is_a_program_and_a_list_of_ids_for_each_library_that_has_a_door():
    doors = {name.name for name in pkgutil.iter_modules(jax_envs.__path__)} - {"foreign", "pictures", "spaces"}
    assert doors == set(LOOPS) == set(interop.IDS)


def test_random_actions_are_those_that_a_mask_allows():
    space, keys = ks.Discrete(4), jax.random.split(jax.random.key(0), 200)
    mask = jnp.array([0, 1, 0, 1], jnp.uint8)
    of_several = {"action_mask": jnp.zeros((2, 4), jnp.uint8)}

    @jax.jit
    @jax.vmap
    def drawn(key):
        seen = [{"action_mask": mask}, mask, of_several]
        return *(random_action(space, obs, key) for obs in seen), opponent(mask, mask, jax.random.key_data(key))

    masked, unmasked, unlike, others = map(set, map(np.ravel, map(np.asarray, drawn(keys))))
    assert masked == others == {1, 3}
    assert unmasked == unlike == {0, 1, 2, 3}


def test_where_nothing_is_allowed_an_action_is_drawn_all_the_same():
    assert int(random_action(ks.Discrete(3), {"action_mask": jnp.zeros(3)}, jax.random.key(0))) == 2


def test_a_rollout_takes_every_step_of_every_environment():
    loop = stepped(lambda keys: jnp.zeros(keys.shape), lambda carry, keys: carry + jax.vmap(jax.random.uniform)(keys))
    keys = jax.random.split(jax.random.key(0), 5)
    done = loop.run(1000, keys, loop.start(keys))
    assert done.shape == (5,)
    assert (abs(done - 500.0) < 50.0).all()
    assert len(np.unique(done)) == 5


@pytest.mark.full("covered")
@pytest.mark.parametrize("who", ["whole", "advance"])
def test_ours_is_run_as_training_does(monkeypatch, who):
    """A figure of our own environment in place of another library's, and none is missed for the others' sake."""
    monkeypatch.setattr(interop, "make", lambda id: ks.make("CartPole-v1"))
    monkeypatch.setattr(interop, "limit_memory", lambda: None)
    told = interop.figures(who, "gymnax", "CartPole-v1", 3, 4, 1, 0.0)
    assert told["steps_per_second"] > 0
    assert told["compile_seconds"] > 0
    assert told["warnings"] == []


def test_all_steps_in_one_kernel_are_those_of_a_kernel_in_each_step():
    env = ks.make("CartPole-v1")
    keys = jax.random.split(jax.random.key(0), 5)
    whole, advance = (interop.PROGRAMS[who]("", "", env) for who in ("whole", "advance"))
    begun = whole.start(keys)
    ours, theirs = (jax.jit(partial(loop.run, 40))(keys, begun) for loop in (whole, advance))
    np.testing.assert_array_equal(ours.episode_step, theirs.episode_step)
    np.testing.assert_allclose(ours.obs, theirs.obs, rtol=1e-5, atol=1e-6)
    assert (ours.episode_step < 40).any()


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow_because("each library is imported, and its environment compiled")
@pytest.mark.parametrize("library", list(LOOPS))
def test_each_library_takes_its_own_steps(library):
    pytest.importorskip(interop.module_of(library))
    id = interop.IDS[library][0]
    with foreign():
        env = ks.make(f"{library}:{id}")
        loop = own_loop(library, id, env)
        keys = jax.random.split(jax.random.key(0), 2)
        begun = jax.jit(loop.start)(keys)
        after = jax.jit(partial(loop.run, 2))(keys, begun)
    assert jax.tree.structure(begun) == jax.tree.structure(after)
    assert any((a != b).any() for a, b in zip(jax.tree.leaves(begun), jax.tree.leaves(after), strict=True))
