"""Presets: each can be built, is long enough to learn anything, and is what `train` uses by itself."""

import jax
import pytest
from fresh_process import check_refusals

import kousoku as ks
from kousoku.training.loop.make_loop import check_length
from kousoku.training.presets import Preset, presets


@pytest.mark.parametrize(("agent_id", "env_id"), presets())
def test_a_preset_builds_an_agent_for_its_environment(agent_id, env_id):
    chosen = ks.preset(agent_id, env_id)
    agent = ks.make_agent(agent_id, **chosen.options)
    if not env_id.startswith("dm_control/"):  # which are of models that a package has
        spec = ks.make(env_id).spec
        state = jax.eval_shape(lambda key: agent.init(spec, key), jax.random.key(0))
        (learned,) = (getattr(state, name) for name in ("policy", "network", "actor") if hasattr(state, name))
        assert jax.tree.leaves(learned)
    check_length(agent, chosen.steps)
    of_suite = env_id.startswith(("MinAtar/", "dm_control/"))
    assert (chosen.solved is None) == of_suite, "these are measured in pages of their own"


def test_where_nobody_has_tuned_anything_nothing_is_set():
    assert ks.preset("ppo", "Balls-v0") == Preset()


@pytest.mark.parametrize(
    ("agent", "env", "told"),
    [
        ("ppo", "Cartpole-v1", r"^environment id: got 'Cartpole-v1'; did you mean CartPole-v1\?$"),
        ("ppoo", "CartPole-v1", r"^agent id: got 'ppoo'; did you mean ppo"),
        ("CartPole-v1", "ppo", r"^agent id: got 'CartPole-v1'; that is an environment"),
        ("ppo", "gymnsium:CartPole-v1", r"^environment id: got .*; did you mean 'gymnasium:CartPole-v1'\?$"),
    ],
)
def test_an_id_that_is_not_known_is_refused(agent, env, told):
    with pytest.raises(ks.ConfigError, match=told):
        ks.preset(agent, env)


def test_what_is_no_id_is_refused():
    cases = {
        "ks.preset(3, 4)": "agent id: got 3; name one of the",
        "ks.preset('ppo', None)": "environment id: got None; name one of the",
        "ks.preset(['ppo'], {})": "agent id: got ['ppo']; name one of the",
        "ks.preset('ppo', ks.make('CartPole-v1'))": "environment id: got CartPole(",
    }
    check_refusals(cases, "import kousoku as ks")


@pytest.mark.parametrize("env", ["gymnax:Catch-bsuite", "gymnasium:NoSuch-v0"])
def test_other_libraries_environments_are_not_looked_up(env):
    assert ks.preset("ppo", env) == Preset()


@pytest.mark.full("whole way")
def test_train_uses_the_preset_and_what_is_given_overrides_it():
    run = ks.train("ppo", "CartPole-v1", steps=4096, eval_episodes=0, out="")
    chosen = ks.preset("ppo", "CartPole-v1")
    assert {name: run.record.config["agent"][name] for name in chosen.options} == chosen.options
    assert run.record.config["steps"] == 4096
    plain = ks.train(ks.make_agent("ppo", num_envs=8, num_steps=8), "CartPole-v1", steps=64, eval_episodes=0, out="")
    assert plain.record.config["agent"]["num_envs"] == 8
