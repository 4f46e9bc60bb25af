"""`kousoku bench defaults`: its tasks can be done, its scores mean what they say, and PPO learns by its defaults."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.env_shapes import check_shapes
from kousoku_bench import defaults
from kousoku_bench.defaults import DefaultsBudget
from kousoku_bench.own_tasks import TASKS
from kousoku_bench.own_tasks.task import returns_of


@pytest.mark.full("covered")
@pytest.mark.parametrize("name", TASKS)
def test_a_task_keeps_the_contract_and_whoever_knows_it_earns_more(name):
    check_shapes(TASKS[name])
    expert, random = defaults.earned(TASKS[name], 32)
    assert np.isfinite([expert, random]).all()
    assert expert > random


@pytest.mark.full("more cases")
@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_an_environment_in_every_way(name):
    ks.check_env(TASKS[name])


def test_an_episode_ends_where_the_task_says_so():
    """Aim's one step is all that is paid; a landing is paid once, and a picture's meeting ends its costs."""
    aim = TASKS["aim, one step"]
    np.testing.assert_allclose(returns_of(aim, lambda obs, key: aim.expert(obs) + 0.5, 8), -0.25, rtol=1e-5)
    landing = TASKS["landing, paid at the end"]
    returns = np.asarray(returns_of(landing, lambda obs, key: jnp.int32(0), 8))
    np.testing.assert_array_equal(returns, -100.0)
    meeting = TASKS["meeting in a picture"]
    returns = np.asarray(returns_of(meeting, lambda obs, key: meeting.expert(obs), 64))
    assert (returns >= -0.1 * 14 - 1e-5).all()
    assert (returns < 0).all()


def test_a_score_is_0_at_random_and_1_by_hand(monkeypatch, tmp_path):
    monkeypatch.setattr(defaults, "earned", lambda task, episodes: (30.0, 10.0))
    monkeypatch.setattr(defaults, "learned", lambda task, options, budget: np.array([10.0, 30.0, 40.0]))
    defaults.bench(tmp_path, DefaultsBudget(), "dam, one-sided", say=lambda text: None)
    (section,) = json.loads((tmp_path / "defaults.json").read_text())["sections"]
    assert [row["name"] for row in section["rows"]] == list(defaults.SETTINGS)
    assert {column: section["rows"][0][column] for column in ("lowest", "median")} == {"lowest": 0.0, "median": 1.0}
    assert "1 what a policy by hand does (30 and 10)" in (tmp_path / "defaults.md").read_text()


@pytest.mark.full("learning")
@pytest.mark.parametrize("name", TASKS)
def test_ppo_learns_by_its_defaults(name):
    section = defaults.section(name, DefaultsBudget(), {"defaults": {}})
    assert section.rows[0].figures["lowest"] > 0.9
